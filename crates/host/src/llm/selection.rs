//! Which model an agent uses: its own server, a configured provider, or a running Ollama.
//!
//! Promises: the choice is made once, from the agent's file and the settings; asking about it later is cheap. Where there is
//! no model, the words say what to set. It sends no chat.

use std::sync::Arc;

use super::model::Model;
use super::ollama::{Ollama, Sight};
use super::server::{IDLE, ModelServer, ServerAddress};
use crate::models::{ModelSettings, ProviderSettings, Secret};
use crate::{Health, LlmRuntime, Workshop};

/// What to do when there is no model.
pub const NEEDS_A_MODEL: &str = "needs a model: set OPENAI_API_KEY or ANTHROPIC_API_KEY, start Ollama, or add [models.NAME] \
    base_url = ... to agentsite.toml; see docs/agents.md";

/// The name of a model when nobody names one; servers with a single model take any.
const ANY_MODEL: &str = "default";

/// The name under which agents ask for a running Ollama in `PROVIDER:MODEL`.
const OLLAMA: &str = "ollama";

/// Where an agent's model comes from.
#[derive(Debug)]
pub(super) enum Source {
    /// It is there.
    Chosen(Arc<dyn Model>),
    /// It may be there: whatever Ollama has, the wanted model before others.
    Ollama(Arc<Ollama>, Option<String>),
    /// Something must be set first; the words say what.
    Missing(String),
}

impl Source {
    /// Chooses for an agent.
    pub(super) fn choose(runtime: &LlmRuntime, workshop: &Workshop) -> Self {
        if runtime.base_url.is_some() {
            return own_server(runtime, workshop);
        }
        let settings = &workshop.models;
        match choice(settings, runtime.model.as_deref()) {
            Choice::Provider(provider, model) => Self::Chosen(Arc::new(server(provider, model, workshop))),
            Choice::Ollama(wanted) => {
                let clock = workshop.ids.clock().clone();
                let place = settings.ollama.clone().map(|url| Ollama::new(url, &workshop.egress, clock));
                place.map_or_else(|| Self::Missing(NEEDS_A_MODEL.into()), |place| Self::Ollama(place, wanted))
            }
        }
    }

    /// Whether there is a model, as far as is known now.
    pub(super) fn health(&self) -> Health {
        match self {
            Self::Chosen(_) => Health::Ready,
            Self::Missing(what) => Health::Needs(what.clone()),
            Self::Ollama(ollama, _) => match ollama.glance() {
                Sight::Unknown => Health::Starting,
                Sight::Absent => Health::Needs(NEEDS_A_MODEL.into()),
                Sight::Running(_) => Health::Ready,
            },
        }
    }

    /// The model, or what to set.
    pub(super) async fn model(&self) -> Result<Arc<dyn Model>, String> {
        match self {
            Self::Chosen(model) => Ok(model.clone()),
            Self::Missing(what) => Err(what.clone()),
            Self::Ollama(ollama, wanted) => {
                let Sight::Running(models) = ollama.find().await else { return Err(NEEDS_A_MODEL.into()) };
                let found = ollama.server(&models, wanted.as_deref());
                let (server, model) = found.ok_or_else(|| NEEDS_A_MODEL.to_owned())?;
                tracing::debug!(%model, "uses a model of the running Ollama");
                Ok(Arc::new(server))
            }
        }
    }
}

fn own_server(runtime: &LlmRuntime, workshop: &Workshop) -> Source {
    let Some(base_url) = runtime.base_url.clone() else { return Source::Missing(NEEDS_A_MODEL.into()) };
    let key = match &runtime.key_env {
        None => None,
        Some(name) => match workshop.environment.get(name).filter(|key| !key.trim().is_empty()) {
            Some(key) => Some(Secret::new(key.trim())),
            None => {
                return Source::Missing(format!(
                    "needs a key: set the variable {name}, which key_env in agent.toml names"
                ));
            }
        },
    };
    let remedy = match &runtime.key_env {
        Some(name) => format!("set the variable {name} to a key that it takes"),
        None => "name the variable that holds its key with key_env in agent.toml".into(),
    };
    let model = runtime.model.clone().unwrap_or_else(|| ANY_MODEL.into());
    let address = ServerAddress { api: runtime.api, base_url, key, model, remedy };
    Source::Chosen(Arc::new(ModelServer::new(address, &workshop.egress, IDLE)))
}

#[derive(Debug)]
enum Choice<'a> {
    Provider(&'a ProviderSettings, String),
    Ollama(Option<String>),
}

/// Reads `PROVIDER:MODEL` or `MODEL`. Names of models have colons too, so only a known provider counts as one.
fn choice<'a>(settings: &'a ModelSettings, wanted: Option<&str>) -> Choice<'a> {
    let providers = &settings.providers;
    if let Some((name, model)) = wanted.and_then(|wanted| wanted.split_once(':')) {
        if let Some(provider) = providers.iter().find(|provider| provider.name == name) {
            return Choice::Provider(provider, model.to_owned());
        }
        if name == OLLAMA {
            return Choice::Ollama(Some(model.to_owned()));
        }
    }
    let preferred = match wanted {
        Some(_) => providers.first(),
        None => {
            providers.iter().find(|provider| provider.default_model.is_some()).or_else(|| providers.first())
        }
    };
    let Some(provider) = preferred else { return Choice::Ollama(wanted.map(str::to_owned)) };
    let model = wanted.or(provider.default_model.as_deref()).unwrap_or(ANY_MODEL);
    Choice::Provider(provider, model.to_owned())
}

fn server(provider: &ProviderSettings, model: String, workshop: &Workshop) -> ModelServer {
    let remedy = match provider.name.as_str() {
        "openai" => "set OPENAI_API_KEY to a key that it takes".into(),
        "anthropic" => "set ANTHROPIC_API_KEY to a key that it takes".into(),
        name => format!("set the key of [models.{name}] in agentsite.toml to one that it takes"),
    };
    let address = ServerAddress {
        api: provider.api,
        base_url: provider.base_url.clone(),
        key: provider.key.clone(),
        model,
        remedy,
    };
    ModelServer::new(address, &workshop.egress, IDLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelApi;

    fn provider(name: &str, default_model: Option<&str>) -> ProviderSettings {
        ProviderSettings {
            name: name.into(),
            api: ModelApi::Openai,
            base_url: "https://models.example/v1".parse().unwrap(),
            key: None,
            default_model: default_model.map(str::to_owned),
        }
    }

    fn chosen(providers: Vec<ProviderSettings>, wanted: Option<&str>) -> String {
        let settings = ModelSettings { providers, ollama: None };
        match choice(&settings, wanted) {
            Choice::Provider(provider, model) => format!("{} {model}", provider.name),
            Choice::Ollama(wanted) => format!("found {wanted:?}"),
        }
    }

    #[test]
    fn a_named_provider_is_taken_and_other_colons_belong_to_the_model() {
        let both = || vec![provider("openai", Some("gpt-x")), provider("lab", None)];
        assert_eq!(chosen(both(), Some("lab:qwen3:4b")), "lab qwen3:4b");
        assert_eq!(chosen(both(), Some("llama3.2:3b")), "openai llama3.2:3b");
        assert_eq!(chosen(both(), Some("ollama:llama3.2:3b")), "found Some(\"llama3.2:3b\")");
    }

    #[test]
    fn an_agent_without_a_model_gets_the_first_default() {
        assert_eq!(
            chosen(vec![provider("lab", None), provider("openai", Some("gpt-x"))], None),
            "openai gpt-x"
        );
        assert_eq!(chosen(vec![provider("lab", None)], None), "lab default");
    }

    #[test]
    fn without_providers_ollama_is_looked_for() {
        assert_eq!(chosen(vec![], None), "found None");
        assert_eq!(chosen(vec![], Some("qwen3:4b")), "found Some(\"qwen3:4b\")");
    }
}

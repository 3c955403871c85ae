//! Which model an agent uses: its own server, a configured provider, or a running Ollama.
//!
//! Promises: the choice is made once, from the agent's file and the settings; asking about it later is cheap.
//! The prompt goes to the provider and model that were named or configured, never to a substitute: a provider
//! that is misspelt, not configured or without its key is missing, and the text names what to set. It sends
//! no chat.

use std::sync::Arc;

use super::model::Model;
use super::ollama::{self, Ollama, OllamaState};
use super::server::{IDLE, ModelServer, ServerAddress};
use crate::models::{ModelSettings, ProviderSettings, Secret, key_variable};
use crate::{Health, LlmRuntime, Workshop};

/// What to do when there is no model.
pub const NEEDS_A_MODEL: &str = "needs a model: set OPENAI_API_KEY or ANTHROPIC_API_KEY, start Ollama, or add [models.NAME] \
    base_url = ... to agentsite.toml; see docs/agents.md";

/// The model name sent to a server when neither the agent nor the provider names one; servers with a single
/// model accept any.
const ANY_MODEL: &str = "default";

/// The provider name that means the running Ollama.
const OLLAMA: &str = "ollama";

/// Where an agent's model comes from.
#[derive(Debug)]
pub(super) enum ModelSource {
    /// It is there.
    Chosen(Arc<dyn Model>),
    /// It may be there: the wanted model of a running Ollama, or any of its models when none is wanted.
    Ollama(Arc<Ollama>, Option<String>),
    /// Something must be configured first; the text names it.
    Missing(String),
}

impl ModelSource {
    /// Chooses for an agent.
    pub(super) fn choose(runtime: &LlmRuntime, workshop: &Workshop) -> Self {
        if runtime.base_url.is_some() {
            return own_server(runtime, workshop);
        }
        let settings = &workshop.models;
        match choice(settings, runtime.model.as_deref()) {
            Choice::Missing(what) => Self::Missing(what),
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
            Self::Ollama(ollama, wanted) => match ollama.glance() {
                OllamaState::Unknown => Health::Starting,
                sight => match pick(&sight, wanted.as_deref()) {
                    Ok(_) => Health::Ready,
                    Err(what) => Health::Needs(what),
                },
            },
        }
    }

    /// The model, or what to set.
    pub(super) async fn model(&self) -> Result<Arc<dyn Model>, String> {
        match self {
            Self::Chosen(model) => Ok(model.clone()),
            Self::Missing(what) => Err(what.clone()),
            Self::Ollama(ollama, wanted) => {
                let model = pick(&ollama.find().await, wanted.as_deref())?;
                tracing::debug!(%model, "uses a model of the running Ollama");
                Ok(Arc::new(ollama.server(model)))
            }
        }
    }
}

/// The Ollama model for this request, or what to do. A wanted model is never replaced by another one.
fn pick(sight: &OllamaState, wanted: Option<&str>) -> Result<String, String> {
    let models: &[String] = match sight {
        OllamaState::Running(models) => models,
        OllamaState::Unknown | OllamaState::Absent => &[],
    };
    let found = ollama::pick(models, wanted).map(str::to_owned);
    found.ok_or_else(|| match wanted {
        None => NEEDS_A_MODEL.into(),
        Some(wanted) if models.is_empty() => {
            format!("needs the model `{wanted}`, but no Ollama answers: {}", remedy_for(wanted))
        }
        Some(wanted) => {
            format!(
                "needs the model `{wanted}`, which the running Ollama does not have: {}",
                remedy_for(wanted)
            )
        }
    })
}

/// How to get a model that no provider is configured for.
fn remedy_for(wanted: &str) -> String {
    let pull = format!("start Ollama and run `ollama pull {wanted}`");
    match wanted.split_once(':') {
        Some((provider, _)) => format!(
            "if `{provider}` is a provider, add [models.{provider}] to agentsite.toml or correct `model` in agent.toml; if it \
             is a model, {pull}"
        ),
        None => format!("{pull}, or configure a provider for it with [models.NAME] in agentsite.toml"),
    }
}

fn own_server(runtime: &LlmRuntime, workshop: &Workshop) -> ModelSource {
    let Some(base_url) = runtime.base_url.clone() else { return ModelSource::Missing(NEEDS_A_MODEL.into()) };
    let key = match &runtime.key_env {
        None => None,
        Some(name) => match workshop.environment.get(name).filter(|key| !key.trim().is_empty()) {
            Some(key) => Some(Secret::new(key.trim())),
            None => {
                return ModelSource::Missing(format!(
                    "needs a key: set the variable {name}, which key_env in agent.toml names"
                ));
            }
        },
    };
    let remedy = match &runtime.key_env {
        Some(name) => format!("set the variable {name} to a valid key"),
        None => "name the variable that holds its key with key_env in agent.toml".into(),
    };
    let model = runtime.model.clone().unwrap_or_else(|| ANY_MODEL.into());
    let address = ServerAddress { api: runtime.api, base_url, key, model, remedy };
    ModelSource::Chosen(Arc::new(ModelServer::new(address, &workshop.egress, IDLE)))
}

#[derive(Debug)]
enum Choice<'a> {
    Provider(&'a ProviderSettings, String),
    Ollama(Option<String>),
    Missing(String),
}

/// Reads `PROVIDER:MODEL` or `MODEL`. A text with a colon names its provider; only that provider gets the
/// prompt. Names of Ollama's models have colons too (`qwen3:4b`): without any configured provider such a text
/// is looked for in Ollama, as a whole and exactly.
fn choice<'a>(settings: &'a ModelSettings, wanted: Option<&str>) -> Choice<'a> {
    let providers = &settings.providers;
    if let Some((name, model)) = wanted.and_then(|wanted| wanted.split_once(':')) {
        return named(settings, name, model);
    }
    let preferred = match wanted {
        Some(_) => providers.first(),
        None => {
            providers.iter().find(|provider| provider.default_model.is_some()).or_else(|| providers.first())
        }
    };
    let Some(provider) = preferred else { return Choice::Ollama(wanted.map(str::to_owned)) };
    let model = wanted.or(provider.default_model.as_deref()).unwrap_or(ANY_MODEL);
    usable(provider, model)
}

fn named<'a>(settings: &'a ModelSettings, name: &str, model: &str) -> Choice<'a> {
    let providers = &settings.providers;
    let provider = providers.iter().find(|provider| provider.name == name);
    match provider {
        _ if name.trim().is_empty() || model.trim().is_empty() => Choice::Missing(format!(
            "needs a model: `{name}:{model}` lacks the provider or the model; write model = \"PROVIDER:MODEL\" in agent.toml"
        )),
        Some(provider) => usable(provider, model),
        None if name == OLLAMA => Choice::Ollama(Some(model.to_owned())),
        None => match key_variable(name) {
            Some(variable) => Choice::Missing(format!(
                "needs a key for the model provider `{name}`: set {variable}, or add [models.{name}] to agentsite.toml"
            )),
            None if providers.is_empty() => Choice::Ollama(Some(format!("{name}:{model}"))),
            None => Choice::Missing(unknown(providers, name, model)),
        },
    }
}

/// The provider, unless the operator must set something first.
fn usable<'a>(provider: &'a ProviderSettings, model: &str) -> Choice<'a> {
    match &provider.missing {
        Some(what) => {
            Choice::Missing(format!("needs setup of the model provider `{}`: {what}", provider.name))
        }
        None => Choice::Provider(provider, model.to_owned()),
    }
}

fn unknown(providers: &[ProviderSettings], name: &str, model: &str) -> String {
    let known: Vec<&str> = providers.iter().map(|provider| provider.name.as_str()).collect();
    let first = known.first().copied().unwrap_or(OLLAMA);
    format!(
        "names the model provider `{name}`, which is not configured (configured: {}): correct `model` in agent.toml or add \
         [models.{name}] to agentsite.toml; if `{name}:{model}` is a model, write `{first}:{name}:{model}` or \
         `{OLLAMA}:{name}:{model}`",
        known.join(", ")
    )
}

impl ModelSettings {
    /// What must be set before an agent that asks for `wanted` has a model. `None` when nothing is missing as
    /// far as the settings tell; whether Ollama runs and has the model is not looked up.
    #[must_use]
    pub fn missing(&self, wanted: Option<&str>) -> Option<String> {
        match choice(self, wanted) {
            Choice::Provider(..) => None,
            Choice::Missing(what) => Some(what),
            Choice::Ollama(_) => self.ollama.is_none().then(|| NEEDS_A_MODEL.to_owned()),
        }
    }
}

/// What must be set before an agent has a model, after a look whether Ollama runs if that is where its model
/// comes from. Sends no prompt.
pub async fn missing_model(runtime: &LlmRuntime, workshop: &Workshop) -> Option<String> {
    ModelSource::choose(runtime, workshop).model().await.err()
}

fn server(provider: &ProviderSettings, model: String, workshop: &Workshop) -> ModelServer {
    let remedy = match key_variable(&provider.name) {
        Some(variable) => format!("set {variable} to a valid key"),
        None => format!("set the key of [models.{}] in agentsite.toml to a valid one", provider.name),
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
            missing: None,
        }
    }

    fn chosen(providers: Vec<ProviderSettings>, wanted: Option<&str>) -> String {
        let settings = ModelSettings { providers, ollama: None };
        match choice(&settings, wanted) {
            Choice::Provider(provider, model) => format!("{} {model}", provider.name),
            Choice::Ollama(wanted) => format!("found {wanted:?}"),
            Choice::Missing(what) => format!("missing: {what}"),
        }
    }

    fn both() -> Vec<ProviderSettings> {
        vec![provider("lab", Some("mouse")), provider("gpu", None)]
    }

    #[test]
    fn a_named_provider_gets_the_prompt_and_later_colons_belong_to_the_model() {
        assert_eq!(chosen(both(), Some("gpu:qwen3:4b")), "gpu qwen3:4b");
        assert_eq!(chosen(both(), Some("ollama:llama3.2:3b")), "found Some(\"llama3.2:3b\")");
        assert_eq!(chosen(both(), Some("plain")), "lab plain");
    }

    #[test]
    fn a_provider_that_is_not_configured_is_never_replaced_by_another() {
        let table = [
            ("locl:llama", "names the model provider `locl`, which is not configured (configured: lab, gpu)"),
            ("Lab:mouse", "names the model provider `Lab`, which is not configured"),
            ("gpu :mouse", "names the model provider `gpu `"),
            ("qwen3:4b", "write `lab:qwen3:4b` or `ollama:qwen3:4b`"),
            ("openai:gpt-4o", "set OPENAI_API_KEY"),
            ("anthropic:claude", "set ANTHROPIC_API_KEY"),
            (":gpt-4o", "lacks the provider or the model"),
            ("lab:", "lacks the provider or the model"),
            ("ollama: ", "lacks the provider or the model"),
        ];
        for (wanted, what) in table {
            let chosen = chosen(both(), Some(wanted));
            assert!(chosen.starts_with("missing: ") && chosen.contains(what), "{wanted}: {chosen}");
        }
        for wanted in ["openai:gpt-4o", "anthropic:claude"] {
            assert!(chosen(vec![], Some(wanted)).contains("_API_KEY"), "{wanted}");
        }
    }

    #[test]
    fn a_provider_whose_key_is_missing_is_never_replaced_by_another() {
        let broken = || {
            let lab =
                ProviderSettings { missing: Some("set LAB_KEY".into()), ..provider("lab", Some("mouse")) };
            vec![lab, provider("gpu", Some("rat"))]
        };
        for wanted in [None, Some("mouse"), Some("lab:mouse")] {
            let chosen = chosen(broken(), wanted);
            assert_eq!(chosen, "missing: needs setup of the model provider `lab`: set LAB_KEY", "{wanted:?}");
        }
        assert_eq!(chosen(broken(), Some("gpu:rat")), "gpu rat");
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
    fn without_providers_ollama_is_looked_for_and_must_have_the_wanted_model() {
        assert_eq!(chosen(vec![], None), "found None");
        assert_eq!(chosen(vec![], Some("qwen3:4b")), "found Some(\"qwen3:4b\")");
        let running = OllamaState::Running(vec!["qwen3:4b".to_owned()].into());
        assert_eq!(pick(&running, Some("qwen3:4b")).unwrap(), "qwen3:4b");
        assert_eq!(pick(&running, None).unwrap(), "qwen3:4b");
        let wrong = pick(&running, Some("locl:llama")).unwrap_err();
        assert!(wrong.contains("[models.locl]") && wrong.contains("ollama pull locl:llama"), "{wrong}");
        assert!(pick(&OllamaState::Absent, Some("gone")).unwrap_err().contains("no Ollama answers"));
        assert_eq!(pick(&OllamaState::Absent, None).unwrap_err(), NEEDS_A_MODEL);
    }

    #[test]
    fn the_settings_alone_tell_what_is_missing() {
        let settings = ModelSettings { providers: both(), ollama: None };
        assert!(settings.missing(Some("locl:llama")).is_some());
        assert_eq!((settings.missing(Some("lab:x")), settings.missing(None)), (None, None));
        assert_eq!(ModelSettings::none().missing(None).as_deref(), Some(NEEDS_A_MODEL));
        assert_eq!(ModelSettings::default().missing(Some("qwen3:4b")), None);
    }
}

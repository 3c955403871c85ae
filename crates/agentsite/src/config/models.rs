//! The model servers of a site: those of the file, and those that the environment gives away.
//!
//! Promises: a provider in the file wins over one found in the environment under the same name; keys are taken from variables and files,
//! never written down. It asks no server: agents do, when they need one.

use std::collections::BTreeMap;

use agentsite_host::ModelApi;
use agentsite_host::llm::{ModelSettings, ProviderSettings, Secret};
use url::Url;

use super::sections::{Config, ModelSection};

/// Providers that are there when their key is in the environment.
const AUTOMATIC: [(&str, ModelApi, &str); 2] =
    [("openai", ModelApi::Openai, "OPENAI_API_KEY"), ("anthropic", ModelApi::Anthropic, "ANTHROPIC_API_KEY")];

/// The port of Ollama when its variable names none.
const OLLAMA_PORT: u16 = 11_434;

/// Where the makers of the two interfaces serve them.
const fn home(api: ModelApi) -> &'static str {
    match api {
        ModelApi::Openai => "https://api.openai.com/v1",
        ModelApi::Anthropic => "https://api.anthropic.com/v1",
    }
}

/// The model servers, those of the file first, and a sentence for each key that could not be had.
pub(crate) fn models(config: &Config, variables: &BTreeMap<String, String>) -> (ModelSettings, Vec<String>) {
    let (mut settings, mut complaints) = (ModelSettings::default(), Vec::new());
    for (name, section) in &config.models {
        let key = key(name, section, variables).unwrap_or_else(|complaint| {
            complaints.push(complaint);
            None
        });
        let address = section.base_url.as_deref().unwrap_or(home(section.api));
        let Ok(base_url) = address.parse::<Url>() else {
            complaints.push(format!("models.{name}.base_url: `{address}` is no address"));
            continue;
        };
        let (api, default_model) = (section.api, section.default_model.clone());
        settings.providers.push(ProviderSettings { name: name.clone(), api, base_url, key, default_model });
    }
    if let Some(host) = variables.get("OLLAMA_HOST").filter(|host| !host.trim().is_empty()) {
        settings.ollama = ollama(host.trim()).or(settings.ollama);
    }
    for (name, api, variable) in AUTOMATIC {
        let Some(key) = variables.get(variable).filter(|key| !key.trim().is_empty()) else { continue };
        if !config.models.contains_key(name) {
            let base_url = home(api).parse().expect("the addresses above are sound");
            let key = Some(Secret::new(key.trim()));
            settings.providers.push(ProviderSettings {
                name: name.into(),
                api,
                base_url,
                key,
                default_model: None,
            });
        }
    }
    (settings, complaints)
}

/// Where Ollama is, by its own variable: with or without scheme and port; the address it listens on may stand for all.
fn ollama(host: &str) -> Option<Url> {
    let with_scheme = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    let mut url: Url = with_scheme.replace("//0.0.0.0", "//127.0.0.1").parse().ok()?;
    if url.port().is_none() && !host.contains("://") {
        url.set_port(Some(OLLAMA_PORT)).ok()?;
    }
    Some(url)
}

fn key(
    name: &str,
    section: &ModelSection,
    variables: &BTreeMap<String, String>,
) -> Result<Option<Secret>, String> {
    match (&section.key_env, &section.key_file) {
        (Some(variable), _) => match variables.get(variable) {
            Some(key) => Ok(Some(Secret::new(key.trim()))),
            None => Err(format!("models.{name}.key_env: the variable {variable} is not set")),
        },
        (None, Some(file)) => match std::fs::read_to_string(file) {
            Ok(key) => Ok(Some(Secret::new(key.trim()))),
            Err(error) => Err(format!("models.{name}.key_file: cannot read {}: {error}", file.display())),
        },
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, pairs: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let variables = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (settings, complaints) = models(&toml::from_str(text).unwrap(), &variables);
        let told = |one: &ProviderSettings| {
            let key = one.key.as_ref().map_or("no key", Secret::expose);
            format!("{} {} {key}", one.name, one.base_url)
        };
        (settings.providers.iter().map(told).collect(), complaints)
    }

    #[test]
    fn keys_in_the_environment_are_enough() {
        let (providers, _) = found("", &[("OPENAI_API_KEY", "k1"), ("ANTHROPIC_API_KEY", " k2\n")]);
        assert_eq!(
            providers,
            ["openai https://api.openai.com/v1 k1", "anthropic https://api.anthropic.com/v1 k2"]
        );
        assert!(found("", &[("OPENAI_API_KEY", " ")]).0.is_empty());
    }

    #[test]
    fn the_file_comes_first_and_wins() {
        let file = "[models.openai]\nbase_url = \"http://gpu:1/v1\"\n[models.b]\nkey_env = \"B\"\nbase_url = \"http://b/\"\n";
        let (providers, complaints) = found(file, &[("OPENAI_API_KEY", "k1"), ("B", "kb")]);
        assert_eq!(providers, ["b http://b/ kb", "openai http://gpu:1/v1 no key"]);
        assert!(complaints.is_empty());
    }

    #[test]
    fn ollama_is_looked_for_where_its_own_variable_says() {
        for (host, url) in [
            ("gpu:1234", "http://gpu:1234/"),
            ("gpu", "http://gpu:11434/"),
            ("0.0.0.0:9", "http://127.0.0.1:9/"),
            ("https://gpu.example", "https://gpu.example/"),
        ] {
            assert_eq!(ollama(host).unwrap().as_str(), url);
        }
        let variables = BTreeMap::from([("OLLAMA_HOST".to_owned(), "gpu".to_owned())]);
        let settings = models(&Config::default(), &variables).0;
        assert_eq!(settings.ollama.unwrap().as_str(), "http://gpu:11434/");
    }

    #[test]
    fn a_key_that_is_not_there_is_told() {
        let (providers, complaints) =
            found("[models.a]\nkey_env = \"A\"\n[models.b]\nkey_file = \"/nowhere/key\"\n", &[]);
        assert_eq!(providers.len(), 2);
        assert!(complaints[0].contains("the variable A is not set"));
        assert!(complaints[1].contains("/nowhere/key"));
    }
}

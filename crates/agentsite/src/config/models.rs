//! The model servers of a site: those of the file, and those that the environment gives away.
//!
//! Promises: a provider in the file wins over one found in the environment under the same name; keys are
//! taken from variables and files, never written down. It asks no server: agents do, when they need one.

use std::collections::BTreeMap;

use agentsite_host::ModelApi;
use agentsite_host::llm::{ModelSection, ModelSettings, ProviderSettings, Secret, key_variable};
use url::Url;

use super::sections::Config;

/// Providers that are there when their key is in the environment, each with the model of agents that name
/// none: small ones, because those agents are first tries. `[models.NAME] default_model` names others.
const AUTOMATIC: [(&str, ModelApi, &str); 2] =
    [("openai", ModelApi::Openai, "gpt-4o-mini"), ("anthropic", ModelApi::Anthropic, "claude-haiku-4-5")];

/// The port of Ollama when its variable names none.
const OLLAMA_PORT: u16 = 11_434;

/// Where the makers of the two interfaces serve them.
const fn home(api: ModelApi) -> &'static str {
    match api {
        ModelApi::Openai => "https://api.openai.com/v1",
        ModelApi::Anthropic => "https://api.anthropic.com/v1",
    }
}

/// The model servers, those of the file first, and a sentence for each one that cannot be used as configured.
pub(crate) fn models(config: &Config, variables: &BTreeMap<String, String>) -> (ModelSettings, Vec<String>) {
    let (mut settings, mut complaints) = (ModelSettings::default(), Vec::new());
    for (name, section) in &config.models {
        let provider = configured(name, section, variables);
        complaints.extend(provider.missing.clone());
        settings.providers.push(provider);
    }
    if let Some(host) = variables.get("OLLAMA_HOST").filter(|host| !host.trim().is_empty()) {
        settings.ollama = ollama(host.trim()).or(settings.ollama);
    }
    for (name, api, default_model) in AUTOMATIC {
        let Some(key) = automatic_key(name, variables) else { continue };
        if !config.models.contains_key(name) {
            settings.providers.push(ProviderSettings {
                name: name.into(),
                api,
                base_url: home_url(api),
                key: Some(key),
                default_model: Some(default_model.into()),
                missing: None,
            });
        }
    }
    (settings, complaints)
}

/// A provider of the file. One that cannot be used stays in the list with what is missing, so that no other
/// one takes its place.
fn configured(name: &str, section: &ModelSection, variables: &BTreeMap<String, String>) -> ProviderSettings {
    let (key, mut missing) = match key(name, section, variables) {
        Ok(key) => (key, None),
        Err(complaint) => (None, Some(complaint)),
    };
    let base_url = section.base_url.as_deref().map_or_else(|| Ok(home_url(section.api)), str::parse);
    let base_url = base_url.unwrap_or_else(|error| {
        let address = section.base_url.as_deref().unwrap_or_default();
        missing = Some(format!("models.{name}.base_url: `{address}` is not a URL: {error}"));
        home_url(section.api)
    });
    let (api, default_model) = (section.api, section.default_model.clone());
    ProviderSettings { name: name.to_owned(), api, base_url, key, default_model, missing }
}

fn home_url(api: ModelApi) -> Url {
    home(api).parse().expect("the addresses above are sound")
}

/// The key of a provider that needs no configuration.
fn automatic_key(name: &str, variables: &BTreeMap<String, String>) -> Option<Secret> {
    let key = variables.get(key_variable(name)?)?.trim();
    (!key.is_empty()).then(|| Secret::new(key))
}

/// Where Ollama is, by its own variable: with or without scheme and port; the address it listens on may be a
/// wildcard.
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
    let filled = |key: &str| (!key.trim().is_empty()).then(|| Secret::new(key.trim()));
    match (&section.key_env, &section.key_file) {
        (Some(variable), _) => match variables.get(variable).and_then(|key| filled(key)) {
            Some(key) => Ok(Some(key)),
            None => Err(format!(
                "models.{name}.key_env: the variable {variable} is not set; set it to the key before the site starts"
            )),
        },
        (None, Some(file)) => match std::fs::read_to_string(file) {
            Ok(key) => match filled(&key) {
                Some(key) => Ok(Some(key)),
                None => {
                    Err(format!("models.{name}.key_file: {} is empty; write the key there", file.display()))
                }
            },
            Err(error) => Err(format!("models.{name}.key_file: cannot read {}: {error}", file.display())),
        },
        // Only the maker of the interface gets the key that is meant for it; other servers may require none.
        (None, None) if section.base_url.is_none() => {
            let maker =
                AUTOMATIC.iter().find(|(_, api, _)| *api == section.api).map_or(name, |(maker, ..)| maker);
            let variable = key_variable(maker).unwrap_or_default();
            let none =
                || format!("models.{name}: {} wants a key; set {variable} or key_env", home(section.api));
            automatic_key(maker, variables).map(Some).ok_or_else(none)
        }
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, pairs: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let variables = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (settings, complaints) = models(&toml::from_str(text).unwrap(), &variables);
        let described = |one: &ProviderSettings| {
            let key = one.key.as_ref().map_or("no key", Secret::expose);
            format!("{} {} {key}", one.name, one.base_url)
        };
        (settings.providers.iter().map(described).collect(), complaints)
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
    fn a_section_without_an_address_uses_the_key_of_the_maker() {
        let section = "[models.openai]\ndefault_model = \"gpt-x\"\n";
        let (providers, complaints) = found(section, &[("OPENAI_API_KEY", "k1")]);
        assert_eq!((providers, complaints), (vec!["openai https://api.openai.com/v1 k1".to_owned()], vec![]));
        let (_, complaints) = found(section, &[]);
        assert!(complaints[0].contains("set OPENAI_API_KEY"), "{complaints:?}");
    }

    #[test]
    fn an_empty_key_is_a_missing_one() {
        let (_, complaints) = found("[models.a]\nkey_env = \"A\"\nbase_url = \"http://a/\"\n", &[("A", " ")]);
        assert!(complaints[0].contains("the variable A is not set"), "{complaints:?}");
    }

    #[test]
    fn a_key_that_is_not_there_is_told() {
        let (providers, complaints) =
            found("[models.a]\nkey_env = \"A\"\n[models.b]\nkey_file = \"/nowhere/key\"\n", &[]);
        assert_eq!(providers.len(), 2, "they stay in the list, so that no other one takes their place");
        assert!(complaints[0].contains("the variable A is not set"));
        assert!(complaints[1].contains("/nowhere/key"));
    }
}

//! Which models there are, as the operator configured them.
//!
//! Promises: keys are never written: not by `Debug`, not in any sentence. It is plain data; it reads no
//! environment and opens no connection.

mod section;

use std::fmt;
use std::sync::Arc;

use url::Url;

use crate::ModelApi;

pub use section::ModelSection;

/// Where Ollama listens by default.
const OLLAMA: &str = "http://127.0.0.1:11434";

/// Which models there are.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// Configured model servers, the preferred one first.
    pub providers: Vec<ProviderSettings>,
    /// Where to look for a running Ollama, when an agent names it or no provider is configured; `None` never
    /// looks.
    pub ollama: Option<Url>,
}

/// No provider, and Ollama where it listens by itself.
impl Default for ModelSettings {
    fn default() -> Self {
        Self { providers: Vec::new(), ollama: Url::parse(OLLAMA).ok() }
    }
}

impl ModelSettings {
    /// No model, for sites that must not look for one.
    #[must_use]
    pub const fn none() -> Self {
        Self { providers: Vec::new(), ollama: None }
    }
}

/// One configured model server.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// The name by which agents choose it: `PROVIDER:MODEL`.
    pub name: String,
    /// Its wire form.
    pub api: ModelApi,
    /// Where it is.
    pub base_url: Url,
    /// The key it requires.
    pub key: Option<Secret>,
    /// The model of agents that name none.
    pub default_model: Option<String>,
    /// What the operator must set before it can be used, such as a key that was named and is not there.
    pub missing: Option<String>,
}

/// Providers that need no configuration: their key in the environment is enough. The name and the variable of
/// the key.
const BY_KEY_ALONE: [(&str, &str); 2] = [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")];

/// The variable that holds the key of a provider that needs no configuration; `None` for other names.
#[must_use]
pub fn key_variable(provider: &str) -> Option<&'static str> {
    BY_KEY_ALONE.into_iter().find(|(name, _)| *name == provider).map(|(_, variable)| variable)
}

/// A text that is used but never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Keeps a text from being shown.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text itself, to be sent and nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Text from a server without this secret: some servers repeat the key that they refuse.
    #[must_use]
    pub fn hidden_in(&self, words: &str) -> String {
        if self.0.is_empty() { words.to_owned() } else { words.replace(&*self.0, "…") }
    }
}

/// Three dots, for any secret.
impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_in_the_debug_text_of_the_settings() {
        let provider = ProviderSettings {
            name: "openai".into(),
            api: ModelApi::Openai,
            base_url: "https://api.openai.com/v1".parse().unwrap(),
            key: Some(Secret::new("sk-very-secret")),
            default_model: None,
            missing: None,
        };
        let settings = ModelSettings { providers: vec![provider], ..ModelSettings::default() };
        let text = format!("{settings:?}");
        assert!(text.contains("openai") && text.contains("Secret(…)"), "{text}");
        assert!(!text.contains("very"), "{text}");
    }

    #[test]
    fn a_key_is_taken_out_of_the_words_of_others() {
        let key = Secret::new("sk-1");
        assert_eq!(key.hidden_in("wrong key: sk-1!"), "wrong key: …!");
        assert_eq!(Secret::new("").hidden_in("words"), "words");
    }

    #[test]
    fn by_default_ollama_is_looked_for_on_this_machine() {
        let settings = ModelSettings::default();
        assert_eq!(settings.ollama.unwrap().as_str(), "http://127.0.0.1:11434/");
        assert!(ModelSettings::none().ollama.is_none());
    }
}

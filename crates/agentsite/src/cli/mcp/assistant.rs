//! The key of an assistant that `agentsite connect` set up.
//!
//! Promises: an assistant has its own key, with the scope `call` or that of one agent, and never the admin
//! token. It is made once, through the running site, and kept in the data folder; a second look finds it
//! again, so that keys do not pile up. One that was revoked stays revoked: it is not replaced.

use agentsite_client::Token;
use agentsite_protocol::{AgentName, Scope};
use clap::builder::TypedValueParser;
use serde_json::Value;

use crate::cli::shell::{Shell, field};
use crate::exit::CliError;

/// Reads the name of an assistant, which becomes part of a file's name.
pub(crate) fn name_parser() -> impl TypedValueParser<Value = String> {
    clap::builder::NonEmptyStringValueParser::new().try_map(|name: String| {
        let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        if name.len() <= 100 && name.chars().all(fits) { Ok(name) } else { Err("use a-z, 0-9 and -") }
    })
}

/// The key of this assistant, made when there is none.
pub(crate) async fn key(
    shell: &Shell,
    assistant: &str,
    agent: Option<&AgentName>,
) -> Result<Token, CliError> {
    secret(shell, assistant, agent).await.map(|secret| Token::new(&secret))
}

/// The text of this key, for the file of a program that calls with it by itself.
pub(crate) async fn secret(
    shell: &Shell,
    assistant: &str,
    agent: Option<&AgentName>,
) -> Result<String, CliError> {
    let data = shell.data()?;
    if let Some(key) = data.assistant_key(assistant) {
        return Ok(key);
    }
    let scope = agent.map_or(Scope::Call, |agent| Scope::CallAgent(agent.clone()));
    let body = serde_json::json!({ "label": format!("assistant: {assistant}"), "scopes": [scope] });
    let made: Value = shell.site()?.post("api/keys", &body).await?;
    let secret = field(&made, "secret");
    data.keep_assistant_key(assistant, &secret)?;
    Ok(secret)
}

//! The messages of ACP (Agent Client Protocol, version 1) on the wire: JSON-RPC 2.0, one message a line.
//!
//! Promises: reading is lenient, because agents add fields and kinds; what is not understood is `None` or
//! left unchanged. Only what the client side needs is here. The error codes are those of JSON-RPC and ACP;
//! the site never exposes them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The one supported version.
pub(super) const VERSION: u64 = 1;

/// JSON-RPC: there is no such method.
const NO_SUCH_METHOD: i64 = -32601;

/// JSON-RPC: the parameters are wrong.
const BAD_PARAMETERS: i64 = -32602;

/// ACP: sign in first.
const SIGN_IN_FIRST: i64 = -32000;

/// A message of the agent: a request, a notification or an answer.
#[derive(Debug, Deserialize)]
pub(super) struct Incoming {
    #[serde(default)]
    pub(super) id: Option<Value>,
    #[serde(default)]
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) params: Value,
    #[serde(default)]
    pub(super) result: Value,
    #[serde(default)]
    pub(super) error: Option<RpcError>,
}

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(super) struct RpcError {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    data: Value,
}

/// Longest error text of an agent that is passed on.
const LONGEST_ERROR: usize = 500;

impl RpcError {
    /// There is no such method here.
    pub(super) fn no_such_method(method: &str) -> Self {
        Self::new(NO_SUCH_METHOD, format!("this client does not offer {method}"))
    }

    /// The request cannot be done; the text gives the reason.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self::new(BAD_PARAMETERS, why.into())
    }

    fn new(code: i64, message: String) -> Self {
        Self { code, message, data: Value::Null }
    }

    /// Whether the agent requires its user to sign in.
    pub(super) const fn wants_sign_in(&self) -> bool {
        self.code == SIGN_IN_FIRST
    }

    /// The agent's words, cut to a bearable length.
    pub(super) fn words(&self) -> String {
        let details = match &self.data {
            Value::String(details) => Some(details.as_str()),
            data => data.get("details").or_else(|| data.get("message")).and_then(Value::as_str),
        };
        let told = match details {
            Some(details) => format!("{}: {details}", self.message),
            None => self.message.clone(),
        };
        told.chars().take(LONGEST_ERROR).collect()
    }
}

/// A request of ours as it is written.
pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notification of ours as it is written.
pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// Our answer to a request of the agent as it is written.
pub(super) fn answer(id: &Value, answer: Result<Value, RpcError>) -> Value {
    match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
    }
}

/// What an agent says of itself when the talk begins.
#[derive(Debug, Clone, Default)]
pub(super) struct Abilities {
    /// Whether it can take up a session that it was in before.
    pub(super) load: bool,
    /// Whether it wants a notification when a session is no longer used.
    pub(super) close: bool,
    /// Whether it takes pictures.
    pub(super) image: bool,
    /// Whether it accepts audio.
    pub(super) audio: bool,
    /// Whether it takes files inside of a prompt.
    pub(super) embedded: bool,
    /// The ways to sign in, by their ids.
    pub(super) auth_methods: Vec<String>,
}

/// Most ways to sign in that are read; an agent has one or two.
const MOST_METHODS: usize = 20;

impl Abilities {
    /// Reads the answer to `initialize`.
    ///
    /// # Errors
    /// A sentence when the agent uses another version.
    pub(super) fn read(answer: &Value) -> Result<Self, String> {
        let version = &answer["protocolVersion"];
        if version.as_u64() != Some(VERSION) {
            return Err(format!(
                "its server uses version {version} of the Agent Client Protocol, but this site supports \
                 only {VERSION}; install another version of it"
            ));
        }
        let able = &answer["agentCapabilities"];
        let yes = |value: &Value| value.as_bool().unwrap_or(false);
        let prompt = &able["promptCapabilities"];
        let methods = answer["authMethods"].as_array().map(Vec::as_slice).unwrap_or_default();
        let method = |method: &Value| method["id"].as_str().map(str::to_owned);
        Ok(Self {
            load: yes(&able["loadSession"]),
            close: able["sessionCapabilities"]["close"].is_object(),
            image: yes(&prompt["image"]),
            audio: yes(&prompt["audio"]),
            embedded: yes(&prompt["embeddedContext"]),
            auth_methods: methods.iter().take(MOST_METHODS).filter_map(method).collect(),
        })
    }
}

/// A question of the agent: may it do this?
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionRequest {
    /// What it wants to do.
    #[serde(default)]
    pub(super) tool_call: Value,
    /// What can be answered.
    #[serde(default)]
    pub(super) options: Vec<PermissionOption>,
}

/// One of the answers to a question of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionOption {
    /// The agent's id of it.
    pub(super) option_id: String,
    /// As text.
    #[serde(default)]
    pub(super) name: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`, or one that this version does not know.
    #[serde(default)]
    pub(super) kind: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abilities_are_read_and_another_version_is_refused() {
        let answer = json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "new": 7},
                "sessionCapabilities": {"close": {}}
            },
            "authMethods": [{"id": "key", "name": "Key"}, {"name": "nameless"}]
        });
        let able = Abilities::read(&answer).unwrap();
        assert!(able.load && able.close && able.image && !able.audio && !able.embedded);
        assert_eq!(able.auth_methods, ["key"]);
        let error = Abilities::read(&json!({"protocolVersion": 2})).unwrap_err();
        assert!(error.contains("version 2"), "{error}");
        assert!(Abilities::read(&json!("hello")).is_err());
    }

    #[test]
    fn an_error_is_told_with_its_details() {
        let error: RpcError = serde_json::from_value(
            json!({"code": -32603, "message": "Internal", "data": {"details": "no key"}}),
        )
        .unwrap();
        assert_eq!(error.words(), "Internal: no key");
        let error: RpcError = serde_json::from_value(json!({"code": -32000})).unwrap();
        assert!(error.wants_sign_in());
    }
}

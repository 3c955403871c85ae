//! Input: what a tool server needs from its caller before it can continue.
//!
//! Promises: a question is part of the answer to a request, and the caller repeats the request with what it
//! was asked for; neither side holds a connection or stores anything except [`InputNeeded::state`], which the
//! edge seals. It does not prompt users.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonMap;

/// How a request went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply<T> {
    /// Here is the result.
    Done(T),
    /// More must be known first.
    Input(InputNeeded),
}

/// What a tool server asks for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct InputNeeded {
    /// The questions by names that the server chose; empty when the request is simply to be made again.
    pub requests: BTreeMap<String, InputRequest>,
    /// The state that the server expects back; callers see it only sealed.
    pub state: Option<Value>,
}

/// One question: `elicitation/create`, `sampling/createMessage` or `roots/list`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct InputRequest {
    /// Which kind.
    pub method: String,
    /// What exactly.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub params: JsonMap,
}

/// The answers to a request that was made before.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Round {
    /// The answers by the names of their questions.
    pub answers: BTreeMap<String, Value>,
    /// What the server wanted to be reminded of, unsealed and checked.
    pub state: Option<Value>,
}

/// What a client can do for a tool server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Abilities {
    /// It fills forms.
    pub forms: bool,
    /// It opens addresses in a browser.
    pub urls: bool,
    /// It asks its model.
    pub sampling: bool,
    /// It tells its folders.
    pub roots: bool,
    /// It follows tasks.
    pub tasks: bool,
}

impl Abilities {
    /// Everything, for a caller that passes questions on.
    pub const ALL: Self = Self { forms: true, urls: true, sampling: true, roots: true, tasks: true };

    /// Whether a question may be put to this client.
    #[must_use]
    pub fn allows(&self, request: &InputRequest) -> bool {
        match request.method.as_str() {
            "elicitation/create" if request.params.get("mode").is_some_and(|mode| mode == "url") => self.urls,
            "elicitation/create" => self.forms,
            "sampling/createMessage" => self.sampling,
            "roots/list" => self.roots,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asks(method: &str, params: &Value) -> InputRequest {
        serde_json::from_value(json!({ "method": method, "params": params })).unwrap()
    }

    #[test]
    fn only_what_a_client_can_do_is_asked_of_it() {
        let forms = Abilities { forms: true, ..Abilities::default() };
        assert!(forms.allows(&asks("elicitation/create", &json!({ "message": "who?" }))));
        assert!(!forms.allows(&asks("elicitation/create", &json!({ "mode": "url" }))));
        assert!(!forms.allows(&asks("sampling/createMessage", &json!({}))));
        assert!(!Abilities::ALL.allows(&asks("tasks/get", &json!({}))));
        assert!(Abilities::ALL.allows(&asks("roots/list", &json!({}))));
    }
}

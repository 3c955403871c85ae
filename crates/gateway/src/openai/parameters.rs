//! Parameters: which of a model's knobs mean something to an agent.
//!
//! Promises: whatever would change what an answer is (more answers, probabilities, calls of the caller's
//! functions, sound) is refused by name; whatever only tunes a model (temperature, limits, caches, tiers) is
//! ignored, as is everything unknown.

use agentsite_protocol::JsonMap;
use serde_json::Value;

use super::{unsupported, wrong};
use crate::failure::Failure;

/// How the answer is wanted.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Format {
    /// As text.
    #[default]
    Text,
    /// As JSON and nothing else, of this schema if one is given.
    Json(Option<Value>),
}

/// Refuses what an agent cannot honour.
pub(super) fn check(given: &JsonMap) -> Result<(), Failure> {
    for (name, value) in given {
        if let Some(why) = refusal(name, value) {
            return Err(unsupported(name, why));
        }
    }
    Ok(())
}

fn refusal(name: &str, value: &Value) -> Option<&'static str> {
    let is_more = |least: u64| value.as_u64().is_some_and(|number| number > least);
    let is_filled = match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    };
    match name {
        "n" if is_more(1) => {
            Some("is not supported: an agent gives one answer; send the request again for another")
        }
        "logprobs" if is_filled => Some("is not supported: an agent's answer has no probabilities"),
        "top_logprobs" if is_more(0) => Some("is not supported: an agent's answer has no probabilities"),
        "include" if names(value, "logprobs") => {
            Some("is not supported: an agent's answer has no probabilities")
        }
        "tool_choice" | "function_call" if forces(value) => {
            Some("is not supported: an agent uses its own tools and calls none of yours; leave it out")
        }
        "stop" if is_filled => Some("is not supported: an agent's answer is not cut; cut it yourself"),
        "modalities" if names(value, "audio") => Some("is not supported: answers are text; leave audio out"),
        "audio" if is_filled => Some("is not supported: answers are text; leave it out"),
        "prompt" if is_filled => {
            Some("is not supported: this site keeps no prompt templates; send the text itself")
        }
        _ => None,
    }
}

fn names(list: &Value, word: &str) -> bool {
    list.as_array()
        .is_some_and(|items| items.iter().filter_map(Value::as_str).any(|item| item.contains(word)))
}

/// Whether a choice of tools demands a call.
fn forces(choice: &Value) -> bool {
    match choice {
        Value::Null => false,
        Value::String(word) => word == "required",
        Value::Object(choice) => {
            choice.get("type").and_then(Value::as_str) != Some("allowed_tools")
                || choice.get("mode").and_then(Value::as_str) == Some("required")
        }
        _ => true,
    }
}

impl Format {
    /// Reads `response_format` or `text.format`.
    pub(super) fn read(given: &Value, field: &str) -> Result<Self, Failure> {
        match given["type"].as_str() {
            _ if given.is_null() => Ok(Self::Text),
            Some("text") => Ok(Self::Text),
            Some("json_object") => Ok(Self::Json(None)),
            Some("json_schema") => {
                let nested = &given["json_schema"]["schema"];
                let schema = if nested.is_null() { &given["schema"] } else { nested };
                Ok(Self::Json(Some(schema.clone()).filter(|schema| !schema.is_null())))
            }
            _ => Err(wrong(&format!("{field}.type"), "must be text, json_object or json_schema")),
        }
    }

    /// What the agent gets to know of it, if anything.
    pub(super) fn request(&self) -> Option<String> {
        match self {
            Self::Text => None,
            Self::Json(None) => Some("Answer with one JSON object and nothing else.".into()),
            Self::Json(Some(schema)) => {
                Some(format!("Answer with JSON of this JSON Schema and nothing else:\n{schema}"))
            }
        }
    }

    pub(super) const fn is_json(&self) -> bool {
        matches!(self, Self::Json(_))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(given: &Value) -> Result<(), Failure> {
        check(given.as_object().unwrap())
    }

    #[test]
    fn what_tunes_a_model_is_ignored() {
        let tuning = json!({
            "temperature": 0.2, "top_p": 1, "max_tokens": 5, "seed": 7, "n": 1, "logprobs": false, "stop": null,
            "presence_penalty": 1, "tools": [{ "type": "function" }], "tool_choice": "auto", "user": "me",
            "modalities": ["text"], "logit_bias": {}, "top_logprobs": 0, "include": ["reasoning.encrypted_content"],
            "something_new": { "a": 1 },
        });
        assert!(checked(&tuning).is_ok());
        assert!(checked(&json!({ "tool_choice": "none", "stop": [], "audio": null })).is_ok());
        assert!(checked(&json!({ "tool_choice": { "type": "allowed_tools", "mode": "auto" } })).is_ok());
    }

    #[test]
    fn what_changes_the_meaning_is_refused_by_name() {
        for (name, value) in [
            ("n", json!(2)),
            ("logprobs", json!(true)),
            ("top_logprobs", json!(3)),
            ("tool_choice", json!("required")),
            ("tool_choice", json!({ "type": "function", "function": { "name": "f" } })),
            ("function_call", json!({ "name": "f" })),
            ("stop", json!(["x"])),
            ("modalities", json!(["text", "audio"])),
            ("audio", json!({ "voice": "x" })),
            ("prompt", json!({ "id": "p" })),
            ("include", json!(["message.output_text.logprobs"])),
        ] {
            let failure = checked(&json!({ name: value })).unwrap_err();
            assert!(
                failure.sentence.starts_with(&format!("`{name}` is not supported")),
                "{}",
                failure.sentence
            );
        }
    }

    #[test]
    fn formats_are_read_in_both_spellings() {
        let schema = json!({ "type": "object" });
        let read = |given: &Value| Format::read(given, "response_format");
        assert_eq!(read(&Value::Null).unwrap(), Format::Text);
        assert_eq!(read(&json!({ "type": "text" })).unwrap(), Format::Text);
        assert_eq!(read(&json!({ "type": "json_object" })).unwrap(), Format::Json(None));
        let chat = json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": schema } });
        let responses = json!({ "type": "json_schema", "name": "x", "schema": schema });
        assert_eq!(read(&chat).unwrap(), Format::Json(Some(schema.clone())));
        assert_eq!(read(&chat).unwrap(), read(&responses).unwrap());
        assert!(read(&chat).unwrap().request().unwrap().contains(r#"{"type":"object"}"#));
        assert!(read(&json!({ "type": "grammar" })).is_err());
    }
}

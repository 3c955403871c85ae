//! Made-up values: arguments that fit a schema, and answers to what a server asks.
//!
//! Promises: what a schema requires is there, and a default is taken where there is one. It knows the simple
//! kinds only.

use agentsite_protocol::JsonMap;
use agentsite_protocol::mcp::InputRequest;
use serde_json::{Value, json};

/// Arguments that fit the schema of a tool.
pub(super) fn arguments(schema: &Value) -> JsonMap {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let named = required.iter().filter_map(Value::as_str);
    named.map(|name| (name.to_owned(), value(&schema["properties"][name]))).collect()
}

/// An answer to a question of a server.
pub(super) fn answer(asked: &InputRequest) -> Value {
    match asked.method.as_str() {
        "elicitation/create" => {
            json!({ "action": "accept", "content": form(asked.params.get("requestedSchema").unwrap_or(&Value::Null)) })
        }
        "sampling/createMessage" => json!({
            "role": "assistant",
            "content": { "type": "text", "text": "a made-up answer" },
            "model": "none",
            "stopReason": "endTurn",
        }),
        _ => json!({ "roots": [] }),
    }
}

/// A filled form: defaults, and what is required in addition.
fn form(schema: &Value) -> JsonMap {
    let mut filled = arguments(schema);
    let fields = schema["properties"].as_object();
    for (name, field) in fields.into_iter().flatten() {
        if let Some(default) = field.get("default") {
            filled.insert(name.clone(), default.clone());
        }
    }
    filled
}

fn value(schema: &Value) -> Value {
    if let Some(given) = schema.get("default").or_else(|| schema["enum"].get(0)) {
        return given.clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some("null") => Value::Null,
        _ => json!("test"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_is_made_up_and_defaults_are_kept() {
        let schema = json!({
            "properties": { "n": { "type": "integer" }, "s": { "type": "string", "default": "d" }, "o": { "default": 2 } },
            "required": ["n", "s"],
        });
        assert_eq!(Value::Object(arguments(&schema)), json!({ "n": 1, "s": "d" }));
        assert_eq!(Value::Object(form(&schema)), json!({ "n": 1, "s": "d", "o": 2 }));
        assert_eq!(arguments(&json!({})), JsonMap::new());
    }
}

//! Answers to what a tool asked, read from structured content or from plain words.
//!
//! Promises: an answer has the form that MCP gives to the answer of its question. Words that do not fit are
//! refused with what would. It does not check a filled form against its schema: the tool does.

use agentsite_protocol::mcp::InputRequest;
use serde_json::{Value, json};

use super::question::{choices, fields};

/// Words for yes and no.
const YES: [&str; 6] = ["yes", "y", "true", "ok", "sure", "1"];
const NO: [&str; 5] = ["no", "n", "false", "never", "0"];

/// Words that decline a form.
const DECLINE: [&str; 1] = ["decline"];
const CANCEL: [&str; 1] = ["cancel"];

/// The answer in a value; the content of a form may come without its wrapping. `None` when it is not an
/// answer.
pub(super) fn of_data(request: &InputRequest, value: Value) -> Option<Value> {
    if !value.is_object() {
        return None;
    }
    let bare = request.method == "elicitation/create" && !value["action"].is_string();
    Some(if bare { accepted(&value) } else { value })
}

/// The answer as text.
pub(super) fn of_words(request: &InputRequest, words: &str) -> Result<Value, String> {
    match request.method.as_str() {
        "elicitation/create" => of_form(request, words),
        "sampling/createMessage" => Ok(
            json!({ "role": "assistant", "content": { "type": "text", "text": words }, "model": "caller" }),
        ),
        "roots/list" => {
            let roots: Vec<Value> = words
                .split_whitespace()
                .filter(|word| word.starts_with("file://"))
                .map(|uri| json!({ "uri": uri }))
                .collect();
            if roots.is_empty() {
                return Err("Name at least one address that begins with file://".into());
            }
            Ok(json!({ "roots": roots }))
        }
        _ => Err("This cannot be answered with text".into()),
    }
}

fn of_form(request: &InputRequest, words: &str) -> Result<Value, String> {
    let is = |known: &[&str]| known.iter().any(|word| words.eq_ignore_ascii_case(word));
    if is(&DECLINE) || is(&CANCEL) {
        return Ok(json!({ "action": words.to_ascii_lowercase() }));
    }
    let mut fields = fields(request);
    match (fields.next(), fields.next()) {
        // A form without fields, or an address to open: the text states that it is done.
        (None, _) => Ok(if is(&NO) { json!({ "action": "decline" }) } else { accepted(&json!({})) }),
        (Some((name, field)), None) => Ok(accepted(&json!({ name: value_of(field, words)? }))),
        (Some(_), Some(_)) => Err("The form has several fields; answer with a data part".into()),
    }
}

fn accepted(content: &Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// The value that words mean for a field.
fn value_of(field: &Value, words: &str) -> Result<Value, String> {
    let known = choices(field);
    let chosen = |word: &str| -> Result<Value, String> {
        let fits = |text: &str| text.eq_ignore_ascii_case(word);
        let found = known.iter().find(|choice| fits(choice.value) || choice.title.is_some_and(fits));
        found.map(|choice| choice.value.into()).ok_or_else(|| format!("`{word}` is not one of the choices"))
    };
    match field["type"].as_str() {
        Some("array") => {
            let list = words.split(',').map(str::trim).filter(|word| !word.is_empty());
            list.map(|word| if known.is_empty() { Ok(word.into()) } else { chosen(word) }).collect()
        }
        _ if !known.is_empty() => chosen(words),
        Some("boolean") => {
            let is = |known: &[&str]| known.iter().any(|word| words.eq_ignore_ascii_case(word));
            if is(&YES) {
                Ok(true.into())
            } else if is(&NO) {
                Ok(false.into())
            } else {
                Err("Answer with yes or no".into())
            }
        }
        Some("integer") => {
            words.parse::<i64>().map(Value::from).map_err(|_| "Answer with a whole number".into())
        }
        Some("number") => words.parse::<f64>().map(Value::from).map_err(|_| "Answer with a number".into()),
        _ => Ok(words.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(fields: &Value) -> InputRequest {
        let params = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": fields } });
        let params = params.as_object().unwrap().clone();
        InputRequest { method: "elicitation/create".into(), params }
    }

    #[test]
    fn words_fill_a_form_of_one_field() {
        let titled = json!([{ "const": "r", "title": "Red" }, { "const": "b", "title": "Blue" }]);
        for (field, words, value) in [
            (json!({ "type": "string" }), "Ada", json!("Ada")),
            (json!({ "type": "boolean" }), "Yes", json!(true)),
            (json!({ "type": "boolean" }), "no", json!(false)),
            (json!({ "type": "integer" }), "7", json!(7)),
            (json!({ "type": "number" }), "7.5", json!(7.5)),
            (json!({ "type": "string", "enum": ["a", "b"] }), "B", json!("b")),
            (json!({ "type": "string", "oneOf": titled }), "blue", json!("b")),
            (json!({ "type": "array", "items": { "anyOf": titled } }), "red, b", json!(["r", "b"])),
        ] {
            let answer = of_words(&form(&json!({ "it": field })), words).unwrap();
            assert_eq!(answer, json!({ "action": "accept", "content": { "it": value } }), "{words}");
        }
    }

    #[test]
    fn words_that_do_not_fit_are_refused_with_what_would() {
        let red = json!({ "type": "string", "enum": ["red"] });
        for (fields, words, why) in [
            (json!({ "it": { "type": "boolean" } }), "perhaps", "yes or no"),
            (json!({ "it": { "type": "integer" } }), "many", "whole number"),
            (json!({ "it": red }), "blue", "not one of the choices"),
            (json!({ "a": {}, "b": {} }), "both", "several fields"),
        ] {
            let error = of_words(&form(&fields), words).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_form_can_be_turned_down() {
        let asked = form(&json!({ "it": { "type": "string" } }));
        assert_eq!(of_words(&asked, "Decline").unwrap(), json!({ "action": "decline" }));
        assert_eq!(of_words(&asked, "cancel").unwrap(), json!({ "action": "cancel" }));
    }

    #[test]
    fn models_folders_and_addresses_are_answered_in_words_too() {
        let request = |method: &str| InputRequest { method: method.into(), ..InputRequest::default() };
        let said = of_words(&request("sampling/createMessage"), "Paris").unwrap();
        assert_eq!(said["content"]["text"], "Paris");
        let roots = of_words(&request("roots/list"), "use file:///a and file:///b").unwrap();
        assert_eq!(roots, json!({ "roots": [{ "uri": "file:///a" }, { "uri": "file:///b" }] }));
        assert!(of_words(&request("roots/list"), "my home").is_err());
        assert_eq!(of_words(&form(&json!({})), "done").unwrap()["action"], "accept");
        assert_eq!(of_words(&form(&json!({})), "no").unwrap()["action"], "decline");
    }

    #[test]
    fn the_content_of_a_form_may_come_bare() {
        let asked = form(&json!({ "it": { "type": "string" } }));
        let whole = json!({ "action": "accept", "content": { "it": "x" } });
        assert_eq!(of_data(&asked, json!({ "it": "x" })), Some(whole.clone()));
        assert_eq!(of_data(&asked, whole.clone()), Some(whole));
        assert_eq!(of_data(&asked, json!(12345)), None);
    }
}

//! What a tool wants to know, as text for people.
//!
//! Promises: every field of a form is named with its kind and its choices, and the text explains how to
//! answer. It is bounded for any input of the tool.

use std::collections::BTreeMap;

use agentsite_protocol::mcp::InputRequest;
use serde_json::{Value, json};

/// Longest text of a tool that is repeated in a question.
const MAX_WORDS: usize = 4_000;

/// Most fields, choices or messages that are written out.
const MAX_LISTED: usize = 50;

/// All that is asked.
pub(super) fn in_words(requests: &BTreeMap<String, InputRequest>, misread: Option<&str>) -> String {
    let mut words: Vec<String> = misread.map(|why| format!("{why}.")).into_iter().collect();
    words.extend(requests.values().map(one_in_words));
    words.push(how_to_answer(requests));
    words.join("\n")
}

fn one_in_words(request: &InputRequest) -> String {
    match request.method.as_str() {
        "elicitation/create" => form(request),
        "sampling/createMessage" => {
            let said = request.params.get("messages").and_then(Value::as_array).into_iter().flatten();
            let said = said.take(MAX_LISTED).map(|message| excerpt(message["content"]["text"].as_str()));
            format!("The tool wants a model to answer this:\n{}", said.collect::<Vec<_>>().join("\n"))
        }
        "roots/list" => {
            "The tool needs the folders that it may use, as addresses that begin with file://".into()
        }
        other => format!("The tool asks for {}", excerpt(Some(other))),
    }
}

fn form(request: &InputRequest) -> String {
    let text = |name: &str| excerpt(request.params.get(name).and_then(Value::as_str));
    let mut lines = vec![text("message")];
    if request.params.contains_key("url") {
        lines.push(format!("Open {} in a browser and confirm when it is done.", text("url")));
    }
    let required = required(request);
    for (name, field) in fields(request).take(MAX_LISTED) {
        lines.push(format!("- {}", field_in_words(name, field, required.contains(&name.as_str()))));
    }
    lines.join("\n")
}

fn field_in_words(name: &str, field: &Value, required: bool) -> String {
    let mut words = format!("{} ({}", excerpt(Some(name)), field["type"].as_str().unwrap_or("any"));
    if !required {
        words.push_str(", may be left out");
    }
    words.push(')');
    if let Some(told) = field["description"].as_str().or(field["title"].as_str()) {
        words.push_str(&format!(": {}", excerpt(Some(told))));
    }
    let choices: Vec<String> =
        choices(field).into_iter().take(MAX_LISTED).map(|choice| excerpt(Some(choice.value))).collect();
    if !choices.is_empty() {
        words.push_str(&format!("; one of {}", choices.join(", ")));
    }
    words
}

fn how_to_answer(requests: &BTreeMap<String, InputRequest>) -> String {
    let answers: serde_json::Map<String, Value> =
        requests.iter().map(|(key, request)| (key.clone(), example(request))).collect();
    let structured = format!("Answer with a data part such as {}", json!({ "answers": answers }));
    let alone = requests.len() == 1 && requests.values().all(is_answered_in_words);
    if alone { format!("{structured}, or simply as text.") } else { format!("{structured}.") }
}

fn example(request: &InputRequest) -> Value {
    match request.method.as_str() {
        "elicitation/create" => {
            let content: serde_json::Map<String, Value> =
                fields(request).take(MAX_LISTED).map(|(name, _)| (name.clone(), "…".into())).collect();
            json!({ "action": "accept", "content": content })
        }
        "roots/list" => json!({ "roots": [{ "uri": "file:///…" }] }),
        _ => json!({ "role": "assistant", "content": { "type": "text", "text": "…" }, "model": "…" }),
    }
}

/// Whether plain words can be an answer.
fn is_answered_in_words(request: &InputRequest) -> bool {
    request.method != "elicitation/create" || fields(request).count() <= 1
}

/// The fields of a form.
pub(super) fn fields(request: &InputRequest) -> impl Iterator<Item = (&String, &Value)> {
    let schema = request.params.get("requestedSchema");
    schema.and_then(|schema| schema["properties"].as_object()).into_iter().flatten()
}

fn required(request: &InputRequest) -> Vec<&str> {
    let schema = request.params.get("requestedSchema");
    let list = schema.and_then(|schema| schema["required"].as_array()).into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

/// One of the values that a field may have.
pub(super) struct Choice<'a> {
    pub(super) value: &'a str,
    pub(super) title: Option<&'a str>,
}

/// The values that a field may have, in each way in which a form can say so.
pub(super) fn choices(field: &Value) -> Vec<Choice<'_>> {
    let place = if field["type"] == "array" { &field["items"] } else { field };
    if let Some(values) = place["enum"].as_array() {
        let titles = place["enumNames"].as_array();
        let title = |at: usize| titles.and_then(|titles| titles.get(at)?.as_str());
        let known = values.iter().enumerate();
        return known
            .filter_map(|(at, value)| Some(Choice { value: value.as_str()?, title: title(at) }))
            .collect();
    }
    let titled = place["oneOf"].as_array().or(place["anyOf"].as_array()).into_iter().flatten();
    titled
        .filter_map(|one| Some(Choice { value: one["const"].as_str()?, title: one["title"].as_str() }))
        .collect()
}

fn excerpt(text: Option<&str>) -> String {
    text.unwrap_or_default().chars().take(MAX_WORDS).collect()
}

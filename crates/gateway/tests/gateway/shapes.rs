//! Live answers held against the shapes that `/openapi.json` gives them, derived and hand-written alike.
//!
//! The check knows as much of JSON Schema as our shapes use for structure: types, members, choices and
//! references. Forms of texts are left to the Python client in the stories of the binary.

use serde_json::{Value, json};

use crate::story::{Story, body, says};

/// What of `value` does not fit `schema`; `at` is where it stands.
fn misfits(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let shape = document.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("{name}"));
        return misfits(document, shape, value, at);
    }
    let mut wrong = Vec::new();
    let fits = |choice: &&Value| misfits(document, choice, value, at).is_empty();
    for choices in ["anyOf", "oneOf"].iter().filter_map(|word| schema[*word].as_array()) {
        if !choices.iter().any(|choice| fits(&choice)) {
            wrong.push(format!("{at} is none of the choices"));
        }
    }
    for all in schema["allOf"].as_array().into_iter().flatten() {
        wrong.extend(misfits(document, all, value, at));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(value, kind)) {
        wrong.push(format!("{at} is {value}, not {kinds:?}"));
    }
    if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
        wrong.push(format!("{at} is {value}, not one of {}", schema["enum"]));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && value.get(name).is_none() {
            wrong.push(format!("{at}.{name} is missing"));
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(shape), _) | (None, shape @ Value::Object(_)) => {
                wrong.extend(misfits(document, shape, member, &format!("{at}.{name}")));
            }
            (None, Value::Bool(false)) => wrong.push(format!("{at}.{name} is not described")),
            (None, _) => {}
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        wrong.extend(misfits(document, &schema["items"], item, &format!("{at}[{index}]")));
    }
    wrong
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

#[test]
fn the_check_sees_what_does_not_fit() {
    let document =
        json!({ "a": { "type": "object", "required": ["b"], "properties": { "b": { "type": "integer" } } } });
    let found = |value: Value| misfits(&document, &json!({ "$ref": "#/a" }), &value, "it").len();
    assert_eq!(
        [found(json!({ "b": 1 })), found(json!({ "b": "1" })), found(json!({})), found(json!([]))],
        [0, 1, 1, 1]
    );
}

#[tokio::test]
async fn answers_have_the_shapes_that_the_document_gives_them() {
    let story = Story::begin().await;
    let document = body(story.get("/openapi.json").send().await.unwrap()).await;
    let task = story.call("echo", "SendMessage", says("hi")).await["result"]["task"]["id"].clone();
    let begun = json!({ "agent": "echo", "message": "hello" });
    let begun = body(story.post("/api/conversations").json(&begun).send().await.unwrap()).await;
    let key = json!({ "scopes": ["call"], "label": "a key", "expiresIn": "1d" });
    story.post("/api/keys").json(&key).send().await.unwrap();
    let kept = json!({ "query": { "text": "sings" } });
    story.post("/api/queries").json(&kept).send().await.unwrap();
    let ids = [("tasks", &task), ("conversations", &begun["conversation"]["id"])];
    let mut tried = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let answer = &item["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        let id = ids.iter().find(|(part, _)| path.contains(&format!("/{part}/{{id}}")));
        let mut address = path.replace("/agents/{name}", "/agents/echo").replace("{agent}", "echo");
        if let Some((_, id)) = id {
            address = address.replace("{id}", id.as_str().unwrap());
        }
        if answer.is_null() || address.contains('{') {
            continue;
        }
        let response = story.get(&address).send().await.unwrap();
        if response.status().is_success() && response.headers()["content-type"] == "application/json" {
            let wrong = misfits(&document, answer, &body(response).await, path);
            assert!(wrong.is_empty(), "{wrong:#?}");
            tried += 1;
        }
    }
    assert!(tried >= 25, "only {tried} answers were looked at");
}

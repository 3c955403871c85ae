//! Operation: one operation of a document, and the tool that it becomes.
//!
//! Promises: names are unique, at most 64 characters of letters, digits, `_` and `-`, and the same for the
//! same document. Parameters are side by side in the tool's arguments, the body under `body`; names that
//! occur twice are distinguished by their place.

use std::collections::BTreeSet;

use agentsite_protocol::JsonMap;
use agentsite_protocol::mcp::Tool;
use http::Method;
use serde_json::{Value, json};
use url::Url;

use super::credentials::{Scheme, ways};
use super::document::Document;
use super::schema::{NodesLeft, Schemas};

/// Longest name of a tool that models and clients take.
const LONGEST_NAME: usize = 64;

/// Longest description; a model reads all of them.
const LONGEST_WORDS: usize = 1_500;

/// Parameters of one operation; the largest known has about eighty.
const MOST_PARAMETERS: usize = 200;

/// Where a parameter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ParameterIn {
    Path,
    Query,
    Header,
    Cookie,
}

impl ParameterIn {
    fn read(word: &str) -> Option<Self> {
        Some(match word {
            "path" => Self::Path,
            "query" => Self::Query,
            "header" => Self::Header,
            "cookie" => Self::Cookie,
            _ => return None,
        })
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

/// A parameter of an operation.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    /// Its name in the request.
    pub(super) name: String,
    /// Its name among the arguments.
    pub(super) argument: String,
    pub(super) place: ParameterIn,
    pub(super) style: String,
    pub(super) explode: bool,
    /// Whether it is written as JSON.
    pub(super) json: bool,
}

/// How a body is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BodyKind {
    Json,
    Form,
    Multipart,
    /// As the text that the argument is.
    Text,
}

/// The body of an operation.
#[derive(Debug, Clone)]
pub(super) struct Body {
    pub(super) kind: BodyKind,
    pub(super) media_type: String,
}

/// One operation.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) tool: Tool,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) base: Url,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    pub(super) ways: Vec<Vec<Scheme>>,
    /// Whether the result is under `result`, because it is not an object.
    pub(super) wrapped: bool,
}

/// The name of the argument that holds the body.
pub(super) const BODY: &str = "body";

/// The position of an operation in its document.
pub(super) struct OperationPosition<'a> {
    pub(super) document: &'a Document,
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) item: &'a Value,
    pub(super) operation: &'a Value,
    pub(super) base: Url,
}

impl Operation {
    /// Makes the tool of an operation; `taken` are the names that are used already.
    pub(super) fn read(
        spot: OperationPosition<'_>,
        taken: &mut BTreeSet<String>,
        nodes_left: &mut NodesLeft,
    ) -> Self {
        let OperationPosition { document, method, path, item, operation, base } = spot;
        let mut schemas = Schemas::new(document, nodes_left);
        let (mut properties, mut required) = (JsonMap::new(), Vec::new());
        let mut parameters = Vec::new();
        for (place, parameter) in parameters_of(document, item, operation) {
            let Some(name) = parameter["name"].as_str() else { continue };
            let argument = free_argument(name, place, &properties);
            let (schema, json) = schema_of(parameter);
            let mut schema = schemas.take(schema);
            describe(&mut schema, parameter);
            properties.insert(argument.clone(), schema);
            if place == ParameterIn::Path || parameter["required"] == true {
                required.push(argument.clone());
            }
            let usual =
                if matches!(place, ParameterIn::Query | ParameterIn::Cookie) { "form" } else { "simple" };
            let style = parameter["style"].as_str().unwrap_or(usual).to_owned();
            let explode = parameter["explode"].as_bool().unwrap_or(style == "form");
            parameters.push(Parameter { name: name.to_owned(), argument, place, style, explode, json });
        }
        let wanted = document.resolve(&operation["requestBody"]).filter(|body| body.is_object());
        let body = wanted.and_then(|body| body_of(&body["content"]));
        if let (Some(wanted), Some((_, schema))) = (wanted, &body) {
            let mut schema = schemas.take(schema);
            describe(&mut schema, wanted);
            properties.insert(BODY.into(), schema);
            if wanted["required"] == true {
                required.push(BODY.into());
            }
        }
        let mut input = json!({"type": "object", "properties": properties, "additionalProperties": false});
        if !required.is_empty() {
            input["required"] = required.into();
        }
        with_defs(&mut input, schemas.defs());
        let output = output_of(document, operation, nodes_left);
        let wrapped = output.as_ref().is_some_and(|(_, wrapped)| *wrapped);
        let tool = Tool {
            name: free_name(operation["operationId"].as_str(), &method, path, taken),
            title: operation["summary"].as_str().map(|words| words.chars().take(200).collect()),
            description: Some(words(operation, item, &method, path)),
            input_schema: input,
            output_schema: output.map(|(schema, _)| schema),
            annotations: Some(hints(&method)),
            ..Tool::default()
        };
        let (ways, body) = (ways(document, operation), body.map(|(body, _)| body));
        Self { tool, method, path: path.to_owned(), base, parameters, body, ways, wrapped }
    }
}

/// The parameters, those of the operation before those of its path.
fn parameters_of<'a>(
    document: &'a Document,
    item: &'a Value,
    operation: &'a Value,
) -> Vec<(ParameterIn, &'a Value)> {
    let lists =
        [operation, item].map(|from| from["parameters"].as_array().map(Vec::as_slice).unwrap_or_default());
    let mut found: Vec<(ParameterIn, &Value)> = Vec::new();
    for parameter in lists.into_iter().flatten().filter_map(|parameter| document.resolve(parameter)) {
        let Some(place) = parameter["in"].as_str().and_then(ParameterIn::read) else { continue };
        let known =
            found.iter().any(|(other, earlier)| *other == place && earlier["name"] == parameter["name"]);
        if !known && found.len() < MOST_PARAMETERS {
            found.push((place, parameter));
        }
    }
    found
}

fn free_argument(name: &str, place: ParameterIn, properties: &JsonMap) -> String {
    let taken = |name: &str| name == BODY || properties.contains_key(name);
    let mut argument = if taken(name) { format!("{}_{name}", place.word()) } else { name.to_owned() };
    while taken(&argument) {
        argument.push('_');
    }
    argument
}

/// The schema of a parameter, and whether it is written as JSON.
fn schema_of(parameter: &Value) -> (&Value, bool) {
    match parameter["content"].as_object().and_then(|content| content.iter().next()) {
        Some((media, content)) => (&content["schema"], is_json(media)),
        None => (&parameter["schema"], false),
    }
}

fn describe(schema: &mut Value, from: &Value) {
    let words = from["description"].as_str().filter(|words| !words.trim().is_empty());
    if let (Some(words), Some(schema)) = (words, schema.as_object_mut()) {
        let words: String = words.chars().take(LONGEST_WORDS).collect();
        schema.insert("description".into(), words.into());
    }
}

pub(super) fn is_json(media: &str) -> bool {
    let essence = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

/// The form of a body that is understood best, with its schema.
fn body_of(content: &Value) -> Option<(Body, &Value)> {
    let content = content.as_object()?;
    let kind = |media: &str| match media.split(';').next().unwrap_or_default().trim() {
        media if is_json(media) => (0, BodyKind::Json),
        "application/x-www-form-urlencoded" => (1, BodyKind::Form),
        "multipart/form-data" => (2, BodyKind::Multipart),
        _ => (3, BodyKind::Text),
    };
    let best = content.iter().min_by_key(|(media, _)| kind(media).0)?;
    let (media, described) = best;
    let body = match kind(media).1 {
        // A star names no type that could be sent.
        BodyKind::Text if media.contains('*') => {
            Body { kind: BodyKind::Json, media_type: "application/json".into() }
        }
        kind => Body { kind, media_type: media.clone() },
    };
    Some((body, &described["schema"]))
}

/// The schema of what comes back in the best case, and whether it is under `result`.
fn output_of(document: &Document, operation: &Value, nodes_left: &mut NodesLeft) -> Option<(Value, bool)> {
    let responses = &operation["responses"];
    let response = ["200", "201", "202", "203", "2XX", "2xx"].iter().find_map(|code| responses.get(code))?;
    let content = document.resolve(response)?["content"].as_object()?;
    let (_, described) = content.iter().find(|(media, _)| is_json(media))?;
    let schema = described.get("schema")?;
    let whole = document.resolve(schema)?;
    let is_object = whole["type"] == "object" || (whole["type"].is_null() && whole["properties"].is_object());
    let mut schemas = Schemas::new(document, nodes_left);
    // A schema of tools is itself an object, so it is not referred to but written out.
    let made = schemas.take(if is_object { whole } else { schema });
    let mut made = if is_object {
        let mut made = made;
        made["type"] = "object".into();
        made
    } else {
        json!({"type": "object", "properties": {"result": made}, "required": ["result"]})
    };
    with_defs(&mut made, schemas.defs());
    Some((made, !is_object))
}

fn with_defs(schema: &mut Value, defs: JsonMap) {
    if !defs.is_empty() {
        schema["$defs"] = Value::Object(defs);
    }
}

fn words(operation: &Value, item: &Value, method: &Method, path: &str) -> String {
    let said = [&operation["description"], &operation["summary"], &item["description"], &item["summary"]];
    let said = said.into_iter().filter_map(Value::as_str).find(|words| !words.trim().is_empty());
    let old = if operation["deprecated"] == true { "Deprecated. " } else { "" };
    let words = format!("{old}{} ({method} {path})", said.unwrap_or("An operation of the API").trim());
    words.chars().take(LONGEST_WORDS).collect()
}

/// The properties of a method, in the terms of MCP.
fn hints(method: &Method) -> JsonMap {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let repeats = reads || matches!(*method, Method::PUT | Method::DELETE);
    let destroys = matches!(*method, Method::PUT | Method::DELETE | Method::PATCH);
    let hints = [
        ("readOnlyHint", reads),
        ("idempotentHint", repeats),
        ("destructiveHint", destroys),
        ("openWorldHint", true),
    ];
    hints.into_iter().map(|(hint, holds)| (hint.to_owned(), holds.into())).collect()
}

fn free_name(id: Option<&str>, method: &Method, path: &str, taken: &mut BTreeSet<String>) -> String {
    let wanted = match id.filter(|id| !id.trim().is_empty()) {
        Some(id) => id.to_owned(),
        None => format!("{}{path}", method.as_str().to_ascii_lowercase()),
    };
    let mut name = String::new();
    for sign in wanted.chars() {
        match sign {
            sign if sign.is_ascii_alphanumeric() || sign == '-' => name.push(sign),
            _ if !name.ends_with('_') => name.push('_'),
            _ => {}
        }
    }
    let name = name.trim_matches('_');
    let name = if name.is_empty() { "operation" } else { name };
    let cut = |most: usize| name[..name.len().min(most)].to_owned();
    let mut free = cut(LONGEST_NAME);
    let mut number = 1;
    while !taken.insert(free.clone()) {
        number += 1;
        let tail = format!("_{number}");
        free = cut(LONGEST_NAME - tail.len()) + &tail;
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_unique_and_short() {
        let mut taken = BTreeSet::new();
        let mut name = |id: Option<&str>, path: &str| free_name(id, &Method::GET, path, &mut taken);
        assert_eq!(name(Some("listPets"), "/pets"), "listPets");
        assert_eq!(name(Some("listPets"), "/pets"), "listPets_2");
        assert_eq!(name(None, "/pets/{petId}/toys"), "get_pets_petId_toys");
        assert_eq!(name(Some("größe/both"), "/"), "gr_e_both");
        assert_eq!(name(Some("ß"), "/"), "operation");
        let long = name(Some(&"x".repeat(100)), "/");
        assert_eq!((long.len(), name(Some(&"x".repeat(90)), "/").len()), (64, 64));
    }
}

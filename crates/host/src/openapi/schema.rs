//! Schemas: JSON Schemas as OpenAPI writes them, made self-contained.
//!
//! Promises: references become `$defs` of the schema that is made, so recursion stays what it is; keywords of
//! OpenAPI 3.0 are translated to those of JSON Schema. Bounded: what is too deep or too much becomes a schema
//! that takes everything. References that lead elsewhere do, too.

use std::collections::{BTreeMap, VecDeque};

use agentsite_protocol::JsonMap;
use serde_json::{Value, json};

use super::document::Document;

/// How deep one schema is followed without a reference.
const DEPTH: usize = 24;

/// Nodes of the schemas of one operation; a model reads no more.
const MOST_NODES: usize = 4_000;

/// Nodes of the schemas of a whole document.
const MOST_NODES_IN_ALL: usize = 1_000_000;

/// Longest text in a schema.
const LONGEST: usize = 2_000;

/// Keywords whose value is a schema.
const SCHEMA: [&str; 10] = [
    "items",
    "additionalProperties",
    "not",
    "contains",
    "propertyNames",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value is a list of schemas.
const SCHEMAS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value names schemas.
const NAMED_SCHEMAS: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];

/// Keywords whose value is copied.
const PLAIN: [&str; 24] = [
    "type",
    "enum",
    "const",
    "format",
    "title",
    "description",
    "default",
    "required",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "contentEncoding",
    "contentMediaType",
    "deprecated",
];

/// What is left of the nodes_left of a whole document.
#[derive(Debug)]
pub(super) struct NodesLeft(usize);

impl Default for NodesLeft {
    fn default() -> Self {
        Self(MOST_NODES_IN_ALL)
    }
}

/// The schemas of one operation while they are made.
#[derive(Debug)]
pub(super) struct Schemas<'a> {
    document: &'a Document,
    nodes_left: &'a mut NodesLeft,
    left: usize,
    /// The names of what was referred to, by reference.
    names: BTreeMap<String, String>,
    todo: VecDeque<String>,
}

impl<'a> Schemas<'a> {
    /// None yet.
    pub(super) fn new(document: &'a Document, nodes_left: &'a mut NodesLeft) -> Self {
        Self { document, nodes_left, left: MOST_NODES, names: BTreeMap::new(), todo: VecDeque::new() }
    }

    /// Makes one that may refer to the definitions that [`Self::defs`] gives.
    pub(super) fn take(&mut self, schema: &Value) -> Value {
        self.convert(schema, 0)
    }

    /// What the schemas refer to.
    pub(super) fn defs(mut self) -> JsonMap {
        let mut defs = JsonMap::new();
        while let Some(reference) = self.todo.pop_front() {
            let found = self.document.at(&reference).cloned().unwrap_or(Value::Null);
            let schema = self.convert(&found, 0);
            defs.insert(self.names[&reference].clone(), schema);
        }
        defs
    }

    fn convert(&mut self, schema: &Value, depth: usize) -> Value {
        let fields = match schema {
            Value::Bool(_) => return schema.clone(),
            Value::Object(fields) => fields,
            _ => return json!({}),
        };
        if depth > DEPTH || !self.spend(1) {
            return json!({});
        }
        if let Some(reference) = schema["$ref"].as_str() {
            return self.refer(reference, fields);
        }
        let mut made = JsonMap::new();
        for (key, value) in fields {
            let key_str = key.as_str();
            let value = if SCHEMA.contains(&key_str) {
                self.convert(value, depth + 1)
            } else if SCHEMAS.contains(&key_str) {
                let each = value.as_array().map(Vec::as_slice).unwrap_or_default();
                each.iter().map(|schema| self.convert(schema, depth + 1)).collect()
            } else if NAMED_SCHEMAS.contains(&key_str) {
                let each = value.as_object().into_iter().flatten();
                each.map(|(name, schema)| (name.clone(), self.convert(schema, depth + 1))).collect()
            } else if PLAIN.contains(&key_str) && self.spend(1 + size(value)) {
                cut(value)
            } else {
                continue;
            };
            made.insert(key.clone(), value);
        }
        in_words_of_today(&mut made, fields);
        Value::Object(made)
    }

    fn refer(&mut self, reference: &str, fields: &JsonMap) -> Value {
        if self.document.at(reference).is_none() {
            return json!({});
        }
        if !self.names.contains_key(reference) {
            let name = self.free_name(reference);
            self.names.insert(reference.to_owned(), name);
            self.todo.push_back(reference.to_owned());
        }
        let mut made = JsonMap::new();
        made.insert("$ref".into(), format!("#/$defs/{}", self.names[reference]).into());
        made.extend(fields.get("description").map(|text| ("description".into(), cut(text))));
        Value::Object(made)
    }

    /// A name for what a reference leads to that is not used yet.
    fn free_name(&self, reference: &str) -> String {
        let last = reference.rsplit('/').next().unwrap_or_default();
        let is_fit = |sign: &char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '.');
        let name: String = last.chars().filter(is_fit).take(64).collect();
        let name = if name.is_empty() { "schema".to_owned() } else { name };
        let taken = |name: &String| self.names.values().any(|other| other == name);
        if !taken(&name) {
            return name;
        }
        let mut numbered = (2..).map(|number| format!("{name}_{number}"));
        numbered.find(|name| !taken(name)).unwrap_or(name)
    }

    fn spend(&mut self, nodes: usize) -> bool {
        if nodes > self.left || nodes > self.nodes_left.0 {
            (self.left, self.nodes_left.0) = (0, self.nodes_left.0.saturating_sub(nodes.min(self.left)));
            return false;
        }
        self.left -= nodes;
        self.nodes_left.0 -= nodes;
        true
    }
}

/// Translates keywords of OpenAPI 3.0: `nullable`, and exclusive limits.
fn in_words_of_today(made: &mut JsonMap, from: &JsonMap) {
    if from.get("nullable") == Some(&Value::Bool(true)) {
        if let Some(Value::String(kind)) = made.get("type").cloned() {
            made.insert("type".into(), json!([kind, "null"]));
        }
        if let Some(Value::Array(values)) = made.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
    }
    for (bound, excluded) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        match made.get(excluded) {
            Some(Value::Bool(true)) => {
                if let Some(limit) = made.remove(bound) {
                    made.insert(excluded.into(), limit);
                } else {
                    made.remove(excluded);
                }
            }
            Some(Value::Bool(false)) => drop(made.remove(excluded)),
            _ => {}
        }
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(|item| 1 + size(item)).sum(),
        Value::Object(fields) => fields.values().map(|field| 1 + size(field)).sum(),
        _ => 0,
    }
}

fn cut(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > LONGEST => text.chars().take(LONGEST).collect::<String>().into(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(components: &Value, schema: &Value) -> (Value, JsonMap) {
        let text = json!({"openapi": "3.0.0", "components": {"schemas": components}}).to_string();
        let document = Document::read(text.as_bytes()).unwrap();
        let mut nodes_left = NodesLeft::default();
        let mut schemas = Schemas::new(&document, &mut nodes_left);
        let schema = schemas.take(schema);
        (schema, schemas.defs())
    }

    #[test]
    fn recursion_becomes_definitions() {
        let node = json!({"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}});
        let (schema, defs) = made(&json!({"Node": node}), &json!({"$ref": "#/components/schemas/Node"}));
        assert_eq!(schema, json!({"$ref": "#/$defs/Node"}));
        assert_eq!(defs["Node"]["properties"]["next"], json!({"$ref": "#/$defs/Node"}));
    }

    #[test]
    fn old_words_are_said_anew_and_foreign_ones_left_out() {
        let old = json!({"type": "integer", "nullable": true, "minimum": 3, "exclusiveMinimum": true, "xml": {}, "x-y": 1, "example": 4});
        assert_eq!(made(&json!({}), &old).0, json!({"type": ["integer", "null"], "exclusiveMinimum": 3}));
        assert_eq!(made(&json!({}), &json!({"$ref": "elsewhere.yaml"})).0, json!({}));
        assert_eq!(made(&json!({}), &json!(7)).0, json!({}));
    }

    #[test]
    fn what_is_too_much_takes_everything() {
        let wide: JsonMap =
            (0..MOST_NODES * 2).map(|at| (format!("p{at}"), json!({"type": "string"}))).collect();
        let (schema, _) = made(&json!({}), &json!({"type": "object", "properties": wide}));
        let properties = schema["properties"].as_object().unwrap();
        assert!(properties.values().filter(|schema| **schema != json!({})).count() <= MOST_NODES);
        let names: JsonMap = (0..3).map(|at| (format!("S{at}"), json!({"anyOf": [{"$ref": "#/components/schemas/S0"}, {"$ref": "#/components/schemas/S1"}, {"$ref": "#/components/schemas/S2"}]}))).collect();
        assert_eq!(made(&Value::Object(names), &json!({"$ref": "#/components/schemas/S0"})).1.len(), 3);
    }
}

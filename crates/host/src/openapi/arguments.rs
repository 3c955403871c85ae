//! Arguments: whether a caller's input matches an operation, with errors written for a model.
//!
//! Promises: what is missing, unknown or of the wrong kind is reported with its place and what was wanted; a
//! few complaints at a time. It checks what models get wrong (names, kinds, choices, what is required), not
//! every keyword of JSON Schema: the API itself does.

use agentsite_protocol::JsonMap;
use serde_json::Value;

/// Complaints that are reported at once.
const MOST: usize = 8;

/// How deep arguments are checked.
const DEPTH: usize = 16;

/// Longest list of choices that is shown.
const MOST_CHOICES: usize = 30;

/// Errors in the arguments; empty when there are none.
pub(super) fn complaints(schema: &Value, arguments: &JsonMap) -> Vec<String> {
    let mut found = Checker { defs: &schema["$defs"], told: Vec::new() };
    let known = schema["properties"].as_object();
    for name in arguments.keys() {
        if known.is_none_or(|known| !known.contains_key(name)) {
            let names: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            found.tell(format!("there is no argument `{name}`; there are: {}", names.join(", ")));
        }
    }
    found.fields(schema, arguments, "", 0);
    found.told
}

struct Checker<'a> {
    defs: &'a Value,
    told: Vec<String>,
}

impl Checker<'_> {
    fn tell(&mut self, complaint: String) {
        if self.told.len() < MOST {
            self.told.push(complaint);
        }
    }

    fn check(&mut self, schema: &Value, value: &Value, place: &str, depth: usize) {
        if depth > DEPTH {
            return;
        }
        let schema = resolved(self.defs, schema);
        if let Some(kinds) = kinds(schema)
            && !kinds.iter().any(|kind| is_of(value, kind))
        {
            let given = kind_of(value);
            return self.tell(format!("`{place}` must be of the kind {}, not {given}", kinds.join(" or ")));
        }
        if let Some(choices) = schema["enum"].as_array()
            && !choices.contains(value)
        {
            let choices: Vec<String> = choices.iter().take(MOST_CHOICES).map(Value::to_string).collect();
            return self.tell(format!("`{place}` must be one of {}", choices.join(", ")));
        }
        match value {
            Value::Object(fields) => self.fields(schema, fields, place, depth),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.check(&schema["items"], item, &format!("{place}[{at}]"), depth + 1);
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, schema: &Value, fields: &JsonMap, place: &str, depth: usize) {
        let inside = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.tell(format!("`{}` is missing", inside(name)));
            }
        }
        for (name, value) in fields {
            if let Some(schema) = schema["properties"].get(name) {
                self.check(schema, value, &inside(name), depth + 1);
            }
        }
    }
}

/// The schema itself, where it only refers to another one.
fn resolved<'a>(defs: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..DEPTH {
        let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
        match name {
            Some(name) => schema = &defs[name],
            None => break,
        }
    }
    schema
}

fn kinds(schema: &Value) -> Option<Vec<&str>> {
    match &schema["type"] {
        Value::String(kind) => Some(vec![kind]),
        Value::Array(kinds) => Some(kinds.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wrong(arguments: &Value) -> Vec<String> {
        let schema = json!({
            "type": "object",
            "required": ["id", "body"],
            "properties": {
                "id": {"type": "integer"},
                "state": {"type": ["string", "null"], "enum": ["open", "closed", null]},
                "body": {"$ref": "#/$defs/Pet"}
            },
            "$defs": {"Pet": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "friends": {"type": "array", "items": {"$ref": "#/$defs/Pet"}}
            }}, "Loop": {"$ref": "#/$defs/Loop"}}
        });
        complaints(&schema, arguments.as_object().unwrap())
    }

    #[test]
    fn sound_arguments_are_taken() {
        let pet = json!({"name": "Rex", "friends": [{"name": "Tom"}], "more": 1});
        assert_eq!(wrong(&json!({"id": 3, "state": null, "body": pet})), Vec::<String>::new());
        assert_eq!(wrong(&json!({"id": 3.0, "body": {"name": "x"}})), Vec::<String>::new());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let told =
            wrong(&json!({"id": "three", "state": "ajar", "body": {"friends": [{"name": 1}]}, "colour": 1}));
        assert_eq!(
            told,
            [
                "there is no argument `colour`; there are: body, id, state",
                "`body.name` is missing",
                "`body.friends[0].name` must be of the kind string, not number",
                "`id` must be of the kind integer, not string",
                "`state` must be one of \"open\", \"closed\", null",
            ]
        );
        assert_eq!(wrong(&json!({})), ["`id` is missing", "`body` is missing"]);
    }
}

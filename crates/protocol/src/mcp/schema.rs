//! Schema: whether a value fits a JSON Schema, as far as people and models get it wrong.
//!
//! Promises: what it calls a misfit is one, and it says where and what would fit. It knows `type`, `enum`,
//! `const`, `properties`, `required`, `additionalProperties`, `items`, bounds of numbers, lengths and counts,
//! `anyOf`, `oneOf`, `allOf` and references within the schema; other keywords are assumed to hold, and code
//! that depends on them has to check them. Its depth is bounded.

use serde_json::Value;

/// Deepest nesting that is looked into; schemas of tools have three or four levels.
const MAX_DEPTH: usize = 32;

/// Longest value that is repeated in a sentence.
const MAX_SHOWN: usize = 60;

/// Why a value does not fit a schema; `None` when it does, as far as this knows.
#[must_use]
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    Reader { root: schema }.misfit(schema, value, "", MAX_DEPTH)
}

struct Reader<'a> {
    root: &'a Value,
}

impl Reader<'_> {
    fn misfit(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        if *schema == Value::Bool(false) {
            return Some(format!("{} must not be there", place(at)));
        }
        if let Some(target) = schema["$ref"].as_str().and_then(|reference| self.resolve(reference)) {
            return self.misfit(target, value, at, depth);
        }
        wrong_type(schema, value, at)
            .or_else(|| wrong_choice(schema, value, at))
            .or_else(|| wrong_size(schema, value, at))
            .or_else(|| self.wrong_member(schema, value, at, depth))
            .or_else(|| self.wrong_item(schema, value, at, depth))
            .or_else(|| self.wrong_combination(schema, value, at, depth))
    }

    fn resolve(&self, reference: &str) -> Option<&Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }

    fn wrong_member(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Option<String> {
        let members = value.as_object()?;
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(lacks) = required.into_iter().find(|name| !members.contains_key(*name)) {
            return Some(format!("{} lacks `{lacks}`", place(at)));
        }
        let known = schema["properties"].as_object();
        for (name, member) in members {
            let below = format!("{at}/{name}");
            let wrong = match known.and_then(|known| known.get(name)) {
                Some(schema) => self.misfit(schema, member, &below, depth),
                None if schema["additionalProperties"] == false && schema["patternProperties"].is_null() => {
                    let names: Vec<&str> =
                        known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                    Some(format!("{} is unknown; there are {}", place(&below), names.join(", ")))
                }
                None if schema["additionalProperties"].is_object() => {
                    self.misfit(&schema["additionalProperties"], member, &below, depth)
                }
                None => None,
            };
            if wrong.is_some() {
                return wrong;
            }
        }
        None
    }

    fn wrong_item(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Option<String> {
        let items = schema.get("items").filter(|items| items.is_object())?;
        let mut list = value.as_array()?.iter().enumerate();
        list.find_map(|(index, item)| self.misfit(items, item, &format!("{at}/{index}"), depth))
    }

    fn wrong_combination(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Option<String> {
        let parts = |name: &str| schema[name].as_array().filter(|parts| !parts.is_empty());
        let all = parts("allOf").into_iter().flatten();
        if let Some(wrong) = all.into_iter().find_map(|part| self.misfit(part, value, at, depth)) {
            return Some(wrong);
        }
        // One of several: what is wrong with the last is as good as any.
        for name in ["anyOf", "oneOf"] {
            let Some(parts) = parts(name) else { continue };
            let wrong: Vec<String> =
                parts.iter().filter_map(|part| self.misfit(part, value, at, depth)).collect();
            if wrong.len() == parts.len() {
                return wrong.into_iter().last();
            }
        }
        None
    }
}

fn wrong_type(schema: &Value, value: &Value, at: &str) -> Option<String> {
    let wanted: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let fits = |wanted: &&str| match *wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    };
    (!wanted.iter().any(fits)).then(|| format!("{} must be of type {}", place(at), wanted.join(" or ")))
}

fn wrong_choice(schema: &Value, value: &Value, at: &str) -> Option<String> {
    let fixed = schema.get("const").map(std::slice::from_ref);
    let choices = schema["enum"].as_array().map(Vec::as_slice).or(fixed)?;
    let shown = || choices.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
    (!choices.contains(value))
        .then(|| format!("{} is {}, but must be one of {}", place(at), excerpt(value), shown()))
}

fn wrong_size(schema: &Value, value: &Value, at: &str) -> Option<String> {
    let (least, most, what, size) = match value {
        Value::Number(number) => ("minimum", "maximum", "", number.as_f64()?),
        Value::String(text) => ("minLength", "maxLength", " characters", count(text.chars().count())),
        Value::Array(list) => ("minItems", "maxItems", " items", count(list.len())),
        _ => return None,
    };
    let bound = |name: &str| schema[name].as_f64();
    match (bound(least), bound(most)) {
        (Some(least), _) if size < least => Some(format!("{} must be at least {least}{what}", place(at))),
        (_, Some(most)) if size > most => Some(format!("{} must be at most {most}{what}", place(at))),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "lengths of texts and lists are small")]
fn count(number: usize) -> f64 {
    number as f64
}

fn place(at: &str) -> String {
    if at.is_empty() { "it".into() } else { format!("`{}`", at.trim_start_matches('/')) }
}

fn excerpt(value: &Value) -> String {
    value.to_string().chars().take(MAX_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let schema = json!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "minLength": 2 },
                "days": { "type": "integer", "minimum": 1, "maximum": 7 },
                "unit": { "enum": ["C", "F"] },
                "tags": { "type": "array", "items": { "type": "string" }, "maxItems": 2 },
                "near": { "$ref": "#/$defs/place" },
                "either": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            },
            "required": ["city"],
            "additionalProperties": false,
            "$defs": { "place": { "type": "object", "required": ["lat"] } },
        });
        for (value, said) in [
            (json!([]), "it must be of type object"),
            (json!({}), "it lacks `city`"),
            (json!({ "city": 7 }), "`city` must be of type string"),
            (json!({ "city": "x" }), "`city` must be at least 2 characters"),
            (json!({ "city": "Rome", "days": 8 }), "`days` must be at most 7"),
            (json!({ "city": "Rome", "days": 1.5 }), "`days` must be of type integer"),
            (json!({ "city": "Rome", "unit": "K" }), "`unit` is \"K\", but must be one of \"C\", \"F\""),
            (json!({ "city": "Rome", "tags": ["a", 1] }), "`tags/1` must be of type string"),
            (json!({ "city": "Rome", "tags": ["a", "b", "c"] }), "`tags` must be at most 2 items"),
            (json!({ "city": "Rome", "near": {} }), "`near` lacks `lat`"),
            (json!({ "city": "Rome", "either": 1 }), "`either` must be of type null"),
            (json!({ "city": "Rome", "town": "x" }), "`town` is unknown; there are city, days,"),
        ] {
            let found = misfit(&schema, &value).unwrap_or_default();
            assert!(found.starts_with(said), "{value}: {found}");
        }
        let good = json!({ "city": "Rome", "days": 7, "unit": "C", "tags": ["a"], "near": { "lat": 1 }, "either": null });
        assert_eq!(misfit(&schema, &good), None);
    }

    #[test]
    fn what_it_does_not_know_fits_and_circles_end() {
        assert_eq!(misfit(&json!({ "pattern": "^a" }), &json!("b")), None);
        assert_eq!(misfit(&json!(true), &json!(1)), None);
        assert!(misfit(&json!(false), &json!(1)).is_some());
        let circle = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } });
        assert_eq!(misfit(&circle, &json!(1)), None);
    }
}

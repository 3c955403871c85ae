//! The canonical form of JSON (RFC 8785): one text for one value, so that a signature over it means the
//! value.
//!
//! Promises: members sorted by UTF-16 code units, numbers as ECMAScript writes them, no space; the same value
//! always gives the same bytes. Text that two readers could take for two values (a member named twice, a
//! whole number that a double cannot hold) has no canonical form and is refused. It knows nothing of cards.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Deepest nesting that is written; as deep as the parser reads.
const MAX_DEPTH: usize = 128;

/// Largest whole number that every reader of JSON holds exactly: 2^53 - 1.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// Why a value has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCanonicalForm {
    /// A whole number that not every reader holds exactly.
    #[error("the number {0} is larger than 2^53 - 1; write it as text")]
    Number(String),
    /// Nested too deep.
    #[error("the JSON nests deeper than {MAX_DEPTH} levels; flatten it")]
    Depth,
    /// No JSON, or a member twice.
    #[error("not readable as JSON: {0}")]
    Json(String),
}

/// Writes a value in its canonical form.
///
/// # Errors
/// [`NoCanonicalForm`] for numbers that not every reader holds, and for what nests too deep.
pub fn canonical_json(value: &Value) -> Result<Vec<u8>, NoCanonicalForm> {
    let mut out = Vec::new();
    write(value, &mut out, 0)?;
    Ok(out)
}

/// Reads JSON and refuses objects that name a member twice, which two readers could understand differently.
///
/// # Errors
/// [`NoCanonicalForm::Json`] says what is wrong and where.
pub fn read_unambiguous(json: &[u8]) -> Result<Value, NoCanonicalForm> {
    let read: Result<Once, _> = serde_json::from_slice(json);
    read.map(|once| once.0).map_err(|error| NoCanonicalForm::Json(error.to_string()))
}

fn write(value: &Value, out: &mut Vec<u8>, depth: usize) -> Result<(), NoCanonicalForm> {
    if depth > MAX_DEPTH {
        return Err(NoCanonicalForm::Depth);
    }
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => out.extend_from_slice(write_number(number)?.as_bytes()),
        Value::String(text) => write_text(text, out),
        Value::Array(values) => {
            out.push(b'[');
            for (place, value) in values.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write(value, out, depth + 1)?;
            }
            out.push(b']');
        }
        Value::Object(members) => write_object(members, out, depth)?,
    }
    Ok(())
}

fn write_object(
    members: &Map<String, Value>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), NoCanonicalForm> {
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    out.push(b'{');
    for (place, (name, value)) in sorted.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write_text(name, out);
        out.push(b':');
        write(value, out, depth + 1)?;
    }
    out.push(b'}');
    Ok(())
}

/// The parser's own writer escapes exactly what the RFC requires, in the same way.
fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("text is always written to memory");
}

fn write_number(number: &Number) -> Result<String, NoCanonicalForm> {
    let whole = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    match (whole, number.as_f64()) {
        (Some(size), _) if size <= MAX_SAFE => Ok(number.to_string()),
        (None, Some(value)) if value.is_finite() => Ok(ryu_js::Buffer::new().format_finite(value).to_owned()),
        _ => Err(NoCanonicalForm::Number(number.to_string())),
    }
}

/// A value of which no object names a member twice.
struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Once(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let Once(value) = entries.next_value()?;
            if members.contains_key(&name) {
                let short: String = name.chars().take(40).collect();
                return Err(A::Error::custom(format_args!("the member `{short}` occurs twice")));
            }
            members.insert(name, value);
        }
        Ok(members.into())
    }
}

#[cfg(test)]
mod tests;

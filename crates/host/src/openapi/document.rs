//! Document: an OpenAPI document as it was read, JSON or YAML, and the references inside it.
//!
//! Promises: bounded in size, depth and what aliases unfold to; only OpenAPI 3.0 and 3.1. A reference is
//! followed inside the document only and never in circles; one that leads elsewhere leads nowhere. It does
//! not know what an operation is.

use agentsite_protocol::ByteSize;
use serde_json::Value;

/// Largest document: the largest public ones have twelve million bytes.
pub(super) const MOST_BYTES: usize = 16 << 20;

/// How deep a document may be nested; real ones stay below thirty.
const DEPTH: usize = 100;

/// How often a reference may lead to a reference.
const HOPS: usize = 8;

/// Why a document cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It is too large.
    #[error("the document is larger than {}; cut it down to the operations that are needed", ByteSize(MOST_BYTES as u64))]
    TooLarge,
    /// It is neither JSON nor YAML.
    #[error("the document is neither JSON nor YAML: {0}")]
    Unreadable(String),
    /// It is nested too deep.
    #[error("the document is nested deeper than {DEPTH} levels")]
    TooDeep,
    /// It has another version or is not an OpenAPI document.
    #[error("the document says `openapi: {0}`; only 3.0 and 3.1 are read, so convert it first")]
    Version(String),
    /// It has too many operations.
    #[error("the document has more than {0} operations; cut it down to those that are needed")]
    TooManyOperations(usize),
    /// It has no operation.
    #[error("the document has no operation")]
    Empty,
    /// An operation has no address.
    #[error("{0} has no address: the document names no server that can be used; set base_url")]
    NoServer(String),
    /// A credential would go to an address that was not named.
    #[error(
        "the document sends {operation} to {origin}, which is not the origin of the document; set base_url \
         to state where credentials may go"
    )]
    Elsewhere {
        /// The operation, by its tool's name.
        operation: String,
        /// Where its server is.
        origin: String,
    },
}

/// An OpenAPI document.
#[derive(Debug)]
pub(super) struct Document(Value);

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// [`DocumentError`] when it is not an OpenAPI document.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        if bytes.len() > MOST_BYTES {
            return Err(DocumentError::TooLarge);
        }
        let value = parse(bytes)?;
        if is_deeper(&value, DEPTH) {
            return Err(DocumentError::TooDeep);
        }
        let version = match &value["openapi"] {
            Value::String(version) => version.clone(),
            Value::Null => "nothing".into(),
            other => other.to_string(),
        };
        if !(version.starts_with("3.0") || version.starts_with("3.1")) {
            return Err(DocumentError::Version(version.chars().take(40).collect()));
        }
        Ok(Self(value))
    }

    /// The whole.
    pub(super) const fn root(&self) -> &Value {
        &self.0
    }

    /// What a value is, once its references are followed; `None` when they lead nowhere.
    pub(super) fn resolve<'a>(&'a self, value: &'a Value) -> Option<&'a Value> {
        let mut value = value;
        for _ in 0..HOPS {
            match value["$ref"].as_str() {
                None => return Some(value),
                Some(reference) => value = self.at(reference)?,
            }
        }
        None
    }

    /// What a reference leads to.
    pub(super) fn at(&self, reference: &str) -> Option<&Value> {
        let pointer = reference.strip_prefix('#')?;
        let pointer = percent_decoded(pointer)?;
        if pointer.is_empty() { None } else { self.0.pointer(&pointer) }
    }
}

fn parse(bytes: &[u8]) -> Result<Value, DocumentError> {
    let json = match serde_json::from_slice(bytes) {
        Ok(value) => return Ok(value),
        Err(error) => error.to_string(),
    };
    let text = std::str::from_utf8(bytes).map_err(|_| DocumentError::Unreadable("it is not UTF-8".into()))?;
    // What looks like JSON is meant to be JSON; the errors of that parser help more.
    if text.trim_start().starts_with('{') {
        return Err(DocumentError::Unreadable(json));
    }
    let options = serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! { max_depth: DEPTH, max_events: 4_000_000, max_nodes: 4_000_000, max_total_scalar_bytes: MOST_BYTES },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let words: String = error.to_string().chars().take(300).collect();
        DocumentError::Unreadable(words.lines().collect::<Vec<_>>().join(" "))
    })
}

fn is_deeper(value: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, depth)),
        Value::Object(fields) => fields.values().any(|field| is_deeper(field, depth)),
        _ => false,
    }
}

/// A fragment of an address without its percent signs.
fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let pair = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(pair, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_and_both_versions_are_read_and_others_refused() {
        assert!(Document::read(br#"{"openapi": "3.1.0", "paths": {}}"#).is_ok());
        assert!(Document::read(b"openapi: 3.0.3\npaths: {}\n").is_ok());
        let refused = |text: &str| Document::read(text.as_bytes()).unwrap_err().to_string();
        assert!(refused("swagger: '2.0'").contains("openapi: nothing"));
        assert!(refused("openapi: 4.0.0").contains("only 3.0 and 3.1"));
        assert!(refused("{\"openapi\": ").contains("neither JSON nor YAML"));
        assert!(refused("a: [").contains("neither JSON nor YAML"));
        assert_eq!(Document::read(&vec![b' '; MOST_BYTES + 1]).unwrap_err(), DocumentError::TooLarge);
        assert!(Document::read(b"\xff\xfe").is_err());
    }

    #[test]
    fn depth_and_unfolding_are_bounded() {
        let deep = |open: &str, close: &str, times: usize| {
            let text =
                format!("{{\"openapi\": \"3.1.0\", \"x\": {}{}}}", open.repeat(times), close.repeat(times));
            Document::read(text.as_bytes())
        };
        assert_eq!(deep("[", "]", 110).unwrap_err(), DocumentError::TooDeep);
        assert!(deep("[", "]", 100_000).is_err());
        let mut bomb = "openapi: 3.0.0\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..10 {
            let before = format!("*a{}", level - 1);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(",")));
        }
        assert!(Document::read(bomb.as_bytes()).is_err(), "ten thousand million nodes");
        let yaml = format!("openapi: 3.0.0\nx: {}1{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(Document::read(yaml.as_bytes()).is_err());
    }

    #[test]
    fn references_lead_only_inside_and_never_in_circles() {
        let document = Document::read(
            br##"{"openapi": "3.1.0", "a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}, "c": {"$ref": "#/d~1e%20f"}, "d/e f": {"x": 1},
                "g": {"$ref": "other.yaml#/x"}, "h": {"$ref": "https://example.org/#/x"}, "i": {"$ref": "#"}, "j": {"$ref": "#/%zz"}}"##,
        )
        .unwrap();
        let leads = |name: &str| document.resolve(&document.root()[name]).cloned();
        assert_eq!(leads("c"), Some(serde_json::json!({"x": 1})));
        for name in ["a", "b", "g", "h", "i", "j"] {
            assert_eq!(leads(name), None, "{name}");
        }
    }
}

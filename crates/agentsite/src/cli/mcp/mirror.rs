//! The headers that HTTP carries in addition to a message of MCP.
//!
//! Promises: pure. A message of revision 2026-07-28 has its version, its method, the name of its target, and
//! the arguments that a tool mirrors in headers; values that no header can hold are in base64. Which
//! arguments those are is learnt from the lists of tools that pass by; a tool with an invalid mirrored
//! argument is left out of the list, as the specification requires.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// Where a message says of which revision it is.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Most tools whose mirrored arguments are remembered; a larger site shows its list in parts, and few tools
/// have any.
const MAX_TOOLS: usize = 10_000;

/// Deepest place of an argument that is looked for.
const MAX_DEPTH: usize = 16;

/// The largest integer that every reader of JSON holds exactly.
const SAFE: i64 = (1 << 53) - 1;

/// The arguments that tools mirror in headers, by the name of the tool.
#[derive(Debug, Default)]
pub(super) struct Mirror(HashMap<String, Vec<MirroredArgument>>);

/// One argument, and the header it goes into.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MirroredArgument {
    header: HeaderName,
    path: Vec<String>,
}

/// The revision that a message says it is of; only those since 2026-07-28 say so.
pub(super) fn version(message: &Value) -> Option<&str> {
    message["params"]["_meta"][VERSION].as_str()
}

/// Puts a version into its header.
pub(super) fn put_version(headers: &mut HeaderMap, version: &str) {
    if let Ok(value) = HeaderValue::from_str(version) {
        headers.insert(PROTOCOL_VERSION, value);
    }
}

impl Mirror {
    /// The headers of a message; none but for one that says its revision.
    pub(super) fn headers(&self, message: &Value) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let Some(version) = version(message) else { return headers };
        put_version(&mut headers, version);
        let method = message["method"].as_str().unwrap_or_default();
        headers.extend(HeaderValue::from_str(method).ok().map(|value| (METHOD, value)));
        let params = &message["params"];
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            _ => None,
        };
        headers.extend(name.map(|name| (NAME, encoded(name))));
        if method == "tools/call" {
            for wish in self.0.get(name.unwrap_or_default()).into_iter().flatten() {
                let found = wish.path.iter().try_fold(&params["arguments"], |value, step| value.get(step));
                headers.extend(found.and_then(written).map(|value| (wish.header.clone(), value)));
            }
        }
        headers
    }

    /// Learns from an answer to `tools/list`, and removes tools with invalid mirrored arguments; gives their
    /// names. The first page of a list starts over.
    pub(super) fn learn(&mut self, answer: &mut Value, is_first: bool) -> Vec<String> {
        let Some(tools) =
            answer.get_mut("result").and_then(|result| result.get_mut("tools")).and_then(Value::as_array_mut)
        else {
            return Vec::new();
        };
        if is_first {
            self.0.clear();
        }
        let mut refused = Vec::new();
        tools.retain(|tool| {
            let name = tool["name"].as_str().unwrap_or_default();
            match wishes(&tool["inputSchema"]) {
                Some(wishes) => {
                    if !wishes.is_empty() && self.0.len() < MAX_TOOLS {
                        self.0.insert(name.to_owned(), wishes);
                    }
                    true
                }
                None => {
                    refused.push(name.chars().take(100).collect());
                    false
                }
            }
        });
        refused
    }
}

/// The mirrored arguments of a schema; `None` when one is not allowed.
fn wishes(schema: &Value) -> Option<Vec<MirroredArgument>> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    let allowed = count(schema, 0) == found.len();
    let mut names: Vec<&HeaderName> = found.iter().map(|wish| &wish.header).collect();
    names.sort_unstable_by_key(|name| name.as_str());
    names.dedup();
    (allowed && names.len() == found.len()).then_some(found)
}

/// Goes through `properties` only; a mirrored argument elsewhere is not allowed.
fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<MirroredArgument>) -> Option<()> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Some(()) };
    if path.len() >= MAX_DEPTH {
        return Some(());
    }
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(wish) = property.get("x-mcp-header") {
            let is_plain = matches!(property["type"].as_str(), Some("string" | "integer" | "boolean"));
            let wish = wish.as_str().filter(|wish| is_plain && !wish.is_empty())?;
            let header = HeaderName::try_from(format!("mcp-param-{wish}")).ok()?;
            found.push(MirroredArgument { header, path: path.clone() });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Some(())
}

/// How many mirrored arguments a schema has, at any depth; a property with the name of the keyword is not
/// one.
fn count(schema: &Value, depth: usize) -> usize {
    match schema {
        _ if depth > 4 * MAX_DEPTH => 0,
        Value::Object(members) => {
            let own = usize::from(members.get("x-mcp-header").is_some_and(Value::is_string));
            let inner = members.iter().map(|(name, member)| match (name.as_str(), member) {
                ("properties", Value::Object(properties)) => {
                    properties.values().map(|property| count(property, depth + 2)).sum()
                }
                ("default" | "examples" | "enum" | "const", _) => 0,
                _ => count(member, depth + 1),
            });
            own + inner.sum::<usize>()
        }
        Value::Array(items) => items.iter().map(|item| count(item, depth + 1)).sum(),
        _ => 0,
    }
}

/// An argument as a header.
fn written(value: &Value) -> Option<HeaderValue> {
    match value {
        Value::String(text) => Some(encoded(text)),
        Value::Bool(truth) => Some(HeaderValue::from_static(if *truth { "true" } else { "false" })),
        Value::Number(number) => {
            number.as_i64().filter(|number| (-SAFE..=SAFE).contains(number)).map(HeaderValue::from)
        }
        _ => None,
    }
}

/// A text as a header may hold it.
fn encoded(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let plain = HeaderValue::from_str(text).ok().filter(|_| is_plain && !text.is_empty());
    plain.unwrap_or_else(|| {
        let text = format!("=?base64?{}?=", STANDARD.encode(text));
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: &Value) -> Value {
        let meta = json!({ VERSION: "2026-07-28" });
        json!({ "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments, "_meta": meta } })
    }

    fn list(schema: &Value) -> Value {
        json!({ "id": 1, "result": { "tools": [{ "name": "sql", "inputSchema": schema }, { "name": "other" }] } })
    }

    #[test]
    fn a_message_of_the_new_era_has_its_headers() {
        let mirror = Mirror::default();
        let headers = mirror.headers(&call("get_weather", &json!({})));
        assert_eq!(headers["mcp-protocol-version"], "2026-07-28");
        assert_eq!(headers["mcp-method"], "tools/call");
        assert_eq!(headers["mcp-name"], "get_weather");
        let read = json!({ "method": "resources/read", "params": { "uri": "a://b", "_meta": { VERSION: "2026-07-28" } } });
        assert_eq!(mirror.headers(&read)["mcp-name"], "a://b");
        let list = json!({ "method": "tools/list", "params": { "_meta": { VERSION: "2026-07-28" } } });
        assert!(!mirror.headers(&list).contains_key("mcp-name"));
        assert!(mirror.headers(&json!({ "method": "tools/list" })).is_empty());
    }

    #[test]
    fn values_are_encoded_as_the_specification_shows() {
        for (text, header) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(encoded(text), header, "{text}");
        }
    }

    #[test]
    fn arguments_go_into_the_headers_that_a_tool_wants() {
        let mut mirror = Mirror::default();
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "inner": { "type": "object", "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } },
            "sure": { "type": "boolean", "x-mcp-header": "Sure" },
            "x-mcp-header": { "type": "string" },
        } });
        assert!(mirror.learn(&mut list(&schema), true).is_empty());
        let headers =
            mirror.headers(&call("sql", &json!({ "region": "eu", "inner": { "n": 42 }, "sure": null })));
        assert_eq!(
            (&headers["mcp-param-region"], &headers["mcp-param-n"]),
            (&"eu".parse().unwrap(), &"42".parse().unwrap())
        );
        assert!(!headers.contains_key("mcp-param-sure"));
        assert!(!mirror.headers(&call("other", &json!({ "region": "eu" }))).contains_key("mcp-param-region"));
        mirror.learn(&mut list(&json!({})), true);
        assert!(!mirror.headers(&call("sql", &json!({ "region": "eu" }))).contains_key("mcp-param-region"));
    }

    #[test]
    fn a_tool_with_a_wish_that_is_not_allowed_is_left_out() {
        let property = |property: Value| json!({ "properties": { "a": property } });
        for schema in [
            property(json!({ "type": "number", "x-mcp-header": "A" })),
            property(json!({ "type": "string", "x-mcp-header": "" })),
            property(json!({ "type": "string", "x-mcp-header": "a b" })),
            property(json!({ "type": "string", "x-mcp-header": 7 })),
            property(json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "A" } })),
            json!({ "oneOf": [property(json!({ "type": "string", "x-mcp-header": "A" }))] }),
            json!({ "properties": { "a": { "type": "string", "x-mcp-header": "X" }, "b": { "type": "string", "x-mcp-header": "x" } } }),
        ] {
            let mut answer = list(&schema);
            assert_eq!(Mirror::default().learn(&mut answer, true), ["sql"], "{schema}");
            assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 1);
        }
    }
}

//! Headers: what a stateless request says in its head besides its body, so that intermediaries can route
//! it.
//!
//! Promises: what head and body say is the same, or the request is refused; values in the base64 form are
//! decoded first. Parameters of a tool that its schema marks with `x-mcp-header` count like the method and
//! the name. It does not route.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};
use serde_json::Value;

use super::version::header;
use crate::failure::{Failure, Fault};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// How a value begins and ends that is written in base64.
const OPENING: &str = "=?base64?";
const CLOSING: &str = "?=";

/// The mark in a schema.
const MARK: &str = "x-mcp-header";

/// Deepest object of a schema whose parameters are looked at; real ones have two or three.
const MAX_DEPTH: usize = 8;

/// Refuses a request whose head names another method or another thing than its body.
pub(super) fn check(headers: &HeaderMap, method: &str, name: Option<&str>) -> Result<(), Failure> {
    expect(header(headers, &METHOD)?, "Mcp-Method", method)?;
    let Some(name) = name else { return Ok(()) };
    match header(headers, &NAME)? {
        Some(given) => expect(Some(&decoded(given, "Mcp-Name")?), "Mcp-Name", name),
        None => expect(None, "Mcp-Name", name),
    }
}

fn expect(given: Option<&str>, header: &str, value: &str) -> Result<(), Failure> {
    match given {
        Some(given) if given == value => Ok(()),
        Some(_) => {
            Err(mismatch(format!("the header {header} is not what the body says; send the same in both")))
        }
        None => Err(mismatch(format!("the header {header} is missing; send it with what the body says"))),
    }
}

fn mismatch(sentence: String) -> Failure {
    Failure::new(Fault::HeaderMismatch, sentence)
}

/// A value, decoded when it is written in base64.
fn decoded<'h>(value: &'h str, header: &str) -> Result<Cow<'h, str>, Failure> {
    let Some(inside) = value.strip_prefix(OPENING).and_then(|rest| rest.strip_suffix(CLOSING)) else {
        return Ok(value.into());
    };
    let bytes = STANDARD.decode(inside).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    bytes.map(Cow::from).ok_or_else(|| mismatch(format!("the header {header} is not base64 of UTF-8 text")))
}

/// Refuses a call whose head does not say the parameters that the tool's schema marks.
pub(super) fn check_arguments(
    headers: &HeaderMap,
    schema: &Value,
    arguments: &serde_json::Map<String, Value>,
) -> Result<(), Failure> {
    check_object(headers, schema, Some(arguments), 0)
}

fn check_object(
    headers: &HeaderMap,
    schema: &Value,
    given: Option<&serde_json::Map<String, Value>>,
    depth: usize,
) -> Result<(), Failure> {
    let Some(Value::Object(properties)) = schema.get("properties") else { return Ok(()) };
    for (name, schema) in properties {
        let value = given.and_then(|given| given.get(name));
        if let Some(mark) = schema.get(MARK).and_then(Value::as_str) {
            check_argument(headers, mark, value)?;
        }
        if depth < MAX_DEPTH && schema.get("properties").is_some() {
            check_object(headers, schema, value.and_then(Value::as_object), depth + 1)?;
        }
    }
    Ok(())
}

fn check_argument(headers: &HeaderMap, mark: &str, value: Option<&Value>) -> Result<(), Failure> {
    let shown = format!("Mcp-Param-{mark}");
    // A mark that is no name of a header makes the tool invalid, which is its owner's to mend; no client can
    // send it.
    let Ok(name) = HeaderName::from_bytes(shown.as_bytes()) else { return Ok(()) };
    let given = header(headers, &name)?.map(|given| decoded(given, &shown)).transpose()?;
    match (given, value.filter(|value| !value.is_null())) {
        (None, None) => Ok(()),
        (Some(given), Some(value)) if is_same(&given, value) => Ok(()),
        (None, Some(_)) => {
            Err(mismatch(format!("the header {shown} is missing; send it with what the argument says")))
        }
        (Some(_), _) => {
            Err(mismatch(format!("the header {shown} is not what the argument says; send the same in both")))
        }
    }
}

/// Whether a header says what an argument says; numbers are compared as numbers.
fn is_same(given: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => given == text,
        Value::Bool(yes) => given == if *yes { "true" } else { "false" },
        Value::Number(number) => {
            number.to_string() == given
                || given.parse::<f64>().is_ok_and(|given| {
                    number.as_f64().is_some_and(|number| number.to_bits() == given.to_bits())
                })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::json;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn head_and_body_must_say_the_same() {
        let sound = headers(&[("mcp-method", "tools/call"), ("mcp-name", " echo ")]);
        assert!(check(&sound, "tools/call", Some("echo")).is_ok());
        assert!(check(&sound, "tools/call", None).is_ok());
        for (method, name) in [("tools/list", None), ("TOOLS/CALL", None), ("tools/call", Some("other"))] {
            let failure = check(&sound, method, name).unwrap_err();
            assert_eq!(failure.fault, Fault::HeaderMismatch, "{method} {name:?}");
        }
        assert!(check(&headers(&[]), "tools/list", None).is_err());
        assert!(check(&headers(&[("mcp-method", "tools/call")]), "tools/call", Some("echo")).is_err());
    }

    #[test]
    fn base64_is_decoded_before_it_is_compared() {
        let greeting = headers(&[("mcp-method", "x"), ("mcp-name", "=?base64?SGVsbG8sIOS4lueVjA==?=")]);
        assert!(check(&greeting, "x", Some("Hello, 世界")).is_ok());
        for bad in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?/w==?="] {
            let headers = headers(&[("mcp-method", "x"), ("mcp-name", bad)]);
            assert!(check(&headers, "x", Some("Hello")).is_err(), "{bad}");
        }
        let literal = headers(&[("mcp-method", "x"), ("mcp-name", "=?base64?SGVsbG8=")]);
        assert!(check(&literal, "x", Some("=?base64?SGVsbG8=")).is_ok());
    }

    #[test]
    fn marked_arguments_stand_in_the_head() {
        let schema = json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } },
            "plain": { "type": "string" },
        } });
        let check = |pairs: &[(&'static str, &'static str)], arguments: Value| {
            check_arguments(&headers(pairs), &schema, arguments.as_object().unwrap()).is_ok()
        };
        assert!(check(&[("mcp-param-region", "eu")], json!({ "region": "eu", "plain": "x" })));
        assert!(check(&[], json!({ "region": null })));
        assert!(check(&[("mcp-param-n", "42.0")], json!({ "deep": { "n": 42 } })));
        assert!(!check(&[], json!({ "region": "eu" })));
        assert!(!check(&[("mcp-param-region", "us")], json!({ "region": "eu" })));
        assert!(!check(&[("mcp-param-region", "eu")], json!({})));
        assert!(!check(&[], json!({ "deep": { "n": 1 } })));
    }
}

//! The JSON-RPC binding of A2A 1.0: requests out, answers and events in.
//!
//! Promises: foreign JSON is checked (depth, number of values) before it is parsed; an answer is either a
//! result or an error, never both. It sends nothing.

use agentsite_egress::{Egress, EgressRequest};
use agentsite_protocol::Nesting;
use http::{HeaderName, HeaderValue};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::endpoint::Endpoint;
use super::operation::Operation;
use super::reason;
use crate::ClientError;

/// What an answer may hold. Depth as in a request; twenty times its values, because a task brings its whole
/// history.
const ANSWER: Nesting = Nesting { depth: Nesting::REQUEST.depth, nodes: 20 * Nesting::REQUEST.nodes };

/// The version of A2A that we use, as its header requires.
pub(super) const VERSION: HeaderValue = HeaderValue::from_static("1.0");
pub(super) const VERSION_HEADER: HeaderName = HeaderName::from_static("a2a-version");

/// The envelope of a request.
#[derive(Debug, Serialize)]
struct Call<'a, P> {
    jsonrpc: &'static str,
    id: String,
    method: &'a str,
    params: P,
}

/// The parameters of an operation, with the tenant where there is one.
#[derive(Debug, Serialize)]
struct Params<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    #[serde(flatten)]
    operation: &'a Operation<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    /// There as soon as it is named, also as `null`.
    #[serde(default, deserialize_with = "named")]
    pub(super) result: Option<Value>,
    #[serde(default)]
    pub(super) error: Option<Fault>,
}

/// An error of JSON-RPC.
#[derive(Debug, Deserialize)]
pub(super) struct Fault {
    pub(super) code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Option<Value>,
}

fn named<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(input).map(Some)
}

/// The request for an operation.
pub(super) fn request(
    egress: &Egress,
    endpoint: &Endpoint,
    operation: &Operation<'_>,
    number: u64,
) -> Result<EgressRequest, ClientError> {
    let params = Params { tenant: endpoint.tenant.as_deref(), operation };
    let call = Call { jsonrpc: "2.0", id: number.to_string(), method: operation.name(), params };
    Ok(egress.post(endpoint.url.clone()).header(VERSION_HEADER, VERSION).json(&call)?)
}

/// The same envelope around parameters of another version.
pub(super) fn foreign_request(
    egress: &Egress,
    endpoint: &Endpoint,
    method: &str,
    params: &Value,
    number: u64,
) -> Result<EgressRequest, ClientError> {
    let call = Call { jsonrpc: "2.0", id: number.to_string(), method, params };
    Ok(egress.post(endpoint.url.clone()).json(&call)?)
}

/// Parses foreign JSON after a look at its shape.
pub(super) fn read_json<T: DeserializeOwned>(from: &str, bytes: &[u8]) -> Result<T, ClientError> {
    let bad = |what: String| ClientError::BadAnswer { from: from.to_owned(), what };
    ANSWER.check(bytes).map_err(|error| bad(error.to_string()))?;
    serde_json::from_slice(bytes).map_err(|error| bad(format!("not JSON of the expected form: {error}")))
}

/// Reads the answer to a call.
pub(super) fn read_answer<T: DeserializeOwned>(from: &str, bytes: &[u8]) -> Result<T, ClientError> {
    let result = read_result(from, bytes)?;
    let bad =
        |error: serde_json::Error| ClientError::BadAnswer { from: from.to_owned(), what: error.to_string() };
    serde_json::from_value(result).map_err(bad)
}

/// The result of a call, of any form.
pub(super) fn read_result(from: &str, bytes: &[u8]) -> Result<Value, ClientError> {
    let bad = |what: &str| ClientError::BadAnswer { from: from.to_owned(), what: what.to_owned() };
    let answer: Answer = read_json(from, bytes)?;
    match (answer.result, answer.error) {
        (None | Some(Value::Null), Some(fault)) => Err(refused(fault)),
        (Some(result), None) => Ok(result),
        (Some(_), Some(_)) => Err(bad("both a result and an error")),
        (None, None) => Err(bad("neither a result nor an error")),
    }
}

/// Reads an answer that came with an HTTP error status: the protocol's own error if it holds one, else the
/// status.
pub(super) fn read_status(from: &str, status: u16, bytes: &[u8]) -> ClientError {
    match read_json::<Answer>(from, bytes) {
        Ok(Answer { error: Some(fault), .. }) => refused(fault),
        _ => reason::of_status(from, status, ""),
    }
}

fn refused(fault: Fault) -> ClientError {
    reason::refused(fault.code, &fault.message, fault.data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, ClientError> {
        read_answer("h", text.as_bytes())
    }

    #[test]
    fn an_error_of_the_official_sdk_is_read() {
        let wire = r#"{"error":{"code":-32001,"message":"Task not found","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{}}]},"id":7,"jsonrpc":"2.0"}"#;
        let error = read(wire).unwrap_err();
        assert!(error.is_unknown_task() && !error.may_pass());
        assert_eq!(error.to_string(), "Task not found");
        let missing =
            read(r#"{"error":{"code":-32601,"message":"Method not found"},"id":1,"jsonrpc":"2.0"}"#)
                .unwrap_err();
        assert!(missing.is_unsupported());
    }

    #[test]
    fn garbage_is_told_as_such() {
        for garbage in ["", "<html>", "[]", "7", "{}", r#"{"result":1,"error":{"code":1}}"#] {
            assert!(matches!(read(garbage), Err(ClientError::BadAnswer { .. })), "{garbage}");
        }
        let bomb = "[".repeat(100_000);
        assert!(read(&bomb).unwrap_err().to_string().contains("nests deeper"));
    }

    #[test]
    fn a_status_gives_way_to_the_protocols_own_words() {
        let inside = read_status("h", 404, br#"{"error":{"code":-32001,"message":"gone"}}"#);
        assert!(inside.is_unknown_task());
        let outside = read_status("h", 503, b"<html>");
        assert!(outside.may_pass() && outside.to_string().contains("503"));
        assert!(read_status("h", 401, b"").to_string().contains("valid token"));
    }
}

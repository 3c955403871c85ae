//! JSON-RPC as A2A uses it: the envelope of a request and the reading of an answer.
//!
//! Promises: foreign JSON is looked at (depth, number of values) before it is parsed; an answer is either a result or an error,
//! never both. It knows no methods and sends nothing.

use agentsite_protocol::Nesting;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ClientError;

/// What an answer may hold. Depth as in a request; twenty times its values, because a task brings its whole history.
const ANSWER: Nesting = Nesting { depth: Nesting::REQUEST.depth, nodes: 20 * Nesting::REQUEST.nodes };

/// Longest part of a foreign text that is repeated in an error.
const SHOWN: usize = 300;

/// The envelope of a request.
#[derive(Debug, Serialize)]
pub(super) struct Call<'a, P> {
    pub(super) jsonrpc: &'static str,
    pub(super) id: String,
    pub(super) method: &'a str,
    pub(super) params: P,
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Fault>,
}

#[derive(Debug, Deserialize)]
struct Fault {
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Option<Value>,
}

/// Parses foreign JSON after a look at its shape.
pub(super) fn read_json<T: DeserializeOwned>(from: &str, bytes: &[u8]) -> Result<T, ClientError> {
    let bad = |what: String| ClientError::BadAnswer { from: from.to_owned(), what };
    ANSWER.check(bytes).map_err(|error| bad(error.to_string()))?;
    serde_json::from_slice(bytes).map_err(|error| bad(format!("no JSON of the expected form: {error}")))
}

/// Reads the answer to a call.
pub(super) fn read_answer<T: DeserializeOwned>(from: &str, bytes: &[u8]) -> Result<T, ClientError> {
    let bad = |what: String| ClientError::BadAnswer { from: from.to_owned(), what };
    let answer: Answer = read_json(from, bytes)?;
    match (answer.result, answer.error) {
        (None, Some(fault)) => Err(refused(fault)),
        (Some(result), None) => serde_json::from_value(result).map_err(|error| bad(error.to_string())),
        (Some(_), Some(_)) => Err(bad("both a result and an error".into())),
        (None, None) => Err(bad("neither a result nor an error".into())),
    }
}

/// Reads an answer that came with an HTTP error status: the protocol's own error if it holds one, else the status.
pub(super) fn read_status(from: &str, status: u16, bytes: &[u8]) -> ClientError {
    if let Ok(Answer { error: Some(fault), .. }) = read_json::<Answer>(from, bytes) {
        return refused(fault);
    }
    let message = match status {
        401 | 403 => format!("{from} wants a valid token (HTTP {status})"),
        429 => format!("{from} is asked too often (HTTP 429); try again later"),
        300..=399 => format!("{from} has moved (HTTP {status}); use the address that it names"),
        _ => format!("{from} answered HTTP {status}"),
    };
    ClientError::Status { status, code: None, message }
}

fn refused(fault: Fault) -> ClientError {
    let message = if fault.message.is_empty() {
        format!("the agent refused with code {}", fault.code)
    } else {
        fault.message.chars().take(SHOWN).collect()
    };
    ClientError::Refused { code: fault.code, message, data: fault.data }
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
        for garbage in
            ["", "<html>", "[]", "7", "{}", r#"{"result":null}"#, r#"{"result":1,"error":{"code":1}}"#]
        {
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

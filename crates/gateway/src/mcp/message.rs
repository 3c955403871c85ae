//! Message: the decoder of what MCP clients send, one JSON-RPC message at a time.
//!
//! Promises: pure, copies nothing of the parameters, never panics (it is fuzzed); whatever is wrong is
//! refused with the caller's id wherever that could be read. Batches are refused: only revision 2025-03-26
//! had them, and no client is known to send any. It does not know methods.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use agentsite_protocol::Nesting;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::failure::{Failure, Fault};
use crate::jsonrpc::{MAX_ID, is_number, string};

/// What a client sends.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    /// It wants an answer.
    Request(ClientMessage<'a>),
    /// It wants none.
    Notification(ClientMessage<'a>),
    /// It answers a question of ours.
    Response(Answered<'a>),
}

/// A request or a notification.
#[derive(Debug, Clone)]
pub(super) struct ClientMessage<'a> {
    /// The id as JSON; empty for a notification.
    pub(super) id: &'a str,
    pub(super) method: Cow<'a, str>,
    /// An object, still as text.
    pub(super) params: &'a str,
}

/// An answer to a question of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answered<'a> {
    /// The id as JSON.
    pub(super) id: &'a str,
    /// The result, or the error, as JSON.
    pub(super) outcome: Result<&'a str, &'a str>,
}

/// A message that was refused, with its id as far as it could be read.
#[derive(Debug)]
pub(super) struct Refused<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) failure: Failure,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Tells a member that is null from one that is not there.
pub(super) fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Reads one message.
pub(super) fn decode(bytes: &[u8]) -> Result<Incoming<'_>, Refused<'_>> {
    let refuse =
        |fault, sentence: Cow<'static, str>| Refused { id: None, failure: Failure::new(fault, sentence) };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(refuse(Fault::NotJson, "the body is not UTF-8; send JSON in UTF-8".into()));
    };
    if let Err(error) = Nesting::REQUEST.check(bytes) {
        return Err(refuse(Fault::BadRequest, error.to_string().into()));
    }
    if text.trim_ascii_start().starts_with('[') {
        let sentence = "batches are not taken; send one message at a time";
        return Err(refuse(Fault::BadRequest, sentence.into()));
    }
    let frame: Frame<'_> = serde_json::from_str(text).map_err(|error| {
        let fault = if error.is_data() { Fault::BadRequest } else { Fault::NotJson };
        refuse(fault, format!("the body is not a JSON-RPC message: {error}").into())
    })?;
    frame.read()
}

impl<'a> Frame<'a> {
    fn read(&self) -> Result<Incoming<'a>, Refused<'a>> {
        let id = self.id.map(|id| read_id(id.get())).transpose()?;
        let refuse = |fault, sentence: &'static str| Refused { id, failure: Failure::new(fault, sentence) };
        if self.jsonrpc.map(RawValue::get) != Some(r#""2.0""#) {
            return Err(refuse(Fault::BadRequest, r#"`jsonrpc` must be exactly "2.0""#));
        }
        let Some(method) = self.method else { return self.answered(id) };
        let Some(method) = string(method.get()) else {
            return Err(refuse(Fault::BadRequest, "`method` must be a string"));
        };
        let params = match self.params.map(RawValue::get) {
            None | Some("null") => "{}",
            Some(object) if object.starts_with('{') => object,
            Some(_) => return Err(refuse(Fault::BadParams, "`params` must be an object with named members")),
        };
        Ok(match id {
            Some(id) => Incoming::Request(ClientMessage { id, method, params }),
            None => Incoming::Notification(ClientMessage { id: "", method, params }),
        })
    }

    fn answered(&self, id: Option<&'a str>) -> Result<Incoming<'a>, Refused<'a>> {
        let outcome = match (self.result, self.error) {
            (Some(result), None) => Ok(result.get()),
            (None, Some(error)) => Err(error.get()),
            _ => {
                let sentence = "a message has a `method`, or either a `result` or an `error`";
                return Err(Refused { id, failure: Failure::new(Fault::BadRequest, sentence) });
            }
        };
        // An error without an id answers nothing that can be found.
        Ok(Incoming::Response(Answered { id: id.unwrap_or("null"), outcome }))
    }
}

/// In MCP an id is a string or a number, and never null.
fn read_id(raw: &str) -> Result<&str, Refused<'_>> {
    if raw.len() <= MAX_ID && (string(raw).is_some() || is_number(raw)) {
        return Ok(raw);
    }
    let sentence = format!("`id` must be a string, or a number that fits 64 bits, of at most {MAX_ID} bytes");
    Err(Refused { id: None, failure: Failure::new(Fault::BadRequest, sentence) })
}

//! JSON-RPC 2.0: the decoder of foreign requests and the writer of answers.
//!
//! Promises: decoding is pure, copies nothing of the parameters and never panics (it is fuzzed); whatever is
//! wrong gets the code that the specification names, with the caller's id wherever that could be read.
//! Batches are refused: A2A has none. It does not know methods or what their parameters mean.

use std::borrow::Cow;

use agentsite_protocol::Nesting;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::failure::{Failure, Fault};

#[cfg(test)]
mod tests;

/// Longest id of a request. A stream repeats it with every event, so a long one would multiply.
pub(crate) const MAX_ID: usize = 256;

/// Longest excerpt of a foreign word that an error repeats.
const EXCERPT: usize = 60;

/// A request whose frame is sound; its parameters are an object, still as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: &'a str,
}

/// A request's id as the caller wrote it: the JSON text of a string, a number or null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id<'a>(&'a str);

impl<'a> Id<'a> {
    /// The id of an answer to a request that could not be read.
    pub(crate) const NULL: Id<'static> = Id("null");

    /// The id as JSON.
    pub(crate) fn as_json(&self) -> &'a str {
        self.0
    }
}

/// A request that was refused, with its id as far as it could be read.
#[derive(Debug)]
pub(crate) struct Refused<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) failure: Failure,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// Reads one request.
pub(crate) fn decode(bytes: &[u8]) -> Result<Request<'_>, Refused<'_>> {
    let refuse = |fault, sentence| Refused { id: Id::NULL, failure: Failure::new(fault, sentence) };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(refuse(Fault::NotJson, Cow::from("the body is not UTF-8; send JSON in UTF-8")));
    };
    if let Err(error) = Nesting::REQUEST.check(bytes) {
        return Err(refuse(Fault::BadRequest, error.to_string().into()));
    }
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'{') => {}
        Some(b'[') => {
            let sentence = "batches are not taken; send one request object at a time";
            return Err(refuse(Fault::BadRequest, sentence.into()));
        }
        None => {
            return Err(refuse(Fault::NotJson, "the body is empty; send a JSON-RPC request object".into()));
        }
        Some(_) if serde_json::from_str::<&RawValue>(text).is_ok() => {
            return Err(refuse(Fault::BadRequest, "the body must be a JSON-RPC request object".into()));
        }
        Some(_) => {}
    }
    let frame: Frame<'_> = serde_json::from_str(text).map_err(|error| {
        let fault = if error.is_data() { Fault::BadRequest } else { Fault::NotJson };
        refuse(fault, format!("the body is not a JSON-RPC request: {error}").into())
    })?;
    frame.check()
}

impl<'a> Frame<'a> {
    fn check(&self) -> Result<Request<'a>, Refused<'a>> {
        let id = self.read_id()?;
        let refuse = |fault, sentence| Refused { id, failure: Failure::new(fault, sentence) };
        if self.jsonrpc.map(RawValue::get) != Some(r#""2.0""#) {
            return Err(refuse(Fault::BadRequest, r#"`jsonrpc` must be exactly "2.0""#));
        }
        let Some(method) = self.method.and_then(|raw| string(raw.get())) else {
            return Err(refuse(Fault::BadRequest, "`method` must be a string"));
        };
        let params = match self.params.map(RawValue::get) {
            None | Some("null") => "{}",
            Some(object) if object.starts_with('{') => object,
            Some(_) => return Err(refuse(Fault::BadParams, "`params` must be an object with named members")),
        };
        Ok(Request { id, method, params })
    }

    fn read_id(&self) -> Result<Id<'a>, Refused<'a>> {
        let Some(raw) = self.id.map(RawValue::get) else { return Ok(Id::NULL) };
        if raw.len() <= MAX_ID && (raw == "null" || string(raw).is_some() || is_number(raw)) {
            return Ok(Id(raw));
        }
        let sentence =
            format!("`id` must be a string, a number that fits 64 bits, or null, of at most {MAX_ID} bytes");
        Err(Refused { id: Id::NULL, failure: Failure::new(Fault::BadRequest, sentence) })
    }
}

/// Whether it is a number that a reader can hold; JSON itself sets no bound, and an answer that bears `1e999`
/// cannot be read.
pub(crate) fn is_number(raw: &str) -> bool {
    serde_json::from_str::<serde_json::Number>(raw).is_ok()
}

/// Reads a JSON string, borrowed when it holds no escapes.
pub(crate) fn string(raw: &str) -> Option<Cow<'_, str>> {
    let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inside.contains('\\') {
        serde_json::from_str(raw).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inside))
    }
}

/// The refusal of an unknown method, with those that exist.
pub(crate) fn no_such_method(method: &str, known: &[&str]) -> Failure {
    let short: String = method.chars().take(EXCERPT).collect();
    Failure::new(Fault::NoSuchMethod, format!("there is no method `{short}`; there are {}", known.join(", ")))
}

/// Writes `{"jsonrpc":"2.0","id":…,"result":…}`.
pub(crate) fn write_result(out: &mut Vec<u8>, id: &str, result: &impl Serialize) -> serde_json::Result<()> {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(br#","result":"#);
    serde_json::to_writer(&mut *out, result)?;
    out.push(b'}');
    Ok(())
}

/// Decodes any bytes and forgets the result; the fuzz target calls it.
#[doc(hidden)]
pub fn fuzz_decode(bytes: &[u8]) {
    match decode(bytes) {
        Ok(request) => {
            assert!(request.params.starts_with('{'));
            assert!(serde_json::from_str::<serde_json::Value>(request.id.as_json()).is_ok());
        }
        Err(refused) => assert!(!refused.failure.rpc_body(refused.id.as_json()).is_empty()),
    }
}

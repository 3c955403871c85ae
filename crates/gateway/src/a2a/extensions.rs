//! Extensions: what a caller asks for beyond the protocol, and what the answer confirms.
//!
//! Promises: unknown extensions are ignored, as the specification wants it; the answer names those that are
//! in use. The older header name is understood too. It does not decide whether an agent requires one: the
//! site does.

use agentsite_protocol::extension::{RESUME, RESUME_AFTER, SEND_ONCE, TASK_AUTH, TASK_TTL, TASK_TTL_SECONDS};
use agentsite_protocol::{JsonMap, Period};
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::wrong;
use crate::failure::Failure;

/// The header, in requests and answers.
const HEADER: HeaderName = HeaderName::from_static("a2a-extensions");

/// The name it had before version 1.0.
const OLDER_HEADER: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// Extensions of one request that are looked at; cards declare a handful.
const MAX_WANTED: usize = 32;

/// Longest URI of an extension; longer ones are ignored.
const MAX_URI: usize = 256;

/// Those that the site itself brings.
const OURS: [&str; 4] = [RESUME, SEND_ONCE, TASK_TTL, TASK_AUTH];

/// Largest number that is exact in every reader of JSON.
const MAX_NUMBER: u64 = 1 << 53;

/// Longest time that a caller may name: ten years, more than any site keeps a task.
const MAX_TTL: u64 = 315_360_000;

/// The extensions that a caller asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RequestedExtensions(Vec<String>);

impl RequestedExtensions {
    /// Reads them from the head of a request.
    pub(super) fn read(headers: &HeaderMap) -> Self {
        let values = headers.get_all(HEADER).iter().chain(headers.get_all(OLDER_HEADER));
        let named = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        let mut wanted: Vec<String> = Vec::new();
        for uri in named.map(str::trim).filter(|uri| !uri.is_empty() && uri.len() <= MAX_URI) {
            if wanted.len() < MAX_WANTED && !wanted.iter().any(|known| known == uri) {
                wanted.push(uri.to_owned());
            }
        }
        Self(wanted)
    }

    /// Whether this one is asked for.
    pub(super) fn has(&self, uri: &str) -> bool {
        self.0.iter().any(|wanted| wanted == uri)
    }

    /// All of them, for an agent that knows more than the site does.
    pub(super) fn all(&self) -> &[String] {
        &self.0
    }

    /// Names in the answer those that are in use.
    pub(super) fn confirm(&self, response: &mut Response) {
        let used: Vec<&str> = OURS.into_iter().filter(|uri| self.has(uri)).collect();
        if used.is_empty() {
            return;
        }
        if let Ok(value) = HeaderValue::from_str(&used.join(",")) {
            response.headers_mut().insert(HEADER, value);
        }
    }
}

/// The number of the last event that a caller has seen, as the metadata of its request says it.
pub(super) fn resume_after(metadata: &JsonMap) -> Result<Option<u64>, Failure> {
    match metadata.get(RESUME_AFTER) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let number = number(value).filter(|number| *number <= MAX_NUMBER);
            number.map(Some).ok_or_else(|| wrong(RESUME_AFTER, "must be the number of an event"))
        }
    }
}

/// How long the finished task shall be kept.
pub(super) fn ttl(metadata: &JsonMap) -> Result<Option<Period>, Failure> {
    match metadata.get(TASK_TTL_SECONDS) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let seconds = number(value).filter(|seconds| *seconds <= MAX_TTL);
            let told = "must be a number of seconds, at most 315360000 (ten years)";
            seconds.map(|seconds| Some(Period::seconds(seconds))).ok_or_else(|| wrong(TASK_TTL_SECONDS, told))
        }
    }
}

/// A whole number; writers that know only floats, such as protobuf's Struct, write 7 as 7.0.
fn number(value: &Value) -> Option<u64> {
    let whole = |float: f64| {
        (float.fract() == 0.0 && (0.0..=MAX_NUMBER as f64).contains(&float)).then_some(float as u64)
    };
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(HeaderName, &str)]) -> RequestedExtensions {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        RequestedExtensions::read(&headers)
    }

    #[test]
    fn extensions_are_read_from_all_headers_once_each() {
        let wanted = read(&[(HEADER, "a, b"), (HEADER, "b,c,"), (OLDER_HEADER, "d")]);
        assert_eq!(wanted.all(), ["a", "b", "c", "d"]);
        assert!(wanted.has("c") && !wanted.has("e"));
        assert_eq!(read(&[]), RequestedExtensions::default());
    }

    #[test]
    fn a_flood_of_extensions_is_cut() {
        let many: Vec<String> = (0..1000).map(|number| format!("urn:x:{number}")).collect();
        assert_eq!(read(&[(HEADER, &many.join(","))]).all().len(), MAX_WANTED);
        assert!(read(&[(HEADER, &"x".repeat(MAX_URI + 1))]).all().is_empty());
    }

    #[test]
    fn numbers_are_read_as_any_writer_writes_them() {
        let with = |key: &str, value: Value| JsonMap::from_iter([(key.to_owned(), value)]);
        for (value, read) in [(7.into(), Some(7)), (7.0.into(), Some(7)), (Value::Null, None)] {
            assert_eq!(resume_after(&with(RESUME_AFTER, value)).unwrap(), read);
        }
        for wrong in [(-1).into(), 7.5.into(), "7".into(), f64::MAX.into(), u64::MAX.into()] {
            assert!(resume_after(&with(RESUME_AFTER, wrong)).is_err());
        }
        assert_eq!(ttl(&with(TASK_TTL_SECONDS, 60.into())).unwrap(), Some(Period::seconds(60)));
        assert_eq!(ttl(&JsonMap::new()).unwrap(), None);
        assert!(ttl(&with(TASK_TTL_SECONDS, (MAX_TTL + 1).into())).is_err());
    }

    #[test]
    fn only_known_extensions_are_confirmed() {
        let mut response = Response::default();
        read(&[(HEADER, "urn:other"), (HEADER, TASK_TTL), (HEADER, RESUME)]).confirm(&mut response);
        assert_eq!(response.headers()[HEADER], format!("{RESUME},{TASK_TTL}"));
        let mut response = Response::default();
        read(&[(HEADER, "urn:other")]).confirm(&mut response);
        assert!(response.headers().is_empty());
    }
}

//! Document: a value as the JSON body of an answer.
//!
//! Promises: one place for the headers of such answers, those that no cache keeps and those that readers may
//! keep for a while; a value that cannot be written is a fault inside the site, told in the log. It does not
//! know whose face speaks.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use agentsite_protocol::{Caller, Timestamp};
use axum::body::Body;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::failure::{Failure, Fault};

/// Bytes of the hash in an ETag; 128 bits never collide by accident.
const TAG_BYTES: usize = 16;

/// Answers with JSON that no cache keeps.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Result<Response, Failure> {
    Ok(unkept(status, written(value)?))
}

fn unkept(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// For whom a document is that may be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reader<'a> {
    /// It is the same for everybody, so pages of other sites may read it too.
    Everybody,
    /// What it says depends on who asks, so that shared caches keep only what everybody sees.
    This(&'a Caller),
}

/// Answers with a document that its reader may keep for a minute: a strong ETag over the bytes, so that an
/// unchanged one costs no transfer, and the time of the last change.
pub(crate) fn kept(
    parts: &Parts,
    reader: Reader<'_>,
    media: &'static str,
    value: &impl Serialize,
    changed_at: Timestamp,
) -> Result<Response, Failure> {
    Ok(keepable(parts, reader, media, written(value)?, changed_at))
}

fn keepable(
    parts: &Parts,
    reader: Reader<'_>,
    media: &'static str,
    body: Vec<u8>,
    changed_at: Timestamp,
) -> Response {
    let tag = tag(&body);
    let known = parts.headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let fresh = known.is_some_and(|known| known.split(',').any(|one| matches_tag(one.trim(), &tag)));
    let mut response = Response::new(if fresh { Body::empty() } else { Body::from(body) });
    if fresh {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    let cache = match reader {
        Reader::This(caller) if !caller.is_anonymous() => "private, max-age=60",
        _ => "public, max-age=60",
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    match reader {
        Reader::Everybody => {
            for (name, value) in [
                (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
                (header::ACCESS_CONTROL_ALLOW_METHODS, "GET"),
                (header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type"),
            ] {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }
        Reader::This(_) => {
            headers.insert(header::VARY, HeaderValue::from_static("authorization, cookie, x-api-key"));
        }
    }
    for (name, value) in [(header::ETAG, tag), (header::LAST_MODIFIED, http_date(changed_at))] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    response
}

fn written(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(|error| unwritten(&error))
}

fn unwritten(error: &serde_json::Error) -> Failure {
    tracing::error!(%error, "an answer could not be written");
    Failure::new(Fault::Internal, "the answer could not be written; the site's log says why")
}

/// A moment as HTTP writes it, in whole seconds.
fn http_date(at: Timestamp) -> String {
    let since_epoch = Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or(0));
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since_epoch)
}

fn matches_tag(known: &str, tag: &str) -> bool {
    known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
}

fn tag(body: &[u8]) -> String {
    let mut tag = String::from("\"");
    for byte in &Sha256::digest(body)[..TAG_BYTES] {
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    tag
}

/// Answers that it is done and that there is nothing to say.
pub(crate) fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

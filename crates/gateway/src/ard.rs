//! The discovery face: the catalogue of the site and its registry, as Agentic Resource Discovery (ARD) has
//! them.
//!
//! Promises: `/.well-known/ai-catalog.json` and `/.well-known/ard.json` tell everybody the public agents;
//! `POST /search`, `POST /explore`, `GET /agents` and `GET /agents/{identifier}` answer from every agent that
//! the caller may see. Versions 0.9 and 0.91 are both served; requests are closed as their schema is, so an
//! unknown member is refused. Errors are `{"errorCode","message"}`. It ranks nothing by itself: see
//! `Search::find`. See docs/ard.md.

mod catalog;
mod entry;
mod explore;
mod filter;
mod list;
mod matched;
mod path;
mod query;
mod search;
mod token;

use std::sync::Arc;

use agentsite_protocol::{Caller, Nesting};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::header;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::metrics::Face;
use crate::route::{Access, DocumentPart, Route, RouteDefaults, caller};
use entry::EntryAuthor;

/// Longest request of this face, in bytes; a full filter with a long text has a quarter of it.
const MAX_REQUEST: usize = 64 * 1024;

/// Results of one page when the caller names no number, and the most: as the specification has them.
const PAGE: std::ops::RangeInclusive<usize> = 1..=100;

/// What the rows of this face have in common.
const ARD: RouteDefaults = RouteDefaults::new(Face::Hub, Access::Caller)
    .refused_by(|failure, _| failure.ard())
    .part(DocumentPart::Ard);

/// The routes of this face.
pub(crate) fn routes() -> Vec<Route> {
    let files = [catalog::routes(), search::routes(), explore::routes(), list::routes()];
    files.into_iter().flatten().collect()
}

/// One request that was let in.
struct ArdCall {
    front: Arc<Front>,
    parts: Parts,
    caller: Caller,
    voice: EntryAuthor,
}

impl ArdCall {
    /// Takes the caller that the route let in; gives the body, which is not read yet.
    fn enter(front: Arc<Front>, request: Request) -> Result<(Self, Body), Failure> {
        let (mut parts, body) = request.into_parts();
        let caller = caller(&mut parts)?;
        let voice = EntryAuthor { base: front.base(&parts), signs: front.owns_base(&parts) };
        Ok((Self { front, parts, caller, voice }, body))
    }

    /// Reads the body within the limits.
    async fn read<T: DeserializeOwned>(&self, body: Body) -> Result<T, Failure> {
        let media = self.parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !media.unwrap_or_default().trim_start().to_ascii_lowercase().starts_with("application/json") {
            let sentence = "send the request as Content-Type: application/json";
            return Err(Failure::new(Fault::ContentType, sentence));
        }
        let bytes = self.front.body(body).await?;
        if bytes.len() > MAX_REQUEST {
            let sentence = format!("the request has {} bytes, at most {MAX_REQUEST} are taken", bytes.len());
            return Err(Failure::new(Fault::TooLarge, sentence));
        }
        Nesting::REQUEST.check(&bytes).map_err(|error| Failure::new(Fault::BadRequest, error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let fault = if error.is_data() { Fault::BadParams } else { Fault::NotJson };
            Failure::new(fault, format!("the body is not right: {error}"))
        })
    }
}

/// What a handler comes to, as a response.
fn respond(answer: Result<Response, Failure>) -> Response {
    answer.unwrap_or_else(|failure| failure.ard())
}

/// How many results a page has.
fn page_size(asked: Option<i64>, usual: usize) -> Result<usize, Failure> {
    let Some(asked) = asked else { return Ok(usual) };
    let size = usize::try_from(asked).unwrap_or_default();
    if PAGE.contains(&size) {
        return Ok(size);
    }
    Err(bad(format!("pageSize: name a number from {} to {}", PAGE.start(), PAGE.end())))
}

fn bad(sentence: impl Into<String>) -> Failure {
    Failure::new(Fault::BadParams, sentence.into())
}

/// The state of a handler, taken apart.
type FrontState = State<Arc<Front>>;

/// Reads a filter expression and tries it on an entry, for the fuzzer.
#[doc(hidden)]
pub fn fuzz_ard_filter(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(condition) = filter::Condition::read(text) else { return };
    let members =
        serde_json::json!({ "identifier": "urn:air:a:b:c", "tags": ["x", "y"], "metadata": { "price": 1 } });
    let members = members.as_object().cloned().unwrap_or_default();
    condition.holds(&entry::Entry { members, created: agentsite_protocol::Timestamp::from_millis(0) });
}

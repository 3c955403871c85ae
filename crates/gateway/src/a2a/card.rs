//! Cards: what the site and its agents say of themselves.
//!
//! Promises: the addresses in a card are those under which this caller reaches the site; a strong ETag over the bytes, so that an
//! unchanged card costs no transfer, and the time of the last change. Callers see only cards of agents they may call. A card is signed
//! unless its addresses are only the caller's word.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use agentsite_protocol::{AgentCard, Caller, Timestamp};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

use super::{Call, named_agent};
use crate::failure::{Failure, Fault};
use crate::front::Front;

/// Bytes of the hash in an ETag; 128 bits never collide by accident.
const TAG_BYTES: usize = 16;

/// Answers the card of an agent, or of the site itself.
pub(super) async fn answer(front: &Front, agent: Option<&str>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let card = async {
        let caller = front.admit(&parts).await?;
        let base = front.base(&parts);
        let card = match agent {
            Some(name) => front.site.card(&caller, &named_agent(name)?, &base)?,
            None => front.site.site_card(&caller, &base),
        };
        respond(&parts, &caller, &vouched(front, &parts, card), front.site.agents_changed_at())
    };
    card.await.unwrap_or_else(|failure: Failure| failure.rest())
}

/// The card that only callers see who are known.
pub(super) fn extended(call: &Call<'_>) -> Result<AgentCard, Failure> {
    if call.caller.is_anonymous() {
        let sentence =
            "the extended card is for known callers: send Authorization: Bearer KEY, or read the public card";
        return Err(Failure::new(Fault::Unauthenticated, sentence));
    }
    let base = call.front.base(call.parts);
    let card = if call.for_site {
        call.front.site.extended_site_card(&call.caller, &base)
    } else {
        call.front.site.extended_card(&call.caller, &call.agent, &base)?
    };
    Ok(vouched(call.front, call.parts, card))
}

/// Answers the card of the site.
pub(super) async fn of_site(State(front): State<Arc<Front>>, request: Request) -> Response {
    answer(&front, None, request).await
}

/// The card with the site's signatures only where its addresses are surely the site's.
fn vouched(front: &Front, parts: &Parts, mut card: AgentCard) -> AgentCard {
    if !front.owns_base(parts) {
        card.extra.remove("signatures");
    }
    card
}

fn respond(
    parts: &Parts,
    caller: &Caller,
    card: &AgentCard,
    changed_at: Timestamp,
) -> Result<Response, Failure> {
    let body = serde_json::to_vec(card).map_err(|error| {
        tracing::error!(%error, "a card could not be written");
        Failure::new(Fault::Internal, "the card could not be written; the site's log says why")
    })?;
    let tag = tag(&body);
    let known = parts.headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let fresh = known.is_some_and(|known| known.split(',').any(|one| matches_tag(one.trim(), &tag)));
    let mut response = Response::new(if fresh { Body::empty() } else { Body::from(body) });
    if fresh {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    // What a caller sees depends on who it is, so shared caches keep only what everybody sees.
    let cache = if caller.is_anonymous() { "public, max-age=60" } else { "private, max-age=60" };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::VARY, HeaderValue::from_static("authorization, cookie, x-api-key"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    for (name, value) in [(header::ETAG, tag), (header::LAST_MODIFIED, http_date(changed_at))] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    Ok(response)
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

//! `/api/hub`: agents from elsewhere, registered, proven, changed, imported and exported.
//!
//! Promises: everything is the site's own judgement; this file only reads requests and writes answers. Lines of an import come as
//! `application/x-ndjson`, an address as JSON. Finding and browsing agents is `/api/agents`.

use std::sync::Arc;

use agentsite_protocol::{AgentName, CardSignature, Visibility};
use agentsite_site::{HubEdit, HubFormat};
use axum::extract::{Path, Request, State};
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, Asking, Given, Wanted, bad, json, nothing};
use crate::failure::{Failure, Fault};
use crate::front::Front;

/// Entries of a page when the caller names no number.
const PAGE: usize = 100;

/// Media type of lines of JSON.
const LINES: &str = "application/x-ndjson";

/// What is to be registered: an address, or a document that lies nowhere else.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Registering {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    card: Option<Value>,
    #[serde(default = "everybody")]
    visibility: Visibility,
}

const fn everybody() -> Visibility {
    Visibility::Public
}

pub(super) async fn register(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(given): Given<Registering>,
) -> Answer {
    let entry = match (given.url, given.card) {
        (Some(url), None) => front.site.hub_register(&asking.caller, &url, given.visibility).await?,
        (None, Some(card)) => {
            let card = serde_json::to_vec(&card).map_err(|error| bad(error.to_string()))?;
            front.site.hub_post(&asking.caller, &card, given.visibility).await?
        }
        _ => return Err(bad("send `url` or `card`, one of them".into())),
    };
    json(StatusCode::CREATED, &entry)
}

#[derive(Deserialize)]
pub(super) struct EntriesWanted {
    #[serde(default)]
    format: HubFormat,
    after: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct Entries {
    items: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(super) async fn list(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Wanted(wanted): Wanted<EntriesWanted>,
) -> Answer {
    let limit = wanted.limit.unwrap_or(PAGE);
    let page = front.site.hub_export(&asking.caller, wanted.format, wanted.after, limit).await?;
    json(StatusCode::OK, &Entries { items: page.items, next: page.next })
}

pub(super) async fn show(State(front): State<Arc<Front>>, asking: Asking, Path(id): Path<String>) -> Answer {
    json(StatusCode::OK, &front.site.hub_entry(&asking.caller, &id).await?)
}

pub(super) async fn update(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
    Given(edit): Given<HubEdit>,
) -> Answer {
    json(StatusCode::OK, &front.site.hub_update(&asking.caller, &id, edit).await?)
}

pub(super) async fn remove(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
) -> Answer {
    front.site.hub_remove(&asking.caller, &id).await?;
    Ok(nothing())
}

/// The answer to a challenge; without one it is looked for on the domain of the entry.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Proving {
    #[serde(default)]
    answer: Option<CardSignature>,
}

pub(super) async fn prove(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
    Given(given): Given<Proving>,
) -> Answer {
    json(StatusCode::OK, &front.site.hub_prove(&asking.caller, &id, given.answer.as_ref()).await?)
}

pub(super) async fn suspend(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
) -> Answer {
    json(StatusCode::OK, &front.site.hub_suspend(&asking.caller, &id).await?)
}

pub(super) async fn resume(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
) -> Answer {
    json(StatusCode::OK, &front.site.hub_resume(&asking.caller, &id).await?)
}

pub(super) async fn refresh(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
) -> Answer {
    json(StatusCode::OK, &front.site.hub_refresh(&asking.caller, &id).await?)
}

#[derive(Serialize)]
struct Open {
    /// By which name it is called here now.
    agent: AgentName,
}

pub(super) async fn open(State(front): State<Arc<Front>>, asking: Asking, Path(id): Path<String>) -> Answer {
    json(StatusCode::OK, &Open { agent: front.site.hub_open(&asking.caller, &id).await? })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    url: String,
}

pub(super) async fn import(State(front): State<Arc<Front>>, asking: Asking, request: Request) -> Answer {
    let media = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let bytes = front.body(request.into_body()).await?;
    let imported = match media.as_str() {
        LINES => front.site.hub_import(&asking.caller, &bytes).await?,
        "application/json" => {
            let source: Source = serde_json::from_slice(&bytes)
                .map_err(|error| bad(format!("the body is not right: {error}")))?;
            front.site.hub_import_from(&asking.caller, &source.url).await?
        }
        _ => {
            let sentence =
                "send lines as application/x-ndjson, or an address as application/json: {\"url\": …}";
            return Err(Failure::new(Fault::ContentType, sentence));
        }
    };
    json(StatusCode::OK, &imported)
}

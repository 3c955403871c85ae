//! `/api/hub`: agents from elsewhere, registered, proven, changed, imported and exported.
//!
//! Promises: everything is the site's own judgement; this file only reads requests and writes answers. Lines
//! of an import come as `application/x-ndjson`, an address as JSON. Finding and browsing agents is
//! `/api/agents`.

use std::sync::Arc;

use agentsite_protocol::listing::{BadListingId, ListingId};
use agentsite_protocol::{AgentName, CardSignature, Visibility};
use agentsite_site::{HubEdit, HubFormat, SiteError};
use axum::extract::{Path, Request, State};
use http::{StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::request::{Admitted, JsonBody, Params, REST, RestResult, bad};
use crate::document::{json, nothing};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::route::{Route, Shape};
use crate::written::{Address, SignedAnswer, VisibilityWord};

/// Entries of a page when the caller names no number.
const PAGE: usize = 100;

/// Media type of lines of JSON.
const LINES: &str = "application/x-ndjson";

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/hub", list)
            .operation(
                "listHubEntries",
                "The agents from elsewhere that you may see, by their names everywhere",
            )
            .query(&[
                ("format", "listings|catalog|servers", "listings when left out"),
                ("after", "string", "next of the page before"),
                ("limit", "integer", "100 when left out"),
            ])
            .gives(Shape::of::<Entries>()),
        REST.post("/api/hub", register)
            .operation("registerAgent", "Register an agent by the address of its card, or by the card")
            .takes(Shape::of::<Registering>())
            .status("201")
            .gives("HubEntry"),
        REST.post("/api/hub/import", import)
            .operation("importAgents", "Import from an address; lines of JSON come as application/x-ndjson")
            .takes(Shape::of::<ImportSource>())
            .gives("Imported"),
        REST.get("/api/hub/{id}", show)
            .operation("getHubEntry", "One agent from elsewhere")
            .gives("HubEntry"),
        REST.patch("/api/hub/{id}", update)
            .operation("changeEntry", "Change who sees an entry, where it runs and what it costs")
            .takes("HubEdit")
            .gives("HubEntry"),
        REST.delete("/api/hub/{id}", remove).operation("removeEntry", "Take an entry out"),
        REST.post("/api/hub/{id}/verify", prove)
            .operation("proveEntry", "Prove to be the owner of an entry")
            .takes(Shape::of::<Proving>())
            .gives("HubEntry"),
        REST.post("/api/hub/{id}/refresh", refresh)
            .operation("refreshEntry", "Look at an entry again now")
            .gives("HubEntry"),
        REST.post("/api/hub/{id}/suspend", suspend)
            .operation("suspendEntry", "Take an entry out for a while")
            .gives("HubEntry"),
        REST.post("/api/hub/{id}/resume", resume)
            .operation("resumeEntry", "Bring an entry back")
            .gives("HubEntry"),
        REST.post("/api/hub/{id}/open", open)
            .operation("openEntry", "Open an entry, so that it is called through this site")
            .gives(Shape::of::<Open>()),
    ]
}

/// What is to be registered: an address, or a document that lies nowhere else.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["url"] }, { "required": ["card"] }]))]
struct Registering {
    #[serde(default)]
    #[schemars(with = "Address")]
    url: Option<String>,
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    card: Option<Value>,
    #[serde(default = "everybody")]
    #[schemars(with = "VisibilityWord")]
    visibility: Visibility,
}

const fn everybody() -> Visibility {
    Visibility::Public
}

async fn register(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<Registering>,
) -> RestResult {
    let entry = match (given.url, given.card) {
        (Some(url), None) => front.site.registry().register(&admitted.caller, &url, given.visibility).await?,
        (None, Some(card)) => {
            let card = serde_json::to_vec(&card).map_err(|error| bad(error.to_string()))?;
            front.site.registry().post(&admitted.caller, &card, given.visibility).await?
        }
        _ => return Err(bad("send `url` or `card`, one of them".into())),
    };
    json(StatusCode::CREATED, &entry)
}

#[derive(Deserialize)]
struct EntriesParams {
    #[serde(default)]
    format: HubFormat,
    after: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HubPage")]
struct Entries {
    #[schemars(with = "Vec<Map<String, Value>>")]
    items: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

async fn list(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Params(params): Params<EntriesParams>,
) -> RestResult {
    let limit = params.limit.unwrap_or(PAGE);
    let page = front.site.registry().export(&admitted.caller, params.format, params.after, limit).await?;
    json(StatusCode::OK, &Entries { items: page.items, next: page.next })
}

/// The entry that a path names; a text that cannot be an id is answered like an unknown one.
fn named(id: &str) -> Result<ListingId, Failure> {
    Ok(id.parse().map_err(|error: BadListingId| SiteError::from(error))?)
}

async fn show(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    json(StatusCode::OK, &front.site.registry().entry(&admitted.caller, &named(&id)?).await?)
}

async fn update(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    JsonBody(edit): JsonBody<HubEdit>,
) -> RestResult {
    json(StatusCode::OK, &front.site.registry().update(&admitted.caller, &named(&id)?, edit).await?)
}

async fn remove(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    front.site.registry().remove(&admitted.caller, &named(&id)?).await?;
    Ok(nothing())
}

/// The answer to a challenge; without one it is looked for on the domain of the entry.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Proving {
    #[serde(default)]
    #[schemars(with = "Option<SignedAnswer>")]
    answer: Option<CardSignature>,
}

async fn prove(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    JsonBody(given): JsonBody<Proving>,
) -> RestResult {
    json(
        StatusCode::OK,
        &front.site.registry().prove(&admitted.caller, &named(&id)?, given.answer.as_ref()).await?,
    )
}

async fn suspend(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    json(StatusCode::OK, &front.site.registry().suspend(&admitted.caller, &named(&id)?).await?)
}

async fn resume(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    json(StatusCode::OK, &front.site.registry().resume(&admitted.caller, &named(&id)?).await?)
}

async fn refresh(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    json(StatusCode::OK, &front.site.registry().refresh(&admitted.caller, &named(&id)?).await?)
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OpenEntry")]
struct Open {
    #[schemars(with = "String", extend("about" = "By which name it is called here"))]
    agent: AgentName,
}

async fn open(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    json(StatusCode::OK, &Open { agent: front.site.registry().open(&admitted.caller, &named(&id)?).await? })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ImportSource {
    #[schemars(with = "Address")]
    url: String,
}

async fn import(State(front): State<Arc<Front>>, admitted: Admitted, request: Request) -> RestResult {
    let media = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let bytes = front.body(request.into_body()).await?;
    let imported = match media.as_str() {
        LINES => front.site.registry().import(&admitted.caller, &bytes).await?,
        "application/json" => {
            let source: ImportSource = serde_json::from_slice(&bytes)
                .map_err(|error| bad(format!("the body is not right: {error}")))?;
            front.site.registry().import_from(&admitted.caller, &source.url).await?
        }
        _ => {
            let sentence =
                "send lines as application/x-ndjson, or an address as application/json: {\"url\": …}";
            return Err(Failure::new(Fault::ContentType, sentence));
        }
    };
    json(StatusCode::OK, &imported)
}

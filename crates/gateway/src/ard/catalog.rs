//! The documents by which others find the agents of the site: the catalogue under `/.well-known`, and
//! `robots.txt`, which points at it.
//!
//! Promises: the same for everybody, so only what anonymous callers may see is in it; the catalogue
//! names the registry in which the rest can be searched. Bounded: a site that knows a million agents does not
//! write them all into one document.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use agentsite_protocol::listing::MCP_SERVER_CARD;
use agentsite_protocol::{Caller, did_web};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderValue, header};
use serde_json::{Value, json};

use super::entry::{Entry, forms, registry, trust};
use super::{ARD, ArdCall, FrontState, respond};
use crate::document::{Reader, kept};
use crate::failure::Failure;
use crate::front::Front;
use crate::hub;
use crate::route::Route;

/// Most agents in the catalogue, those that the site runs first; the others are found by its registry.
const MAX_AGENTS: usize = 1000;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        ARD.get("/.well-known/ai-catalog.json", show)
            .operation("getCatalog", "The public agents of the site as a catalogue")
            .gives("Catalog"),
        ARD.get("/.well-known/ard.json", show)
            .operation("getManifest", "The same, where ARD 0.91 looks for it")
            .gives("Catalog"),
        ARD.get("/.well-known/mcp/catalog.json", tool_servers)
            .operation("getServerCatalog", "The public servers of tools as a catalogue")
            .gives("ServerCatalog"),
        ARD.refused_by(|failure, _| failure.rest()).get("/robots.txt", robots),
    ]
}

async fn show(State(front): FrontState, request: Request) -> Response {
    respond(catalog(front, request).await)
}

async fn catalog(front: Arc<Front>, request: Request) -> Result<Response, Failure> {
    let (call, _) = ArdCall::enter(front, request)?;
    let (site, voice) = (&call.front.site, &call.voice);
    let mut entries = vec![registry(site, voice)];
    entries.extend(public(&call).await?.into_iter().map(|entry| Value::Object(entry.members)));
    let document = json!({
        "specVersion": "1.0",
        "host": {
            "displayName": site.name(),
            "identifier": did_web(&voice.base),
            "documentationUrl": format!("{}/docs/api", voice.base),
            "trustManifest": trust(site, voice, None),
        },
        "entries": entries,
    });
    kept(&call.parts, Reader::Everybody, "application/json", &document, site.cards().changed_at())
}

async fn tool_servers(State(front): FrontState, request: Request) -> Response {
    respond(tool_catalog(front, request).await)
}

/// The servers of tools alone, in the form of MCP's own catalogue (SEP-2127, a draft).
async fn tool_catalog(front: Arc<Front>, request: Request) -> Result<Response, Failure> {
    let (call, _) = ArdCall::enter(front, request)?;
    let is_server = |entry: &Entry| entry.members.get("type").is_some_and(|media| media == MCP_SERVER_CARD);
    let entries: Vec<Value> = public(&call)
        .await?
        .iter()
        .filter(|entry| is_server(entry) && entry.members.contains_key("url"))
        .map(|entry| {
            let member = |name: &str| entry.members.get(name).cloned().unwrap_or_default();
            json!({
                "identifier": member("identifier"), "displayName": member("displayName"),
                "type": MCP_SERVER_CARD, "url": member("url"),
            })
        })
        .collect();
    let document = json!({ "specVersion": "draft", "entries": entries });
    let changed_at = call.front.site.cards().changed_at();
    kept(&call.parts, Reader::Everybody, "application/json", &document, changed_at)
}

/// What strangers see.
async fn public(call: &ArdCall) -> Result<Vec<Entry>, Failure> {
    let stranger = Caller::anonymous(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let mut listings = hub::all(&call.front.site, &stranger, &call.voice.base).await?;
    listings.sort_by_key(|listing| !listing.local);
    Ok(listings
        .iter()
        .take(MAX_AGENTS)
        .flat_map(|listing| forms(&call.front.site, listing, &call.voice))
        .collect())
}

/// Tells crawlers where the catalogue is.
async fn robots(State(front): FrontState, request: Request) -> Response {
    let (call, _) = match ArdCall::enter(front, request) {
        Ok(entered) => entered,
        Err(failure) => return failure.rest(),
    };
    let text =
        format!("User-agent: *\nAllow: /\n\nAgentmap: {}/.well-known/ai-catalog.json\n", call.voice.base);
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

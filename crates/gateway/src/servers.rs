//! Servers of tools for programs that look for them: the registry API of MCP as a view to read, and server
//! cards.
//!
//! Promises: `/v0.1/servers` (and `/v0/servers`) list every agent that the caller may see and that speaks
//! MCP, by name, in pages; one version of each is known, the present one. A server card (SEP-2127, a draft)
//! says where such an agent is called before anybody connects. Nothing is published here: agents come by
//! their folders and by registration. Errors are `{"error"}`.

mod detail;

use std::sync::Arc;

use agentsite_protocol::listing::Listing;
use agentsite_protocol::{AgentName, Caller, Timestamp, Visibility};
use axum::extract::{Path, Query as UrlQuery, Request, State};
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::document::{Reader, json as answer_json, kept};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::hub;
use crate::metrics::Face;
use crate::route::{Access, DocumentPart, Query, Route, RouteDefaults, caller};
use detail::{card, detail, is_server, site_card};

/// Servers of a page when the caller names no number, and the most.
const PAGE: (usize, usize) = (30, 100);

/// Longest cursor and search text that are read, in bytes: a name has at most 200.
const MAX_TEXT: usize = 512;

/// Where the registry keeps what it says of a server itself.
const REGISTRY_META: &str = "io.modelcontextprotocol.registry/official";

/// Media type of a server card.
const CARD: &str = "application/mcp-server-card+json";

/// How a list of servers is narrowed.
const NARROWED: Query = &[
    ("cursor", "string", "nextCursor of the page before"),
    ("limit", "1..100", "1 to 100; 30 when left out"),
    ("search", "string", "Part of the name"),
    ("updated_since", "moment", "Changed since this moment"),
    ("version", "string", "latest, or an exact version"),
];

/// What the rows of this face have in common.
const SERVERS: RouteDefaults = RouteDefaults::new(Face::Hub, Access::Caller)
    .refused_by(|failure, _| failure.mcp_registry())
    .part(DocumentPart::Servers);

/// The routes of this face.
pub(crate) fn routes() -> Vec<Route> {
    let former = "The same by its former address";
    vec![
        SERVERS
            .get("/v0.1/servers", list)
            .operation("listServers", "Agents that are servers of tools")
            .query(NARROWED)
            .gives("ServerList"),
        SERVERS
            .get("/v0.1/servers/{name}", latest)
            .operation("getServer", "One server")
            .gives("ServerResponse"),
        SERVERS
            .get("/v0.1/servers/{name}/versions", versions)
            .operation("listServerVersions", "The versions of a server")
            .gives("ServerList"),
        SERVERS
            .get("/v0.1/servers/{name}/versions/{version}", one_version)
            .operation("getServerVersion", "One version of a server")
            .gives("ServerResponse"),
        SERVERS
            .get("/v0/servers", list)
            .operation("listServersV0", former)
            .query(NARROWED)
            .gives("ServerList"),
        SERVERS.get("/v0/servers/{name}", latest).operation("getServerV0", former).gives("ServerResponse"),
        SERVERS.get("/v0/servers/{name}/versions", versions),
        SERVERS.get("/v0/servers/{name}/versions/{version}", one_version),
        SERVERS
            .get("/.well-known/mcp/server-card.json", card_of_site)
            .operation("getSiteServerCard", "The card of the site as a server of tools")
            .gives("ServerCard")
            .media(CARD),
        SERVERS
            .get("/mcp/{agent}/server-card", card_of_agent)
            .operation("getServerCard", "The card of an agent as a server of tools")
            .gives("ServerCard")
            .media(CARD),
    ]
}

/// One request that was let in.
struct ServersCall {
    front: Arc<Front>,
    parts: Parts,
    caller: Caller,
    base: String,
}

impl ServersCall {
    fn enter(front: Arc<Front>, request: Request) -> Result<Self, Failure> {
        let (mut parts, _) = request.into_parts();
        let caller = caller(&mut parts)?;
        let base = front.base(&parts);
        Ok(Self { front, parts, caller, base })
    }

    /// Every server that this caller may see, by name.
    async fn servers(&self) -> Result<Vec<(String, Listing, Value)>, Failure> {
        let all = hub::all(&self.front.site, &self.caller, &self.base).await?;
        let mut servers: Vec<_> = all
            .into_iter()
            .filter(is_server)
            .map(|listing| {
                let detail = detail(&listing, &self.base);
                (detail["name"].as_str().unwrap_or_default().to_owned(), listing, detail)
            })
            .collect();
        servers.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        servers.dedup_by(|(one, ..), (other, ..)| one == other);
        Ok(servers)
    }
}

#[derive(Deserialize)]
struct ServerParams {
    cursor: Option<String>,
    limit: Option<i64>,
    search: Option<String>,
    updated_since: Option<String>,
    version: Option<String>,
}

async fn list(State(front): State<Arc<Front>>, request: Request) -> Response {
    respond(page(front, request).await)
}

async fn page(front: Arc<Front>, request: Request) -> Result<Response, Failure> {
    let call = ServersCall::enter(front, request)?;
    let UrlQuery(wanted) = UrlQuery::<ServerParams>::try_from_uri(&call.parts.uri)
        .map_err(|error| bad(format!("the query is not right: {error}")))?;
    let limit = match wanted.limit {
        None => PAGE.0,
        Some(limit) => usize::try_from(limit)
            .ok()
            .filter(|limit| (1..=PAGE.1).contains(limit))
            .ok_or_else(|| bad(format!("limit: name a number from 1 to {}", PAGE.1)))?,
    };
    let texts = [&wanted.cursor, &wanted.search, &wanted.version];
    if texts.iter().any(|text| text.as_ref().is_some_and(|text| text.len() > MAX_TEXT)) {
        return Err(bad(format!("cursor, search and version have at most {MAX_TEXT} bytes")));
    }
    let since = wanted.updated_since.as_deref().map(Timestamp::parse).transpose();
    let since = since.map_err(|_| bad("updated_since: write it like 2026-01-01T00:00:00Z".into()))?;
    let search = wanted.search.unwrap_or_default().to_lowercase();
    let version = wanted.version.filter(|version| version != "latest" && !version.is_empty());
    let after = wanted.cursor.unwrap_or_default();
    let passing = call.servers().await?.into_iter().filter(|(name, listing, detail)| {
        let named = [name.as_str(), detail["title"].as_str().unwrap_or_default()];
        (after.is_empty() || *name > after)
            && named.iter().any(|text| text.to_lowercase().contains(&search))
            && since.is_none_or(|since| listing.updated_at >= since)
            && version.as_ref().is_none_or(|version| detail["version"] == version.as_str())
    });
    // One more than the page, to know whether another one follows.
    let mut found: Vec<_> = passing.take(limit + 1).collect();
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|(name, ..)| name.clone());
    let mut metadata = json!({ "count": found.len() });
    if let Some(next) = next {
        metadata["nextCursor"] = next.into();
    }
    let servers: Vec<Value> = found.iter().map(|(_, listing, detail)| wrapped(listing, detail)).collect();
    answer_json(StatusCode::OK, &json!({ "servers": servers, "metadata": metadata }))
}

async fn latest(State(front): State<Arc<Front>>, Path(name): Path<String>, request: Request) -> Response {
    let answer = async {
        let call = ServersCall::enter(front, request)?;
        answer_json(StatusCode::OK, &find(&call, &name, None).await?)
    };
    respond(answer.await)
}

async fn versions(State(front): State<Arc<Front>>, Path(name): Path<String>, request: Request) -> Response {
    let answer = async {
        let call = ServersCall::enter(front, request)?;
        let only = find(&call, &name, None).await?;
        answer_json(StatusCode::OK, &json!({ "servers": [only], "metadata": { "count": 1 } }))
    };
    respond(answer.await)
}

async fn one_version(
    State(front): State<Arc<Front>>,
    Path((name, version)): Path<(String, String)>,
    request: Request,
) -> Response {
    let answer = async {
        let call = ServersCall::enter(front, request)?;
        answer_json(StatusCode::OK, &find(&call, &name, Some(&version)).await?)
    };
    respond(answer.await)
}

/// The server of this name; one that is not for this caller answers like none.
async fn find(call: &ServersCall, name: &str, version: Option<&str>) -> Result<Value, Failure> {
    let version = version.filter(|version| *version != "latest");
    let mut servers = call.servers().await?.into_iter();
    let found = servers.find(|(known, listing, _)| known == name || listing.id == *name);
    let fits = |detail: &Value| version.is_none_or(|version| detail["version"] == version);
    match found {
        Some((_, listing, detail)) if fits(&detail) => Ok(wrapped(&listing, &detail)),
        _ => Err(Failure::new(
            Fault::NoSuchEntry,
            "there is no such server here; list the servers to see which there are",
        )),
    }
}

/// A server with what the registry says of it.
fn wrapped(listing: &Listing, detail: &Value) -> Value {
    json!({
        "server": detail,
        "_meta": { REGISTRY_META: {
            "status": "active",
            "publishedAt": listing.registered_at,
            "updatedAt": listing.updated_at,
            "isLatest": true,
        }},
    })
}

async fn card_of_site(State(front): State<Arc<Front>>, request: Request) -> Response {
    let answer = async {
        let call = ServersCall::enter(front, request)?;
        let card = site_card(&call.front.site.settings().site, &call.base);
        kept(&call.parts, Reader::Everybody, CARD, &card, call.front.site.cards().changed_at())
    };
    respond(answer.await)
}

async fn card_of_agent(
    State(front): State<Arc<Front>>,
    Path(agent): Path<String>,
    request: Request,
) -> Response {
    let answer = async {
        let call = ServersCall::enter(front, request)?;
        let missing = || {
            Failure::new(
                Fault::NoSuchAgent,
                "there is no such agent here; /v0.1/servers lists those that there are",
            )
        };
        let name: AgentName = agent.parse().map_err(|_| missing())?;
        let all = hub::all(&call.front.site, &call.caller, &call.base).await?;
        let listing = all.into_iter().find(|one| one.local && one.name == name.as_str() && is_server(one));
        let listing = listing.ok_or_else(missing)?;
        // Pages of other sites may read what everybody may know.
        let public = listing.visibility == Visibility::Public;
        let reader = if public { Reader::Everybody } else { Reader::This(&call.caller) };
        kept(&call.parts, reader, CARD, &card(&listing, &call.base), call.front.site.cards().changed_at())
    };
    respond(answer.await)
}

fn bad(sentence: String) -> Failure {
    Failure::new(Fault::BadParams, sentence)
}

/// What a handler comes to, as a response.
fn respond(answer: Result<Response, Failure>) -> Response {
    answer.unwrap_or_else(|failure| failure.mcp_registry())
}

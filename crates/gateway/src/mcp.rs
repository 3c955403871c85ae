//! The MCP face: the whole site under `/mcp`, every agent under `/mcp/AGENT`, as a server of tools.
//!
//! Promises: both eras of the protocol on one address. Requests of the stateless revision (2026-07-28) stand
//! for themselves (`stateless`); those of 2025-11-25 and before belong to a session (`session`, `sessions`).
//! What is asked is read and done once for both (`operation`), and written in the form of each (`answer`).
//! The order of checks is caller, media type, size, frame, era.
//!
//! It decides nothing about tools: see `Toolkit`. Batches are refused, see `message`.

mod answer;
mod describe;
mod feed;
mod headers;
mod listen;
mod message;
mod notice;
mod operation;
mod page;
mod params;
mod round;
mod session;
mod sessions;
mod stateless;
mod task;
mod version;

use std::sync::Arc;

use agentsite_protocol::{AgentName, Caller, MAX_NAME};
use agentsite_site::{Site, SiteError, Toolkit};
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};
use tokio_util::task::TaskTracker;

use crate::connection::AtWork;
use crate::failure::{Era, Failure, Fault};
use crate::front::{Front, connection};
use crate::metrics::Face;
use crate::route::{Access, Route, RouteDefaults, caller};
use crate::trace;
use crate::visit::StreamPlace;
use message::Incoming;
use params::{Params, object};
use round::{Bond, Seal};
use session::Sessions;

pub use params::fuzz_mcp;

/// What outlives a request.
#[derive(Debug)]
struct McpState {
    /// Seals what callers keep for us.
    seal: Seal,
    sessions: Sessions,
    /// Calls that continue when their client hangs up.
    work: TaskTracker,
}

/// The routes of this face.
pub(crate) fn routes(site: &Site) -> Vec<Route> {
    let seal = Seal::new(&site.key_for(round::PURPOSE));
    let desk = Arc::new(McpState { seal, sessions: Sessions::default(), work: TaskTracker::new() });
    let of_agent = Arc::clone(&desk);
    let whole = move |State(front): State<Arc<Front>>, request: Request| {
        let desk = Arc::clone(&desk);
        async move { enter_site(&front, &desk, request).await }
    };
    let one = move |State(front): State<Arc<Front>>, Path(agent): Path<String>, request: Request| {
        let desk = Arc::clone(&of_agent);
        async move { enter_agent(&front, &desk, &agent, request).await }
    };
    // A tool may take as long as its agent may.
    let site =
        RouteDefaults::new(Face::Mcp, Access::Caller).refused_by(|failure, _| refuse(failure)).untimed();
    let agent = RouteDefaults::new(Face::Mcp, Access::PerAgent).untimed();
    vec![
        site.any("/mcp", whole.clone()),
        site.any("/mcp/", whole),
        agent.any("/mcp/{agent}", one.clone()),
        agent.any("/mcp/{agent}/", one),
    ]
}

/// One request that was let in.
struct McpCall<'a> {
    front: &'a Arc<Front>,
    desk: &'a Arc<McpState>,
    parts: &'a Parts,
    caller: Caller,
    toolkit: Toolkit,
    /// Whether the client reads streams.
    takes_events: bool,
}

impl McpCall<'_> {
    /// Keeps the connection from being ended as idle while a tool works.
    fn at_work(&self) -> Result<AtWork, Failure> {
        Ok(connection(self.parts)?.begin())
    }

    /// Takes a place for a stream, before anything is done for it.
    fn stream_place(&self) -> Result<StreamPlace, Failure> {
        self.front.open_stream(self.parts)
    }

    /// What a state that is given out with the answer to this request is bound to.
    fn bond(&self, method: &str, params: &Params<'_>) -> Result<Bond, Failure> {
        let name = operation::named(method, params)?.unwrap_or_default();
        // Read and written again, so that another order of members or other spaces do not count.
        let arguments = serde_json::Value::Object(object(params.arguments, "arguments")?).to_string();
        let agent = self.toolkit.agent().map(AgentName::as_str).unwrap_or_default();
        Ok(Bond::of([self.caller.owner().as_str(), agent, method, &name, &arguments]))
    }
}

/// Answers a request to the whole site, for the caller that the row let in.
async fn enter_site(front: &Arc<Front>, desk: &Arc<McpState>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    match caller(&mut parts) {
        Ok(caller) => enter(let_in(front, desk, &parts, caller, None), body).await,
        Err(failure) => refuse(&failure),
    }
}

/// Answers a request to one agent.
async fn enter_agent(front: &Arc<Front>, desk: &Arc<McpState>, agent: &str, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match front.admit(&parts).await {
        Ok(caller) => enter(let_in(front, desk, &parts, caller, Some(agent)), body).await,
        Err(failure) => refuse(&failure),
    }
}

async fn enter(call: Result<McpCall<'_>, Failure>, body: Body) -> Response {
    match call {
        Ok(call) if call.parts.method == Method::POST => post(call, body).await,
        Ok(call) => other(&call).unwrap_or_else(|failure| refuse(&failure)),
        Err(failure) => refuse(&failure),
    }
}

/// The refusal of a request before its era is known: with a status that every client sees.
fn refuse(failure: &Failure) -> Response {
    failure.mcp(Era::Stateless, None)
}

/// Finds what the caller wants to use.
fn let_in<'a>(
    front: &'a Arc<Front>,
    desk: &'a Arc<McpState>,
    parts: &'a Parts,
    caller: Caller,
    agent: Option<&str>,
) -> Result<McpCall<'a>, Failure> {
    let caller = caller.in_trace(trace::onward(&parts.headers));
    let agent = agent.map(named_agent).transpose()?;
    let toolkit = front.site.toolkit(&caller, agent.as_ref())?;
    let takes_events = takes(&parts.headers, "text/event-stream");
    Ok(McpCall { front, desk, parts, caller, toolkit, takes_events })
}

/// A name that cannot be one answers like an agent that is not there.
fn named_agent(name: &str) -> Result<AgentName, Failure> {
    name.parse().map_err(|_| SiteError::NoSuchAgent(name.chars().take(MAX_NAME).collect()).into())
}

/// Whether the client takes answers of this media type; one that says nothing takes everything.
fn takes(headers: &HeaderMap, media: &str) -> bool {
    let mut kinds = headers.get_all(header::ACCEPT).iter().peekable();
    if kinds.peek().is_none() {
        return true;
    }
    let family = media.split('/').next().unwrap_or_default();
    kinds.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case(media)
            || kind == "*/*"
            || kind.strip_suffix("/*").is_some_and(|all| all.eq_ignore_ascii_case(family))
    })
}

/// Answers a message.
async fn post(mut call: McpCall<'_>, body: Body) -> Response {
    if let Err(failure) = check_media(&call) {
        return refuse(&failure);
    }
    let body = match call.front.body(body).await {
        Ok(body) => body,
        Err(failure) => return refuse(&failure),
    };
    let incoming = match message::decode(&body) {
        Ok(incoming) => incoming,
        Err(refused) => return refused.failure.mcp(Era::Stateless, refused.id),
    };
    let asked = match incoming {
        Incoming::Request(asked) => asked,
        quiet => return hear(&call, &quiet).map_or_else(|failure| refuse(&failure), |()| accepted()),
    };
    let params = match Params::read(&asked) {
        Ok(params) => params,
        Err(failure) => return failure.mcp(Era::Stateless, Some(asked.id)),
    };
    if let Some(trace) = params.meta.as_ref().and_then(params::Meta::trace) {
        call.caller = call.caller.in_trace(Some(trace));
    }
    // Cards are signed only under an address that is surely the site's own.
    if asked.method == "resources/read" && call.front.owns_base(call.parts) {
        call.toolkit = call.toolkit.at(&call.front.base(call.parts));
    }
    match version::era(&call.parts.headers, &asked.method, params.meta.as_ref()) {
        Era::Stateless => Box::pin(stateless::answer(call, &asked, params)).await,
        Era::Sessions => Box::pin(sessions::answer(call, &asked, params)).await,
    }
}

/// Takes what wants no answer. The stateless revision has nothing of the kind over HTTP; there it is taken
/// and forgotten.
fn hear(call: &McpCall<'_>, incoming: &Incoming<'_>) -> Result<(), Failure> {
    if !call.parts.headers.contains_key(version::SESSION) {
        return Ok(());
    }
    let session = sessions::session(call)?;
    match incoming {
        Incoming::Notification(asked) => sessions::notified(&session, asked),
        Incoming::Response(answered) => {
            sessions::answered(&session, answered);
            Ok(())
        }
        Incoming::Request(_) => Ok(()),
    }
}

/// Answers what is not a message: sessions have a stream and an end.
fn other(call: &McpCall<'_>) -> Result<Response, Failure> {
    match call.parts.method {
        Method::GET if call.parts.headers.contains_key(version::SESSION) => sessions::open_stream(call),
        Method::DELETE if call.parts.headers.contains_key(version::SESSION) => sessions::close(call),
        _ => Ok(wrong_method()),
    }
}

fn check_media(call: &McpCall<'_>) -> Result<(), Failure> {
    let headers = &call.parts.headers;
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = given.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case("application/json") {
        return Err(Failure::new(Fault::ContentType, "send the message as Content-Type: application/json"));
    }
    if !call.takes_events && !takes(headers, "application/json") {
        let sentence = "answers are application/json or text/event-stream; send both in Accept";
        return Err(Failure::new(Fault::NotAcceptable, sentence));
    }
    Ok(())
}

/// The answer to what wants none.
fn accepted() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

fn wrong_method() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response.headers_mut().insert(header::ALLOW, http::HeaderValue::from_static("POST"));
    response
}

//! The A2A face: every agent under `/a2a/AGENT`, the concierge under `/a2a`, and the cards.
//!
//! Promises: A2A 1.0 wire forms in three bindings, JSON-RPC (`rpc`), HTTP+JSON (`rest`) and gRPC (`grpc`),
//! that only read requests and write answers; what an operation does is written once, below `operation`. The
//! order of checks is caller, media type, size, frame, version, operation, parameters, so that nothing is
//! looked up for somebody who may not ask. A task is found only under its own agent. Requests of A2A 0.3 by
//! JSON-RPC are translated at this door (`rpc`, `binding`); operations know only 1.0.

mod address;
mod answer;
mod binding;
mod card;
mod extensions;
mod grpc;
mod operation;
mod protojson;
mod push;
mod rest;
mod rpc;
mod send;
mod stream;
mod task;
mod tenant;
mod version;

use std::sync::Arc;

use agentsite_protocol::{AgentName, Caller};
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, Method, header};
use serde::de::DeserializeOwned;
use tracing::Span;

use crate::failure::{Failure, Fault, Violation};
use crate::front::{Front, connection};
use crate::metrics::Face;
use crate::route::{Access, Route, RouteDefaults};
use crate::trace;
use crate::visit::StreamPlace;
use address::{Address, Target};
use extensions::RequestedExtensions;

/// Most characters of a foreign name that go into a trace.
const MAX_TRACED: usize = 64;

/// The operations of A2A by the names that JSON-RPC and gRPC call them.
#[must_use]
pub const fn a2a_methods() -> &'static [&'static str] {
    &operation::METHODS
}

/// The routes of this face.
pub(crate) fn routes() -> Vec<Route> {
    // What is looked at before the caller, and how it is refused, depends on the binding. Waiting for an
    // agent takes as long as the agent may; `operation` limits the rest.
    let defaults = RouteDefaults::new(Face::A2a, Access::PerAgent);
    let calls = defaults.untimed();
    vec![
        calls.any("/a2a", enter),
        calls.any("/a2a/", enter),
        calls.any("/a2a/{*path}", enter),
        calls.post(grpc::PATH, grpc::enter),
        defaults.get("/.well-known/agent-card.json", card::of_site).access(Access::Caller),
    ]
}

/// Finds out what a request is for and hands it to its binding.
async fn enter(State(front): State<Arc<Front>>, path: Option<Path<String>>, request: Request) -> Response {
    let path = path.map(|Path(path)| path).unwrap_or_default();
    let Some(address) = Address::of(request.method(), &path) else {
        return rest::nothing_here(request.headers());
    };
    if !address.place.takes(request.method()) {
        return rest::wrong_method(&address.place, &request);
    }
    let wanted = RequestedExtensions::read(request.headers());
    let mut response = match address.place {
        Target::Agent if request.method() == Method::POST => {
            Box::pin(rpc::answer(&front, address.agent, request)).await
        }
        Target::Agent | Target::Card => card::answer(&front, address.agent, request).await,
        _ => Box::pin(rest::answer(&front, &address, request)).await,
    };
    if response.status().is_success() {
        wanted.confirm(&mut response);
    }
    response
}

/// One call that was let in.
struct A2aCall<'a> {
    front: &'a Arc<Front>,
    parts: &'a Parts,
    caller: Caller,
    /// The agent that is called.
    agent: AgentName,
    /// Whether the site itself is called; its default agent then answers, and every task of the caller is
    /// found.
    for_site: bool,
    /// What the caller asks for beyond the protocol.
    wanted: RequestedExtensions,
    /// Whether the caller speaks A2A 0.3.
    as_old: bool,
}

impl<'a> A2aCall<'a> {
    fn new(
        front: &'a Arc<Front>,
        parts: &'a Parts,
        caller: Caller,
        agent: Option<&str>,
    ) -> Result<Self, Failure> {
        let for_site = agent.is_none();
        let agent = agent.map_or_else(|| Ok(front.site.agents().default_for(&caller)), named_agent)?;
        let caller = caller.in_trace(trace::onward(&parts.headers));
        let wanted = RequestedExtensions::read(&parts.headers);
        Ok(Self { front, parts, caller, agent, for_site, wanted, as_old: false })
    }

    /// Keeps the connection from being ended as idle while an agent works.
    fn at_work(&self) -> Result<crate::connection::AtWork, Failure> {
        Ok(connection(self.parts)?.begin())
    }

    /// Takes a place for a stream, before anything is done for it.
    fn stream_place(&self) -> Result<StreamPlace, Failure> {
        self.front.open_stream(self.parts)
    }
}

/// What a trace shows of a call, as a part of the caller's own trace. Below the level that is logged, so that
/// it costs nothing unless traces are collected.
fn call_span(binding: &'static str, method: &str, agent: Option<&str>, headers: &HeaderMap) -> Span {
    let short = |text: &str| text.chars().take(MAX_TRACED).collect::<String>();
    let span = tracing::debug_span!(
        "call",
        otel.name = format!("{} {}", short(method), short(agent.unwrap_or("concierge"))),
        otel.kind = "server",
        rpc.system = binding,
        rpc.method = short(method),
        agent = short(agent.unwrap_or("concierge")),
    );
    trace::join(&span, headers);
    span
}

/// A name that cannot be one answers like an agent that is not there.
fn named_agent(name: &str) -> Result<AgentName, Failure> {
    name.parse().map_err(|_| {
        agentsite_site::SiteError::NoSuchAgent(name.chars().take(agentsite_protocol::MAX_NAME).collect())
            .into()
    })
}

/// The media type that a header names, without its parameters.
fn media_type<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> &'h str {
    let given = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim()
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Failure> {
    let media = media_type(headers, &header::CONTENT_TYPE);
    if [binding::JSON, binding::A2A_JSON].iter().any(|known| media.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    Err(Failure::new(Fault::ContentType, "send the request as Content-Type: application/json"))
}

/// Reads parameters into their type; `explain` looks for what is wrong only when something is.
fn read<T: DeserializeOwned>(
    params: &str,
    explain: fn(&serde_json::Value) -> Vec<Violation>,
) -> Result<T, Failure> {
    serde_json::from_str(params).map_err(|error| match serde_json::from_str(params) {
        Ok(value) => bad_params(&format!("the parameters are not right: {error}"), explain(&value)),
        Err(error) => Failure::new(Fault::NotJson, format!("the request is not JSON: {error}")),
    })
}

/// The refusal of parameters; the fields that are wrong make the sentence when they are known.
fn bad_params(sentence: &str, violations: Vec<Violation>) -> Failure {
    let named: Vec<String> =
        violations.iter().map(|wrong| format!("`{}` {}", wrong.field, wrong.description)).collect();
    let sentence = if named.is_empty() { sentence.to_owned() } else { named.join("; ") };
    Failure::new(Fault::BadParams, sentence).violations(violations)
}

/// The refusal of one field.
fn wrong(field: &str, description: &str) -> Failure {
    bad_params("", vec![violation(field, description)])
}

fn violation(field: &str, description: &str) -> Violation {
    Violation { field: field.into(), description: description.into() }
}

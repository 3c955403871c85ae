//! The A2A face: JSON-RPC on `/a2a/AGENT`, the concierge on `/a2a`, and the cards.
//!
//! Promises: A2A 1.0 wire forms; the order of checks is caller, media type, size, frame, version, method, parameters, so that
//! nothing is looked up for somebody who may not ask. A task is found only under its own agent.
//! The HTTP+JSON and gRPC bindings and version 0.3 come beside `dispatch`, which they will share.

mod card;
mod send;
mod stream;
mod task;

use std::sync::Arc;

use agentsite_protocol::{AgentName, Caller};
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use axum::{Router, routing};
use http::request::Parts;
use http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use tracing::{Instrument, Span};

use crate::failure::{Failure, Fault, Violation};
use crate::front::{Front, line};
use crate::jsonrpc::{self, Id};

/// Methods of A2A 1.0 that are answered here.
const METHODS: [&str; 11] = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
];

/// Versions of A2A that are spoken here.
const VERSIONS: [&str; 2] = ["1.0", "1"];

/// Most characters of a foreign name that go into a trace.
const MAX_TRACED: usize = 64;

/// The routes of this face.
pub(crate) fn routes() -> Router<Arc<Front>> {
    let agent: MethodRouter<Arc<Front>> = routing::post(agent_rpc).get(card::agent);
    let concierge: MethodRouter<Arc<Front>> = routing::post(site_rpc).get(card::site);
    Router::new()
        .route("/a2a/{agent}", agent.clone())
        .route("/a2a/{agent}/", agent)
        .route("/a2a/{agent}/.well-known/agent-card.json", get(card::agent))
        .route("/a2a", concierge.clone())
        .route("/a2a/", concierge)
        .route("/a2a/.well-known/agent-card.json", get(card::site))
        .route("/.well-known/agent-card.json", get(card::site))
}

async fn agent_rpc(State(front): State<Arc<Front>>, Path(agent): Path<String>, request: Request) -> Response {
    rpc(&front, Some(agent), request).await
}

async fn site_rpc(State(front): State<Arc<Front>>, request: Request) -> Response {
    rpc(&front, None, request).await
}

/// One call that was let in.
struct Call<'a> {
    front: &'a Arc<Front>,
    parts: &'a Parts,
    caller: Caller,
    /// The agent that is called.
    agent: AgentName,
    /// Whether the site itself is called; its concierge then answers, and every task of the caller is found.
    for_site: bool,
    id: Id<'a>,
}

async fn rpc(front: &Arc<Front>, agent: Option<String>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let refuse = |failure: &Failure| failure.rpc(Id::NULL.as_json());
    let caller = match front.admit(&parts).await {
        Ok(caller) => caller,
        Err(failure) => return refuse(&failure),
    };
    if let Err(failure) = check_media_type(&parts.headers) {
        return refuse(&failure);
    }
    let body = match front.body(body).await {
        Ok(body) => body,
        Err(failure) => return refuse(&failure),
    };
    let request = match jsonrpc::decode(&body) {
        Ok(request) => request,
        Err(refused) => return refused.failure.rpc(refused.id.as_json()),
    };
    let id = request.id;
    let span = call_span(&request.method, agent.as_deref());
    let answer = async {
        check_version(&parts)?;
        let for_site = agent.is_none();
        let agent = match agent {
            Some(name) => name.parse().map_err(|_| no_such_agent(&name))?,
            None => front.site.concierge(),
        };
        let call = Call { front, parts: &parts, caller, agent, for_site, id };
        dispatch(&call, &request.method, request.params).await
    };
    answer.instrument(span).await.unwrap_or_else(|failure: Failure| failure.rpc(id.as_json()))
}

/// What a trace shows of a call. Below the level that is logged, so that it costs nothing unless traces are collected.
fn call_span(method: &str, agent: Option<&str>) -> Span {
    let short = |text: &str| text.chars().take(MAX_TRACED).collect::<String>();
    tracing::debug_span!(
        "call",
        otel.name = format!("{} {}", short(method), short(agent.unwrap_or("concierge"))),
        otel.kind = "server",
        rpc.system = "jsonrpc",
        rpc.method = short(method),
        agent = short(agent.unwrap_or("concierge")),
    )
}

/// Hands a call to its operation. What waits for an agent takes as long as the agent may; all else has a time limit.
async fn dispatch(call: &Call<'_>, method: &str, params: &str) -> Result<Response, Failure> {
    let limit = call.front.settings.limits.answer_time;
    let quick = async {
        match method {
            "GetTask" => task::get(call, params).await,
            "CancelTask" => task::cancel(call, params).await,
            "ListTasks" => task::list(call, params).await,
            "SubscribeToTask" => stream::subscribe(call, params).await,
            "GetExtendedAgentCard" => Err(Failure::new(
                Fault::Unsupported,
                "this agent has no extended card; the public one says everything",
            )),
            push if push.contains("PushNotificationConfig") && METHODS.contains(&push) => Err(Failure::new(
                Fault::PushNotSupported,
                "this agent does not call back; use SubscribeToTask or GetTask",
            )),
            other => Err(jsonrpc::no_such_method(other, &METHODS)),
        }
    };
    match method {
        "SendMessage" => send::send(call, params).await,
        "SendStreamingMessage" => stream::send(call, params).await,
        _ => tokio::time::timeout(limit, quick).await.unwrap_or_else(|_| Err(timed_out())),
    }
}

fn timed_out() -> Failure {
    Failure::new(Fault::TimedOut, "the site took too long; it may be overloaded, try again later")
}

impl Call<'_> {
    /// Keeps the connection from being ended as idle while a stream lasts.
    fn at_work(&self) -> Result<crate::line::AtWork, Failure> {
        Ok(line(self.parts)?.begin())
    }
}

fn no_such_agent(name: &str) -> Failure {
    agentsite_site::SiteError::NoSuchAgent(name.chars().take(agentsite_protocol::MAX_NAME).collect()).into()
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Failure> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = given.split(';').next().unwrap_or_default().trim();
    if media.eq_ignore_ascii_case("application/json") || media.eq_ignore_ascii_case("application/a2a+json") {
        return Ok(());
    }
    Err(Failure::new(Fault::ContentType, "send the request as Content-Type: application/json"))
}

/// Takes 1.0 and, until the older version is spoken here, requests without a version.
fn check_version(parts: &Parts) -> Result<(), Failure> {
    let header = parts.headers.get("a2a-version").map(|value| value.to_str().unwrap_or("?"));
    let asked = header.or_else(|| {
        let pairs = parts.uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .into_iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("a2a-version"))
            .map(|(_, version)| version)
    });
    match asked.map(str::trim) {
        None | Some("") => Ok(()),
        Some(version) if VERSIONS.contains(&version) => Ok(()),
        Some(version) => {
            let short: String = version.chars().take(20).collect();
            let sentence =
                format!("A2A version `{short}` is not spoken here; send A2A-Version: {}", VERSIONS[0]);
            Err(Failure::new(Fault::Version, sentence).fact("supportedVersions", VERSIONS[0]))
        }
    }
}

/// Reads parameters into their type; `explain` looks for what is wrong only when something is.
fn read<T: DeserializeOwned>(
    params: &str,
    explain: fn(&serde_json::Value) -> Vec<Violation>,
) -> Result<T, Failure> {
    serde_json::from_str(params).map_err(|error| {
        let violations = serde_json::from_str(params).map(|value| explain(&value)).unwrap_or_default();
        bad_params(&format!("the parameters are not right: {error}"), violations)
    })
}

/// The refusal of parameters; the fields that are wrong make the sentence when they are known.
fn bad_params(sentence: &str, violations: Vec<Violation>) -> Failure {
    let named: Vec<String> =
        violations.iter().map(|wrong| format!("`{}` {}", wrong.field, wrong.description)).collect();
    let sentence = if named.is_empty() { sentence.to_owned() } else { named.join("; ") };
    Failure::new(Fault::BadParams, sentence).violations(violations)
}

fn violation(field: &str, description: &str) -> Violation {
    Violation { field: field.into(), description: description.into() }
}

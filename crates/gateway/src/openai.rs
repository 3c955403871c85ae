//! The OpenAI-style face under `/v1`: agents as if they were models, for chat programs and SDKs that know
//! nothing else.
//!
//! Promises: `/v1/models` lists the agents that the caller may call; `/v1/chat/completions` and
//! `/v1/responses` send a message to one and give its answer, whole or as a stream; a call whose caller hangs
//! up is canceled. Errors are in OpenAI's form. A parameter that would change the meaning of an answer is
//! refused, one that only tunes a model is ignored. It keeps no answers of its own: a response is a view of a
//! task. See docs/openai.md.

mod agents;
mod chat;
mod content;
mod exchange;
mod parameters;
mod rendering;
mod responses;
mod speech;
mod turn;

use std::sync::Arc;

use agentsite_protocol::{AgentName, Caller, Nesting};
use agentsite_site::SiteError;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::request::Parts;
use http::{StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::connection::AtWork;
use crate::failure::{Failure, Fault, Violation};
use crate::front::{Front, connection};
use crate::metrics::Face;
use crate::route::{Access, Route, RouteDefaults, caller};
use crate::visit::StreamPlace;
use crate::{document, trace};

/// The routes of this face. Waiting for an agent takes as long as the agent may.
pub(crate) fn routes() -> Vec<Route> {
    let defaults =
        RouteDefaults::new(Face::OpenAi, Access::Program).refused_by(|failure, _| failure.openai()).untimed();
    vec![
        defaults.get("/v1/models", agents::list),
        defaults.get("/v1/models/{id}", agents::show),
        defaults.post("/v1/chat/completions", chat::complete),
        defaults.post("/v1/responses", responses::create),
        defaults.get("/v1/responses/{id}", responses::show),
        defaults.delete("/v1/responses/{id}", responses::forget),
        defaults.post("/v1/responses/{id}/cancel", responses::cancel),
        defaults.any("/v1/{*path}", nothing_here).access(Access::Open),
    ]
}

async fn nothing_here() -> Response {
    let sentence =
        "there is nothing at this address; this site has /v1/models, /v1/chat/completions and /v1/responses";
    Failure::new(Fault::NoSuchPath, sentence).openai()
}

/// One call that was let in.
struct OpenAiCall {
    front: Arc<Front>,
    parts: Parts,
    caller: Caller,
}

impl OpenAiCall {
    /// Takes the caller that the route let in; gives the body, which is not read yet.
    fn enter(State(front): State<Arc<Front>>, request: Request) -> Result<(Self, Body), Failure> {
        let (mut parts, body) = request.into_parts();
        let caller = caller(&mut parts)?.in_trace(trace::onward(&parts.headers));
        Ok((Self { front, parts, caller }, body))
    }

    /// Reads the body within the limits.
    async fn read<T: DeserializeOwned>(&self, body: Body) -> Result<T, Failure> {
        let media = self.parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !media.unwrap_or_default().trim_start().to_ascii_lowercase().starts_with("application/json") {
            let sentence = "send the request as Content-Type: application/json";
            return Err(Failure::new(Fault::ContentType, sentence));
        }
        let bytes = self.front.body(body).await?;
        Nesting::REQUEST.check(&bytes).map_err(|error| Failure::new(Fault::BadRequest, error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let fault = if error.is_data() { Fault::BadParams } else { Fault::NotJson };
            Failure::new(fault, format!("the body is not right: {error}"))
        })
    }

    /// Keeps the connection from being ended as idle while an agent works.
    fn at_work(&self) -> Result<AtWork, Failure> {
        Ok(connection(&self.parts)?.begin())
    }

    /// Takes a place for a stream, before anything is done for it.
    fn stream_place(&self) -> Result<StreamPlace, Failure> {
        self.front.open_stream(&self.parts)
    }
}

/// The agent that a request calls its model. A name that cannot be one answers like an agent that is not
/// there.
fn named_agent(model: &str) -> Result<AgentName, Failure> {
    model.parse().map_err(|_| {
        SiteError::NoSuchAgent(model.chars().take(agentsite_protocol::MAX_NAME).collect()).into()
    })
}

/// The refusal of one field.
fn wrong(field: &str, description: &str) -> Failure {
    about(Fault::BadParams, field, description)
}

/// The refusal of a field that is right elsewhere but means nothing to an agent.
fn unsupported(field: &str, description: &str) -> Failure {
    about(Fault::Unsupported, field, description)
}

fn about(fault: Fault, field: &str, description: &str) -> Failure {
    let violation = Violation { field: field.into(), description: description.into() };
    Failure::new(fault, format!("`{field}` {description}")).violations(vec![violation])
}

/// Answers with JSON that no cache keeps.
fn json(value: &impl Serialize) -> Result<Response, Failure> {
    document::json(StatusCode::OK, value)
}

/// What a handler comes to, as a response.
fn respond(answer: Result<Response, Failure>) -> Response {
    answer.unwrap_or_else(|failure| failure.openai())
}

/// A time as this interface writes it: whole seconds.
fn seconds(at: agentsite_protocol::Timestamp) -> i64 {
    at.as_millis().div_euclid(1000)
}

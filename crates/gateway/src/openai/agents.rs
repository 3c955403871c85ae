//! `/v1/models`: the agents that the caller may call, and the one that answers for the site.
//!
//! Promises: the same list as everywhere else, by name; an agent that is not for a caller answers like none.

use std::sync::Arc;

use agentsite_protocol::AgentName;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use serde::Serialize;

use super::{OpenAiCall, json, named_agent, respond, seconds};
use crate::failure::Failure;
use crate::front::Front;

#[derive(Serialize)]
struct Models {
    object: &'static str,
    data: Vec<Model>,
}

/// An agent as if it were a model.
#[derive(Serialize)]
struct Model {
    id: AgentName,
    object: &'static str,
    created: i64,
    owned_by: String,
    /// What it does; programs that show more than a name find it here.
    description: String,
}

impl OpenAiCall {
    fn model(&self, id: AgentName, description: String) -> Model {
        let site = &self.front.site;
        let created = seconds(site.cards().changed_at());
        Model { id, object: "model", created, owned_by: site.settings().site.name.clone(), description }
    }
}

pub(super) async fn list(front: State<Arc<Front>>, request: Request) -> Response {
    respond(all(front, request).await)
}

async fn all(front: State<Arc<Front>>, request: Request) -> Result<Response, Failure> {
    let (call, _) = OpenAiCall::enter(front, request)?;
    let site = &call.front.site;
    let agents = site.agents().list(&call.caller).into_iter().map(|view| (view.name, view.description));
    let mut data: Vec<Model> = agents.map(|(name, description)| call.model(name, description)).collect();
    if let Ok(concierge) = site.agents().get(&call.caller, &site.agents().concierge()) {
        data.push(call.model(concierge.name, concierge.description));
    }
    json(&Models { object: "list", data })
}

pub(super) async fn show(front: State<Arc<Front>>, Path(id): Path<String>, request: Request) -> Response {
    respond(one(front, &id, request).await)
}

async fn one(front: State<Arc<Front>>, id: &str, request: Request) -> Result<Response, Failure> {
    let (call, _) = OpenAiCall::enter(front, request)?;
    let view = call.front.site.agents().get(&call.caller, &named_agent(id)?)?;
    json(&call.model(view.name, view.description))
}

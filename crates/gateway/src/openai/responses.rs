//! `/v1/responses`: a message goes to an agent, its answer is a response that can be read again, followed,
//! canceled and continued.
//!
//! Promises: a response is a view of one turn of a task, made anew from its events each time; its id says
//! which. `previous_response_id` and `conversation` continue the same conversation, and the task that
//! waits there for an answer. In the background a task is not bound to its caller's connection. What is not
//! the caller's own answers like what does not exist.

mod request;
mod stream;
mod title;
mod view;

use std::sync::Arc;

use agentsite_protocol::{TaskEventKind, TaskState};
use agentsite_site::{SiteError, TaskError};
use axum::extract::{Path, Query, Request, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::exchange::Exchange;
use super::turn::Turn;
use super::{OpenAiCall, json as answer_json, respond, unsupported};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use request::ResponsesRequest;
use title::Title;
use view::{Frame, View};

/// Events read at once when a turn is replayed.
const PAGE: usize = 500;

pub(super) async fn create(front: State<Arc<Front>>, request: Request) -> Response {
    respond(begin(front, request).await)
}

async fn begin(front: State<Arc<Front>>, request: Request) -> Result<Response, Failure> {
    let (call, body) = OpenAiCall::enter(front, request)?;
    let asked: ResponsesRequest = call.read(body).await?;
    let (is_stream, background) = (asked.is_stream(), asked.is_background());
    let frame = asked.frame();
    let errand = asked.errand(&call).await?;
    let place = if is_stream { Some(call.stream_place()?) } else { None };
    let _at_work = call.at_work()?;
    let mut exchange = Exchange::begin(&call, errand).await?;
    let title = Title::of(&exchange);
    if let Some(place) = place {
        return Ok(stream::respond(&call.front, place, exchange, &title, frame));
    }
    if !background {
        exchange.whole().await?;
    }
    answer_json(&View::of(&exchange, &title, &frame).json())
}

#[derive(Deserialize, Default)]
struct ShowWanted {
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    starting_after: Option<u64>,
}

pub(super) async fn show(front: State<Arc<Front>>, Path(id): Path<String>, request: Request) -> Response {
    respond(tell(front, &id, request).await)
}

async fn tell(front: State<Arc<Front>>, id: &str, request: Request) -> Result<Response, Failure> {
    let (call, _) = OpenAiCall::enter(front, request)?;
    let Query(wanted) = Query::<ShowWanted>::try_from_uri(&call.parts.uri)
        .map_err(|error| Failure::new(Fault::BadParams, format!("the query is not right: {error}")))?;
    if wanted.starting_after.is_some() {
        return Err(unsupported("starting_after", "is not supported: a stream starts from its beginning"));
    }
    let (exchange, title, frame) = call.turn_again(id).await?;
    if wanted.stream == Some(true) {
        let Title::Task(task, seq) = title else { return Err(no_such_response(id)) };
        let place = call.stream_place()?;
        let mut anew = Exchange::again(&call, task, seq).await?;
        anew.created = exchange.created;
        return Ok(stream::respond(&call.front, place, anew, &title, frame));
    }
    answer_json(&View::of(&exchange, &title, &frame).json())
}

pub(super) async fn cancel(front: State<Arc<Front>>, Path(id): Path<String>, request: Request) -> Response {
    respond(end(front, &id, request).await)
}

async fn end(front: State<Arc<Front>>, id: &str, request: Request) -> Result<Response, Failure> {
    let (call, _) = OpenAiCall::enter(front, request)?;
    let Some(Title::Task(task, _)) = Title::read(id) else { return Err(no_such_response(id)) };
    match call.front.site.tasks().cancel(&call.caller, task).await {
        // One that has ended stays as it is.
        Ok(_) | Err(TaskError::NotCancelable(_)) => {}
        Err(TaskError::NoSuchTask(_)) => return Err(no_such_response(id)),
        Err(error) => return Err(error.into()),
    }
    let (exchange, title, frame) = call.turn_again(id).await?;
    answer_json(&View::of(&exchange, &title, &frame).json())
}

pub(super) async fn forget(front: State<Arc<Front>>, Path(id): Path<String>, request: Request) -> Response {
    respond(remove(front, &id, request).await)
}

async fn remove(front: State<Arc<Front>>, id: &str, request: Request) -> Result<Response, Failure> {
    let (call, _) = OpenAiCall::enter(front, request)?;
    let Some(Title::Task(task, _)) = Title::read(id) else { return Err(no_such_response(id)) };
    match call.front.site.forget(&call.caller, task).await {
        Ok(()) => answer_json(&json!({ "id": id, "object": "response", "deleted": true })),
        Err(SiteError::NoSuchTask(_)) => Err(no_such_response(id)),
        Err(error) => Err(error.into()),
    }
}

impl OpenAiCall {
    /// A turn as it stands on disk.
    async fn turn_again(&self, id: &str) -> Result<(Exchange, Title, Frame), Failure> {
        let missing = || no_such_response(id);
        let Some(Title::Task(task, seq)) = Title::read(id) else { return Err(missing()) };
        let site = &self.front.site;
        let found = match site.tasks().get(&self.caller, task).await {
            Ok(found) if seq > 0 && seq <= found.head.seq => found,
            Ok(_) | Err(TaskError::NoSuchTask(_)) => return Err(missing()),
            Err(error) => return Err(error.into()),
        };
        let mut exchange = Exchange::again(self, task, seq).await?;
        let mut turn = Turn::new(false);
        let mut after = seq - 1;
        while !turn.is_settled() {
            let events = site.tasks().events(&self.caller, task, after, PAGE).await?;
            let Some(last) = events.last() else { break };
            after = last.seq;
            for event in &events {
                if event.seq == seq {
                    let begins = matches!(event.kind, TaskEventKind::Opened(_))
                        || matches!(event.kind, TaskEventKind::Status { state: TaskState::Submitted, .. });
                    exchange.created = if begins { event.at } else { return Err(missing()) };
                } else if event.seq > seq && !turn.is_settled() {
                    turn.take(event);
                }
            }
        }
        exchange.turn = turn;
        Ok((exchange, Title::Task(task, seq), Frame::of_task(&found)))
    }
}

fn no_such_response(id: &str) -> Failure {
    let id: String = id.chars().take(80).collect();
    Failure::new(Fault::NoSuchTask, format!("there is no response `{id}` here"))
}

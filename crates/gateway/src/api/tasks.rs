//! `/api/tasks`: listing, reading, following, ending and repeating tasks, and what they started.
//!
//! Promises: a task of another caller answers like one that does not exist. Events come in their stored form
//! with their numbers; following resumes after `Last-Event-ID` or `?after=` without gap or repeat, also
//! across restarts.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agentsite_protocol::{
    AgentName, ContextId, ConversationId, Principal, Task, TaskEvent, TaskHead, TaskId, TaskState, Timestamp,
    Usage, WireTask,
};
use agentsite_site::{AskedTask, SiteError, TaskFilter, TaskWatch};
use axum::extract::{Path, State};
use http::{HeaderMap, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::request::{Admitted, Params, REST, RestResult, bad, parse};
use crate::document::{json, nothing};
use crate::failure::Failure;
use crate::front::Front;
use crate::route::{Route, Shape};
use crate::written::{self, Moment};
use crate::{cursor, sse};

/// Rows of a page when the caller names no number.
const PAGE: usize = 50;

/// Events of one answer when the caller names no number; most tasks have fewer.
const EVENTS: usize = 500;

/// States of a task, separated by commas.
const STATES: &str = "~^(submitted|working|input-required|auth-required|completed|failed|canceled|rejected)(,(submitted|working|input-required|auth-required|completed|failed|canceled|rejected))*$";

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/tasks", list)
            .operation("listTasks", "Your tasks, the last changed first")
            .query(&[
                ("agent", "name", "Of this agent"),
                ("state", STATES, "In one of these states, parted by commas"),
                ("context", "id", "Of this conversation"),
                ("since", "moment", "Changed since this moment"),
                ("text", "string", "With this text in what was asked, the agent's name or the id"),
                ("limit", "integer", "50 when left out"),
                ("cursor", "string", "next of the page before"),
            ])
            .gives(Shape::of::<Tasks<'_>>()),
        REST.get("/api/tasks/{id}", show).operation("getTask", "One task").gives(Shape::of::<TaskView<'_>>()),
        REST.delete("/api/tasks/{id}", forget)
            .operation("deleteTask", "Delete an ended task with everything that was said in it"),
        REST.get("/api/tasks/{id}/events", events)
            .operation(
                "listTaskEvents",
                "The events of a task; with Accept: text/event-stream as they happen",
            )
            .query(&[
                ("after", "integer", "Number of the last event seen"),
                ("limit", "integer", "500 when left out"),
            ])
            .gives(Shape::of::<Events>()),
        REST.post("/api/tasks/{id}/cancel", cancel)
            .operation("cancelTask", "End a task")
            .gives(Shape::of::<TaskView<'_>>()),
        REST.post("/api/tasks/{id}/retry", retry)
            .operation("retryTask", "Ask the agent of an ended task the same again")
            .status("201")
            .gives(Shape::of::<TaskView<'_>>()),
        REST.get("/api/tasks/{id}/graph", graph)
            .operation("getTaskGraph", "A task and the tasks that it started")
            .gives(Shape::of::<Graph<'_>>()),
    ]
}

#[derive(Deserialize)]
struct TasksParams {
    agent: Option<String>,
    state: Option<String>,
    context: Option<String>,
    since: Option<String>,
    text: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Tasks<'a> {
    tasks: Vec<TaskRow<'a>>,
    /// Cursor to the next page.
    next: Option<String>,
}

/// A task as a row of a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TaskRow<'a> {
    #[schemars(with = "String")]
    id: TaskId,
    #[schemars(with = "String")]
    context_id: &'a ContextId,
    #[schemars(with = "String")]
    agent: &'a AgentName,
    #[schemars(with = "String")]
    owner: &'a Principal,
    state: &'static str,
    #[schemars(with = "Moment")]
    created_at: Timestamp,
    #[schemars(with = "Moment")]
    updated_at: Timestamp,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    parent: Option<TaskId>,
    /// The first words of what was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("about" = "The first words of what was asked"))]
    asked: Option<&'a str>,
}

impl<'a> From<&'a AskedTask> for TaskRow<'a> {
    fn from(task: &'a AskedTask) -> Self {
        Self { asked: Some(&task.asked), ..Self::from(&task.head) }
    }
}

impl<'a> From<&'a TaskHead> for TaskRow<'a> {
    fn from(head: &'a TaskHead) -> Self {
        Self {
            id: head.id,
            context_id: &head.context,
            agent: &head.agent,
            owner: &head.owner,
            state: head.state.word(),
            created_at: head.created_at,
            updated_at: head.updated_at,
            seq: head.seq,
            parent: head.parent,
            asked: None,
        }
    }
}

async fn list(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Params(params): Params<TasksParams>,
) -> RestResult {
    let after = match params.cursor.as_deref() {
        None | Some("") => None,
        Some(text) => Some(cursor::read(text).ok_or_else(|| bad("cursor: use the `next` of a page".into()))?),
    };
    let filter = TaskFilter {
        agent: params.agent.as_deref().map(|name| parse("agent", name)).transpose()?,
        context: params.context.as_deref().map(|id| parse("context", id)).transpose()?,
        states: params.state.as_deref().map_or(Ok(Vec::new()), states)?,
        updated_since: params.since.as_deref().map(since).transpose()?,
        ..TaskFilter::default()
    };
    let (text, limit) = (params.text.unwrap_or_default(), params.limit.unwrap_or(PAGE));
    let page = front.site.tasks().asked(&admitted.caller, filter, &text, after, limit).await?;
    let tasks =
        Tasks { tasks: page.items.iter().map(TaskRow::from).collect(), next: page.next.map(cursor::write) };
    json(StatusCode::OK, &tasks)
}

fn since(text: &str) -> Result<Timestamp, Failure> {
    Timestamp::parse(text).map_err(|error| bad(format!("since: {error}; write 2026-01-31T12:00:00Z")))
}

/// Reads one or more states, parted by commas.
fn states(text: &str) -> Result<Vec<TaskState>, Failure> {
    let read = |word: &str| {
        TaskState::from_word(word.trim()).ok_or_else(|| {
            let known = TaskState::ALL.map(TaskState::word).join(", ");
            let short: String = word.chars().take(40).collect();
            bad(format!("state: `{short}` is none; there are {known}"))
        })
    };
    text.split(',').map(read).collect()
}

/// A task as other agents see it, with what only its owner and admins see.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Task")]
struct TaskView<'a> {
    #[serde(flatten)]
    #[schemars(with = "written::TaskOfA2a")]
    task: WireTask<'a>,
    #[schemars(with = "String")]
    agent: &'a AgentName,
    #[schemars(with = "String")]
    owner: &'a Principal,
    seq: u64,
    #[schemars(with = "Moment")]
    created_at: Timestamp,
    #[schemars(with = "Moment")]
    updated_at: Timestamp,
    attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    parent: Option<TaskId>,
    /// The conversation of which it is a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    conversation: Option<ConversationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Moment>")]
    deadline: Option<Timestamp>,
    #[schemars(with = "Map<String, Value>")]
    usage: Usage,
}

impl<'a> From<&'a Task> for TaskView<'a> {
    fn from(task: &'a Task) -> Self {
        Self {
            task: task.wire(None),
            agent: &task.head.agent,
            owner: &task.head.owner,
            seq: task.head.seq,
            created_at: task.head.created_at,
            updated_at: task.head.updated_at,
            attempt: task.attempt,
            parent: task.head.parent,
            conversation: task.conversation,
            deadline: task.deadline,
            usage: task.usage,
        }
    }
}

async fn show(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    let task = front.site.tasks().get(&admitted.caller, named(&id)?).await?;
    json(StatusCode::OK, &TaskView::from(&task))
}

async fn cancel(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    let task = front.site.tasks().cancel(&admitted.caller, named(&id)?).await?;
    json(StatusCode::OK, &TaskView::from(&task))
}

async fn forget(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    front.site.forget(&admitted.caller, named(&id)?).await?;
    Ok(nothing())
}

async fn retry(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    let task = front.site.retry(&admitted.caller, named(&id)?).await?;
    json(StatusCode::CREATED, &TaskView::from(&task))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TaskGraph")]
struct Graph<'a> {
    /// The task itself first; each of the others names its parent.
    tasks: Vec<TaskRow<'a>>,
    /// Whether there are more than told.
    #[schemars(extend("about" = "There are more than told"))]
    cut: bool,
}

async fn graph(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    let graph = front.site.tasks().graph(&admitted.caller, named(&id)?).await?;
    json(StatusCode::OK, &Graph { tasks: graph.tasks.iter().map(TaskRow::from).collect(), cut: graph.cut })
}

#[derive(Deserialize)]
struct EventsParams {
    after: Option<u64>,
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
struct Events {
    #[schemars(with = "Vec<written::TaskEvent>")]
    events: Vec<TaskEvent>,
}

async fn events(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    Params(params): Params<EventsParams>,
) -> RestResult {
    let (id, headers) = (named(&id)?, &admitted.parts.headers);
    if wants_stream(headers) {
        let watch = front.site.tasks().watch(&admitted.caller, id, last_seen(headers, params.after)).await?;
        let place = front.open_stream(&admitted.parts)?;
        return Ok(sse::respond(&front, place, Vec::new(), TaskStream { watch, ended: false }));
    }
    let limit = params.limit.unwrap_or(EVENTS);
    let events = front.site.tasks().events(&admitted.caller, id, params.after.unwrap_or(0), limit).await?;
    json(StatusCode::OK, &Events { events })
}

/// The last event that a reader has seen, by the header of a stream that was cut or by what it asks for.
pub(super) fn last_seen(headers: &HeaderMap, after: Option<u64>) -> u64 {
    let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    seen.or(after).unwrap_or(0)
}

pub(super) fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("text/event-stream")
}

/// The events of a task until it is settled; then one event `settled`, so that a reader knows why the stream
/// ends.
struct TaskStream {
    watch: TaskWatch,
    ended: bool,
}

impl sse::SseSource for TaskStream {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            if self.ended {
                return None;
            }
            let mut out = Vec::new();
            let Some(events) = self.watch.next().await else {
                self.ended = true;
                return Some(b"event: settled\ndata: {}\n\n".to_vec());
            };
            for event in &events {
                if let Err(error) =
                    sse::event(&mut out, Some(event.seq), |out| serde_json::to_writer(out, event))
                {
                    tracing::error!(%error, "an event could not be written");
                }
            }
            Some(out)
        })
    }
}

/// A malformed id answers like a task that is not there.
fn named(id: &str) -> Result<TaskId, Failure> {
    id.parse().map_err(|_| SiteError::NoSuchTask(id.chars().take(40).collect()).into())
}

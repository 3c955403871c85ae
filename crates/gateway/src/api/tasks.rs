//! `/api/tasks`: listing, reading, following, ending and repeating tasks, and what they started.
//!
//! Promises: a task of another caller answers like one that does not exist. Events come in their stored form with their
//! numbers; following resumes after `Last-Event-ID` or `?after=` without gap or repeat, also across restarts.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agentsite_protocol::{
    AgentName, ContextId, ConversationId, Owner, Task, TaskEvent, TaskHead, TaskId, TaskState, Timestamp,
    Usage, WireTask,
};
use agentsite_site::{AskedTask, SiteError, TaskFilter, TaskWatch};
use axum::extract::{Path, State};
use http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};

use super::{Answer, Asking, Wanted, bad, json, nothing, parse};
use crate::failure::Failure;
use crate::front::Front;
use crate::{cursor, sse};

/// Rows of a page when the caller names no number.
const PAGE: usize = 50;

/// Events of one answer when the caller names no number; most tasks have fewer.
const EVENTS: usize = 500;

#[derive(Deserialize)]
pub(super) struct TasksWanted {
    agent: Option<String>,
    state: Option<String>,
    context: Option<String>,
    since: Option<String>,
    text: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Serialize)]
struct Tasks<'a> {
    tasks: Vec<TaskRow<'a>>,
    /// Cursor to the next page.
    next: Option<String>,
}

/// A task as a row of a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskRow<'a> {
    id: TaskId,
    context_id: &'a ContextId,
    agent: &'a AgentName,
    owner: &'a Owner,
    state: &'static str,
    created_at: Timestamp,
    updated_at: Timestamp,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<TaskId>,
    /// The first words of what was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
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

pub(super) async fn list(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Wanted(wanted): Wanted<TasksWanted>,
) -> Answer {
    let after = match wanted.cursor.as_deref() {
        None | Some("") => None,
        Some(text) => Some(cursor::read(text).ok_or_else(|| bad("cursor: use the `next` of a page".into()))?),
    };
    let filter = TaskFilter {
        agent: wanted.agent.as_deref().map(|name| parse("agent", name)).transpose()?,
        context: wanted.context.as_deref().map(|id| parse("context", id)).transpose()?,
        states: wanted.state.as_deref().map_or(Ok(Vec::new()), states)?,
        updated_since: wanted.since.as_deref().map(since).transpose()?,
        ..TaskFilter::default()
    };
    let (text, limit) = (wanted.text.unwrap_or_default(), wanted.limit.unwrap_or(PAGE));
    let page = front.site.asked_tasks(&asking.caller, filter, &text, after, limit).await?;
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

/// A task as other agents see it, with what only its owner and the people who run the site see.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskView<'a> {
    #[serde(flatten)]
    task: WireTask<'a>,
    agent: &'a AgentName,
    owner: &'a Owner,
    seq: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
    attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<TaskId>,
    /// The conversation of which it is a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<ConversationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Timestamp>,
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

pub(super) async fn show(State(front): State<Arc<Front>>, asking: Asking, Path(id): Path<String>) -> Answer {
    let task = front.site.task(&asking.caller, named(&id)?).await?;
    json(StatusCode::OK, &TaskView::from(&task))
}

pub(super) async fn cancel(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
) -> Answer {
    let task = front.site.cancel(&asking.caller, named(&id)?).await?;
    json(StatusCode::OK, &TaskView::from(&task))
}

pub(super) async fn forget(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
) -> Answer {
    front.site.forget(&asking.caller, named(&id)?).await?;
    Ok(nothing())
}

pub(super) async fn retry(State(front): State<Arc<Front>>, asking: Asking, Path(id): Path<String>) -> Answer {
    let task = front.site.retry_task(&asking.caller, named(&id)?).await?;
    json(StatusCode::CREATED, &TaskView::from(&task))
}

#[derive(Serialize)]
struct Graph<'a> {
    /// The task itself first; each of the others names its parent.
    tasks: Vec<TaskRow<'a>>,
    /// Whether there are more than told.
    cut: bool,
}

pub(super) async fn graph(State(front): State<Arc<Front>>, asking: Asking, Path(id): Path<String>) -> Answer {
    let graph = front.site.task_graph(&asking.caller, named(&id)?).await?;
    json(StatusCode::OK, &Graph { tasks: graph.tasks.iter().map(TaskRow::from).collect(), cut: graph.cut })
}

#[derive(Deserialize)]
pub(super) struct EventsWanted {
    after: Option<u64>,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct Events {
    events: Vec<TaskEvent>,
}

pub(super) async fn events(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
    Wanted(wanted): Wanted<EventsWanted>,
) -> Answer {
    let (id, headers) = (named(&id)?, &asking.parts.headers);
    if wants_stream(headers) {
        let watch = front.site.watch(&asking.caller, id, last_seen(headers, wanted.after)).await?;
        let place = front.open_stream(&asking.parts)?;
        return Ok(sse::respond(&front, place, Vec::new(), Following { watch, ended: false }));
    }
    let limit = wanted.limit.unwrap_or(EVENTS);
    let events = front.site.events(&asking.caller, id, wanted.after.unwrap_or(0), limit).await?;
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

/// The events of a task until it is settled; then one event `settled`, so that a reader knows why the stream ends.
struct Following {
    watch: TaskWatch,
    ended: bool,
}

impl sse::Source for Following {
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

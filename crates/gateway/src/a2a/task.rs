//! GetTask, CancelTask and ListTasks.
//!
//! Promises: a task of another caller, of another agent or with a malformed id answers exactly like one that
//! does not exist. Lists have a cursor that stays right while tasks change.

use agentsite_protocol::{ContextId, JsonMap, Task, TaskId, TaskState, Timestamp, WireTask};
use agentsite_site::{SiteError, TaskError, TaskFilter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extensions::resume_after;
use super::protojson::{number, state};
use super::{A2aCall, read, violation, wrong};
use crate::cursor;
use crate::failure::Failure;

/// Tasks of a page when the caller names no number; the specification's default.
const PAGE: i64 = 50;

/// Most tasks of a page; the specification's maximum.
const MAX_PAGE: usize = 100;

/// A task that is named, and how much of its history is wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskWanted {
    pub(super) id: String,
    #[serde(default, alias = "history_length", deserialize_with = "number")]
    pub(super) history_length: Option<i64>,
    #[serde(default)]
    pub(super) metadata: Option<JsonMap>,
}

impl TaskWanted {
    /// The last event of the task that the caller has seen.
    pub(super) fn after(&self) -> Result<Option<u64>, Failure> {
        self.metadata.as_ref().map_or(Ok(None), resume_after)
    }

    /// The task of this id with all its history.
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), history_length: None, metadata: None }
    }

    /// Reads parameters that name one task.
    pub(super) fn read(params: &str) -> Result<Self, Failure> {
        read(params, |params| match params.get("id") {
            Some(Value::String(_)) => Vec::new(),
            Some(other) if !other.is_null() => vec![violation("id", "must be a string")],
            _ => vec![violation("id", "is required")],
        })
    }
}

/// The task of this name, if it is the caller's and the agent's.
pub(super) async fn named_task(call: &A2aCall<'_>, id: &str) -> Result<Task, Failure> {
    let missing = || SiteError::NoSuchTask(id.chars().take(40).collect());
    let task_id: TaskId = id.parse().map_err(|_| missing())?;
    let task = call.front.site.tasks().get(&call.caller, task_id).await.map_err(|error| match error {
        // One sentence for all, however the site words it.
        TaskError::NoSuchTask(_) => missing(),
        other => other.into(),
    })?;
    if task.head.agent == call.agent || call.for_site { Ok(task) } else { Err(missing().into()) }
}

/// Reads a task; also gives how much of its history is wanted.
pub(super) async fn get(call: &A2aCall<'_>, wanted: &TaskWanted) -> Result<(Task, Option<usize>), Failure> {
    let history = history_length("historyLength", wanted.history_length)?;
    Ok((named_task(call, &wanted.id).await?, history))
}

/// Ends a task.
pub(super) async fn cancel(call: &A2aCall<'_>, wanted: &TaskWanted) -> Result<Task, Failure> {
    let task = named_task(call, &wanted.id).await?;
    Ok(call.front.site.tasks().cancel(&call.caller, task.head.id).await?)
}

/// Which tasks are wanted, and how much of each.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListWanted {
    #[serde(alias = "context_id")]
    pub(super) context_id: Option<String>,
    #[serde(deserialize_with = "state")]
    pub(super) status: Option<TaskState>,
    #[serde(alias = "page_size", deserialize_with = "number")]
    pub(super) page_size: Option<i64>,
    #[serde(alias = "page_token")]
    pub(super) page_token: Option<String>,
    #[serde(alias = "history_length", deserialize_with = "number")]
    pub(super) history_length: Option<i64>,
    #[serde(alias = "status_timestamp_after")]
    pub(super) status_timestamp_after: Option<Timestamp>,
    #[serde(alias = "include_artifacts")]
    pub(super) include_artifacts: Option<bool>,
}

/// A page of tasks.
pub(super) struct TaskList {
    pub(super) tasks: Vec<Task>,
    pub(super) history: Option<usize>,
    pub(super) next: String,
    pub(super) size: usize,
    pub(super) total: u64,
}

/// A page of tasks as other agents see it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireTaskList<'a> {
    tasks: Vec<WireTask<'a>>,
    next_page_token: &'a str,
    page_size: usize,
    total_size: u64,
}

impl TaskList {
    pub(super) fn wire(&self) -> WireTaskList<'_> {
        WireTaskList {
            tasks: self.tasks.iter().map(|task| task.wire(self.history)).collect(),
            next_page_token: &self.next,
            page_size: self.size,
            total_size: self.total,
        }
    }
}

/// Lists tasks, the last changed first.
pub(super) async fn list(call: &A2aCall<'_>, wanted: &ListWanted) -> Result<TaskList, Failure> {
    let history = history_length("historyLength", wanted.history_length)?;
    let size = usize::try_from(wanted.page_size.unwrap_or(PAGE)).unwrap_or(0);
    if !(1..=MAX_PAGE).contains(&size) {
        return Err(wrong("pageSize", "must be between 1 and 100"));
    }
    let after = match wanted.page_token.as_deref() {
        None | Some("") => None,
        Some(token) => {
            Some(cursor::read(token).ok_or_else(|| wrong("pageToken", "is not one that this site gave"))?)
        }
    };
    let filter = filter(call, wanted)?;
    let page = call.front.site.tasks().list(&call.caller, filter.clone(), after, size).await?;
    let mut tasks = Vec::with_capacity(page.items.len());
    for head in &page.items {
        match call.front.site.tasks().get(&call.caller, head.id).await {
            Ok(mut task) => {
                if wanted.include_artifacts != Some(true) {
                    task.artifacts.clear();
                }
                tasks.push(task);
            }
            // It expired between the two looks.
            Err(TaskError::NoSuchTask(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let total = if after.is_none() && page.next.is_none() {
        tasks.len() as u64
    } else {
        call.front.site.tasks().count(&call.caller, filter).await?
    };
    let next = page.next.map(cursor::write).unwrap_or_default();
    Ok(TaskList { tasks, history, next, size, total })
}

fn filter(call: &A2aCall<'_>, wanted: &ListWanted) -> Result<TaskFilter, Failure> {
    let context = match wanted.context_id.as_deref() {
        None | Some("") => None,
        Some(id) => Some(id.parse::<ContextId>().map_err(|error| wrong("contextId", &error.to_string()))?),
    };
    Ok(TaskFilter {
        agent: (!call.for_site).then(|| call.agent.clone()),
        context,
        states: wanted.status.into_iter().collect(),
        updated_since: wanted.status_timestamp_after,
        ..TaskFilter::default()
    })
}

/// How many messages of the history are wanted.
pub(super) fn history_length(field: &str, wanted: Option<i64>) -> Result<Option<usize>, Failure> {
    let number = wanted.map(usize::try_from).transpose();
    number.map_err(|_| wrong(field, "must not be negative"))
}

//! A call that continues, as the tasks extension shows it.
//!
//! Promises: the same task has the same content in an answer and in a notice; a call that failed as a tool is
//! completed, with a result that says so. It does not follow tasks.

use agentsite_protocol::TaskId;
use agentsite_site::{SiteError, ToolTask, ToolTaskState};
use serde::Serialize;
use serde_json::{Value, json};

use super::params;
use crate::failure::{Era, Failure, Fault};

/// How often a client is asked to look: often enough for a person who waits, seldom enough for a task of
/// hours.
const POLL_EVERY_MS: u64 = 1_000;

/// A task on the wire.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown<'a> {
    task_id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<&'a str>,
    created_at: String,
    last_updated_at: String,
    ttl_ms: Option<u64>,
    poll_interval_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

impl<'a> Shown<'a> {
    /// The handle that a call is answered with.
    pub(super) fn handle(task: &'a ToolTask) -> Self {
        let ttl = task.ttl.map(|ttl| u64::try_from(ttl.0.as_millis()).unwrap_or(u64::MAX));
        Self {
            task_id: task.id.to_string(),
            status: status(&task.state),
            status_message: task.words.as_deref(),
            created_at: task.created_at.to_string(),
            last_updated_at: task.updated_at.to_string(),
            ttl_ms: ttl,
            poll_interval_ms: POLL_EVERY_MS,
            input_requests: None,
            result: None,
            error: None,
        }
    }

    /// The task with everything that belongs to its state.
    pub(super) fn whole(task: &'a ToolTask) -> Self {
        let mut shown = Self::handle(task);
        match &task.state {
            ToolTaskState::Working | ToolTaskState::Canceled => {}
            ToolTaskState::Input(requests) => shown.input_requests = Some(json!(requests)),
            ToolTaskState::Done(result) => shown.result = Some(json!(result)),
            ToolTaskState::Failed(why) => {
                shown.error = Some(Failure::new(Fault::AgentFailed, why.clone()).mcp_error(Era::Stateless));
                shown.status_message = shown.status_message.or(Some(why));
            }
        }
        shown
    }
}

/// The task of this id; what cannot be one answers like a task that is not there.
pub(super) fn task_id(written: &str) -> Result<TaskId, Failure> {
    written.parse().map_err(|_| SiteError::NoSuchTask(written.chars().take(60).collect()).into())
}

/// The refusal of a client that does not follow tasks.
pub(super) fn needs_tasks() -> Failure {
    let capability = json!({ "extensions": { params::TASKS: {} } });
    Failure::needs("follow tasks (the extension io.modelcontextprotocol/tasks)", &capability)
}

fn status(state: &ToolTaskState) -> &'static str {
    match state {
        ToolTaskState::Working => "working",
        ToolTaskState::Input(_) => "input_required",
        ToolTaskState::Done(_) => "completed",
        ToolTaskState::Failed(_) => "failed",
        ToolTaskState::Canceled => "cancelled",
    }
}

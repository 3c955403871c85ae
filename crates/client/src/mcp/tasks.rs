//! Tasks of a tool server: calls of tools that answer only as a task (`execution.taskSupport: "required"`,
//! revision 2025-11-25).
//!
//! Promises: callers see an ordinary call. The tool is called with a task, and its result is waited for with
//! `tasks/result`, through which the server also asks back; giving the call up cancels the task. It does not
//! list tasks, and tools that only may answer as a task are called without one.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use agentsite_protocol::mcp::{Reply, ToolCall, ToolResult};
use rmcp::RoleClient;
use rmcp::model::{ClientRequest, CustomRequest};
use rmcp::service::Peer;
use serde::Deserialize;
use serde_json::json;

use super::calls::OnNotice;
use super::{Connection, Limits, McpError};

/// The tools of a server that must be called with a task. A server says so by refusing a call without one;
/// what it says in its list does not come through the engine.
#[derive(Debug, Default)]
pub(super) struct TaskTools(
    /// A std lock: held for one look-up, never across an await.
    Mutex<BTreeSet<String>>,
);

impl TaskTools {
    /// Remembers one.
    pub(super) fn add(&self, tool: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned());
    }

    /// Whether this is one of them.
    pub(super) fn has(&self, tool: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(tool)
    }
}

/// Whether a result says that the tool answers only as a task.
pub(super) fn wants_task(result: &ToolResult) -> bool {
    result.is_error && result.plain_text().contains("requires task augmentation")
}

/// The answer to a call with a task.
#[derive(Debug, Deserialize)]
struct Created {
    task: CreatedTask,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedTask {
    task_id: String,
}

/// Cancels the task of a call that is given up.
struct CancelOnDrop {
    peer: Peer<RoleClient>,
    task: Option<String>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some(task), Ok(runtime)) = (self.task.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let request = CustomRequest::new("tasks/cancel", Some(json!({ "taskId": task })));
            let _ = peer.send_request(ClientRequest::CustomRequest(request)).await;
        });
    }
}

impl Connection {
    /// Calls a tool with a task and waits for its result.
    pub(super) async fn call_as_task(
        &self,
        subject: String,
        call: &ToolCall,
        on_notice: OnNotice,
    ) -> Result<Reply<ToolResult>, McpError> {
        let lifetime = u64::try_from(self.options.limits.call.as_millis()).unwrap_or(u64::MAX);
        let params = json!({
            "name": call.name,
            "arguments": call.arguments,
            "task": { "ttl": lifetime },
        });
        let request = ClientRequest::CustomRequest(CustomRequest::new("tools/call", Some(params)));
        let task = match self.go::<Created>(subject.clone(), &call.round, request, on_notice.clone()).await? {
            Reply::Done(created) => created.task.task_id,
            Reply::Input(needed) => return Ok(Reply::Input(needed)),
        };
        let params = json!({ "taskId": task });
        let mut cancelling = CancelOnDrop { peer: self.peer.clone(), task: Some(task) };
        let request = ClientRequest::CustomRequest(CustomRequest::new("tasks/result", Some(params)));
        // The answer comes when the task has ended; until then the server may be silent.
        let limits = Limits { call_silence: self.options.limits.call, ..self.options.limits };
        let reply = self.go_within(limits, subject, &call.round, request, on_notice).await;
        // A question sets the call aside; the task continues.
        if reply.is_ok() {
            cancelling.task = None;
        }
        reply
    }
}

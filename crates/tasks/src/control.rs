//! TaskControl: what the site itself does with tasks, without a caller.
//!
//! Promises: nothing here is reached by callers of the site; who uses it has checked the caller. It adds
//! nothing to what the supervisor decides.

use std::sync::Arc;

use agentsite_protocol::{AgentName, Caller, Task, TaskHead, TaskId};

use crate::agent::TaskAgent;
use crate::cancel_guard::CancelGuard;
use crate::error::TaskError;
use crate::lane::Slot;
use crate::process_call::ProcessCalls;
use crate::processes::Processes;
use crate::recover::Recovery;
use crate::supervisor::TaskSupervisor;

/// The tasks of a site as the site itself handles them.
#[derive(Debug, Clone)]
pub struct TaskControl(pub(crate) Arc<TaskSupervisor>);

impl TaskControl {
    /// Cancels a task when the guard is dropped before it was released.
    #[must_use]
    pub fn cancel_guard(self, caller: &Caller, task: TaskId) -> CancelGuard {
        self.0.cancel_guard(caller, task)
    }

    /// Waits for a slot for work of an agent without a task. Cancellation safe: dropping the future gives the
    /// position in the queue up.
    ///
    /// # Errors
    /// [`TaskError::QueueFull`], [`TaskError::Stopping`].
    pub async fn slot(self, agent: &TaskAgent) -> Result<Slot, TaskError> {
        Ok(self.0.admit(agent)?.slot().await)
    }

    /// Takes up all tasks that had not ended, or only those of one agent.
    ///
    /// # Errors
    /// [`TaskError::Store`].
    pub async fn recover(self, only: Option<&AgentName>) -> Result<Recovery, TaskError> {
        self.0.recover(only).await
    }

    /// Takes up tasks that found the disk full, again and again until none is left.
    pub async fn recover_later(self) {
        self.0.recover_later().await;
    }

    /// The committed state of a task that waits for a slot or runs; `None` for every other.
    #[must_use]
    pub fn live(&self, id: TaskId) -> Option<Task> {
        self.0.live.get(id).and_then(|live| live.log.task())
    }

    /// A task as it was opened: by whom, with which agent. Costs one read, however long the task became.
    ///
    /// # Errors
    /// [`TaskError::Store`].
    pub async fn opened(self, id: TaskId) -> Result<Option<Task>, TaskError> {
        self.0.opened(id).await
    }

    /// The head of a task, if it is this caller's, and in whose name the caller reaches it.
    ///
    /// # Errors
    /// [`TaskError::NoSuchTask`], also when it belongs to another owner.
    pub async fn head(self, caller: &Caller, id: TaskId) -> Result<(Caller, TaskHead), TaskError> {
        let (holder, inner) = self.0.holder(caller, id).await?;
        let head = self.0.store.task(inner).await?.filter(|head| holder.may_see(&head.owner));
        head.map(|head| (holder, head)).ok_or_else(|| TaskError::NoSuchTask(id.to_string()))
    }

    /// The id under which the store has a task that a caller names.
    #[must_use]
    pub fn stored_id(&self, caller: &Caller, id: TaskId) -> TaskId {
        if caller.is_anonymous() { self.0.cipher.read_task(id) } else { id }
    }

    /// The processes that serve the site.
    #[must_use]
    pub fn processes(&self) -> Processes {
        self.0.processes.clone()
    }

    /// Work that is no task, done by other processes of the site and for them.
    #[must_use]
    pub fn process_calls(&self) -> ProcessCalls {
        self.0.process_calls.clone()
    }

    /// Whether a task waits for a slot or runs.
    #[must_use]
    pub fn is_live(&self, id: TaskId) -> bool {
        self.0.is_live(id)
    }

    /// How many tasks wait for a slot or run.
    #[must_use]
    pub fn live_count(&self) -> usize {
        self.0.live.len()
    }
}

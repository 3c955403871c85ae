//! TaskHook: how other capabilities take part in what happens to tasks.
//!
//! A capability may refuse a message before anything is written, add to the transaction that opens, advances
//! or ends a task, and be notified after that transaction. Push, usage and conversations work this way.
//!
//! Promises: what a hook contributes is written in the transaction of the events or not at all. A hook is
//! notified of each commit once, after it and before the caller is answered, whatever made the commit: a run,
//! a cancellation, or the recovery after a stop. A process that dies right after a commit notifies of it no
//! more, so what must not be lost belongs into the contribution. Hooks are called in the order in which they
//! were registered; those that came with the message are called before them.
//!
//! It does not know which capabilities there are, and calls none of them for a task that is merely read.

use std::fmt::Debug;
use std::sync::Arc;

use agentsite_host::Job;
use agentsite_protocol::{
    AgentName, Caller, Message, Task, TaskEvent, TaskEventKind, TaskId, TaskState, Timestamp,
};
use futures::future::BoxFuture;

use crate::contribution::Contribution;
use crate::error::TaskError;
use crate::origin::Origin;

/// What a caller wants an agent to do, before anything is written.
#[derive(Debug, Clone, Copy)]
pub struct TaskIntent<'a> {
    /// In whose name it is asked.
    pub caller: &'a Caller,
    /// The agent.
    pub agent: &'a AgentName,
    /// What is said.
    pub message: &'a Message,
    /// Where the task comes from.
    pub origin: Origin,
    /// The task that is continued; none for a new one, and for an agent that answers without a task.
    pub task: Option<TaskId>,
}

/// What happens to a task in one commit.
#[derive(Debug, Clone, Copy)]
pub struct TaskMoment<'a> {
    /// The task after the events.
    pub task: &'a Task,
    /// The new events; never empty.
    pub events: &'a [Arc<TaskEvent>],
    /// Whether the task was taken from the store: it was continued, recovered, or changed without a run.
    pub resumed: bool,
    /// The time of the commit.
    pub now: Timestamp,
}

impl TaskMoment<'_> {
    /// Where the task came from.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        Origin::of(self.task)
    }

    /// Whether the task has ended with these events.
    #[must_use]
    pub const fn ends(&self) -> bool {
        self.task.head.state.is_terminal()
    }

    /// Whether the events change where the task stands, so that a list of tasks would show it.
    #[must_use]
    pub fn changes_state(&self) -> bool {
        self.events.iter().any(|event| match &event.kind {
            TaskEventKind::Opened(_) | TaskEventKind::Said { .. } | TaskEventKind::Started { .. } => true,
            TaskEventKind::Status { state, .. } => *state != TaskState::Working,
            _ => false,
        })
    }
}

/// A capability that takes part in what happens to tasks. Nothing here may block or wait for long, and each
/// method returns at once when it has nothing to do: all are called for every task of the site.
pub trait TaskHook: Debug + Send + Sync + 'static {
    /// Refuses a message to an agent. May be called more than once for one message, and an agreement is no
    /// promise that the task is opened, so it must change nothing. A limit that must hold exactly (a balance)
    /// is guarded by the contribution, which the store checks in the transaction; this is the early and cheap
    /// refusal.
    ///
    /// # Errors
    /// The refusal, as the caller gets it.
    fn admit(&self, intent: &TaskIntent<'_>) -> Result<(), TaskError> {
        let _ = intent;
        Ok(())
    }

    /// Adds to the transaction of these events. Called again when the transaction is tried again, so it must
    /// change nothing but the contribution.
    fn contribute(&self, moment: &TaskMoment<'_>, contribution: &mut Contribution) {
        let _ = (moment, contribution);
    }

    /// Hears that the transaction is on disk.
    fn committed(&self, moment: &TaskMoment<'_>) {
        let _ = moment;
    }

    /// Completes what an agent with a memory gets for a run; `None`, at no cost, when there is nothing to
    /// add.
    fn prepare<'a>(&'a self, job: &'a mut Job) -> Option<BoxFuture<'a, Result<(), TaskError>>> {
        let _ = job;
        None
    }
}

/// The hooks of a site, fixed when it is assembled.
#[derive(Debug, Clone, Default)]
pub struct TaskHooks(Arc<[Arc<dyn TaskHook>]>);

impl TaskHooks {
    /// Hooks in the order in which they are called.
    #[must_use]
    pub fn new(hooks: Vec<Arc<dyn TaskHook>>) -> Self {
        Self(hooks.into())
    }

    /// The first refusal, if there is one.
    pub(crate) fn admit(&self, intent: &TaskIntent<'_>) -> Result<(), TaskError> {
        self.0.iter().try_for_each(|hook| hook.admit(intent))
    }

    /// What all add, first the hooks that came with the message.
    pub(crate) fn contribute(
        &self,
        attached: &[Arc<dyn TaskHook>],
        moment: &TaskMoment<'_>,
        contribution: &mut Contribution,
    ) {
        attached.iter().chain(self.0.iter()).for_each(|hook| hook.contribute(moment, contribution));
    }

    /// Notifies all, first the hooks that came with the message.
    pub(crate) fn committed(&self, attached: &[Arc<dyn TaskHook>], moment: &TaskMoment<'_>) {
        attached.iter().chain(self.0.iter()).for_each(|hook| hook.committed(moment));
    }

    /// Completes a job.
    pub(crate) async fn prepare(&self, job: &mut Job) -> Result<(), TaskError> {
        for hook in self.0.iter() {
            if let Some(preparing) = hook.prepare(job) {
                preparing.await?;
            }
        }
        Ok(())
    }
}

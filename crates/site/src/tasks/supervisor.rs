//! TaskSupervisor: what all runners of tasks share.
//!
//! Promises: every change of a task is one commit that the hooks take part in. It holds no task itself: `live` lists
//! those that run, the store has the others.

use std::sync::{Arc, OnceLock};

use agentsite_host::{Calls, NoCalls};
use agentsite_protocol::{Command, Ids, Task, TaskId};
use agentsite_store::{Admittance, SharedStore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::commit::TaskCommit;
use super::hook::{TaskHooks, TaskMoment};
use super::live::LiveTasks;
use super::replay::{opened, replay};
use crate::anonymous::IdCipher;
use crate::{SiteError, SiteMetrics};

/// What all runners of tasks share.
#[derive(Debug)]
pub(crate) struct TaskSupervisor {
    pub(crate) store: SharedStore,
    pub(crate) ids: Ids,
    pub(crate) metrics: SiteMetrics,
    /// The ids that anonymous callers get.
    pub(crate) cipher: IdCipher,
    /// Fires when no new work is taken.
    pub(crate) stopping: CancellationToken,
    /// Fires when running work is given up.
    pub(crate) halted: CancellationToken,
    /// All runners, to wait for them.
    pub(crate) running: TaskTracker,
    /// The way from a running agent to others; set once the site is assembled.
    pub(crate) calls: OnceLock<Arc<dyn Calls>>,
    /// The capabilities that take part.
    pub(super) hooks: TaskHooks,
    /// The tasks that wait for a slot or run.
    pub(super) live: Arc<LiveTasks>,
}

impl TaskSupervisor {
    pub(crate) fn new(
        store: SharedStore,
        ids: Ids,
        metrics: SiteMetrics,
        cipher: IdCipher,
        hooks: TaskHooks,
    ) -> Arc<Self> {
        let stopping = CancellationToken::new();
        Arc::new(Self {
            store,
            ids,
            live: LiveTasks::new(metrics.clone(), stopping.clone()),
            metrics,
            cipher,
            stopping,
            halted: CancellationToken::new(),
            running: TaskTracker::new(),
            calls: OnceLock::new(),
            hooks,
        })
    }

    pub(super) fn calls(&self) -> Arc<dyn Calls> {
        self.calls.get().cloned().unwrap_or_else(|| Arc::new(NoCalls))
    }

    /// How many tasks wait for a slot or run.
    pub(crate) fn live_count(&self) -> usize {
        self.live.len()
    }

    /// Whether a task waits for a slot or runs.
    pub(crate) fn is_live(&self, id: TaskId) -> bool {
        self.live.get(id).is_some()
    }

    /// The committed state of a task, whoever asks; `None` when there is none.
    pub(crate) async fn current(&self, id: TaskId) -> Result<Option<Task>, SiteError> {
        match self.live.get(id).and_then(|live| live.log.task()) {
            Some(task) => Ok(Some(task)),
            None => Ok(replay(&self.store, id).await?),
        }
    }

    /// A task as it was opened: by whom, with which agent. Costs one read, however long the task became.
    pub(crate) async fn opened(&self, id: TaskId) -> Result<Option<Task>, SiteError> {
        Ok(opened(&self.store, id).await?)
    }

    /// Changes a task that has no runner.
    pub(super) async fn settle_unattended(
        &self,
        mut task: Task,
        command: Command,
    ) -> Result<Task, SiteError> {
        let now = self.ids.clock().now();
        let committed = task.head.seq;
        let events = task.decide(command, now).map_err(SiteError::refused)?;
        for event in &events {
            task.apply(event).expect("decided events apply");
        }
        let events: Vec<_> = events.into_iter().map(Arc::new).collect();
        self.metrics.entered(task.head.state);
        let moment = TaskMoment { task: &task, events: &events, resumed: true, now };
        let part = TaskCommit { moment, committed, sent: None, admittance: Admittance::Always };
        self.store.commit(part.change(&self.hooks, &[])).await?;
        self.live.wake(task.head.id);
        self.hooks.committed(&[], &moment);
        Ok(task)
    }
}

//! TaskSupervisor: what all runners of tasks share.
//!
//! Promises: every change of a task is one commit that the hooks take part in. It holds no task itself:
//! `live` lists those that run, the store has the others.

use std::sync::{Arc, OnceLock};

use agentsite_host::{Calls, NoCalls};
use agentsite_protocol::{Command, Ids, Task, TaskId};
use agentsite_store::{Admittance, SharedStore};

use crate::agent::AgentDirectory;
use crate::anonymous::IdCipher;
use crate::commit::TaskCommit;
use crate::error::TaskError;
use crate::hook::{TaskHooks, TaskMoment};
use crate::lifetime::Lifetime;
use crate::live::LiveTasks;
use crate::metrics::TaskMetrics;
use crate::process_call::ProcessCalls;
use crate::processes::Processes;
use crate::replay::{opened, replay};

/// What a site gives to its tasks.
#[derive(Debug)]
pub struct TaskParts {
    /// Where tasks are kept.
    pub store: SharedStore,
    /// Time, chance, and the ids made of both.
    pub ids: Ids,
    /// Where tasks are counted.
    pub metrics: TaskMetrics,
    /// The ids that anonymous callers get.
    pub cipher: IdCipher,
    /// The capabilities that take part, in the order in which they are called.
    pub hooks: TaskHooks,
    /// The agents of the site.
    pub agents: AgentDirectory,
    /// When to stop, and what a stop waits for.
    pub lifetime: Lifetime,
    /// The processes that serve the site.
    pub processes: Processes,
}

/// What all runners of tasks share.
#[derive(Debug)]
pub(crate) struct TaskSupervisor {
    pub(crate) store: SharedStore,
    pub(crate) ids: Ids,
    pub(crate) metrics: TaskMetrics,
    pub(crate) cipher: IdCipher,
    pub(crate) hooks: TaskHooks,
    pub(crate) agents: AgentDirectory,
    pub(crate) lifetime: Lifetime,
    pub(crate) processes: Processes,
    /// Work that is no task, done by other processes and for them.
    pub(crate) process_calls: ProcessCalls,
    /// The way from a running agent to others; set once the site is assembled.
    calls: OnceLock<Arc<dyn Calls>>,
    /// The tasks that wait for a slot or run.
    pub(crate) live: Arc<LiveTasks>,
}

impl TaskSupervisor {
    pub(crate) fn new(parts: TaskParts) -> Arc<Self> {
        let TaskParts { store, ids, metrics, cipher, hooks, agents, lifetime, processes } = parts;
        let live = LiveTasks::new(metrics.clone(), lifetime.stopping().clone(), processes.is_shared());
        let process_calls =
            ProcessCalls::new(store.clone(), ids.clone(), processes.clone(), lifetime.clone());
        let supervisor = Arc::new(Self {
            store,
            ids,
            metrics,
            cipher,
            hooks,
            agents,
            lifetime,
            processes,
            process_calls,
            calls: OnceLock::new(),
            live,
        });
        supervisor.serve_messages();
        supervisor
    }

    /// Sets the way from a running agent to others; the first one stays.
    pub(crate) fn set_calls(&self, calls: Arc<dyn Calls>) {
        let _ = self.calls.set(calls);
    }

    pub(crate) fn calls(&self) -> Arc<dyn Calls> {
        self.calls.get().cloned().unwrap_or_else(|| Arc::new(NoCalls))
    }

    /// Whether a task waits for a slot or runs.
    pub(crate) fn is_live(&self, id: TaskId) -> bool {
        self.live.get(id).is_some()
    }

    /// The committed state of a task without a check of the caller; `None` when there is none.
    pub(crate) async fn current(&self, id: TaskId) -> Result<Option<Task>, TaskError> {
        match self.live.get(id).and_then(|live| live.log.task()) {
            Some(task) => Ok(Some(task)),
            None => Ok(replay(&self.store, id).await?),
        }
    }

    /// A task as it was opened: by whom, with which agent. Costs one read, however long the task became.
    pub(crate) async fn opened(&self, id: TaskId) -> Result<Option<Task>, TaskError> {
        Ok(opened(&self.store, id).await?)
    }

    /// Changes a task that has no runner.
    pub(crate) async fn settle_unattended(
        &self,
        mut task: Task,
        command: Command,
    ) -> Result<Task, TaskError> {
        let now = self.ids.clock().now();
        let committed = task.head.seq;
        let events = task.decide(command, now).map_err(TaskError::refused)?;
        for event in &events {
            task.apply(event).expect("decided events apply");
        }
        let events: Vec<_> = events.into_iter().map(Arc::new).collect();
        self.metrics.entered(task.head.state);
        let moment = TaskMoment { task: &task, events: &events, resumed: true, now };
        let part =
            TaskCommit { moment, committed, sent: None, admittance: Admittance::Always, released: false };
        self.store.commit(part.change(&self.hooks, &[])).await?;
        self.live.wake(task.head.id);
        self.hooks.committed(&[], &moment);
        Ok(task)
    }
}

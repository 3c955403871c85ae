//! After a stop or a crash: what becomes of the tasks that had not ended.
//!
//! Promises: queued work runs; interrupted work is retried as often as its agent allows, else it fails and
//! says why; work that waits for its caller keeps waiting; work for an agent that is not installed now waits
//! until it is. Work for an agent whose name has another owner now fails: it never reaches the new owner.
//! Where several processes serve the site, only the tasks that none of them holds are taken up, each by one.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{AgentName, Command, Message, Outcome, Role, Task, TaskHead, TaskId, TaskState};
use agentsite_store::StoreError;
use tracing::Instrument;

use crate::agent::TaskAgent;
use crate::error::TaskError;
use crate::lane::Admission;
use crate::live::TaskOrder;
use crate::log::TaskLog;
use crate::replay::replay;
use crate::runner::{TaskRunner, run_span};
use crate::supervisor::TaskSupervisor;

/// What became of the tasks that had not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovery {
    /// Had waited and run now.
    pub requeued: usize,
    /// Were at work and are tried again.
    pub retried: usize,
    /// Were at work and failed.
    pub failed: usize,
    /// Wait for their caller or their agent.
    pub waiting: usize,
    /// Could not be taken up because the disk is full; it is tried again.
    pub put_off: usize,
}

/// Most calls of agents by agents that are counted: far more than may lead to one another.
const DEEPEST: u32 = 64;

/// Tasks without a process that are looked at in one go.
const ORPHANS: usize = 200;

/// How long to wait before tasks are taken up again that found the disk full.
const TRY_AGAIN: Duration = Duration::from_secs(5);

impl TaskSupervisor {
    /// Takes up tasks that found the disk full, again and again until none is left.
    pub(crate) async fn recover_later(self: &Arc<Self>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(TRY_AGAIN) => {}
                () = self.lifetime.stopping().cancelled() => return,
            }
            match self.recover(None).await {
                Ok(Recovery { put_off: 0, .. }) => {
                    tracing::info!("The tasks that found the disk full are taken up.");
                    return;
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "Tasks could not be taken up yet."),
            }
        }
    }

    /// Takes up all tasks that had not ended, or only those of one agent.
    pub(crate) async fn recover(self: &Arc<Self>, only: Option<&AgentName>) -> Result<Recovery, TaskError> {
        if self.live.shared {
            return self.take_orphans(only).await;
        }
        let mut recovery = Recovery::default();
        for head in self.store.open_tasks().await? {
            if only.is_some_and(|only| *only != head.agent) || self.is_live(head.id) {
                continue;
            }
            match self.agents.find(&head.agent) {
                Some(agent) if !head.state.is_interrupted() => {
                    match self.resume(head, agent, &mut recovery).await {
                        Err(error) if error.is_store_full() => recovery.put_off += 1,
                        resumed => resumed?,
                    }
                }
                _ => recovery.waiting += 1,
            }
        }
        Ok(recovery)
    }

    /// Takes up the tasks that no process holds and whose agent runs here.
    async fn take_orphans(self: &Arc<Self>, only: Option<&AgentName>) -> Result<Recovery, TaskError> {
        let (mut recovery, mut after) = (Recovery::default(), None);
        loop {
            let page = self.store.orphans(after, ORPHANS).await?;
            let Some(last) = page.last() else { return Ok(recovery) };
            after = Some(last.id);
            let found = page.len();
            let ours = page.into_iter().filter(|head| only.is_none_or(|only| *only == head.agent));
            let ours: Vec<TaskId> =
                ours.filter(|head| self.here(&head.agent).is_some()).map(|head| head.id).collect();
            recovery.waiting += found - ours.len();
            self.adopt(ours, &mut recovery).await?;
        }
    }

    /// Takes up a task that another process released; true when nothing is left to do about it.
    pub(crate) async fn take_released(self: &Arc<Self>, task: TaskId) -> Result<bool, StoreError> {
        let Some(head) = self.store.task(task).await? else { return Ok(true) };
        if head.state.is_settled() || self.is_live(task) {
            return Ok(true);
        }
        if self.here(&head.agent).is_none() {
            return Ok(false);
        }
        let mut recovery = Recovery::default();
        match self.adopt(vec![task], &mut recovery).await {
            Ok(()) => Ok(recovery != Recovery::default()),
            Err(TaskError::Store(error)) => Err(error),
            Err(error) => Err(StoreError::Engine(error.to_string())),
        }
    }

    /// Holds those of these tasks that are still free, and resumes them.
    async fn adopt(self: &Arc<Self>, tasks: Vec<TaskId>, recovery: &mut Recovery) -> Result<(), TaskError> {
        if tasks.is_empty() {
            return Ok(());
        }
        for head in self.store.adopt(tasks).await? {
            let Some(agent) = self.here(&head.agent) else { continue };
            let id = head.id;
            match self.resume(head, agent, recovery).await {
                Err(error) if error.is_store_full() => recovery.put_off += 1,
                resumed => resumed?,
            }
            if self.is_cancel_ordered(id).await?
                && let Some(live) = self.live.get(id)
            {
                let _ = live.orders.try_send(TaskOrder::Cancel);
            }
        }
        Ok(())
    }

    /// The agent of this name, if it runs in this process.
    pub(crate) fn here(&self, name: &AgentName) -> Option<Arc<TaskAgent>> {
        self.agents.find(name).filter(|agent| agent.can_run_here())
    }

    async fn resume(
        self: &Arc<Self>,
        head: TaskHead,
        agent: Arc<TaskAgent>,
        recovery: &mut Recovery,
    ) -> Result<(), TaskError> {
        let Some(mut task) = replay(&self.store, head.id).await? else { return Ok(()) };
        if let Err(gone) = agent.check_holds(&task) {
            let words = Message::text(self.ids.message(), Role::Agent, gone.to_string());
            recovery.failed += 1;
            return self.settle_unattended(task, Command::Finish(Outcome::Failed(words))).await.map(drop);
        }
        if task.head.state == TaskState::Working {
            let retry = agent.manifest.limits.retry;
            let command =
                interrupted(&task, retry, |text| Message::text(self.ids.message(), Role::Agent, text));
            match &command {
                Command::Requeue(_) => recovery.retried += 1,
                _ => recovery.failed += 1,
            }
            task = self.settle_unattended(task, command).await?;
        } else {
            recovery.requeued += 1;
        }
        if task.head.state == TaskState::Submitted {
            let depth = self.depth(&task).await?;
            self.take_up(agent, task, depth);
        }
        Ok(())
    }

    /// How many calls of agents by agents lead to a task, as its parents tell.
    async fn depth(&self, task: &Task) -> Result<u32, TaskError> {
        let (mut depth, mut parent) = (0, task.head.parent);
        while let Some(id) = parent.filter(|_| depth < DEEPEST) {
            depth += 1;
            parent = self.store.task(id).await?.and_then(|head| head.parent);
        }
        Ok(depth)
    }

    fn take_up(self: &Arc<Self>, agent: Arc<TaskAgent>, task: Task, depth: u32) {
        let log = TaskLog::resumed(task.clone());
        let Some(orders) = self.live.insert(task.head.id, &task.head.agent, &log) else { return };
        let admission: Admission = agent.lane.admit(true).expect("forced admissions are never refused");
        let span = run_span(&task);
        let runner = TaskRunner::new(self.clone(), agent, task, log, orders, admission).at_depth(depth);
        self.lifetime.spawn(runner.run().instrument(span));
    }
}

/// What becomes of a task that was at work when the site stopped.
fn interrupted(task: &Task, retry: u32, words: impl Fn(String) -> Message) -> Command {
    if task.retries < retry {
        let text = format!(
            "the site was stopped while the agent worked; trying again ({} of {retry})",
            task.retries + 1
        );
        Command::Requeue(words(text))
    } else {
        let text = format!(
            "the site was stopped while {} worked on this and it may not be tried again (limits.retry = {retry} in its agent.toml); send the message again",
            task.head.agent
        );
        Command::Finish(Outcome::Failed(words(text)))
    }
}

//! After a stop or a crash: what becomes of the tasks that had not ended.
//!
//! Promises: queued work runs; interrupted work is retried as often as its agent allows, else it fails and
//! says why; work that waits for its caller keeps waiting; work for an agent that is not installed now waits
//! until it is. Work for an agent whose name has another owner now fails: it never reaches the new owner.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{AgentName, Command, Message, Outcome, Role, Task, TaskHead, TaskState};
use tracing::Instrument;

use crate::agent::TaskAgent;
use crate::error::TaskError;
use crate::lane::Admission;
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
            self.take_up(agent, task);
        }
        Ok(())
    }

    fn take_up(self: &Arc<Self>, agent: Arc<TaskAgent>, task: Task) {
        let log = TaskLog::resumed(task.clone());
        let Some(orders) = self.live.insert(task.head.id, &log) else { return };
        let admission: Admission = agent.lane.admit(true).expect("forced admissions are never refused");
        let span = run_span(&task);
        let runner = TaskRunner::new(self.clone(), agent, task, log, orders, admission);
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

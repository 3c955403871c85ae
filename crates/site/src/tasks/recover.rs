//! After a stop or a crash: what becomes of the tasks that had not ended.
//!
//! Promises: queued work runs; interrupted work is retried as often as its agent allows, else it fails and says why; work that waits for
//! its caller goes on waiting; work for an agent that is not here now waits until it is. Work for an agent whose name has another owner now
//! fails: it never reaches the new owner.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{AgentName, Command, Message, Outcome, Role, Task, TaskHead, TaskState};
use tracing::Instrument;

use super::log::TaskLog;
use super::replay::replay;
use super::runner::{TaskRunner, run_span};
use super::supervisor::TaskSupervisor;
use crate::SiteError;
use crate::hub::Entry;
use crate::lane::Admission;

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
    pub(crate) async fn recover_later(
        self: Arc<Self>,
        entry_of: impl Fn(&AgentName) -> Option<Arc<Entry>> + Send + Sync,
    ) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(TRY_AGAIN) => {}
                () = self.stopping.cancelled() => return,
            }
            match self.recover(None, &entry_of).await {
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
    pub(crate) async fn recover(
        self: &Arc<Self>,
        only: Option<&AgentName>,
        entry_of: impl Fn(&AgentName) -> Option<Arc<Entry>>,
    ) -> Result<Recovery, SiteError> {
        let mut recovery = Recovery::default();
        for head in self.store.open_tasks().await? {
            if only.is_some_and(|only| *only != head.agent) || self.is_live(head.id) {
                continue;
            }
            match entry_of(&head.agent) {
                Some(entry) if !head.state.is_interrupted() => {
                    match self.resume(head, entry, &mut recovery).await {
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
        entry: Arc<Entry>,
        recovery: &mut Recovery,
    ) -> Result<(), SiteError> {
        let Some(mut task) = replay(&self.store, head.id).await? else { return Ok(()) };
        if let Err(gone) = entry.check_holds(&task) {
            let words = Message::text(self.ids.message(), Role::Agent, gone.to_string());
            recovery.failed += 1;
            return self.settle_unattended(task, Command::Finish(Outcome::Failed(words))).await.map(drop);
        }
        if task.head.state == TaskState::Working {
            let retry = entry.manifest.limits.retry;
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
            self.take_up(entry, task);
        }
        Ok(())
    }

    fn take_up(self: &Arc<Self>, entry: Arc<Entry>, task: Task) {
        let log = TaskLog::resumed(task.clone());
        let Some(orders) = self.live.insert(task.head.id, &log) else { return };
        let admission: Admission = entry.lane.admit(true).expect("forced admissions are never refused");
        let span = run_span(&task);
        let runner = TaskRunner::new(self.clone(), entry, task, log, orders, admission);
        self.running.spawn(runner.run().instrument(span));
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

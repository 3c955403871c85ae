//! How a runner writes what happened, and what it does when the store refuses.
//!
//! Promises: what was refused is never shown. A full disk delays a task that was accepted and refuses a new
//! one; an owner without storage left ends the task with that reason. Hooks are notified once for each
//! commit.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{Command, Outcome, TaskEvent, TaskEventKind, TaskState, Timestamp};
use agentsite_store::{Admittance, StoreError};

use super::{Halted, TaskRunner};
use crate::commit::TaskCommit;
use crate::error::TaskError;
use crate::hook::TaskMoment;
use crate::live::TaskOrder;
use crate::order::ProcessOrder;
use crate::replay::replay;

/// How long to wait before a commit is tried again on a full disk, or on a database that does not answer.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

impl TaskRunner {
    /// Writes what is pending, then shows it to watchers.
    pub(super) async fn flush(&mut self) -> Result<(), Halted> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let events: Vec<_> = std::mem::take(&mut self.pending).into_iter().map(Arc::new).collect();
        let now = self.now();
        while let Err(error) = self.commit(&events, now).await {
            let first = self.accepted.is_some();
            if matches!(error, StoreError::OverLimit { .. }) && !first {
                return Err(self.end_over_limit(error).await);
            }
            if !matches!(error, StoreError::Full | StoreError::Unavailable(_)) || first {
                return Err(self.give_up(error));
            }
            tracing::warn!(task = %self.task.head.id, %error, "A task cannot be written yet; it waits.");
            tokio::select! {
                () = tokio::time::sleep(RETRY_PAUSE) => {}
                () = self.tasks.lifetime.halted().cancelled() => return Err(Halted),
            }
        }
        self.committed = self.task.head.seq;
        (self.admittance, self.sent) = (Admittance::Running, None);
        self.count(&events);
        if self.task.head.state.is_settled() {
            // Before anybody sees the end, so that a prompt further message finds the task free.
            self.tasks.live.remove(self.task.head.id, &self.log);
        }
        let attached = std::mem::take(&mut self.attached);
        // First, so that what a hook causes to be read has these events.
        self.log.publish(&events);
        self.tasks.hooks.committed(&attached, &self.moment(&events, now));
        if let Some(accepted) = self.accepted.take() {
            let _ = accepted.send(Ok(()));
        }
        Ok(())
    }

    async fn commit(&self, events: &[Arc<TaskEvent>], now: Timestamp) -> Result<(), StoreError> {
        let part = TaskCommit {
            moment: self.moment(events, now),
            committed: self.committed,
            sent: self.sent.as_ref(),
            admittance: self.admittance,
            released: self.moved,
        };
        let mut change = part.change(&self.tasks.hooks, &self.attached);
        if self.moved {
            let head = &self.task.head;
            change = change.edit(ProcessOrder::TakeUp { task: head.id, seq: head.seq }.record(now)?);
        }
        self.tasks.store.commit(change).await
    }

    /// Gives the task to the process that runs its agent now: writes it without holding it, and orders that
    /// it is taken up. A cancel that came before ends it instead.
    pub(super) async fn release(&mut self) -> Result<(), Halted> {
        // From now on the task is reached through the store, and no further order is taken here.
        self.tasks.live.remove(self.task.head.id, &self.log);
        self.orders.close();
        while let Ok(order) = self.orders.try_recv() {
            if matches!(order, TaskOrder::Cancel) {
                self.moved = false;
                self.decide(Command::Cancel(None))?;
                break;
            }
        }
        self.flush().await
    }

    fn moment<'a>(&'a self, events: &'a [Arc<TaskEvent>], now: Timestamp) -> TaskMoment<'a> {
        TaskMoment { task: &self.task, events, resumed: self.resumed, now }
    }

    /// Ends a task whose owner has no storage left: what is on disk stays, what was refused was never shown,
    /// and the task says why it failed. The run that is still under way is dropped with the runner.
    async fn end_over_limit(&mut self, error: StoreError) -> Halted {
        let id = self.task.head.id;
        let why = self.words(format!("the work was stopped: {error}"));
        match self.end_from_store(Command::Finish(Outcome::Failed(why))).await {
            Ok(()) => {
                tracing::warn!(task = %id, %error, "A task was ended because its owner has no storage left.");
            }
            Err(error) => {
                tracing::error!(task = %id, %error, "A task could not be ended and is left as it was.");
            }
        }
        Halted
    }

    /// Ends the task as it is on disk, whatever was decided since.
    async fn end_from_store(&mut self, command: Command) -> Result<(), TaskError> {
        let id = self.task.head.id;
        let Some(task) = replay(&self.tasks.store, id).await? else { return Ok(()) };
        self.task = self.tasks.settle_unattended(task, command).await?;
        self.tasks.live.remove(id, &self.log);
        let most = usize::try_from(self.task.head.seq - self.committed).unwrap_or(usize::MAX);
        let events = self.tasks.store.events(id, self.committed, most).await?;
        self.log.publish(&events.into_iter().map(Arc::new).collect::<Vec<_>>());
        self.committed = self.task.head.seq;
        Ok(())
    }

    fn give_up(&mut self, error: StoreError) -> Halted {
        let id = self.task.head.id;
        match self.accepted.take() {
            Some(accepted) => {
                self.tasks.live.remove(id, &self.log);
                let _ = accepted.send(Err(error.into()));
            }
            None => tracing::error!(task = %id, %error, "A task could not be written and is left as it was."),
        }
        Halted
    }

    fn count(&self, events: &[Arc<TaskEvent>]) {
        let metrics = &self.tasks.metrics;
        for event in events {
            match &event.kind {
                TaskEventKind::Opened(_) => metrics.entered(TaskState::Submitted),
                TaskEventKind::Started { .. } => metrics.entered(TaskState::Working),
                TaskEventKind::Status { state: TaskState::Working, .. } => {}
                TaskEventKind::Status { state, .. } => metrics.entered(*state),
                _ => {}
            }
        }
        if self.task.head.state.is_settled() {
            metrics.settled_after(self.task.head.updated_at.since(self.task.head.created_at));
        }
    }
}

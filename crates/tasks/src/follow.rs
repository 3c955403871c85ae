//! Reading, watching and cancelling a task.
//!
//! Promises: each verb checks the caller first; a task of another owner answers like one that does not exist.
//! What is read is committed. It starts no run.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{Caller, Command, JournalLine, Task, TaskId, TaskState};
use agentsite_store::StoreError;

use crate::anonymous_caller::about;
use crate::contribution::forget;
use crate::error::TaskError;
use crate::followed::catch_up;
use crate::kinds;
use crate::live::TaskOrder;
use crate::origin::Origin;
use crate::supervisor::TaskSupervisor;
use crate::watch::TaskWatch;

/// How long a caller waits until another process has ended a task: until a process that died is noticed, its
/// task taken up, and a run that does not stop at once is dropped.
const ELSEWHERE: Duration = Duration::from_secs(20);

impl TaskSupervisor {
    /// Ends a task for its caller.
    pub(crate) async fn cancel(&self, caller: &Caller, id: TaskId) -> Result<Task, TaskError> {
        if caller.is_anonymous() {
            let (holder, inner) = self.holder(caller, id).await?;
            let ended = Box::pin(self.cancel(&holder, inner)).await;
            return ended
                .map(|task| self.cipher.show_task(task))
                .map_err(|error| about(error, &id.to_string()));
        }
        loop {
            let task = self.load(caller, id).await?;
            if task.head.state.is_terminal() {
                return Err(TaskError::NotCancelable(task.head.state));
            }
            if let Some(live) = self.live.get(id) {
                if live.orders.send(TaskOrder::Cancel).await.is_err() {
                    tokio::task::yield_now().await;
                    continue;
                }
                let watch = TaskWatch::new(&task, task.head.seq, live.log, self.store.clone());
                let task = watch.settled().await;
                // It may have ended by itself before the order reached its runner.
                let by_itself = task.head.state.is_terminal() && task.head.state != TaskState::Canceled;
                return if by_itself { Err(TaskError::NotCancelable(task.head.state)) } else { Ok(task) };
            }
            match self.settle_unattended(task.clone(), Command::Cancel(None)).await {
                Err(TaskError::Store(StoreError::Stale { .. })) => {}
                Err(TaskError::Store(StoreError::Held { .. })) => return self.cancel_elsewhere(task).await,
                ended => return ended,
            }
        }
    }

    /// Ends a task that another process runs: orders it, and waits until that process, or the one that takes
    /// the task up after it, has obeyed.
    async fn cancel_elsewhere(&self, task: Task) -> Result<Task, TaskError> {
        let id = task.head.id;
        self.order_cancel(id).await?;
        let watch = self.watch_stored(task, 0).await?;
        let ended = tokio::time::timeout(ELSEWHERE, watch.settled()).await;
        match ended.map(|task| (task.head.state, task)) {
            Ok((TaskState::Canceled, task)) => Ok(task),
            Ok((state, _)) if state.is_terminal() => Err(TaskError::NotCancelable(state)),
            Ok((state, _)) => Err(TaskError::TaskBusy(state)),
            Err(_) => Err(TaskError::TaskBusy(TaskState::Working)),
        }
    }

    /// Follows a task that is not live in this process.
    pub(crate) async fn watch_stored(&self, task: Task, after: u64) -> Result<TaskWatch, TaskError> {
        if !self.live.shared || task.head.state.is_settled() {
            return Ok(TaskWatch::ended(&task, after, self.store.clone()));
        }
        let log = self.live.followed.follow(task.clone());
        catch_up(&self.store, task.head.id, &log).await?;
        Ok(TaskWatch::new(&task, after, log, self.store.clone()))
    }

    /// Follows a task from a cursor.
    pub(crate) async fn watch(
        &self,
        caller: &Caller,
        id: TaskId,
        after: u64,
    ) -> Result<TaskWatch, TaskError> {
        if caller.is_anonymous() {
            let (holder, inner) = self.holder(caller, id).await?;
            let watch = Box::pin(self.watch(&holder, inner, after)).await;
            return watch
                .map(|watch| watch.enciphered(self.cipher))
                .map_err(|error| about(error, &id.to_string()));
        }
        if let Some(live) = self.live.get(id)
            && let Some(task) = live.log.task()
        {
            return if caller.may_see(&task.head.owner) {
                Ok(TaskWatch::new(&task, after, live.log, self.store.clone()))
            } else {
                Err(TaskError::NoSuchTask(id.to_string()))
            };
        }
        let task = self.load(caller, id).await?;
        self.watch_stored(task, after).await
    }

    /// Follows a task from a cursor until it has ended, also through the times in which it waits for its
    /// caller.
    pub(crate) async fn watch_to_end(
        self: &Arc<Self>,
        caller: &Caller,
        id: TaskId,
        after: u64,
    ) -> Result<TaskWatch, TaskError> {
        Ok(self.watch(caller, id, after).await?.through_pauses(&self.live))
    }

    /// The committed state of a task, if it is this caller's.
    pub(crate) async fn load(&self, caller: &Caller, id: TaskId) -> Result<Task, TaskError> {
        if caller.is_anonymous() {
            let (holder, inner) = self.holder(caller, id).await?;
            let task = Box::pin(self.load(&holder, inner)).await;
            return task
                .map(|task| self.cipher.show_task(task))
                .map_err(|error| about(error, &id.to_string()));
        }
        let task = self.current(id).await?;
        task.filter(|task| caller.may_see(&task.head.owner))
            .ok_or_else(|| TaskError::NoSuchTask(id.to_string()))
    }

    /// Lets an ended task go with everything that was said in it, at the next expiry.
    pub(crate) async fn forget(&self, caller: &Caller, id: TaskId) -> Result<(), TaskError> {
        let task = self.load(caller, id).await?;
        if !task.head.state.is_terminal() {
            return Err(TaskError::TaskBusy(task.head.state));
        }
        if let Origin::Conversation(_) = Origin::of(&task) {
            let why = "the task is a turn of a conversation and stays as long as it; delete the conversation";
            return Err(TaskError::Forbidden(why.into()));
        }
        let (now, text) = (self.ids.clock().now(), format!("removed the finished task {id}"));
        // The lines of the task lose their texts with it; this one is about the agent and stays.
        let line =
            JournalLine::new(kinds::REMOVED, now, caller.owner().as_str(), text).about_agent(task.head.agent);
        let stored = if caller.is_anonymous() { self.cipher.read_task(id) } else { id };
        Ok(self.store.commit(forget(stored, line)).await?)
    }
}

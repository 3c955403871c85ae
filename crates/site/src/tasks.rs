//! Tasks: how a message becomes work, and how work is followed, continued and ended.
//!
//! Promises: `send` answers when the task is on disk; the same message sent twice gives the same task; the runner starts at once when a
//! place is free. One driver owns each live task; everybody else reads its log. Tasks that ended or wait for their caller cost no
//! memory.
//!
//! The rules of the lifecycle are in `protocol`; how agents run is in `host`.

mod desk;
mod drive;
mod job;
mod journal;
mod log;
mod message_only;
mod recover;
mod sleep;
mod stranger;
mod waiter;

use std::sync::Arc;
use std::time::Duration;

use agentsite_host::{Aside, Repeats};
use agentsite_protocol::{
    AgentName, Caller, Command, Message, Opening, PushConfig, Task, TaskEvent, TaskEventKind, TaskId,
    TaskState, Timestamp,
};
use agentsite_store::{SentKey, StoreError};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tracing::Instrument;

pub(crate) use desk::Desk;
pub use log::TaskWatch;
pub use recover::Recovery;
pub(crate) use waiter::Waiter;

use crate::SiteError;
use crate::conversations::Said;
use crate::hub::Entry;
use crate::lane::Admission;
use drive::{Cause, Drive, Order};
use log::TaskLog;
use stranger::about;

/// Events read from the store at once when a task is rebuilt.
const REPLAY_PAGE: usize = 2_000;

/// What a message led to.
#[derive(Debug)]
pub enum Sent {
    /// A task, to be followed.
    Task(TaskWatch),
    /// An answer, of an agent that keeps no record.
    Message(Message),
}

/// From where a message comes, and what comes with it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    pub(crate) parent: Option<TaskId>,
    pub(crate) depth: u32,
    /// When the task of the agent that sends it must be done.
    pub(crate) deadline: Option<Timestamp>,
    /// How long the task is kept after it has ended.
    pub(crate) ttl: Option<Duration>,
    /// What only the agent sees.
    pub(crate) aside: Aside,
    /// Who is to be told about the task from now on.
    pub(crate) receiver: Option<PushConfig>,
    /// The turn of a conversation that the task becomes.
    pub(crate) said: Option<Said>,
}

impl Desk {
    /// Opens a task with a message, or continues the one that the message names.
    pub(crate) async fn send(
        self: &Arc<Self>,
        caller: &Caller,
        entry: Arc<Entry>,
        message: Message,
        mut origin: Origin,
    ) -> Result<TaskWatch, SiteError> {
        if caller.is_anonymous() {
            let named = message.task_id.clone().unwrap_or_default();
            let (holder, message) = self.enter(caller, message).await?;
            let sent = Box::pin(self.send(&holder, entry, message, origin)).await;
            return sent.map(|watch| watch.enciphered(self.cipher)).map_err(|error| about(error, &named));
        }
        // In a conversation the same message is the same turn, whatever the agent makes of repeats.
        let known_again = entry.manifest.repeats == Repeats::Same || origin.said.is_some();
        let sent = known_again.then(|| SentKey {
            owner: caller.owner().clone(),
            agent: entry.manifest.name.clone(),
            message: message.message_id.clone(),
            body_hash: body_hash(&message),
        });
        let cause = Cause { sent, receiver: origin.receiver.take(), said: origin.said.take() };
        match &message.task_id {
            None => self.open_task(caller, entry, message, cause, origin).await,
            Some(id) => {
                let id: TaskId = id.parse().map_err(|_| SiteError::NoSuchTask(excerpt(id)))?;
                self.continue_task(caller, entry, id, message, cause, origin).await
            }
        }
    }

    async fn open_task(
        self: &Arc<Self>,
        caller: &Caller,
        entry: Arc<Entry>,
        mut message: Message,
        cause: Cause,
        origin: Origin,
    ) -> Result<TaskWatch, SiteError> {
        let admission = self.admit(&entry)?;
        let id = cause.said.as_ref().map_or_else(|| self.ids.task(), Said::task);
        let context = message.context_id.clone().unwrap_or_else(|| self.ids.context());
        message.context_id = Some(context.clone());
        message.task_id = Some(id.to_string());
        let opening = Opening {
            agent: entry.manifest.name.clone(),
            instance: entry.instance().cloned(),
            context,
            owner: caller.owner().clone(),
            message,
            parent: origin.parent,
            deadline: origin.deadline,
            ttl: origin.ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)),
            conversation: cause.said.as_ref().map(Said::conversation),
        };
        let kind = TaskEventKind::Opened(Box::new(opening));
        let event = TaskEvent { task: id, seq: 1, at: self.ids.clock().now(), kind };
        let task = Task::open(&event).expect("the first event opens the task");
        let log = TaskLog::new();
        if cause.receiver.is_some() {
            log.tell();
        }
        self.drive(entry, task, vec![event], 0, cause, admission, log, origin).await
    }

    async fn continue_task(
        self: &Arc<Self>,
        caller: &Caller,
        entry: Arc<Entry>,
        id: TaskId,
        mut message: Message,
        cause: Cause,
        origin: Origin,
    ) -> Result<TaskWatch, SiteError> {
        let task = self.load(caller, id).await?;
        if task.head.agent != entry.manifest.name {
            return Err(SiteError::NoSuchTask(id.to_string()));
        }
        entry.check_holds(&task)?;
        if message.context_id.as_ref().is_some_and(|context| *context != task.head.context) {
            return Err(SiteError::ContextMismatch);
        }
        if !task.head.state.is_interrupted() {
            let first = match &cause.sent {
                Some(sent) => self.store.sent(&sent.owner, &sent.agent, &sent.message).await?,
                None => None,
            };
            return match first {
                Some(same) if same == id => self.watch(caller, id, 0).await,
                _ if task.head.state.is_terminal() => Err(SiteError::TaskEnded(task.head.state)),
                _ => Err(SiteError::TaskBusy(task.head.state)),
            };
        }
        message.context_id = Some(task.head.context.clone());
        let admission = self.admit(&entry)?;
        let said = task.decide(Command::Say(message), self.ids.clock().now()).map_err(SiteError::refused)?;
        let (before, log) = (task.head.seq, TaskLog::resumed(task.clone()));
        let mut task = task;
        for event in &said {
            task.apply(event).expect("decided events apply");
        }
        self.drive(entry, task, said, before, cause, admission, log, origin).await
    }

    /// Ends a task for its caller.
    pub(crate) async fn cancel(self: &Arc<Self>, caller: &Caller, id: TaskId) -> Result<Task, SiteError> {
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
                return Err(SiteError::NotCancelable(task.head.state));
            }
            if let Some(live) = self.live(id) {
                if live.orders.send(Order::Cancel).await.is_err() {
                    tokio::task::yield_now().await;
                    continue;
                }
                let watch = TaskWatch::new(&task, task.head.seq, live.log, self.store.clone());
                let task = watch.settled().await;
                // It may have ended by itself before the order reached its driver.
                let by_itself = task.head.state.is_terminal() && task.head.state != TaskState::Canceled;
                return if by_itself { Err(SiteError::NotCancelable(task.head.state)) } else { Ok(task) };
            }
            match self.settle_unattended(task, Command::Cancel(None)).await {
                Err(SiteError::Store(StoreError::Stale { .. })) => {}
                ended => return ended,
            }
        }
    }

    /// Follows a task from a cursor.
    pub(crate) async fn watch(
        &self,
        caller: &Caller,
        id: TaskId,
        after: u64,
    ) -> Result<TaskWatch, SiteError> {
        if caller.is_anonymous() {
            let (holder, inner) = self.holder(caller, id).await?;
            let watch = Box::pin(self.watch(&holder, inner, after)).await;
            return watch
                .map(|watch| watch.enciphered(self.cipher))
                .map_err(|error| about(error, &id.to_string()));
        }
        if let Some(live) = self.live(id)
            && let Some(task) = live.log.task()
        {
            return if caller.may_see(&task.head.owner) {
                Ok(TaskWatch::new(&task, after, live.log, self.store.clone()))
            } else {
                Err(SiteError::NoSuchTask(id.to_string()))
            };
        }
        let task = self.load(caller, id).await?;
        Ok(TaskWatch::ended(&task, after, self.store.clone()))
    }

    /// Follows a task from a cursor until it has ended, also through the times in which it waits for its caller.
    pub(crate) async fn watch_to_end(
        self: &Arc<Self>,
        caller: &Caller,
        id: TaskId,
        after: u64,
    ) -> Result<TaskWatch, SiteError> {
        Ok(self.watch(caller, id, after).await?.patient(self))
    }

    /// The committed state of a task, if it is this caller's.
    pub(crate) async fn load(&self, caller: &Caller, id: TaskId) -> Result<Task, SiteError> {
        if caller.is_anonymous() {
            let (holder, inner) = self.holder(caller, id).await?;
            let task = Box::pin(self.load(&holder, inner)).await;
            return task
                .map(|task| self.cipher.show_task(task))
                .map_err(|error| about(error, &id.to_string()));
        }
        let task = match self.live(id).and_then(|live| live.log.task()) {
            Some(task) => Some(task),
            None => self.replay(id).await?,
        };
        task.filter(|task| caller.may_see(&task.head.owner))
            .ok_or_else(|| SiteError::NoSuchTask(id.to_string()))
    }

    /// A task as it was opened: by whom, with which agent. Costs one read, however long the task became.
    pub(crate) async fn opened(&self, id: TaskId) -> Result<Option<Task>, SiteError> {
        let first = self.store.events(id, 0, 1).await?.into_iter().next();
        Ok(first.and_then(|event| Task::open(&event).ok()))
    }

    /// Rebuilds a task from the store.
    pub(crate) async fn replay(&self, id: TaskId) -> Result<Option<Task>, SiteError> {
        let mut task: Option<Task> = None;
        loop {
            let after = task.as_ref().map_or(0, |task| task.head.seq);
            let events = self.store.events(id, after, REPLAY_PAGE).await?;
            let damaged = |error| SiteError::Store(StoreError::Corrupt(format!("task {id}: {error}")));
            if events.is_empty() {
                return Ok(task);
            }
            match &mut task {
                None => task = Task::replay(&events).map_err(damaged)?,
                Some(task) => {
                    for event in &events {
                        task.apply(event).map_err(damaged)?;
                    }
                }
            }
            if events.len() < REPLAY_PAGE {
                return Ok(task);
            }
        }
    }

    /// A place for work of an agent, now or later.
    pub(crate) fn admit(&self, entry: &Entry) -> Result<Admission, SiteError> {
        if self.stopping.is_cancelled() {
            return Err(SiteError::Stopping);
        }
        entry.lane.admit(false).map_err(|retry_after| {
            self.metrics.refused.inc();
            SiteError::Busy { agent: entry.manifest.name.clone(), retry_after }
        })
    }

    /// Gives a task to a driver and waits until its first events are on disk.
    #[expect(clippy::too_many_arguments, reason = "the parts of one drive; a struct would only repeat them")]
    async fn drive(
        self: &Arc<Self>,
        entry: Arc<Entry>,
        task: Task,
        pending: Vec<TaskEvent>,
        committed: u64,
        cause: Cause,
        admission: Admission,
        log: Arc<TaskLog>,
        origin: Origin,
    ) -> Result<TaskWatch, SiteError> {
        let id = task.head.id;
        let head = task.clone();
        let Some(orders) = self.enlist(id, &log) else { return Err(SiteError::TaskBusy(task.head.state)) };
        let (accepted, acceptance) = oneshot::channel();
        let drive = Drive::new(self.clone(), entry, task, log.clone(), orders)
            .with_pending(pending, committed, cause, accepted)
            .with_admission(admission, origin.depth)
            .with_aside(origin.aside);
        self.running.spawn(drive.run().instrument(run_span(&head)));
        match acceptance.await {
            Ok(Ok(())) => Ok(TaskWatch::new(&head, 0, log, self.store.clone())),
            Ok(Err(SiteError::Store(StoreError::Duplicate { task, same_body: true }))) => {
                // The key of a message names its sender, so the task is the sender's own.
                self.watch(&Caller::inside(head.head.owner), task, 0).await
            }
            Ok(Err(SiteError::Store(StoreError::Duplicate { same_body: false, .. }))) => {
                Err(SiteError::IdReused)
            }
            Ok(Err(SiteError::Store(StoreError::Stale { .. }))) => Err(SiteError::TaskBusy(head.head.state)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(SiteError::Stopping),
        }
    }
}

/// What a trace shows of the work on a task. Below the level that is logged, so that it costs nothing unless traces are collected.
fn run_span(task: &Task) -> tracing::Span {
    let head = &task.head;
    tracing::debug_span!("task", otel.name = format!("task {}", head.agent), task = %head.id, agent = %head.agent)
}

/// Checks what a caller sends, so that nothing malformed reaches an agent or the store.
pub(crate) fn check_message(message: &Message, most: u64) -> Result<(), SiteError> {
    message.check_request().map_err(|bad| SiteError::BadMessage(bad.to_string()))?;
    let size: usize = message.parts.iter().map(agentsite_protocol::Part::size).sum();
    if size as u64 > most {
        return Err(SiteError::BadMessage(format!(
            "the message has {size} bytes of content; at most {most} are taken"
        )));
    }
    Ok(())
}

/// A name or id of a caller, short enough to be repeated to it.
pub(crate) fn excerpt(text: &str) -> String {
    agentsite_protocol::JournalLine::excerpt(text)
}

/// What makes two messages the same: their content, not their place.
fn body_hash(message: &Message) -> [u8; 16] {
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(&message.parts).unwrap_or_default());
    hash.update(message.task_id.as_deref().unwrap_or_default());
    let mut short = [0; 16];
    short.copy_from_slice(&hash.finalize()[..16]);
    short
}

/// The agent's name of a task, for messages that only say which task they continue.
impl Desk {
    pub(crate) async fn agent_of(&self, caller: &Caller, id: TaskId) -> Result<AgentName, SiteError> {
        Ok(self.load(caller, id).await?.head.agent)
    }
}

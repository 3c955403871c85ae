//! How a message opens a task or continues one.
//!
//! Promises: `send` answers when the task is on disk; the same message sent twice gives the same task; the
//! run starts at once when a slot is free. A message that a hook refuses takes no slot and leaves nothing
//! behind.

use std::sync::Arc;

use agentsite_host::Repeats;
use agentsite_protocol::{Caller, Command, Message, Opening, Task, TaskEvent, TaskEventKind, TaskId};
use agentsite_store::{Admittance, SentKey, StoreError};
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::agent::TaskAgent;
use crate::anonymous_caller::about;
use crate::check::{body_hash, excerpt};
use crate::commit::TaskCommit;
use crate::error::TaskError;
use crate::hook::{TaskIntent, TaskMoment};
use crate::lane::Admission;
use crate::log::TaskLog;
use crate::order::ProcessOrder;
use crate::origin::Origin;
use crate::request::TaskRequest;
use crate::runner::{TaskRunner, TaskStart, run_span};
use crate::supervisor::TaskSupervisor;
use crate::watch::TaskWatch;

/// What a message led to.
#[derive(Debug)]
pub enum Sent {
    /// A task, to be followed.
    Task(TaskWatch),
    /// An answer, of an agent that keeps no record.
    Message(Message),
}

impl TaskSupervisor {
    /// Opens a task with a message, or continues the one that the message names.
    pub(crate) async fn send(
        self: &Arc<Self>,
        caller: &Caller,
        agent: Arc<TaskAgent>,
        mut request: TaskRequest,
    ) -> Result<TaskWatch, TaskError> {
        if caller.is_anonymous() {
            let named = request.message.task_id.clone().unwrap_or_default();
            let (holder, message) = self.enter(caller, request.message).await?;
            request.message = message;
            let sent = Box::pin(self.send(&holder, agent, request)).await;
            return sent.map(|watch| watch.enciphered(self.cipher)).map_err(|error| about(error, &named));
        }
        match &request.message.task_id {
            None => self.open_task(caller, agent, request).await,
            Some(id) => {
                let id: TaskId = id.parse().map_err(|_| TaskError::NoSuchTask(excerpt(id)))?;
                self.continue_task(caller, agent, id, request).await
            }
        }
    }

    async fn open_task(
        self: &Arc<Self>,
        caller: &Caller,
        agent: Arc<TaskAgent>,
        mut request: TaskRequest,
    ) -> Result<TaskWatch, TaskError> {
        let name = &agent.manifest.name;
        let (message, origin) = (&request.message, request.origin);
        self.hooks.admit(&TaskIntent { caller, agent: name, message, origin, task: None })?;
        // In a conversation the same message is the same turn, and in a room the same call, however the agent
        // treats repeats.
        let once = matches!(origin, Origin::Conversation(_) | Origin::Room(_));
        let sent = sent_key(caller, &agent, &request, once);
        let admission = self.admit(&agent)?;
        let id = request.id.unwrap_or_else(|| self.ids.task());
        let context = request.message.context_id.clone().unwrap_or_else(|| self.ids.context());
        request.message.context_id = Some(context.clone());
        request.message.task_id = Some(id.to_string());
        let opening = Opening {
            agent: name.clone(),
            instance: agent.instance().cloned(),
            context,
            owner: caller.owner().clone(),
            message: request.message,
            parent: origin.parent(),
            deadline: request.deadline,
            ttl: request.ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)),
            conversation: origin.conversation(),
            room: origin.room(),
        };
        let kind = TaskEventKind::Opened(Box::new(opening));
        let event = TaskEvent { task: id, seq: 1, at: self.ids.clock().now(), kind };
        let task = Task::open(&event).expect("the first event opens the task");
        let start = TaskStart {
            events: vec![event],
            committed: 0,
            sent,
            attached: request.attached,
            depth: request.depth,
            ephemeral: request.ephemeral,
        };
        self.begin(agent, task, TaskLog::new(), admission, start).await
    }

    async fn continue_task(
        self: &Arc<Self>,
        caller: &Caller,
        agent: Arc<TaskAgent>,
        id: TaskId,
        mut request: TaskRequest,
    ) -> Result<TaskWatch, TaskError> {
        let mut task = self.load(caller, id).await?;
        let name = &agent.manifest.name;
        if task.head.agent != *name {
            return Err(TaskError::NoSuchTask(id.to_string()));
        }
        agent.check_holds(&task)?;
        if request.message.context_id.as_ref().is_some_and(|context| *context != task.head.context) {
            return Err(TaskError::ContextMismatch);
        }
        let sent = sent_key(caller, &agent, &request, false);
        if !task.head.state.is_interrupted() {
            return self.repeated(caller, &task, sent).await;
        }
        let (message, origin) = (&request.message, Origin::of(&task));
        self.hooks.admit(&TaskIntent { caller, agent: name, message, origin, task: Some(id) })?;
        request.message.context_id = Some(task.head.context.clone());
        let admission = self.admit(&agent)?;
        let (committed, log) = (task.head.seq, TaskLog::resumed(task.clone()));
        let events =
            task.decide(Command::Say(request.message), self.ids.clock().now()).map_err(TaskError::refused)?;
        for event in &events {
            task.apply(event).expect("decided events apply");
        }
        let start = TaskStart {
            events,
            committed,
            sent,
            attached: request.attached,
            depth: request.depth,
            ephemeral: request.ephemeral,
        };
        self.begin(agent, task, log, admission, start).await
    }

    /// The task again, when a message that it takes no more is a repeat of one that it took.
    async fn repeated(
        &self,
        caller: &Caller,
        task: &Task,
        sent: Option<SentKey>,
    ) -> Result<TaskWatch, TaskError> {
        let first = match &sent {
            Some(sent) => self.store.sent(&sent.owner, &sent.agent, &sent.message).await?,
            None => None,
        };
        match first {
            Some(same) if same == task.head.id => self.watch(caller, same, 0).await,
            _ if task.head.state.is_terminal() => Err(TaskError::TaskEnded(task.head.state)),
            _ => Err(TaskError::TaskBusy(task.head.state)),
        }
    }

    /// A slot for work of an agent, now or later.
    pub(crate) fn admit(&self, agent: &TaskAgent) -> Result<Admission, TaskError> {
        if self.lifetime.is_stopping() {
            return Err(TaskError::Stopping);
        }
        agent.lane.admit(false).map_err(|retry_after| {
            self.metrics.refused.inc();
            TaskError::QueueFull { agent: agent.manifest.name.clone(), retry_after }
        })
    }

    /// Gives a task to a runner and waits until its first events are on disk.
    async fn begin(
        self: &Arc<Self>,
        agent: Arc<TaskAgent>,
        task: Task,
        log: Arc<TaskLog>,
        admission: Admission,
        start: TaskStart,
    ) -> Result<TaskWatch, TaskError> {
        if self.runs_elsewhere(&agent) {
            drop(admission);
            return self.release(task, start).await;
        }
        let first = task.clone();
        let Some(orders) = self.live.insert(task.head.id, &task.head.agent, &log) else {
            return Err(TaskError::TaskBusy(task.head.state));
        };
        let (accepted, acceptance) = oneshot::channel();
        let runner = TaskRunner::new(self.clone(), agent, task, log.clone(), orders, admission)
            .starting_with(start, accepted);
        self.lifetime.spawn(runner.run().instrument(run_span(&first)));
        match acceptance.await {
            Ok(Ok(())) => Ok(TaskWatch::new(&first, 0, log, self.store.clone())),
            Ok(Err(error)) => self.not_accepted(first, error).await,
            Err(_) => Err(TaskError::Stopping),
        }
    }

    /// What a caller gets whose message the store did not take: the task of the first one when it is a
    /// repeat.
    async fn not_accepted(&self, task: Task, error: TaskError) -> Result<TaskWatch, TaskError> {
        match error {
            TaskError::Store(StoreError::Duplicate { task: first, same_body: true }) => {
                // The key of a message names its sender, so the task is the sender's own.
                self.watch(&Caller::inside(task.head.owner), first, 0).await
            }
            TaskError::Store(StoreError::Duplicate { same_body: false, .. }) => Err(TaskError::IdReused),
            TaskError::Store(StoreError::Stale { .. } | StoreError::Held { .. }) => {
                Err(TaskError::TaskBusy(task.head.state))
            }
            error => Err(error),
        }
    }

    /// Accepts a message for an agent that another process runs: writes the task without holding it, orders
    /// that it is taken up, and follows it.
    async fn release(self: &Arc<Self>, task: Task, start: TaskStart) -> Result<TaskWatch, TaskError> {
        let now = self.ids.clock().now();
        let events: Vec<_> = start.events.into_iter().map(Arc::new).collect();
        let moment = TaskMoment { task: &task, events: &events, resumed: start.committed > 0, now };
        let part = TaskCommit {
            moment,
            committed: start.committed,
            sent: start.sent.as_ref(),
            admittance: Admittance::New,
            released: true,
        };
        let order = ProcessOrder::TakeUp { task: task.head.id, seq: task.head.seq }.record(now)?;
        let change = part.change(&self.hooks, &start.attached).edit(order);
        if let Err(error) = self.store.commit(change).await {
            return self.not_accepted(task, error.into()).await;
        }
        self.metrics.entered(task.head.state);
        self.hooks.committed(&start.attached, &moment);
        self.watch_stored(task, 0).await
    }
}

/// By what a repeat of a message is recognised; none when the agent takes each message as a new one, unless
/// `once`.
fn sent_key(caller: &Caller, agent: &TaskAgent, request: &TaskRequest, once: bool) -> Option<SentKey> {
    (once || agent.manifest.repeats == Repeats::Same).then(|| SentKey {
        owner: caller.owner().clone(),
        agent: agent.manifest.name.clone(),
        message: request.message.message_id.clone(),
        body_hash: body_hash(&request.message),
    })
}

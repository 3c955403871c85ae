//! Tasks: the handle by which the rest of a site works with tasks.
//!
//! Promises: clones are handles on the same tasks; every verb for callers checks the caller first, and a task
//! of another owner answers like one that does not exist. It adds nothing to what the supervisor decides.

use std::sync::{Arc, Weak};

use agentsite_host::{Calls, Ephemeral};
use agentsite_protocol::{Caller, Message, Task, TaskEvent, TaskHead, TaskId};
use agentsite_store::{Page, TaskCursor, TaskFilter};

use crate::agent::TaskAgent;
use crate::control::TaskControl;
use crate::error::TaskError;
use crate::request::TaskRequest;
use crate::supervisor::{TaskParts, TaskSupervisor};
use crate::watch::TaskWatch;

/// Most rows of one page, whatever is asked for.
pub(crate) const MAX_PAGE: usize = 500;

/// The tasks of a site.
#[derive(Debug, Clone)]
pub struct Tasks(pub(crate) Arc<TaskSupervisor>);

/// A handle that does not keep the tasks alive, for what the tasks hold themselves.
#[derive(Debug, Clone)]
pub struct WeakTasks(Weak<TaskSupervisor>);

impl WeakTasks {
    /// The tasks, while the site is there.
    #[must_use]
    pub fn upgrade(&self) -> Option<Tasks> {
        self.0.upgrade().map(Tasks)
    }
}

impl Tasks {
    /// The tasks of a site; `calls` makes the way from a running agent to the others.
    #[must_use]
    pub fn new(parts: TaskParts, calls: impl FnOnce(WeakTasks) -> Arc<dyn Calls>) -> Self {
        let supervisor = TaskSupervisor::new(parts);
        supervisor.set_calls(calls(WeakTasks(Arc::downgrade(&supervisor))));
        Self(supervisor)
    }

    /// A task as it is on disk.
    ///
    /// # Errors
    /// [`TaskError::NoSuchTask`], also when it belongs to another owner.
    pub async fn get(&self, caller: &Caller, id: TaskId) -> Result<Task, TaskError> {
        self.0.load(caller, id).await
    }

    /// Tasks of this caller, or of everybody for admins; the last changed first. An anonymous caller sees
    /// those of the context that the filter names, and none without one.
    ///
    /// # Errors
    /// [`TaskError::Store`].
    pub async fn list(
        &self,
        caller: &Caller,
        filter: TaskFilter,
        after: Option<TaskCursor>,
        limit: usize,
    ) -> Result<Page<TaskHead, TaskCursor>, TaskError> {
        let Some(filter) = self.0.visible(caller, filter) else {
            return Ok(Page { items: Vec::new(), next: None });
        };
        let page = self.0.store.tasks(filter, after, limit.clamp(1, MAX_PAGE)).await?;
        Ok(if caller.is_anonymous() { self.0.show_page(page) } else { page })
    }

    /// How many tasks [`Self::list`] would list in all.
    ///
    /// # Errors
    /// [`TaskError::Store`].
    pub async fn count(&self, caller: &Caller, filter: TaskFilter) -> Result<u64, TaskError> {
        match self.0.visible(caller, filter) {
            Some(filter) => Ok(self.0.store.count_tasks(filter).await?),
            None => Ok(0),
        }
    }

    /// Ends a task.
    ///
    /// # Errors
    /// [`TaskError::NoSuchTask`], [`TaskError::NotCancelable`].
    pub async fn cancel(&self, caller: &Caller, id: TaskId) -> Result<Task, TaskError> {
        let task = self.0.cancel(caller, id).await?;
        // A task that waited for its caller has no run that could learn of it.
        if let Some(agent) = self.0.agents.find(&task.head.agent).filter(|agent| agent.holds(&task)) {
            agent.runner.forget(self.control().stored_id(caller, id));
        }
        Ok(task)
    }

    /// Follows a task from event `after` on.
    ///
    /// # Errors
    /// [`TaskError::NoSuchTask`], also when it belongs to another owner.
    pub async fn watch(&self, caller: &Caller, id: TaskId, after: u64) -> Result<TaskWatch, TaskError> {
        self.0.watch(caller, id, after).await
    }

    /// Follows a task from event `after` on until it has ended: the watch outlasts the times in which the
    /// task waits for its caller.
    ///
    /// # Errors
    /// [`TaskError::NoSuchTask`], also when it belongs to another owner.
    pub async fn watch_to_end(
        &self,
        caller: &Caller,
        id: TaskId,
        after: u64,
    ) -> Result<TaskWatch, TaskError> {
        self.0.watch_to_end(caller, id, after).await
    }

    /// Events of a task after a cursor.
    ///
    /// # Errors
    /// [`TaskError::NoSuchTask`], also when it belongs to another owner.
    pub async fn events(
        &self,
        caller: &Caller,
        id: TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<TaskEvent>, TaskError> {
        let (holder, inner) = self.0.holder(caller, id).await?;
        self.0.load(&holder, inner).await?;
        let mut events = self.0.store.events(inner, after, limit.clamp(1, MAX_PAGE)).await?;
        if caller.is_anonymous() {
            events.iter_mut().for_each(|event| *event = self.0.cipher.show_event(event));
        }
        Ok(events)
    }

    /// Lets an ended task go with everything that was said in it, at the next expiry.
    ///
    /// # Errors
    /// [`TaskError::NoSuchTask`], also when it belongs to another owner; [`TaskError::TaskBusy`] while it has
    /// not ended; [`TaskError::Forbidden`] when it is a turn of a conversation, which keeps it.
    pub async fn forget(&self, caller: &Caller, id: TaskId) -> Result<(), TaskError> {
        self.0.forget(caller, id).await
    }

    /// Opens a task with a message, or continues the one that the message names.
    ///
    /// # Errors
    /// What is wrong with the message, the task or the agent, or what a hook refused; nothing was written
    /// then.
    pub async fn send(
        &self,
        caller: &Caller,
        agent: Arc<TaskAgent>,
        request: TaskRequest,
    ) -> Result<TaskWatch, TaskError> {
        self.0.send(caller, agent, request).await
    }

    /// Asks an agent that keeps no record.
    ///
    /// # Errors
    /// What is wrong with the message or the agent; [`TaskError::Agent`] when the agent failed.
    pub async fn ask(
        &self,
        caller: &Caller,
        agent: &TaskAgent,
        message: Message,
        ephemeral: Ephemeral,
    ) -> Result<Message, TaskError> {
        self.0.ask(caller, agent, message, ephemeral).await
    }

    /// Asks an agent that may choose whether it answers this message at once; `None` when the message leads
    /// to a task.
    ///
    /// # Errors
    /// What a hook refused; [`TaskError::Agent`] when the agent did not answer in time.
    pub async fn reply(
        &self,
        caller: &Caller,
        agent: &TaskAgent,
        message: &Message,
        ephemeral: &Ephemeral,
    ) -> Result<Option<Message>, TaskError> {
        self.0.reply(caller, agent, message, ephemeral).await
    }

    /// A handle that does not keep the tasks alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakTasks {
        WeakTasks(Arc::downgrade(&self.0))
    }

    /// What the site itself does with tasks, without a caller.
    #[must_use]
    pub fn control(&self) -> TaskControl {
        TaskControl(self.0.clone())
    }
}

//! ToolTasks: the calls of a toolkit's tools that became tasks.
//!
//! Promises: a task of somebody else, of another agent or, for a set of tools, one that is no call answers as
//! one that does not exist. An answer that comes too late changes nothing.

use std::collections::BTreeMap;

use agentsite_protocol::{Caller, Message, Role, Task, TaskId};
use serde_json::Value;

use super::task::{ToolTask, is_call, open, view};
use super::{Kind, Toolkit, hosted, talk};
use crate::{SiteError, TaskError};

/// The calls of a toolkit's tools that became tasks.
#[derive(Debug, Clone, Copy)]
pub struct ToolTasks<'a> {
    pub(super) toolkit: &'a Toolkit,
}

impl ToolTasks<'_> {
    /// A call that became a task, as it stands.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's or no call of a tool of this toolkit.
    pub async fn get(&self, caller: &Caller, id: TaskId) -> Result<ToolTask, SiteError> {
        Ok(view(&self.toolkit.site, &self.call_of(caller, id).await?))
    }

    /// Answers questions of a task; answers to questions that are not open are ignored.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's.
    pub async fn update(
        &self,
        caller: &Caller,
        id: TaskId,
        mut answers: BTreeMap<String, Value>,
    ) -> Result<(), SiteError> {
        let task = self.call_of(caller, id).await?;
        let open = open(&task);
        answers.retain(|key, answer| open.contains_key(key) && answer.is_object());
        if answers.is_empty() {
            return Ok(());
        }
        let all = answers.len() == open.len();
        let accepted = if is_call(&task) {
            hosted::answer(&self.toolkit.site, caller, &task, answers, all).await
        } else {
            self.answer(caller, &task, answers).await
        };
        match accepted {
            // Somebody else was quicker; the question is no longer open.
            Err(SiteError::TaskBusy(_) | SiteError::TaskEnded(_)) => Ok(()),
            accepted => accepted,
        }
    }

    /// Ends a task; one that has ended stays as it is.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's.
    pub async fn cancel(&self, caller: &Caller, id: TaskId) -> Result<(), SiteError> {
        self.call_of(caller, id).await?;
        match self.toolkit.site.tasks.cancel(caller, id).await {
            Ok(_) | Err(TaskError::NotCancelable(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A task of this toolkit; of a set of tools only what is a call.
    async fn call_of(&self, caller: &Caller, id: TaskId) -> Result<Task, SiteError> {
        let task = self.toolkit.own_task(caller, id).await?;
        if matches!(self.toolkit.kind, Kind::Hosted(..)) && !is_call(&task) {
            return Err(SiteError::NoSuchTask(id.to_string()));
        }
        Ok(task)
    }

    /// Answers the question of an agent that is talked to; turning it down ends the task.
    async fn answer(
        &self,
        caller: &Caller,
        task: &Task,
        answers: BTreeMap<String, Value>,
    ) -> Result<(), SiteError> {
        let site = &self.toolkit.site;
        match answers.values().next().and_then(talk::words_of) {
            Some(words) => {
                let mut message = Message::text(site.ids.message(), Role::User, words);
                message.task_id = Some(task.head.id.to_string());
                site.send(caller, &task.head.agent, message).await.map(|_| ())
            }
            None => Ok(site.tasks.cancel(caller, task.head.id).await.map(drop)?),
        }
    }
}

//! How an anonymous caller reaches the tasks that it opened.
//!
//! Promises: an anonymous caller acts in the name of the conversation or task whose id it shows, and of
//! nothing else. It does not know how ids are enciphered: see `anonymous`.

use agentsite_protocol::{Caller, Message, Principal, TaskHead, TaskId};
use agentsite_store::{Page, TaskCursor, TaskFilter};

use crate::anonymous::{context_of, plain_uuid};
use crate::check::excerpt;
use crate::error::TaskError;
use crate::supervisor::TaskSupervisor;

impl TaskSupervisor {
    /// In whose name an anonymous caller's message is taken: that of the task or of the conversation that it
    /// shows, or one of its own. Gives the message with the ids of the store, and with a conversation.
    pub(crate) async fn enter(
        &self,
        caller: &Caller,
        mut message: Message,
    ) -> Result<(Caller, Message), TaskError> {
        let named = message.task_id.clone();
        self.cipher.read_message(&mut message);
        let owner = match named {
            Some(named) => {
                let id = message.task_id.as_ref().and_then(|id| id.parse().ok());
                self.anonymous_owner(id).await?.ok_or_else(|| TaskError::NoSuchTask(excerpt(&named)))?
            }
            None => {
                let context = message.context_id.get_or_insert_with(|| self.ids.context());
                // What is no UUID may be anybody's choice, and proves nothing.
                let proof = plain_uuid(context).map_or_else(|| self.ids.context(), context_of);
                caller.owner().within(proof.as_str())
            }
        };
        Ok((Caller::inside(owner).in_trace(caller.trace().cloned()), message))
    }

    /// In whose name a caller reaches a task, and the id of the store.
    pub(crate) async fn holder(&self, caller: &Caller, id: TaskId) -> Result<(Caller, TaskId), TaskError> {
        if !caller.is_anonymous() {
            return Ok((caller.clone(), id));
        }
        let inner = self.cipher.read_task(id);
        let owner = self.anonymous_owner(Some(inner)).await?;
        let owner = owner.ok_or_else(|| TaskError::NoSuchTask(id.to_string()))?;
        Ok((Caller::inside(owner).in_trace(caller.trace().cloned()), inner))
    }

    /// What an anonymous caller may list: the tasks of the conversation that it shows, and otherwise none.
    fn listed_to(&self, caller: &Caller, mut filter: TaskFilter) -> Option<TaskFilter> {
        let context = self.cipher.read_context(&filter.context?);
        let proof = context_of(plain_uuid(&context)?);
        filter.owner = Some(caller.owner().within(proof.as_str()));
        filter.context = Some(context);
        Some(filter)
    }

    /// What a caller may list: its own tasks, admins those of everybody; none for nothing.
    pub(crate) fn visible(&self, caller: &Caller, mut filter: TaskFilter) -> Option<TaskFilter> {
        if caller.is_anonymous() {
            return self.listed_to(caller, filter);
        }
        if !caller.is_admin() {
            filter.owner = Some(caller.owner().clone());
        }
        Some(filter)
    }

    /// A list as an anonymous caller gets it.
    pub(crate) fn show_page(&self, mut page: Page<TaskHead, TaskCursor>) -> Page<TaskHead, TaskCursor> {
        page.items.iter_mut().for_each(|head| self.cipher.show_head(head));
        page
    }

    /// The owner of a task, when it is an anonymous caller's.
    async fn anonymous_owner(&self, id: Option<TaskId>) -> Result<Option<Principal>, TaskError> {
        let Some(id) = id else { return Ok(None) };
        let owner = match self.live.get(id).and_then(|live| live.log.task()) {
            Some(task) => Some(task.head.owner),
            None => self.store.task(id).await?.map(|head| head.owner),
        };
        Ok(owner.filter(Principal::is_anonymous))
    }
}

/// The same error about the id that the caller named.
pub(crate) fn about(error: TaskError, named: &str) -> TaskError {
    match error {
        TaskError::NoSuchTask(_) => TaskError::NoSuchTask(excerpt(named)),
        other => other,
    }
}

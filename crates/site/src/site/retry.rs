//! The verb of a site that asks the agent of an ended task the same again.
//!
//! Promises: a foreign task answers like none. Asking again makes a new task and leaves the old one as it is;
//! in a conversation it is a branch.

use agentsite_protocol::{Caller, Task, TaskId};

use super::Site;
use crate::{Placing, SiteError, Submission, Utterance};
use agentsite_tasks::TaskRequest;

impl Site {
    /// Asks the agent of an ended task the same again: a new task, in a conversation a turn beside the old
    /// one.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's; [`SiteError::TaskBusy`] while it has not
    /// ended; whatever the agent refuses.
    pub async fn retry(&self, caller: &Caller, id: TaskId) -> Result<Task, SiteError> {
        let task = self.0.tasks.get(caller, id).await?;
        if task.head.owner != *caller.owner() {
            let why = "only the one who asked may ask again; send the message yourself";
            return Err(SiteError::Forbidden(why.into()));
        }
        if !task.head.state.is_terminal() {
            return Err(SiteError::TaskBusy(task.head.state));
        }
        self.0.local.visible(caller, &task.head.agent)?.check_holds(&task)?;
        if let Some(conversation) = task.conversation {
            let again = Utterance { placing: Placing::Instead(id), ..Utterance::default() };
            let turn = self.0.conversations.say(caller, conversation, again).await?;
            return Ok(self.0.tasks.get(caller, turn.id).await?);
        }
        let first = task.history.into_iter().next();
        let mut message = first.ok_or_else(|| SiteError::NoSuchTask(id.to_string()))?;
        (message.message_id, message.task_id) = (self.ids().message(), None);
        let (entry, request) = self.0.intake.accept(caller, &task.head.agent, Submission::from(message))?;
        let request = TaskRequest { ttl: request.ttl.or(task.ttl), ..request };
        let mut watch = Box::pin(self.0.tasks.send(caller, entry.agent.clone(), request)).await?;
        Ok(watch.snapshot())
    }
}

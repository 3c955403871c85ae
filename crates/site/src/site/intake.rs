//! Intake: the checks that every message passes before it becomes work, and how it becomes work then.
//!
//! Promises: an agent that is not for the caller answers like none; what is checked here is not checked
//! again. It stores nothing: `tasks` does.

use std::sync::Arc;

use agentsite_host::Ephemeral;
use agentsite_protocol::{AgentName, Caller};

use crate::local_agents::{Entry, LocalAgents};
use crate::{Sent, SiteError, SiteSettings, Submission};
use agentsite_tasks::{TaskError, TaskRequest, Tasks, check_message};

/// Checks messages for the agents of a site.
#[derive(Debug, Clone)]
pub(super) struct MessageIntake {
    pub(super) local: Arc<LocalAgents>,
    pub(super) settings: Arc<SiteSettings>,
}

impl MessageIntake {
    /// The agent, if this caller may call it.
    pub(super) fn visible(&self, caller: &Caller, agent: &AgentName) -> Result<Arc<Entry>, TaskError> {
        self.local.visible(caller, agent).map_err(|_| TaskError::NoSuchAgent(agent.to_string()))
    }

    /// Checks a message for an agent; gives the agent, and the message with what goes with it.
    pub(super) fn accept(
        &self,
        caller: &Caller,
        agent: &AgentName,
        submission: Submission,
    ) -> Result<(Arc<Entry>, TaskRequest), TaskError> {
        let entry = self.visible(caller, agent)?;
        let (message, ttl, ephemeral) = submission.part()?;
        entry.check_extensions(&ephemeral.extensions)?;
        let ephemeral = Ephemeral { trace: caller.trace().cloned(), ..ephemeral };
        check_message(&message, self.settings.max_message.0)?;
        entry.check_media_types(&message)?;
        Ok((entry, TaskRequest { ttl, ephemeral, ..TaskRequest::from(message) }))
    }
}

/// Gives a message that was accepted to its agent: opens a task, continues one, or gets an answer at once.
///
/// Each way has its own box: this future lies inside those of every face, which are moved several times for a
/// request, and one that had space for all ways at once would cost more to move than the way takes.
pub(super) async fn submit(
    tasks: &Tasks,
    caller: &Caller,
    entry: &Entry,
    request: TaskRequest,
) -> Result<Sent, SiteError> {
    if entry.is_message_only() {
        let TaskRequest { message, ephemeral, .. } = request;
        let answer = Box::pin(tasks.ask(caller, entry, message, ephemeral)).await?;
        return Ok(Sent::Message(answer));
    }
    if entry.may_reply(&request.message) {
        let answer = Box::pin(tasks.reply(caller, entry, &request.message, &request.ephemeral)).await?;
        if let Some(answer) = answer {
            return Ok(Sent::Message(answer));
        }
    }
    Ok(Sent::Task(Box::pin(tasks.send(caller, entry.agent.clone(), request)).await?))
}

//! Intake: the checks that every message passes before it becomes work.
//!
//! Promises: an agent that is not for the caller answers like none; what is checked here is not checked
//! again. It accepts nothing: `tasks` does.

use std::sync::Arc;

use agentsite_host::Ephemeral;
use agentsite_protocol::{AgentName, Caller};

use crate::local_agents::{Entry, LocalAgents};
use crate::{SiteSettings, Submission};
use agentsite_tasks::{TaskError, TaskRequest, check_message};

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

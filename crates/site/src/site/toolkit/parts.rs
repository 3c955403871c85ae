//! ToolkitParts: what the tools of a site use of it.
//!
//! Promises: it is made once for a site and shared by every toolkit; it holds handles only. A message that a
//! tool sends passes the same checks as any other.

use std::sync::Arc;

use agentsite_protocol::{AgentName, Caller, Ids, Message};
use agentsite_tasks::{Lifetime, ProcessCalls, Tasks};

use crate::local_agents::LocalAgents;
use crate::site::cards::Cards;
use crate::site::finding::Search;
use crate::site::intake::{MessageIntake, submit};
use crate::{Sent, SiteError, SiteSettings};

/// The parts of a site that its tools use.
#[derive(Debug)]
pub(in crate::site) struct ToolkitParts {
    pub(in crate::site) local: Arc<LocalAgents>,
    pub(in crate::site) tasks: Tasks,
    pub(in crate::site) search: Search,
    pub(in crate::site) cards: Cards,
    pub(in crate::site) intake: MessageIntake,
    pub(in crate::site) ids: Ids,
    pub(in crate::site) settings: Arc<SiteSettings>,
    /// What other processes do for this one.
    pub(in crate::site) calls: ProcessCalls,
    /// What follows a task for a watcher of a resource ends with the site.
    pub(in crate::site) lifetime: Lifetime,
}

impl ToolkitParts {
    /// Sends a message to an agent.
    pub(super) async fn send(
        &self,
        caller: &Caller,
        agent: &AgentName,
        message: Message,
    ) -> Result<Sent, SiteError> {
        let (entry, request) = self.intake.accept(caller, agent, message.into())?;
        submit(&self.tasks, caller, &entry, request).await
    }
}

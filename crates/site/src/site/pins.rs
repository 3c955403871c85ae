//! Tools of servers that are not ours: how they stand to what was approved, and
//! their approval.
//!
//! Promises: only admins see and approve them. What a pin is and where it is kept is
//! `host`'s matter.

use std::sync::Arc;

use agentsite_host::{PinError, PinnedTool, ToolPins};
use agentsite_protocol::{AgentName, Caller};

use super::admin_only;
use super::agents::Agents;
use crate::SiteError;

impl Agents {
    /// The tools of an agent that is a tool server, with how they stand to what was approved.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::NoSuchAgent`], also for
    /// an agent without such tools.
    pub fn tools(&self, caller: &Caller, name: &AgentName) -> Result<Vec<PinnedTool>, SiteError> {
        Ok(self.pins(caller, name)?.list())
    }

    /// Approves tools as they are now, all of them when none is named; gives the names of those that were
    /// flagged before.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`], [`SiteError::NoSuchAgent`] as above; [`SiteError::BadMessage`] when there is
    /// no such tool; [`SiteError::Agent`] when the approval cannot be written.
    pub fn approve_tools(
        &self,
        caller: &Caller,
        name: &AgentName,
        tools: &[String],
    ) -> Result<Vec<String>, SiteError> {
        self.pins(caller, name)?.approve(tools).map_err(|error| match error {
            PinError::NoSuchTool(_) => SiteError::BadMessage(error.to_string()),
            PinError::Unwritten { .. } => SiteError::Agent(error.to_string()),
        })
    }

    fn pins(&self, caller: &Caller, name: &AgentName) -> Result<Arc<ToolPins>, SiteError> {
        admin_only(caller)?;
        let entry = self.local.visible(caller, name)?;
        entry.runner.pins().ok_or_else(|| SiteError::NoSuchAgent(format!("{name} with tools of a server")))
    }
}

//! SiteAccess: what conversations need of the site that they are part of.
//!
//! Promises: an agent that is not for the caller answers like one that does not exist. It is a trait because
//! agents, their visibility and the rules of retention belong to the site; the tests of this crate have a
//! fake. Reading agents without a caller is not part of it: see `AgentDirectory` of `tasks`.

use std::fmt::Debug;
use std::sync::Arc;

use agentsite_protocol::{AgentName, Caller};
use agentsite_store::StoreError;
use agentsite_tasks::{Submission, TaskAgent, TaskError, TaskRequest};
use futures::future::BoxFuture;

/// What conversations need of their site.
pub trait SiteAccess: Debug + Send + Sync + 'static {
    /// Refuses an agent that this caller may not call.
    ///
    /// # Errors
    /// [`TaskError::NoSuchAgent`].
    fn check_visible(&self, caller: &Caller, agent: &AgentName) -> Result<(), TaskError>;

    /// Checks a message for an agent, as the site checks every message; gives the agent, and the message with
    /// what goes with it.
    ///
    /// # Errors
    /// [`TaskError::NoSuchAgent`]; what is wrong with the message.
    fn accept(
        &self,
        caller: &Caller,
        agent: &AgentName,
        submission: Submission,
    ) -> Result<(Arc<TaskAgent>, TaskRequest), TaskError>;

    /// Removes what has expired or was given up, now rather than at the next look, so that what a person
    /// deleted is gone when the verb answers.
    fn expire(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}

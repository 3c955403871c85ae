//! What conversations need of the site: its agents as callers may see them, its checks of messages, its
//! retention.
//!
//! Promises: the same checks as for every other message. It holds no conversation and decides nothing.

use std::sync::Arc;

use agentsite_protocol::{AgentName, Caller};
use agentsite_rooms::SiteAccess;
use agentsite_store::StoreError;
use agentsite_tasks::{Submission, TaskAgent, TaskError, TaskRequest};
use futures::future::BoxFuture;

use super::intake::MessageIntake;
use crate::SiteError;
use crate::retention::Expirer;

/// The site as its conversations use it.
#[derive(Debug)]
pub(super) struct ConversationAccess {
    pub(super) intake: MessageIntake,
    pub(super) expirer: Expirer,
}

impl SiteAccess for ConversationAccess {
    fn check_visible(&self, caller: &Caller, agent: &AgentName) -> Result<(), TaskError> {
        self.intake.visible(caller, agent).map(drop)
    }

    fn accept(
        &self,
        caller: &Caller,
        agent: &AgentName,
        submission: Submission,
    ) -> Result<(Arc<TaskAgent>, TaskRequest), TaskError> {
        let (entry, request) = self.intake.accept(caller, agent, submission)?;
        Ok((entry.agent.clone(), request))
    }

    fn expire(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { self.expirer.expire().await.map(drop).map_err(of_the_store) })
    }
}

/// Expiry fails only by its store: the admin token, which cannot be removed, never expires.
fn of_the_store(error: SiteError) -> StoreError {
    match error {
        SiteError::Store(error) => error,
        other => StoreError::Stopped(other.to_string()),
    }
}

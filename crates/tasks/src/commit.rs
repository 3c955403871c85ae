//! One commit of a task: its own part and what the hooks add.
//!
//! Promises: pure; the same part gives the same change, so that a commit can be tried again. It does not
//! write.

use std::sync::Arc;

use agentsite_protocol::TaskEvent;
use agentsite_store::{Admittance, Change, SentKey, TaskChange};

use crate::contribution::Contribution;
use crate::hook::{TaskHook, TaskHooks, TaskMoment};
use crate::journal;

/// The task's own part of a commit.
#[derive(Debug)]
pub(crate) struct TaskCommit<'a> {
    /// What happens.
    pub(crate) moment: TaskMoment<'a>,
    /// The last event on disk.
    pub(crate) committed: u64,
    /// By what a repeat of the message is recognised that caused it.
    pub(crate) sent: Option<&'a SentKey>,
    /// How it stands to the limits of storage.
    pub(crate) admittance: Admittance,
    /// Whether another process takes the task up.
    pub(crate) released: bool,
}

impl TaskCommit<'_> {
    /// The transaction, with what the hooks add.
    pub(crate) fn change(&self, hooks: &TaskHooks, attached: &[Arc<dyn TaskHook>]) -> Change {
        let TaskMoment { task, events, .. } = self.moment;
        let own = TaskChange {
            head: task.head.clone(),
            expect_seq: self.committed,
            events: events.iter().map(|event| TaskEvent::clone(event)).collect(),
            sent: self.sent.cloned(),
            expires_at: task.expires_at(),
            released: self.released,
        };
        let mut contribution = Contribution::new(own, journal::lines(task, events), self.admittance);
        hooks.contribute(attached, &self.moment, &mut contribution);
        contribution.into_change()
    }
}

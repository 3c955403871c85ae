//! The changes of the store that tasks make: every one is built here.
//!
//! Promises: a commit of a task holds its events, its journal lines and what the hooks add, and nothing of it
//! is written without the rest. A hook can only add; it cannot alter the task's own part. It writes nothing
//! itself.

use agentsite_protocol::{JournalLine, TaskId};
use agentsite_store::{Admittance, Change, Edit, TaskChange, Unjournaled};

/// What hooks add to the commit of a task.
#[derive(Debug)]
pub struct Contribution(Change);

impl Contribution {
    /// The task's own part, to which hooks add.
    pub(crate) fn new(task: TaskChange, journal: Vec<JournalLine>, admittance: Admittance) -> Self {
        Self(Change::of_lines(journal, Unjournaled::TaskProgress).edit(task).admittance(admittance))
    }

    /// The whole transaction.
    pub(crate) fn into_change(self) -> Change {
        self.0
    }

    /// Adds one edit to the transaction. Edits are made in the order in which they are added: a receiver
    /// before the deliveries to it, a turn after its task.
    pub fn add(&mut self, edit: impl Into<Edit>) {
        self.0.push(edit);
    }
}

/// The change that lets an ended task go at the next expiry.
pub(crate) fn forget(id: TaskId, line: JournalLine) -> Change {
    Change::new(line).edit(Edit::Forget(id))
}

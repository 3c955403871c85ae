//! The changes of the store that tasks make: every one is built here.
//!
//! Promises: a commit of a task holds its events, its journal lines and what the hooks add, and nothing of it
//! is written without the rest. A hook can only add; it cannot alter the task's own part. It writes nothing
//! itself.

use agentsite_protocol::{JournalLine, TaskId};
use agentsite_store::{
    Admittance, Change, ConversationChange, Notice, PushChange, RecordChange, TaskChange, UsageChange,
};

/// What hooks add to the commit of a task.
#[derive(Debug)]
pub(crate) struct Contribution(Change);

/// One thing that a hook can add.
#[derive(Debug)]
pub(crate) enum TaskEdit {
    /// Receivers of the task.
    Push(PushChange),
    /// Deliveries to the receivers of the task; one for each commit.
    Notify(Notice),
    /// What agents have used.
    Usage(UsageChange),
    /// Conversations.
    Conversation(ConversationChange),
    /// Records of a collection.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the way of capabilities that need no table; used by tests")
    )]
    Record(RecordChange),
}

impl Contribution {
    /// The task's own part, to which hooks add.
    pub(super) fn new(task: TaskChange, journal: Vec<JournalLine>, admittance: Admittance) -> Self {
        Self(Change { task: Some(task), journal, admittance, ..Change::default() })
    }

    /// The whole transaction.
    pub(super) fn into_change(self) -> Change {
        self.0
    }

    /// Adds one edit to the transaction.
    pub(crate) fn add(&mut self, edit: TaskEdit) {
        let change = &mut self.0;
        match edit {
            TaskEdit::Push(edit) => change.push.push(edit),
            TaskEdit::Notify(notice) => change.notice = Some(notice),
            TaskEdit::Usage(edit) => change.usage.push(edit),
            TaskEdit::Conversation(edit) => change.conversations.push(edit),
            TaskEdit::Record(edit) => change.records.push(edit),
        }
    }
}

/// The change that lets an ended task go at the next expiry.
pub(super) fn forget(id: TaskId, line: JournalLine) -> Change {
    Change { forget: vec![id], journal: vec![line], ..Change::default() }
}

//! What a batch has seen of the database, kept in step with what it has decided.
//!
//! Promises: after the rows were read, guards ask only this; every accepted edit changes it, so that the next
//! change is decided as if the edit were written. It does no IO.

use std::collections::{BTreeMap, HashMap, HashSet};

use agentsite_protocol::{ConversationId, Principal, TaskId, account_of};
use agentsite_store::engine::{Accounts, SITE};
use agentsite_store::{ProcessId, StorageLimits};

use super::seen_rooms::SeenRooms;

/// The rows that guards look at.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Processes that are living.
    pub(crate) living: HashSet<u64>,
    pub(crate) tasks: HashMap<TaskId, SeenTask>,
    /// Messages that were accepted before: the task, and the hash of the content.
    pub(crate) sent: HashMap<[u8; 16], (TaskId, Vec<u8>)>,
    /// Receivers of tasks and what they take.
    pub(crate) receivers: HashMap<TaskId, BTreeMap<String, u64>>,
    pub(crate) records: HashMap<(String, String), SeenRow>,
    pub(crate) settings: HashMap<String, SeenRow>,
    pub(crate) listings: HashMap<String, SeenRow>,
    pub(crate) conversations: HashMap<ConversationId, SeenRow>,
    /// The conversations of turns.
    pub(crate) turns: HashMap<TaskId, ConversationId>,
    pub(crate) rooms: SeenRooms,
    pub(crate) accounts: Accounts,
}

/// A task that is there.
#[derive(Debug, Clone)]
pub(crate) struct SeenTask {
    pub(crate) seq: u64,
    pub(crate) root: i64,
    pub(crate) owner: String,
    pub(crate) holder: Option<ProcessId>,
}

/// A row that is there: whose, how often it was written, and what it takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenRow {
    pub(crate) owner: String,
    pub(crate) revision: u64,
    pub(crate) bytes: u64,
}

impl Seen {
    pub(crate) fn new(limits: StorageLimits) -> Self {
        Self { accounts: Accounts::new(limits), ..Self::default() }
    }

    /// The process that holds a task, if it is living.
    pub(crate) fn holder(&self, task: &SeenTask) -> Option<ProcessId> {
        task.holder.filter(|holder| self.living.contains(&holder.number()))
    }

    /// Counts a row that takes the place of another one, or of none.
    pub(crate) fn replace(&mut self, before: Option<&SeenRow>, after: Option<&SeenRow>) {
        if let Some(before) = before {
            self.accounts.take(&account(&before.owner), before.bytes);
        }
        if let Some(after) = after {
            self.accounts.add(&account(&after.owner), after.bytes);
        }
    }
}

/// The account of an owner's column; the site's own has none.
pub(crate) fn account(owner: &str) -> String {
    if owner.is_empty() { SITE.to_owned() } else { account_of(owner).to_owned() }
}

/// The column of an owner that there may be.
pub(crate) fn column(owner: Option<&Principal>) -> String {
    owner.map_or_else(String::new, ToString::to_string)
}

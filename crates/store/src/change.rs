//! What can be changed in one transaction.
//!
//! Promises: a Change is a value; building one does nothing. Guards (`expect_seq`, `sent`) are checked before anything is
//! written, so a refused change leaves no trace. It does not know SQL.

use agentsite_protocol::{
    AgentName, JournalLine, KeyId, MessageId, Owner, PushConfig, Scope, TaskEvent, TaskHead, TaskId,
    Timestamp, Usage,
};
use serde::{Deserialize, Serialize};

use crate::{Admittance, ConversationChange, ListingChange, RecordChange, SignedHead, StoreError};

/// Everything that happens in one transaction.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// A task begins or goes on.
    pub task: Option<TaskChange>,
    /// What people will read about it.
    pub journal: Vec<JournalLine>,
    /// Who is told about tasks. Taken before `notice`, so that a task can be opened with its receivers.
    pub push: Vec<PushChange>,
    /// What the receivers of the task are told.
    pub notice: Option<Notice>,
    /// What must leave the site.
    pub outbox: Vec<OutboxChange>,
    /// API keys made, used or revoked.
    pub keys: Vec<KeyChange>,
    /// Settings of the site.
    pub settings: Vec<SettingChange>,
    /// Records of collections. Each is guarded by its revision.
    pub records: Vec<RecordChange>,
    /// What agents have used.
    pub usage: Vec<UsageChange>,
    /// Entries of the hub. Each is guarded: when one does not fit, the whole change is refused.
    pub listings: Vec<ListingChange>,
    /// Conversations. Each is guarded in the same way.
    pub conversations: Vec<ConversationChange>,
    /// Ended tasks whose time is over from now on, whatever was said before; the next expiry takes them. Others are not touched, nor
    /// those that a conversation keeps.
    pub forget: Vec<TaskId>,
    /// How the change stands to the limits of storage and to a disk that is getting full.
    pub admittance: Admittance,
    /// Heads of the journal that the site has signed.
    pub heads: Vec<SignedHead>,
}

/// New events of one task.
#[derive(Debug, Clone)]
pub struct TaskChange {
    /// The head after the events.
    pub head: TaskHead,
    /// The last event before these; 0 when the task must not exist yet.
    pub expect_seq: u64,
    /// The events, numbered on from `expect_seq` without gaps.
    pub events: Vec<TaskEvent>,
    /// The message of the caller that caused them, to recognise a repeat.
    pub sent: Option<SentKey>,
    /// When the task goes, whatever the rules for all tasks say; only with the event that ends it.
    pub expires_at: Option<Timestamp>,
}

impl TaskChange {
    /// Refuses events that leave a gap, belong to another task or do not lead to the head; that is a fault of the caller's
    /// code, never of its data.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let wrong = |what: &str| Err(StoreError::Engine(format!("a change of task {} {what}", self.head.id)));
        if self.events.is_empty() {
            return wrong("carries no events");
        }
        let dense = (self.expect_seq + 1..).zip(&self.events).all(|(seq, event)| event.seq == seq);
        if !dense || self.events.iter().any(|event| event.task != self.head.id) {
            return wrong("carries events that do not follow one another");
        }
        if self.head.seq != self.expect_seq + self.events.len() as u64 {
            return wrong("has a head that its events do not lead to");
        }
        Ok(())
    }
}

/// By what a repeated message is recognised. Kept as long as its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentKey {
    /// Who sent it.
    pub owner: Owner,
    /// To which agent.
    pub agent: AgentName,
    /// The sender's id.
    pub message: MessageId,
    /// Hash of the content, to tell a repeat from an id used twice.
    pub body_hash: [u8; 16],
}

/// What happens to the push configs of tasks.
#[derive(Debug, Clone)]
pub enum PushChange {
    /// A receiver is added, or takes the place of the one of the same id.
    Put(TaskId, PushConfig),
    /// A receiver goes, with everything that was still to be told to it.
    Remove(TaskId, String),
}

/// What the receivers of a task are told: one row of the outbox for each push config that the task has at this point of the order, and
/// each of these events. Which receivers there are is looked up inside the transaction, so none is missed and none is told too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The task.
    pub task: TaskId,
    /// The numbers of the events.
    pub events: Vec<u64>,
    /// When to send.
    pub due: Timestamp,
    /// When to give up.
    pub deadline: Timestamp,
}

impl Notice {
    /// The kind of the rows that it makes.
    pub const KIND: &'static str = "push";

    /// The rows for one receiver of a task of this account.
    pub(crate) fn rows(&self, account: &str, config: &str) -> impl Iterator<Item = OutboxRow> {
        self.events.iter().map(move |seq| OutboxRow {
            account: account.to_owned(),
            task: Some(self.task),
            lane: Some(config.to_owned()),
            kind: Self::KIND.to_owned(),
            body: seq.to_string(),
            due: self.due,
            deadline: self.deadline,
        })
    }
}

/// A row of the outbox: something that must leave the site, and how often that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// The account (`Owner::account`) that it counts on and that takes turns with others; empty for the site's own.
    pub account: String,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// Rows of one task and one lane leave one after the other, in the order in which they were added; rows without both leave in any
    /// order.
    pub lane: Option<String>,
    /// What kind of delivery, for the worker that sends it.
    pub kind: String,
    /// What to send and where, in the worker's own form.
    pub body: String,
    /// When to try next.
    pub due: Timestamp,
    /// When to give up.
    pub deadline: Timestamp,
}

/// What happens to the outbox.
#[derive(Debug, Clone)]
pub enum OutboxChange {
    /// Something new must leave.
    Add(OutboxRow),
    /// It has left.
    Done(u64),
    /// It could not leave; try again then. Brings a dead row back, too.
    Retry {
        /// The row.
        id: u64,
        /// When to try next.
        due: Timestamp,
        /// What went wrong, for people.
        error: String,
    },
    /// It was not tried after all: it is given back, and the claim does not count as an attempt.
    Defer {
        /// The row.
        id: u64,
        /// When to try next.
        due: Timestamp,
    },
    /// It could not leave and will not be tried again; it is kept for people. The rows behind it go on.
    Dead {
        /// The row.
        id: u64,
        /// What went wrong, for people.
        error: String,
    },
    /// Somebody wants it to be tried as if it were new, whether it is dead or waits.
    Replay {
        /// The row.
        id: u64,
        /// When to try next.
        due: Timestamp,
        /// When to give up.
        deadline: Timestamp,
    },
}

/// An API key as it is kept: never the key itself, only its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyRecord {
    /// Its public half.
    pub id: KeyId,
    /// SHA-256 of the whole key.
    #[serde(skip)]
    pub hash: [u8; 32],
    /// What it is for, in its maker's words.
    pub label: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// Whether it is the session of a browser rather than a key in somebody's hands.
    #[serde(default)]
    pub session: bool,
    /// The key that a session was begun with and stands for; a session that was begun by a link has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<KeyId>,
}

/// What happens to a key.
#[derive(Debug, Clone)]
pub enum KeyChange {
    /// It is made or replaced.
    Put(KeyRecord),
    /// It was used then.
    Used(KeyId, Timestamp),
    /// It is revoked.
    Remove(KeyId),
}

/// A setting of the site is written (`Some`) or removed (`None`).
#[derive(Clone)]
pub struct SettingChange {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Option<String>,
    /// Whose storage it counts on; none for what the site itself keeps.
    pub owner: Option<Owner>,
}

/// The value may be secret and is not shown.
impl std::fmt::Debug for SettingChange {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "SettingChange({})", self.name)
    }
}

/// An agent has used something on a day.
#[derive(Debug, Clone)]
pub struct UsageChange {
    /// The agent.
    pub agent: AgentName,
    /// The day, see `Timestamp::day`.
    pub day: i64,
    /// How much more.
    pub usage: Usage,
}

//! Edits: the single things that one [`Change`](crate::Change) can do.
//!
//! Promises: an edit is a value; building one does nothing. Guards (`expect_seq`, `sent`, revisions) are part
//! of the edit and are checked before anything of its change is written. A capability with modest data needs
//! no edit of its own: it writes records.

use agentsite_protocol::{
    AgentName, KeyId, MessageId, Principal, Scope, TaskEvent, TaskHead, TaskId, Timestamp, Usage,
};
use serde::{Deserialize, Serialize};

use crate::{
    ConversationChange, DeliveryChange, EventDeliveries, ListingChange, PushChange, RecordChange, RoomChange,
    RoomCursorChange, SignedHead, StoreError,
};

/// One thing that happens in a transaction.
#[derive(Debug, Clone)]
pub enum Edit {
    /// A task begins or continues.
    Task(Box<TaskChange>),
    /// Who is notified about a task. Comes before [`Edit::Notify`], so that a task can be opened with its
    /// receivers.
    Push(Box<PushChange>),
    /// The receivers of a task are notified.
    Notify(EventDeliveries),
    /// Something must leave the site, or has left it.
    Delivery(DeliveryChange),
    /// An API key or session is made, used or revoked.
    Key(Box<KeyChange>),
    /// A setting of the site.
    Setting(SettingChange),
    /// A record of a collection, guarded by its revision.
    Record(RecordChange),
    /// What an agent has used.
    Usage(UsageChange),
    /// An entry of the registry, guarded by its owner and its revision.
    Listing(ListingChange),
    /// A conversation, guarded in the same way. A new turn comes after the edit that opens its task.
    Conversation(ConversationChange),
    /// New events of a room, guarded by the number and the hash of its last one.
    Room(Box<RoomChange>),
    /// How far a member of a room has read.
    RoomCursor(RoomCursorChange),
    /// An ended task whose time is over from now on, whatever was said before; the next expiry takes it. A
    /// task that has not ended, or that a conversation keeps, is not touched.
    Forget(TaskId),
    /// A head of the journal that the site has signed.
    SignedHead(SignedHead),
}

macro_rules! edit_from {
    ($($variant:ident($value:ty)),+ $(,)?) => {
        $(impl From<$value> for Edit {
            fn from(value: $value) -> Self {
                Self::$variant(value.into())
            }
        })+
    };
}

edit_from! {
    Task(TaskChange),
    Push(PushChange),
    Notify(EventDeliveries),
    Delivery(DeliveryChange),
    Key(KeyChange),
    Setting(SettingChange),
    Record(RecordChange),
    Usage(UsageChange),
    Listing(ListingChange),
    Conversation(ConversationChange),
    Room(RoomChange),
    RoomCursor(RoomCursorChange),
    SignedHead(SignedHead),
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
    /// Whether no process holds the task afterwards, although it is submitted or working: another process
    /// takes it up.
    pub released: bool,
}

impl TaskChange {
    /// Refuses events that leave a gap, belong to another task or do not lead to the head; that is a fault of
    /// the caller's code, never of its data.
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
    pub owner: Principal,
    /// To which agent.
    pub agent: AgentName,
    /// The sender's id.
    pub message: MessageId,
    /// Hash of the content, to tell a repeat from an id used twice.
    pub body_hash: [u8; 16],
}

impl SentKey {
    /// Whether both are the same message, whatever it says.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (&self.owner, &self.agent, &self.message) == (&other.owner, &other.agent, &other.message)
    }
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
    /// Whether it is the session of a browser rather than a key.
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
    pub owner: Option<Principal>,
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

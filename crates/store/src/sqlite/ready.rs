//! A change made ready for the writer: serialised, hashed and measured in the task that asks.
//!
//! Promises: whatever can be refused without the file is refused here, and whatever costs time without the
//! file is spent here. It does not touch the database.

use agentsite_protocol::{JournalLine, TaskHead, TaskId, Timestamp};

use super::listings::ReadyListing;
use super::rooms::ReadyRoom;
use super::seal::{self, number};
use crate::{
    Admittance, Change, ConversationChange, DeliveryChange, Edit, Entity, EventDeliveries, KeyChange,
    PushChange, RecordChange, RoomCursorChange, SettingChange, SignedHead, StoreError, TaskChange,
    UsageChange,
};

/// Most bytes one change may hold. Far above any task that the limits on bodies and outputs let through, far
/// below what SQLite takes in one row.
const MAX_CHANGE: usize = 64 << 20;

/// Bytes a change is counted with beside its events: a head, keys and a journal line come to about this.
const BASE_COST: usize = 512;

/// A change the writer only has to bind.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) journal: Vec<JournalLine>,
    pub(super) edits: Vec<ReadyEdit>,
    pub(super) admittance: Admittance,
    /// About how many bytes it will write.
    pub(super) cost: usize,
}

/// An edit the writer only has to bind.
#[derive(Debug)]
pub(super) enum ReadyEdit {
    Task(Box<ReadyTask>),
    Push(Box<PushChange>),
    Notify(EventDeliveries),
    Delivery(DeliveryChange),
    Key(Box<KeyChange>),
    Setting(SettingChange),
    Record(RecordChange),
    Usage(UsageChange),
    Listing(Box<ReadyListing>),
    Conversation(ConversationChange),
    Room(Box<ReadyRoom>),
    RoomCursor(RoomCursorChange),
    Forget(TaskId),
    SignedHead(SignedHead),
}

/// The new events of a task as the row that will hold them.
#[derive(Debug)]
pub(super) struct ReadyTask {
    pub(super) head: TaskHead,
    pub(super) root: i64,
    pub(super) expect_seq: i64,
    pub(super) last_seq: i64,
    pub(super) body: String,
    pub(super) seal: i64,
    pub(super) sent: Option<ReadySent>,
    pub(super) expires_at: Option<i64>,
    /// Whether a conversation keeps it from the beginning.
    pub(super) kept: bool,
    /// The task's row, once the guard has found it; none for a new one.
    pub(super) row: Option<i64>,
}

/// The key of a message and, behind it, the hash of its content: one blob in the row of events.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadySent([u8; 32]);

impl ReadySent {
    /// Reads the blob back.
    pub(super) fn from_blob(blob: &[u8]) -> Option<Self> {
        blob.try_into().ok().map(Self)
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.0[..16]
    }

    pub(super) fn body_hash(&self) -> &[u8] {
        &self.0[16..]
    }

    pub(super) fn blob(&self) -> &[u8] {
        &self.0
    }
}

impl Ready {
    pub(super) fn new(change: Change) -> Result<Self, StoreError> {
        change.check()?;
        let keeps = |edit: &Edit| if let Edit::Conversation(one) = edit { one.keeps() } else { None };
        let kept: Vec<TaskId> = change.edits.iter().filter_map(keeps).collect();
        let lines: usize = change.journal.iter().map(|line| line.text.len() + line.actor.len()).sum();
        let mut cost = BASE_COST + lines;
        let mut edits = Vec::with_capacity(change.edits.len());
        for edit in change.edits {
            let mut edit = ReadyEdit::new(edit)?;
            cost += edit.cost();
            if let ReadyEdit::Task(task) = &mut edit {
                task.kept = kept.contains(&task.head.id);
            }
            edits.push(edit);
        }
        if cost > MAX_CHANGE {
            return Err(StoreError::Engine(format!(
                "one change may hold at most {MAX_CHANGE} bytes, this has {cost}"
            )));
        }
        Ok(Self { journal: change.journal, edits, admittance: change.admittance, cost })
    }

    /// What it touches, once it is committed.
    pub(super) fn touched(&self) -> impl Iterator<Item = Entity> {
        self.edits.iter().filter_map(ReadyEdit::touched)
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = &ReadyTask> {
        self.edits.iter().filter_map(|edit| match edit {
            ReadyEdit::Task(one) => Some(&**one),
            _ => None,
        })
    }

    pub(super) fn tasks_mut(&mut self) -> impl Iterator<Item = &mut ReadyTask> {
        self.edits.iter_mut().filter_map(|edit| match edit {
            ReadyEdit::Task(one) => Some(&mut **one),
            _ => None,
        })
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &RecordChange> {
        self.edits.iter().filter_map(|edit| match edit {
            ReadyEdit::Record(one) => Some(one),
            _ => None,
        })
    }

    pub(super) fn listings(&self) -> impl Iterator<Item = &ReadyListing> {
        self.edits.iter().filter_map(|edit| match edit {
            ReadyEdit::Listing(one) => Some(&**one),
            _ => None,
        })
    }

    pub(super) fn rooms(&self) -> impl Iterator<Item = &ReadyRoom> {
        self.edits.iter().filter_map(|edit| match edit {
            ReadyEdit::Room(one) => Some(&**one),
            _ => None,
        })
    }

    pub(super) fn conversations(&self) -> impl Iterator<Item = &ConversationChange> {
        self.edits.iter().filter_map(|edit| match edit {
            ReadyEdit::Conversation(one) => Some(one),
            _ => None,
        })
    }
}

impl ReadyEdit {
    fn new(edit: Edit) -> Result<Self, StoreError> {
        Ok(match edit {
            Edit::Task(change) => Self::Task(Box::new(ReadyTask::new(*change)?)),
            Edit::Push(change) => Self::Push(change),
            Edit::Notify(notify) => Self::Notify(notify),
            Edit::Delivery(change) => Self::Delivery(change),
            Edit::Key(change) => Self::Key(change),
            Edit::Setting(change) => Self::Setting(change),
            Edit::Record(change) => Self::Record(change),
            Edit::Usage(change) => Self::Usage(change),
            Edit::Listing(change) => Self::Listing(Box::new(ReadyListing::new(&change)?)),
            Edit::Conversation(change) => Self::Conversation(change),
            Edit::Room(change) => Self::Room(Box::new(ReadyRoom::new(*change))),
            Edit::RoomCursor(change) => Self::RoomCursor(change),
            Edit::Forget(id) => Self::Forget(id),
            Edit::SignedHead(head) => Self::SignedHead(head),
        })
    }

    fn touched(&self) -> Option<Entity> {
        match self {
            Self::Task(task) => Some(Entity::Task(task.head.id)),
            Self::Key(change) => Entity::of_key(change),
            Self::Setting(change) => Some(Entity::Setting(change.name.clone())),
            Self::Record(change) => Some(Entity::record(change.place())),
            Self::Listing(change) => Some(Entity::Listing(change.id.clone())),
            Self::Conversation(change) => change.assumes().map(|(id, ..)| Entity::Conversation(id)),
            Self::Room(room) => Some(Entity::Room(room.change.head.id)),
            _ => None,
        }
    }

    /// About how many bytes it will write.
    fn cost(&self) -> usize {
        match self {
            Self::Task(task) => task.body.len(),
            Self::Push(change) => push_cost(change),
            Self::Delivery(change) => outbox_cost(change),
            Self::Setting(change) => change.value.as_ref().map_or(0, String::len),
            Self::Record(change) => record_cost(change),
            Self::Listing(change) => change.body.len(),
            Self::Conversation(change) => conversation_cost(change),
            Self::Room(room) => room.cost(),
            Self::Notify(_)
            | Self::Key(_)
            | Self::Usage(_)
            | Self::RoomCursor(_)
            | Self::Forget(_)
            | Self::SignedHead(_) => 0,
        }
    }
}

impl ReadyTask {
    fn new(change: TaskChange) -> Result<Self, StoreError> {
        let body = serde_json::to_string(&change.events)
            .map_err(|error| StoreError::Engine(format!("events cannot be written as JSON: {error}")))?;
        let sent = change.sent.as_ref().map(|key| {
            let mut blob = [0; 32];
            blob[..16].copy_from_slice(&seal::sent_key(&key.owner, &key.agent, &key.message));
            blob[16..].copy_from_slice(&key.body_hash);
            ReadySent(blob)
        });
        let (expect_seq, last_seq) = (number(change.expect_seq), number(change.head.seq));
        let blob = sent.as_ref().map(ReadySent::blob);
        let seal = seal::events(change.head.id, expect_seq + 1, last_seq, blob, body.as_bytes());
        let (root, expires_at) = (seal::root(&change.head), change.expires_at.map(Timestamp::as_millis));
        Ok(Self {
            root,
            head: change.head,
            expect_seq,
            last_seq,
            body,
            seal,
            sent,
            expires_at,
            kept: false,
            row: None,
        })
    }
}

fn outbox_cost(change: &DeliveryChange) -> usize {
    match change {
        DeliveryChange::Add(row) => row.body.len() + row.kind.len(),
        DeliveryChange::Retry { error, .. } | DeliveryChange::Dead { error, .. } => error.len(),
        DeliveryChange::Done(_) | DeliveryChange::Defer { .. } | DeliveryChange::Replay { .. } => 0,
    }
}

fn conversation_cost(change: &ConversationChange) -> usize {
    match change {
        ConversationChange::Put(new) => new.title.len(),
        ConversationChange::Said { words, .. } | ConversationChange::Ended { words, .. } => words.len(),
        ConversationChange::Remove { .. } => 0,
    }
}

fn record_cost(change: &RecordChange) -> usize {
    match change {
        RecordChange::Put { record, .. } => record.key.len() + record.body.len(),
        RecordChange::Remove { key, .. } => key.len(),
    }
}

fn push_cost(change: &PushChange) -> usize {
    match change {
        PushChange::Put(_, config) => {
            let shown =
                config.authentication.as_ref().map_or(0, |one| one.scheme.len() + one.credentials.len());
            config.id.len() + config.url.len() + config.token.len() + shown
        }
        PushChange::Remove(..) => 0,
    }
}

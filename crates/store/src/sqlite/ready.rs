//! A change made ready for the writer: serialised, hashed and measured in the task that asks.
//!
//! Promises: whatever can be refused without the file is refused here, and whatever costs time without the file is spent
//! here. It does not touch the database.

use agentsite_protocol::{JournalLine, TaskHead, TaskId, Timestamp};

use super::listings::ReadyListing;
use super::seal::{self, number};
use crate::{
    Admittance, Change, ConversationChange, KeyChange, Notice, OutboxChange, PushChange, RecordChange,
    SettingChange, SignedHead, StoreError, TaskChange, UsageChange,
};

/// Most bytes one change may hold. Far above any task that the limits on bodies and outputs let through, far below
/// what SQLite takes in one row.
const MAX_CHANGE: usize = 64 << 20;

/// Bytes a change is counted with beside its events: a head, keys and a journal line come to about this.
const BASE_COST: usize = 512;

/// A change the writer only has to bind.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) task: Option<ReadyTask>,
    pub(super) journal: Vec<JournalLine>,
    pub(super) push: Vec<PushChange>,
    pub(super) notice: Option<Notice>,
    pub(super) outbox: Vec<OutboxChange>,
    pub(super) keys: Vec<KeyChange>,
    pub(super) settings: Vec<SettingChange>,
    pub(super) records: Vec<RecordChange>,
    pub(super) usage: Vec<UsageChange>,
    pub(super) listings: Vec<ReadyListing>,
    pub(super) conversations: Vec<ConversationChange>,
    pub(super) forget: Vec<TaskId>,
    pub(super) admittance: Admittance,
    pub(super) heads: Vec<SignedHead>,
    /// About how many bytes it will write.
    pub(super) cost: usize,
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
        let mut task = change.task.map(ReadyTask::new).transpose()?;
        if let Some(task) = &mut task {
            task.kept = change.conversations.iter().any(|one| one.keeps() == Some(task.head.id));
        }
        let talked: usize = change.conversations.iter().map(conversation_cost).sum();
        let outbox: usize = change.outbox.iter().map(outbox_cost).sum();
        let lines: usize = change.journal.iter().map(|line| line.text.len() + line.actor.len()).sum();
        let settings: usize = change.settings.iter().filter_map(|one| Some(one.value.as_ref()?.len())).sum();
        let recorded: usize = change.records.iter().map(record_cost).sum();
        let push: usize = change.push.iter().map(push_cost).sum();
        let listings = change.listings.iter().map(ReadyListing::new).collect::<Result<Vec<_>, _>>()?;
        let listed: usize = listings.iter().map(|listing| listing.body.len()).sum();
        let body = task.as_ref().map_or(0, |task| task.body.len());
        let cost = BASE_COST + body + outbox + lines + settings + recorded + push + listed + talked;
        if cost > MAX_CHANGE {
            return Err(StoreError::Engine(format!(
                "one change may hold at most {MAX_CHANGE} bytes, this has {cost}"
            )));
        }
        let Change {
            journal,
            push,
            notice,
            outbox,
            keys,
            settings,
            records,
            usage,
            conversations,
            forget,
            admittance,
            heads,
            ..
        } = Change { task: None, ..change };
        Ok(Self {
            task,
            journal,
            push,
            notice,
            outbox,
            keys,
            settings,
            records,
            usage,
            listings,
            conversations,
            forget,
            admittance,
            heads,
            cost,
        })
    }
}

impl ReadyTask {
    fn new(change: TaskChange) -> Result<Self, StoreError> {
        change.check()?;
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
        Ok(Self { root, head: change.head, expect_seq, last_seq, body, seal, sent, expires_at, kept: false })
    }
}

fn outbox_cost(change: &OutboxChange) -> usize {
    match change {
        OutboxChange::Add(row) => row.body.len() + row.kind.len(),
        OutboxChange::Retry { error, .. } | OutboxChange::Dead { error, .. } => error.len(),
        OutboxChange::Done(_) | OutboxChange::Defer { .. } | OutboxChange::Replay { .. } => 0,
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

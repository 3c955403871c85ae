//! What an implementation of [`Store`](crate::Store) in another crate needs: the parts of a change, the rules
//! that all engines share, and the ways in which rows are sealed, chained and counted.
//!
//! For implementations of `Store` only: callers of a store need none of it. Promises: what is here means the
//! same in every engine, so that a copy of the rows of one is a sound database of another. It holds no state
//! and does no IO.

use agentsite_protocol::{ConversationId, JournalLine, Principal, TaskHead, TaskId};

pub use crate::conversation::SEARCHED;
pub use crate::fair::{Chosen, VISITED, choose};
pub use crate::listing::HOLDERS;
pub use crate::process::{check_lease, check_report};
pub use crate::query::MAX_PAGE;
pub use crate::room::{event_bytes as room_event_bytes, words_of as room_words};
pub use crate::sqlite::shared::{
    ChainEnd, Covered, REDACTED, SEAL, START, Vault, config_place, digest, record_place, root, sent_key,
    setting_place, standing, state, state_number, visibility,
};
pub use crate::storage::{
    AFTER_ANONYMOUS, ANONYMOUS, Accounts, Growth, JOURNAL, SITE, fixed, grow, is_anonymous,
};
pub use crate::words::{SearchPhrases, words};

use crate::{
    Admittance, Change, ChangeCursor, ClaimTurn, ConversationChange, ConversationCursor, ConversationMatch,
    DeliveryQuery, DeliveryRequest, Edit, Entity, EventDeliveries, Expiry, ListingChange, Page, ProcessInfo,
    RecordChange, RoomChange, StorageUse, StoreError, StoreMetrics, TaskCursor, Topic,
};

/// The parts of a change that has been checked.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The lines that people read about it.
    pub journal: Vec<JournalLine>,
    /// What it does, in this order.
    pub edits: Vec<Edit>,
    /// How it stands to the limits of storage.
    pub admittance: Admittance,
}

impl Parts {
    /// Takes a change apart.
    ///
    /// # Errors
    /// [`StoreError::Engine`] for what is a fault of the caller's code, see [`Change`].
    pub fn of(change: Change) -> Result<Self, StoreError> {
        change.check()?;
        Ok(Self { journal: change.journal, edits: change.edits, admittance: change.admittance })
    }
}

/// What an edit touches, if that is in a feed.
#[must_use]
pub fn touched(edit: &Edit) -> Option<Entity> {
    Entity::of_edit(edit)
}

/// How many entries of a topic are kept.
#[must_use]
pub const fn retained(topic: Topic) -> usize {
    topic.retained()
}

/// A place in the feed of a topic. `opening` tells one life of a feed from another and is not 0.
#[must_use]
pub const fn cursor(opening: u64, seq: u64) -> ChangeCursor {
    ChangeCursor::at(opening, seq)
}

/// The opening of a cursor and its place.
#[must_use]
pub const fn cursor_parts(cursor: ChangeCursor) -> (u64, u64) {
    cursor.parts()
}

/// The refusal of a head whose unchanging part is not that of the task.
#[must_use]
pub fn other_root(task: TaskId) -> StoreError {
    crate::other_root(task)
}

/// What a change of a conversation assumes: which, whose, at which revision (0: there must be none), and
/// whether it is there afterwards; none for what needs no guard.
#[must_use]
pub fn conversation_guard(change: &ConversationChange) -> Option<(ConversationId, &Principal, u64, bool)> {
    change.assumes()
}

/// Bytes that a change of a room adds to the storage of its owner.
#[must_use]
pub fn room_adds(change: &RoomChange) -> u64 {
    change.adds()
}

/// What a change of an entry assumes: which, whose, and at which revision (0: there must be none).
#[must_use]
pub fn listing_guard(change: &ListingChange) -> (&str, &Principal, u64) {
    let (owner, revision) = change.assumes();
    (change.id().as_str(), owner, revision)
}

/// The collection and key of a record that changes, the revision that it must have (0: none) and the one it
/// has afterwards (0: it is gone).
#[must_use]
pub fn record_guard(change: &RecordChange) -> (&'static str, &str, u64, u64) {
    let ((collection, key), (before, after)) = (change.place(), change.revisions());
    (collection, key, before, after)
}

/// The rows of the outbox that notify one receiver of a task of this account.
pub fn deliveries<'a>(
    notify: &'a EventDeliveries,
    account: &'a str,
    config: &'a str,
) -> impl Iterator<Item = DeliveryRequest> + 'a {
    notify.rows(account, config)
}

/// Refuses a process whose words are too long.
///
/// # Errors
/// [`StoreError::Engine`] with the limit.
pub fn check_process(info: &ProcessInfo) -> Result<(), StoreError> {
    info.check()
}

/// Cuts a sorted list of tasks to one page.
#[must_use]
pub fn page_of_tasks(items: Vec<TaskHead>, limit: usize) -> Page<TaskHead, TaskCursor> {
    Page::cut(items, limit)
}

/// Sorts conversations and cuts them to one page.
#[must_use]
pub fn page_of_conversations(
    items: Vec<ConversationMatch>,
    after: Option<ConversationCursor>,
    limit: usize,
) -> Page<ConversationMatch, ConversationCursor> {
    Page::of(items, after, limit)
}

/// The accounts with and without a key that were served last.
#[must_use]
pub fn last_served(turn: &ClaimTurn) -> (Option<&str>, Option<&str>) {
    turn.last()
}

/// Most rows that a query of the outbox gives.
#[must_use]
pub fn most_deliveries(query: &DeliveryQuery) -> usize {
    query.most()
}

/// Most lines of the journal that go with one expiry.
#[must_use]
pub fn most_lines(expiry: &Expiry) -> usize {
    expiry.lines()
}

/// What a writer reports about itself.
pub trait WriterMetrics {
    /// Something was queued.
    fn note_queued(&self);
    /// So much was taken from the queue.
    fn note_taken(&self, jobs: usize);
    /// A group of changes is on disk.
    fn note_committed(&self, changes: usize, took: std::time::Duration);
    /// What is held.
    fn note_holds(&self, held: &StorageUse);
    /// Groups of changes that are on disk.
    fn count_commits(&self) -> u64;
}

impl WriterMetrics for StoreMetrics {
    fn note_queued(&self) {
        self.queued();
    }

    fn note_taken(&self, jobs: usize) {
        self.taken(jobs);
    }

    fn note_committed(&self, changes: usize, took: std::time::Duration) {
        self.committed(changes, took);
    }

    fn note_holds(&self, held: &StorageUse) {
        self.holds(held);
    }

    fn count_commits(&self) -> u64 {
        self.commits()
    }
}

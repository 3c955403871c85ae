//! One transactional store for everything a Site must remember.
//!
//! Promises: a [`Change`] is applied whole or not at all; once its commit is acknowledged it survives a kill and a power
//! cut. Changes take effect in the order in which they were enqueued. Reads see only what is committed. Every
//! implementation passes the one contract suite in `contract`.
//!
//! It does not decide anything: it guards sequence numbers and keys, and leaves meaning to `site`.

#![forbid(unsafe_code)]

mod audit;
mod change;
#[cfg(test)]
mod contract;
mod conversation;
mod fair;
mod key;
mod listing;
mod mem;
mod metrics;
mod query;
mod records;
mod sqlite;
mod storage;
mod words;

use std::path::Path;
use std::sync::Arc;

use agentsite_protocol::{
    AgentName, ConversationId, KeyId, MessageId, Owner, PushConfig, TaskEvent, TaskHead, TaskId, Timestamp,
    Usage,
};
use futures::future::BoxFuture;

pub use audit::{AuditReport, JournalHead, SignedHead};
pub use change::{
    Change, KeyChange, KeyRecord, Notice, OutboxChange, OutboxRow, PushChange, SentKey, SettingChange,
    TaskChange, UsageChange,
};
pub use conversation::{
    Conversation, ConversationChange, ConversationCursor, ConversationQuery, Found, MAX_SIBLINGS, Place,
    Spot, Turn,
};
pub use fair::{ClaimRequest, Turn as ClaimTurn};
pub use key::StoreKey;
pub use listing::{ListingChange, ListingFilter, NameHolder, Registration};
pub use mem::MemStore;
pub use metrics::StoreMetrics;
pub use query::{
    Claim, Claims, Expiry, JournalQuery, OutboxQuery, Page, Parcel, StoreStats, StoredLine, TaskCursor,
    TaskFilter, TaskHistory,
};
pub use records::{RecordChange, RecordQuery, StoredRecord};
pub use sqlite::{SCHEMA_VERSION, SqliteStore, accept, audit, is_in_use, restore};
pub use storage::{Admittance, Disk, DiskState, StorageLimits, StorageQuery, StorageSettings, StorageUse};

/// A promise that a change will be on disk; resolves when it is, or with the reason why it is not.
pub type Durable = BoxFuture<'static, Result<(), StoreError>>;

/// What an asynchronous verb of a store gives.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Why a store did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The task is not where the change assumed it to be; read it again and decide again.
    #[error("task {task} has moved on: the change expected event {expected}, the store has {found}")]
    Stale {
        /// The task.
        task: TaskId,
        /// The last event the change assumed.
        expected: u64,
        /// The last event the store has (0: no such task).
        found: u64,
    },
    /// The same message was accepted before.
    #[error("message was accepted before as task {task}")]
    Duplicate {
        /// The task it opened or continued.
        task: TaskId,
        /// Whether the content is the same as the first time; false means that an id was used twice for two messages.
        same_body: bool,
    },
    /// The entry of the hub or the conversation is not as the change assumed it to be; read it again and decide again.
    #[error("{0} has changed meanwhile: read it again, then try again")]
    Moved(String),
    /// The entry of the hub or the conversation belongs to somebody else.
    #[error("{0} belongs to somebody else")]
    Foreign(String),
    /// The disk is full; nothing of the change was kept.
    #[error("the disk is full: free some space or lower the retention limits, then try again")]
    Full,
    /// The change would take somebody above a limit of storage; nothing of it was kept.
    #[error(
        "the storage of {} is used up: {used} of {limit} bytes are in use and this needs {more} more; delete tasks or conversations that are no longer needed, or ask the admin of the site to raise {setting}",
        storage::words(account)
    )]
    OverLimit {
        /// The setting that holds the limit.
        setting: &'static str,
        /// Whose storage: an account, `anonymous` for all callers without a key, `site` for everything.
        account: String,
        /// Bytes in use.
        used: u64,
        /// Bytes that the change would have added.
        more: u64,
        /// The limit.
        limit: u64,
    },
    /// The file was written by a later version.
    #[error(
        "the data was written by a later version of agentsite (schema {found}, this one knows {known}): start that version, or restore a backup"
    )]
    TooNew {
        /// Schema version found.
        found: i64,
        /// Newest version this program knows.
        known: i64,
    },
    /// The file is damaged.
    #[error("the database is damaged ({0}): stop the site and run `agentsite restore BACKUP`")]
    Corrupt(String),
    /// Something in the file was changed by another program, or the file by something else than a program.
    #[error(
        "{0}: run `agentsite audit verify` to look again, then restore a backup with `agentsite restore`, or take the data as it is with `agentsite audit accept`"
    )]
    Tampered(String),
    /// The file is sealed with another key.
    #[error(
        "the data is sealed with another key: give the key that it was made with (key_file, AGENTSITE_DATA_KEY or the systemd credential agentsite-data-key), or restore a backup with its key"
    )]
    WrongKey,
    /// Another process has the data folder.
    #[error("another agentsite uses this data folder: stop it, or name another folder with --data")]
    Locked,
    /// The store has stopped, after an error or because the site is closing.
    #[error("the store has stopped: {0}")]
    Stopped(String),
    /// Anything else the engine reports.
    #[error("the store failed: {0}")]
    Engine(String),
}

/// Everything a Site remembers, behind one door.
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// Takes a change into the queue of the one writer and fixes its place in the order; waits only while the queue is
    /// full. The [`Durable`] it gives resolves after the commit. Dropping the [`Durable`] does not undo the change.
    fn enqueue(&self, change: Change) -> Reply<'_, Durable>;

    /// Applies a change and waits until it is on disk.
    fn commit(&self, change: Change) -> Reply<'_, ()> {
        Box::pin(async move { self.enqueue(change).await?.await })
    }

    /// The head of a task.
    fn task(&self, id: TaskId) -> Reply<'_, Option<TaskHead>>;

    /// Events of a task after number `after`, at most about `limit` (whole commits are kept together, so a few more may come), in order.
    fn events(&self, id: TaskId, after: u64, limit: usize) -> Reply<'_, Vec<TaskEvent>>;

    /// The first of these tasks, in this order, each with all of its events and at most `started` of the
    /// tasks that it started: as many tasks as have about `events` events together, and at least one.
    fn histories(&self, ids: Vec<TaskId>, events: usize, started: usize) -> Reply<'_, Vec<TaskHistory>>;

    /// Which task a message opened or continued, if it was accepted before.
    fn sent(&self, owner: &Owner, agent: &AgentName, message: &MessageId) -> Reply<'_, Option<TaskId>>;

    /// Tasks that match, newest change first, with a cursor to the next page.
    fn tasks(
        &self,
        filter: TaskFilter,
        after: Option<TaskCursor>,
        limit: usize,
    ) -> Reply<'_, Page<TaskHead, TaskCursor>>;

    /// How many tasks match.
    fn count_tasks(&self, filter: TaskFilter) -> Reply<'_, u64>;

    /// All tasks that have not ended, oldest first; read once at start.
    fn open_tasks(&self) -> Reply<'_, Vec<TaskHead>>;

    /// Lines of the journal, newest first.
    fn journal(&self, query: JournalQuery) -> Reply<'_, Vec<StoredLine>>;

    /// The end of the journal's chain, to be signed; `None` without lines, and for stores that keep no chain.
    fn journal_head(&self) -> Reply<'_, Option<JournalHead>>;

    /// All API keys and sessions.
    fn keys(&self) -> Reply<'_, Vec<KeyRecord>>;

    /// One API key.
    fn key(&self, id: KeyId) -> Reply<'_, Option<KeyRecord>>;

    /// A setting of the site (tokens by hash, identity).
    fn setting(&self, name: &str) -> Reply<'_, Option<String>>;

    /// One record of a collection.
    fn record(&self, collection: &'static str, key: &str) -> Reply<'_, Option<StoredRecord>>;

    /// Records of a collection by key; a page has a bounded number of them.
    fn records(&self, query: RecordQuery) -> Reply<'_, Vec<StoredRecord>>;

    /// What an agent has used on a day (see `Timestamp::day`).
    fn usage(&self, agent: &AgentName, day: i64) -> Reply<'_, Usage>;

    /// The push configs of a task, by id.
    fn push_configs(&self, task: TaskId) -> Reply<'_, Vec<PushConfig>>;

    /// Rows of the outbox, in the order in which they were added.
    fn outbox(&self, query: OutboxQuery) -> Reply<'_, Vec<Parcel>>;

    /// Takes rows of the outbox that are due and hides them for a while, so that no two workers send the same row at once; accounts take turns
    /// (see [`ClaimRequest`]). A row whose lease ran out is given again. Of the rows of a lane only the first that is not dead is given.
    fn claim(&self, request: ClaimRequest) -> Reply<'_, Claims>;

    /// One entry of the hub.
    fn listing(&self, id: &str) -> Reply<'_, Option<Registration>>;

    /// Entries of the hub that match, by id, after the id `after`.
    fn listings(
        &self,
        filter: ListingFilter,
        after: Option<String>,
        limit: usize,
    ) -> Reply<'_, Page<Registration, String>>;

    /// How many entries of the hub match.
    fn count_listings(&self, filter: ListingFilter) -> Reply<'_, u64>;

    /// Those of these entries that exist, by id.
    fn listings_of(&self, ids: Vec<String>) -> Reply<'_, Vec<Registration>>;

    /// Entries that are to be looked at by `now`, the longest overdue first.
    fn due_listings(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<Registration>>;

    /// When the next entry is to be looked at.
    fn next_due_listing(&self) -> Reply<'_, Option<Timestamp>>;

    /// Who has names of these shapes (see [`Registration::shape`]): at most a few for each, by id.
    fn name_holders(&self, shapes: Vec<String>) -> Reply<'_, Vec<NameHolder>>;

    /// One conversation.
    fn conversation(&self, id: ConversationId) -> Reply<'_, Option<Conversation>>;

    /// Conversations that are wanted: pinned ones first, then the last changed first, with a cursor to the next page.
    fn conversations(
        &self,
        query: ConversationQuery,
        after: Option<ConversationCursor>,
        limit: usize,
    ) -> Reply<'_, Page<Found, ConversationCursor>>;

    /// How many conversations somebody has.
    fn count_conversations(&self, owner: &Owner) -> Reply<'_, u64>;

    /// The turn of a conversation that a task answers.
    fn turn(&self, task: TaskId) -> Reply<'_, Option<Turn>>;

    /// The path to a turn: itself, the one before it, and so on towards the first, at most `limit`.
    fn path(&self, from: TaskId, limit: usize) -> Reply<'_, Vec<Place>>;

    /// Turns of a conversation on all branches in the order in which they were said, after the turn `after`.
    fn turns(&self, id: ConversationId, after: Option<TaskId>, limit: usize) -> Reply<'_, Vec<Turn>>;

    /// The end of the branch that goes through a turn: where it parts further on, the newest way is taken.
    fn leaf(&self, from: TaskId) -> Reply<'_, Option<TaskId>>;

    /// Removes finished tasks by age and by number, oldest first, in small portions; gives how many went.
    fn expire(&self, expiry: Expiry) -> Reply<'_, usize>;

    /// Makes sure that what was removed is in none of the store's files any more: neither in the indexes of words nor in the log. Does nothing
    /// when nothing was removed since the last time.
    fn scrub(&self) -> Reply<'_, ()>;

    /// Writes a consistent copy of everything to a new file while the site goes on.
    fn backup(&self, to: &Path) -> Reply<'_, ()>;

    /// Sizes and counts for people and metrics.
    fn stats(&self) -> Reply<'_, StoreStats>;

    /// How many bytes the accounts hold, and the limits.
    fn storage(&self, query: StorageQuery) -> Reply<'_, StorageUse>;

    /// Writes out what is queued and stops; later changes are refused with [`StoreError::Stopped`].
    fn close(&self) -> Reply<'_, ()>;
}

/// A store shared by the parts of a site.
pub type SharedStore = Arc<dyn Store>;

/// The refusal of a head whose unchanging part is not that of the task.
fn other_root(task: agentsite_protocol::TaskId) -> StoreError {
    StoreError::Engine(format!(
        "a change of task {task} names another agent, owner, context, parent or start than the task has"
    ))
}

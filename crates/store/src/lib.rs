//! One transactional store for everything a Site must remember.
//!
//! Promises: a [`Change`] is applied whole or not at all; once its commit is acknowledged it survives a kill
//! and a power cut. Changes take effect in the order in which they were enqueued. Reads see only what is
//! committed. Every implementation passes the one contract suite in `contract`.
//!
//! It does not decide anything: it guards sequence numbers and keys, and leaves meaning to `site`.

#![forbid(unsafe_code)]

mod audit;
mod change;
mod collection;
#[cfg(any(test, feature = "contract"))]
#[expect(missing_docs, reason = "cases of tests: their names are their documentation")]
#[expect(clippy::unwrap_used, reason = "cases of tests")]
pub mod contract;
mod conversation;
pub mod copying;
mod delivery;
mod edit;
pub mod engine;
mod fair;
mod feed;
mod feed_reader;
mod key;
mod listing;
mod mem;
mod metrics;
mod process;
mod query;
mod reads;
mod records;
mod room;
mod sqlite;
mod storage;
mod words;

use std::sync::Arc;

use agentsite_protocol::TaskId;
use futures::future::BoxFuture;

pub use audit::{AuditReport, JournalHead, SignedHead};
pub use change::{Change, Unjournaled};
pub use collection::{Collection, Revised};
pub use conversation::{
    Conversation, ConversationChange, ConversationCursor, ConversationMatch, ConversationQuery,
    INDEXED_BYTES, MAX_SIBLINGS, Spot, Turn, TurnPosition,
};
pub use delivery::{DeliveryChange, DeliveryRequest, EventDeliveries, PushChange};
pub use edit::{Edit, KeyChange, KeyRecord, SentKey, SettingChange, TaskChange, UsageChange};
pub use fair::{ClaimTurn, DeliveryClaimRequest};
pub use feed::{ChangeCursor, Changes, Entity, Topic};
pub use feed_reader::{FeedReader, Touched};
pub use key::StoreKey;
pub use listing::{ListingChange, ListingFilter, NameHolder, Registration};
pub use mem::MemStore;
pub use metrics::StoreMetrics;
pub use process::{ProcessId, ProcessInfo, ProcessView};
pub use query::{
    Delivery, DeliveryClaim, DeliveryClaims, DeliveryQuery, Expiry, JournalQuery, Page, StoreStats,
    StoredLine, TaskCursor, TaskFilter, TaskHistory,
};
pub use reads::{
    ChangeReads, ConversationReads, DeliveryReads, JournalReads, KeyReads, ListingReads, ProcessReads,
    RecordReads, RoomReads, TaskReads, Upkeep,
};
pub use records::{RecordChange, RecordQuery, StoredRecord};
pub use room::{
    RoomChange, RoomCursorChange, RoomHead, RoomMemberChange, RoomMemberRow, RoomPosition, RoomRow,
    StoredRoom,
};
pub use sqlite::{
    SCHEMA_VERSION, SqliteSink, SqliteSource, SqliteStore, accept, audit, backup_key, is_in_use, restore,
};
pub use storage::{
    Admittance, Disk, DiskState, StorageLimits, StorageQuery, StorageSection, StorageSettings, StorageUse,
};

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
        /// Whether the content is the same as the first time; false means that an id was used twice for two
        /// messages.
        same_body: bool,
    },
    /// The entry of the hub or the conversation is not as the change assumed it to be; read it again and
    /// decide again.
    #[error("{0} has changed meanwhile: read it again, then try again")]
    Moved(String),
    /// The entry of the hub or the conversation belongs to another owner.
    #[error("{0} belongs to another owner")]
    Foreign(String),
    /// The disk is full; nothing of the change was kept.
    #[error("the disk is full: free some space or lower the retention limits, then try again")]
    Full,
    /// The change would take an account above a limit of storage; nothing of it was kept.
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
    /// The process is declared dead, or has left: nothing that it writes is taken any more.
    #[error(
        "this process was declared dead because it did not renew its lease in time; its work is with the other processes of the site, and it joins again by itself"
    )]
    Fenced,
    /// Another process works on the task.
    #[error("task {task} is held by process {process} of this site; ask that process")]
    Held {
        /// The task.
        task: TaskId,
        /// The process.
        process: ProcessId,
    },
    /// A copy into this store was broken off; nothing in it counts before it is whole.
    #[error(
        "the data that is being copied here is not complete: run the same `agentsite migrate` or `agentsite restore` again, it continues"
    )]
    Incomplete,
    /// Another process has the data folder.
    #[error("another agentsite uses this data folder: stop it, or name another folder with --data")]
    Locked,
    /// The database of the store cannot be reached, or did not answer in time. Nothing of the change was
    /// kept; the same change may be tried again.
    #[error("the database is not available ({0}): try again in a moment")]
    Unavailable(String),
    /// The store has stopped, after an error or because the site is closing.
    #[error("the store has stopped: {0}")]
    Stopped(String),
    /// Anything else the engine reports.
    #[error("the store failed: {0}")]
    Engine(String),
}

/// Everything a Site remembers: the read traits of all capabilities, and one way to change it.
pub trait Store:
    TaskReads
    + JournalReads
    + KeyReads
    + RecordReads
    + DeliveryReads
    + ListingReads
    + ConversationReads
    + RoomReads
    + ChangeReads
    + ProcessReads
    + Upkeep
    + Send
    + Sync
    + std::fmt::Debug
    + 'static
{
    /// Takes a change into the queue of the one writer and fixes its place in the order; waits only while the
    /// queue is full. The [`Durable`] it gives resolves after the commit. Dropping the [`Durable`] does not
    /// undo the change.
    fn enqueue(&self, change: Change) -> Reply<'_, Durable>;

    /// Applies a change and waits until it is on disk.
    fn commit(&self, change: Change) -> Reply<'_, ()> {
        Box::pin(async move { self.enqueue(change).await?.await })
    }
}

/// A store shared by the parts of a site.
pub type SharedStore = Arc<dyn Store>;

/// The refusal of a head whose unchanging part is not that of the task.
fn other_root(task: TaskId) -> StoreError {
    StoreError::Engine(format!(
        "a change of task {task} names another agent, owner, context, parent or start than the task has"
    ))
}

//! The store in one SQLite file: the default of a site.
//!
//! Promises: one writer thread commits whatever is queued in one transaction and answers after the fsync; readers have
//! connections of their own and never hold it up. One process owns the file. A full disk refuses changes and goes on; any
//! other failure of a commit stops the store, because what the file handle then holds is not known.
//! It deliberately has no settings: page size, sync mode and caches are part of the promise.

mod accounts;
mod apply;
mod audit;
mod backup;
mod chain;
mod conversations;
mod expire;
mod fault;
mod file;
mod histories;
mod list;
mod listings;
mod log;
mod outbox;
mod push;
mod read;
mod readers;
mod ready;
mod record;
mod records;
mod schema;
mod scrub;
mod seal;
mod secrets;
mod space;
mod vault;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentsite_protocol::{
    AgentName, ConversationId, KeyId, MessageId, Owner, PushConfig, TaskEvent, TaskHead, TaskId, Timestamp,
    Usage,
};
use tokio::sync::oneshot;

use crate::{
    Change, ClaimRequest, Claims, Conversation, ConversationCursor, ConversationQuery, Durable, Expiry,
    Found, JournalHead, JournalQuery, KeyRecord, ListingFilter, NameHolder, OutboxQuery, Page, Parcel, Place,
    RecordQuery, Registration, Reply, StorageQuery, StorageSettings, StorageUse, Store, StoreError, StoreKey,
    StoreMetrics, StoreStats, StoredLine, StoredRecord, TaskCursor, TaskFilter, TaskHistory, Turn,
};
use audit::Audit;
use readers::Readers;
use ready::Ready;
use record::Record;
use vault::Vault;
use writer::{Job, Writer};

pub use backup::{accept, restore};
pub use file::is_in_use;
pub use schema::SCHEMA_VERSION;
pub use verify::audit;

pub(crate) use chain::REDACTED;

/// A store in one SQLite file, with its write-ahead log and its lock beside it.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    // Before the writer, so that on drop no reader holds the log when the writer empties it.
    readers: Readers,
    writer: Writer,
    storage: StorageSettings,
    vault: Arc<Vault>,
}

impl SqliteStore {
    /// Opens the file, makes it when it is missing, brings its schema up to date and starts the writer. Blocks: it reads,
    /// and after an unclean stop checks, the file.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another process has it, [`StoreError::TooNew`], [`StoreError::Corrupt`], [`StoreError::Tampered`] and
    /// [`StoreError::WrongKey`] by what it holds, [`StoreError::Full`] or [`StoreError::Engine`] when it cannot be opened.
    pub fn open(path: &Path, key: &StoreKey, metrics: StoreMetrics) -> Result<Self, StoreError> {
        Self::open_with(path, key, StorageSettings::default(), metrics)
    }

    /// Opens the file like [`Self::open`], with limits on what accounts may hold and with care for the disk.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(
        path: &Path,
        key: &StoreKey,
        storage: StorageSettings,
        metrics: StoreMetrics,
    ) -> Result<Self, StoreError> {
        let vault = Arc::new(Vault::new(key));
        let space = space::Space::open(path, storage);
        let lock = file::Lock::take(path)?;
        let db = file::open(path, &vault)?;
        let audit = Audit::open(&db, vault.clone())?;
        let writer = Writer::start(db, (audit, Record::open(path)), lock, space, storage.limits, metrics)?;
        Ok(Self { path: path.to_owned(), readers: Readers::new(path), writer, storage, vault })
    }

    /// Queues a job that answers through a channel, and waits for the answer.
    fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Job + Send + 'static,
    ) -> Reply<'_, T> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.writer.queue(job(answer)).await?;
            answered.await.unwrap_or_else(|_| Err(self.writer.stopped()))
        })
    }
}

impl Store for SqliteStore {
    fn enqueue(&self, change: Change) -> Reply<'_, Durable> {
        Box::pin(async move {
            // Serialised here, in the asker's task, so that the one writer only binds and steps.
            let ready = Box::new(Ready::new(change)?);
            let answered = self.writer.change(ready).await?;
            let why = self.writer.why();
            let durable: Durable =
                Box::pin(async move { answered.await.unwrap_or_else(|_| Err(writer::stopped(&why))) });
            Ok(durable)
        })
    }

    fn task(&self, id: TaskId) -> Reply<'_, Option<TaskHead>> {
        self.readers.read(move |db| read::task(db, id))
    }

    fn events(&self, id: TaskId, after: u64, limit: usize) -> Reply<'_, Vec<TaskEvent>> {
        self.readers.read(move |db| read::events(db, id, after, limit))
    }

    fn histories(&self, ids: Vec<TaskId>, events: usize, started: usize) -> Reply<'_, Vec<TaskHistory>> {
        self.readers.read(move |db| histories::of(db, &ids, events, started))
    }

    fn sent(&self, owner: &Owner, agent: &AgentName, message: &MessageId) -> Reply<'_, Option<TaskId>> {
        let key = seal::sent_key(owner, agent, message);
        self.readers.read(move |db| Ok(apply::find_sent(db, &key)?.map(|(task, _)| task)))
    }

    fn tasks(
        &self,
        filter: TaskFilter,
        after: Option<TaskCursor>,
        limit: usize,
    ) -> Reply<'_, Page<TaskHead, TaskCursor>> {
        self.readers.read(move |db| list::tasks(db, &filter, after, limit))
    }

    fn count_tasks(&self, filter: TaskFilter) -> Reply<'_, u64> {
        self.readers.read(move |db| list::count_tasks(db, &filter))
    }

    fn open_tasks(&self) -> Reply<'_, Vec<TaskHead>> {
        self.readers.read(read::open_tasks)
    }

    fn journal(&self, query: JournalQuery) -> Reply<'_, Vec<StoredLine>> {
        self.readers.read(move |db| list::journal(db, &query))
    }

    fn journal_head(&self) -> Reply<'_, Option<JournalHead>> {
        self.readers.read(read::journal_head)
    }

    fn keys(&self) -> Reply<'_, Vec<KeyRecord>> {
        self.readers.read(read::keys)
    }

    fn key(&self, id: KeyId) -> Reply<'_, Option<KeyRecord>> {
        self.readers.read(move |db| read::key(db, &id))
    }

    fn setting(&self, name: &str) -> Reply<'_, Option<String>> {
        let (name, vault) = (name.to_owned(), self.vault.clone());
        self.readers.read(move |db| read::setting(db, &name, &vault))
    }

    fn record(&self, collection: &'static str, key: &str) -> Reply<'_, Option<StoredRecord>> {
        let (key, vault) = (key.to_owned(), self.vault.clone());
        self.readers.read(move |db| records::get(db, collection, &key, &vault))
    }

    fn records(&self, query: RecordQuery) -> Reply<'_, Vec<StoredRecord>> {
        let vault = self.vault.clone();
        self.readers.read(move |db| records::list(db, &query, &vault))
    }

    fn usage(&self, agent: &AgentName, day: i64) -> Reply<'_, Usage> {
        let agent = agent.clone();
        self.readers.read(move |db| read::usage(db, &agent, day))
    }

    fn push_configs(&self, task: TaskId) -> Reply<'_, Vec<PushConfig>> {
        let vault = self.vault.clone();
        self.readers.read(move |db| push::configs(db, task, &vault))
    }

    fn outbox(&self, query: OutboxQuery) -> Reply<'_, Vec<Parcel>> {
        self.readers.read(move |db| outbox::list(db, &query))
    }

    fn claim(&self, request: ClaimRequest) -> Reply<'_, Claims> {
        self.ask(move |answer| Job::Claim { request, found: Claims::default(), answer })
    }

    fn listing(&self, id: &str) -> Reply<'_, Option<Registration>> {
        let id = id.to_owned();
        self.readers.read(move |db| listings::one(db, &id))
    }

    fn listings(
        &self,
        filter: ListingFilter,
        after: Option<String>,
        limit: usize,
    ) -> Reply<'_, Page<Registration, String>> {
        self.readers.read(move |db| listings::list(db, &filter, after.as_deref(), limit))
    }

    fn count_listings(&self, filter: ListingFilter) -> Reply<'_, u64> {
        self.readers.read(move |db| listings::count(db, &filter))
    }

    fn listings_of(&self, ids: Vec<String>) -> Reply<'_, Vec<Registration>> {
        self.readers.read(move |db| listings::of(db, ids))
    }

    fn due_listings(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<Registration>> {
        self.readers.read(move |db| listings::due(db, now, limit))
    }

    fn next_due_listing(&self) -> Reply<'_, Option<Timestamp>> {
        self.readers.read(listings::next_due)
    }

    fn name_holders(&self, shapes: Vec<String>) -> Reply<'_, Vec<NameHolder>> {
        self.readers.read(move |db| listings::holders(db, &shapes))
    }

    fn conversation(&self, id: ConversationId) -> Reply<'_, Option<Conversation>> {
        self.readers.read(move |db| conversations::one(db, id))
    }

    fn conversations(
        &self,
        query: ConversationQuery,
        after: Option<ConversationCursor>,
        limit: usize,
    ) -> Reply<'_, Page<Found, ConversationCursor>> {
        self.readers.read(move |db| conversations::list(db, &query, after, limit))
    }

    fn count_conversations(&self, owner: &Owner) -> Reply<'_, u64> {
        let owner = owner.clone();
        self.readers.read(move |db| conversations::count(db, &owner))
    }

    fn turn(&self, task: TaskId) -> Reply<'_, Option<Turn>> {
        self.readers.read(move |db| conversations::turn(db, task))
    }

    fn path(&self, from: TaskId, limit: usize) -> Reply<'_, Vec<Place>> {
        self.readers.read(move |db| conversations::path(db, from, limit))
    }

    fn turns(&self, id: ConversationId, after: Option<TaskId>, limit: usize) -> Reply<'_, Vec<Turn>> {
        self.readers.read(move |db| conversations::turns(db, id, after, limit))
    }

    fn leaf(&self, from: TaskId) -> Reply<'_, Option<TaskId>> {
        self.readers.read(move |db| conversations::leaf(db, from))
    }

    fn expire(&self, expiry: Expiry) -> Reply<'_, usize> {
        self.ask(move |answer| Job::Expire { expiry, gone: 0, answer })
    }

    fn scrub(&self) -> Reply<'_, ()> {
        Box::pin(async move {
            for begins in std::iter::once(true).chain(std::iter::repeat(false)) {
                if !self.ask(move |answer| Job::Scrub { begins, more: false, answer }).await? {
                    break;
                }
            }
            self.ask(|answer| Job::EmptyLog { answer }).await
        })
    }

    fn backup(&self, to: &Path) -> Reply<'_, ()> {
        let (from, to, vault) = (self.path.clone(), to.to_owned(), self.vault.clone());
        self.readers.apart(move || backup::backup(&from, &to, &vault.key))
    }

    fn stats(&self) -> Reply<'_, StoreStats> {
        let (path, commits) = (self.path.clone(), self.writer.commits());
        self.readers.read(move |db| read::stats(db, &path, commits))
    }

    fn storage(&self, query: StorageQuery) -> Reply<'_, StorageUse> {
        let limits = self.storage.limits;
        if query.recount {
            return self.readers.read(move |db| accounts::recount(db, limits, &query));
        }
        self.ask(move |answer| Job::Storage { query, found: StorageUse::default(), answer })
    }

    fn close(&self) -> Reply<'_, ()> {
        Box::pin(async move {
            self.readers.close().await;
            self.writer.close().await
        })
    }
}

//! The store in one SQLite file: the default of a site.
//!
//! Promises: one writer thread commits whatever is queued in one transaction and answers after the fsync;
//! readers have connections of their own and never hold it up. One process owns the file. A full disk refuses
//! changes and continues; any other failure of a commit stops the store, because what the file handle then
//! holds is not known. It deliberately has no settings: page size, sync mode and caches are part of the
//! promise.

mod accounts;
mod apply;
mod audit;
mod backup;
mod chain;
mod changes;
mod conversations;
mod copy;
mod deliveries;
mod expire;
mod fault;
mod file;
mod heads;
mod incomplete;
mod job;
mod journal;
mod keys;
mod list;
mod listings;
mod log;
mod outbox;
mod processes;
mod progress;
mod push;
mod readers;
mod ready;
mod records;
mod rooms;
mod rows;
mod schema;
mod scrub;
mod seal;
mod secrets;
mod sidecar;
mod source;
mod space;
mod tasks;
mod upkeep;
mod vault;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::feed::Feed;
use crate::{Change, Durable, Reply, StorageSettings, Store, StoreError, StoreKey, StoreMetrics};
use audit::Audit;
use job::Job;
use progress::Progress;
use readers::Readers;
use ready::Ready;
use vault::Vault;
use writer::{Ground, Writer};

pub use backup::{accept, backup_key, restore};
pub use copy::SqliteSink;
pub use file::is_in_use;
pub use schema::SCHEMA_VERSION;
pub use source::SqliteSource;
pub use verify::audit;

/// What engines in other crates share with this one; see `engine`.
pub(crate) mod shared {
    pub use super::chain::{ChainEnd, Covered, REDACTED, START, digest};
    pub use super::listings::{standing, visibility};
    pub use super::seal::{root, sent_key, state, state_number};
    pub use super::secrets::{config_place, record_place, setting_place};
    pub use super::vault::{SEAL, Vault};
}

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
    feed: Arc<Feed>,
}

impl SqliteStore {
    /// Opens the file, makes it when it is missing, brings its schema up to date and starts the writer.
    /// Blocks: it reads, and after an unclean stop checks, the file.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another process has it, [`StoreError::TooNew`], [`StoreError::Corrupt`],
    /// [`StoreError::Tampered`] and [`StoreError::WrongKey`] by what it holds, [`StoreError::Full`] or
    /// [`StoreError::Engine`] when it cannot be opened.
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
        incomplete::check(path)?;
        let db = file::open(path, &vault)?;
        let audit = Audit::open(&db, vault.clone())?;
        let feed = Arc::new(Feed::default());
        let ground = Ground { db, audit, progress: Progress::open(path), lock, space, feed: feed.clone() };
        let writer = Writer::start(ground, storage.limits, metrics)?;
        Ok(Self { path: path.to_owned(), readers: Readers::new(path), writer, storage, vault, feed })
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
}

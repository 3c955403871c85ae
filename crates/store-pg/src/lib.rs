//! The store on PostgreSQL: for a site that several processes serve together.
//!
//! Promises: the same answers as every other store (the contract suite of `agentsite-store` runs here too).
//! One writer task per opened store commits whatever is queued in one transaction; guards are row locks; the
//! journal, its chain and the change feed have one order for all processes. A process that was declared dead
//! writes nothing more. A lost connection is made again, and a commit is neither lost nor made twice.
//!
//! It does not run or configure the server, and it does not speak through a pooler that shares connections
//! between transactions: it prepares statements and listens. See docs/decisions/0037-postgresql.md.

#![forbid(unsafe_code)]

mod accounts;
mod audit;
mod batch;
mod conversations;
mod deliveries;
mod doctor;
mod ends;
mod exclusive;
mod expire;
mod fault;
mod feed;
mod follower;
mod head;
mod heads;
mod journal;
mod keys;
mod list;
mod listings;
mod processes;
mod readers;
mod ready;
mod records;
mod rooms;
mod rows;
mod schema;
mod session;
mod settings;
mod sink;
mod source;
mod tasks;
mod text;
mod tls;
mod upkeep;
mod words;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentsite_store::engine::Vault;
use agentsite_store::{Change, Durable, ProcessId, Reply, StorageLimits, Store, StoreError, StoreKey};
use tokio::sync::Notify;

use ends::Ends;
use fault::told;
use follower::Follower;
use readers::{Readers, closed};
use ready::Ready;
use session::Session;
use settings::Target;
use tls::Tls;
use writer::{Ground, Writer};

pub use doctor::PgReport;
pub use readers::PoolStats;
pub use schema::PG_SCHEMA_VERSION;
pub use settings::PgSettings;
pub use sink::PgSink;
pub use source::PgSource;

/// A store in a database of PostgreSQL. Handles of several processes may be open on one database.
#[derive(Debug)]
pub struct PgStore {
    target: Target,
    readers: Readers,
    /// The connection that renews the membership of this process: long reads must not cost it.
    membership: Readers,
    writer: Writer,
    vault: Arc<Vault>,
    key: StoreKey,
    limits: StorageLimits,
    ends: Arc<Ends>,
    committed: Arc<Notify>,
    /// The number of the process; 0 until it joins.
    process: AtomicU64,
    _follower: Follower,
}

impl PgStore {
    /// Connects, makes or updates the tables, and starts the writer. Needs a runtime of tokio.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the server cannot be reached, [`StoreError::TooNew`] and
    /// [`StoreError::WrongKey`] by what the database holds, [`StoreError::Engine`] with what to do for
    /// everything else: a refused login, a missing database, missing rights, a read-only or too old server.
    pub async fn open(settings: PgSettings) -> Result<Self, StoreError> {
        Self::open_at(settings, schema::STEPS).await
    }

    /// The same for a program that knows these steps of the schema.
    async fn open_at(settings: PgSettings, steps: &[schema::Step]) -> Result<Self, StoreError> {
        let target = Target::read(&settings.url)?;
        let tls = Tls::new(&target)?;
        let vault = Arc::new(Vault::new(&settings.key));
        let session =
            Session::open(&target, &tls, None).await.map_err(|error| unreachable(&target, &error))?;
        Box::pin(schema::prepare(&session, &target, &vault, steps)).await?;
        let head =
            session.first("SELECT opening, feed FROM head", &[]).await.map_err(|error| told(&error))?;
        let (opening, feed): (i64, Vec<i64>) = head.map_or((1, Vec::new()), |row| (row.get(0), row.get(1)));
        let feed: Vec<u64> = feed.into_iter().map(i64::cast_unsigned).collect();
        let ends = Arc::new(Ends::new(opening.cast_unsigned(), &feed));
        let committed = Arc::new(Notify::new());
        let limits = settings.storage.limits;
        let ground = Ground {
            session,
            target: target.clone(),
            tls: tls.clone(),
            vault: vault.clone(),
            limits,
            ends: ends.clone(),
            committed: committed.clone(),
        };
        let writer = Writer::start(ground, settings.metrics);
        let readers = Readers::new(target.clone(), tls.clone(), settings.readers);
        let membership = Readers::new(target.clone(), tls.clone(), 1);
        let follower = Follower::start(target.clone(), tls, ends.clone(), committed.clone());
        let process = AtomicU64::new(0);
        Ok(Self {
            target,
            readers,
            membership,
            writer,
            vault,
            key: settings.key,
            limits,
            ends,
            committed,
            process,
            _follower: follower,
        })
    }

    /// What the pool of reading connections does, for metrics.
    #[must_use]
    pub fn pool(&self) -> PoolStats {
        self.readers.stats()
    }

    /// The process that this handle is.
    fn process(&self) -> Option<ProcessId> {
        Some(self.process.load(Ordering::Relaxed)).filter(|number| *number > 0).map(ProcessId::new)
    }
}

/// The error of a first connection, which names the server.
fn unreachable(target: &Target, error: &tokio_postgres::Error) -> StoreError {
    match told(error) {
        StoreError::Unavailable(why) => StoreError::Unavailable(format!(
            "PostgreSQL at {} does not answer: {why}; start it, or correct the URL of the database",
            target.shown()
        )),
        other => other,
    }
}

impl Store for PgStore {
    fn enqueue(&self, change: Change) -> Reply<'_, Durable> {
        Box::pin(async move {
            // Serialised here, in the asker's task, so that the one writer only decides and binds.
            let ready = Box::new(Ready::new(change)?);
            let answered = self.writer.change(ready, self.process()).await?;
            let durable: Durable = Box::pin(async move { answered.await.unwrap_or_else(|_| Err(closed())) });
            Ok(durable)
        })
    }
}

//! The readers: a few connections of their own, used on threads that may block.
//!
//! Promises: at most [`READERS`] reads at once, the rest wait their turn; a read sees one moment of the
//! store; a reader cannot write. Dropping a read's future lets the read end by itself.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::file;
use crate::{Reply, StoreError};

/// Connections for reading: on a small machine more would only fight for the same cores and each costs two
/// megabytes.
const READERS: u32 = 3;

/// A pool of connections that are opened when first needed.
#[derive(Debug)]
pub(super) struct Readers {
    pool: Arc<Pool>,
    turns: Arc<Semaphore>,
}

#[derive(Debug)]
struct Pool {
    path: PathBuf,
    // A std lock: held for one push or pop, never while a query runs and never across an await.
    idle: Mutex<Vec<Connection>>,
}

/// Work without the type of its answer: a task of tokio is some twenty functions, which would be compiled for
/// each of the questions that a store answers.
type UntypedWork = Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>;

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        let pool = Pool { path: path.to_owned(), idle: Mutex::default() };
        Self { pool: Arc::new(pool), turns: Arc::new(Semaphore::new(READERS as usize)) }
    }

    /// Runs a query on one of the connections.
    pub(super) fn read<T, F>(&self, query: F) -> Reply<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let pool = self.pool.clone();
        self.apart(move || {
            let db = pool.take()?;
            let answer = query(&db);
            // A connection that met an error is not used again.
            if answer.is_ok() {
                pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            }
            answer
        })
    }

    /// Runs work that brings its own connection, when it is its turn.
    pub(super) fn apart<T, F>(&self, work: F) -> Reply<'_, T>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, StoreError> + Send + 'static,
    {
        let work: UntypedWork = Box::new(move || Box::new(work()));
        Box::pin(async move {
            let answer = self.run(work).await?.downcast::<Result<T, StoreError>>();
            *answer.expect("the work gives what was asked of it")
        })
    }

    /// Runs work on a thread that may block, when it is its turn.
    async fn run(&self, work: UntypedWork) -> Result<Box<dyn Any + Send>, StoreError> {
        let turn = self.turns.clone().acquire_owned().await.map_err(|_| closed())?;
        let done = tokio::task::spawn_blocking(move || {
            let answer = work();
            drop(turn);
            answer
        });
        done.await.map_err(|error| StoreError::Engine(format!("a read was broken off: {error}")))
    }

    /// Waits for the reads that run, refuses later ones and closes the connections.
    pub(super) async fn close(&self) {
        let all = self.turns.acquire_many(READERS).await;
        self.turns.close();
        drop(all);
        self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Pool {
    fn take(&self) -> Result<Connection, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(db) = idle {
            return Ok(db);
        }
        let db = file::connect(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        db.pragma_update(None, "query_only", true)?;
        Ok(db)
    }
}

fn closed() -> StoreError {
    StoreError::Stopped("it was closed".into())
}

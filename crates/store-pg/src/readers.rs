//! The readers: a few connections of their own, made when first needed.
//!
//! Promises: at most as many reads at once as there are connections, the rest wait their turn; a connection
//! that met an error of the server or is gone is not used again, and a read that found its connection gone is
//! tried again on a new one, a few times. It keeps no order among reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentsite_store::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::{is_lost, told};
use crate::session::{Session, Values};
use crate::settings::Target;
use crate::tls::Tls;
use tokio_postgres::Row;

/// The pauses before a read whose connection was lost is tried again: a server that ended a connection
/// usually takes the next one, and who reads would rather be told than wait for long.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(1), Duration::from_millis(50), Duration::from_millis(200)];

/// A pool of connections.
#[derive(Clone)]
pub(crate) struct Readers {
    pool: Arc<Pool>,
    turns: Arc<Semaphore>,
}

struct Pool {
    target: Target,
    tls: Tls,
    most: usize,
    // A std lock: held for one push or pop, never across an await.
    idle: Mutex<Vec<Session>>,
    opened: AtomicU64,
    waited: AtomicU64,
}

/// What the pool of reading connections does, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolStats {
    /// Most connections.
    pub most: usize,
    /// Connections that are in use now.
    pub busy: usize,
    /// Connections that are open and idle.
    pub idle: usize,
    /// Connections that were made since the start.
    pub opened: u64,
    /// Reads that had to wait for a connection since the start.
    pub waited: u64,
}

/// A connection in use; it goes back when it is dropped, unless it was given up.
pub(crate) struct Lent {
    session: Option<Session>,
    pool: Arc<Pool>,
    /// Whether an open transaction or an error may be left in it.
    pub(crate) spoiled: bool,
    _turn: OwnedSemaphorePermit,
}

impl std::fmt::Debug for Readers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Readers({:?})", self.stats())
    }
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Lent({:?})", self.session)
    }
}

impl std::ops::Deref for Lent {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("only dropping takes the session")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let session = self.session.take().filter(|session| !self.spoiled && !session.is_closed());
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(session);
    }
}

impl Readers {
    pub(crate) fn new(target: Target, tls: Tls, most: usize) -> Self {
        let most = most.max(1);
        let (opened, waited) = (AtomicU64::new(0), AtomicU64::new(0));
        let pool = Pool { target, tls, most, idle: Mutex::default(), opened, waited };
        Self { pool: Arc::new(pool), turns: Arc::new(Semaphore::new(most)) }
    }

    /// A connection for several statements.
    pub(crate) async fn lend(&self) -> Result<Lent, StoreError> {
        if self.turns.available_permits() == 0 {
            self.pool.waited.fetch_add(1, Ordering::Relaxed);
        }
        let turn = self.turns.clone().acquire_owned().await.map_err(|_| closed())?;
        let idle = loop {
            let one = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            if one.as_ref().is_none_or(|session| !session.is_closed()) {
                break one;
            }
        };
        let session = match idle {
            Some(session) => session,
            None => {
                self.pool.opened.fetch_add(1, Ordering::Relaxed);
                Session::open(&self.pool.target, &self.pool.tls, None).await.map_err(|error| told(&error))?
            }
        };
        Ok(Lent { session: Some(session), pool: self.pool.clone(), spoiled: false, _turn: turn })
    }

    /// Runs one query.
    pub(crate) async fn query(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        for pause in PAUSES {
            match self.lend().await {
                // A new connection may be lost like any other.
                Err(StoreError::Unavailable(_)) => {}
                Err(other) => return Err(other),
                Ok(mut lent) => match lent.query(sql, values).await {
                    Err(error) if is_lost(&error) => lent.spoiled = true,
                    answer => return answer.map_err(|error| told(&error)),
                },
            }
            // Where one connection was lost, those that lie idle usually are, too.
            self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
            tokio::time::sleep(pause).await;
        }
        self.lend().await?.query(sql, values).await.map_err(|error| told(&error))
    }

    /// Runs one query that gives one row at most.
    pub(crate) async fn first(&self, sql: &str, values: Values<'_>) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// Waits for the reads that run, refuses later ones and closes the connections.
    pub(crate) async fn close(&self) {
        let most = u32::try_from(self.pool.most).unwrap_or(u32::MAX);
        let all = self.turns.acquire_many(most).await;
        self.turns.close();
        drop(all);
        self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let Pool { most, idle, opened, waited, .. } = &*self.pool;
        PoolStats {
            most: *most,
            busy: most.saturating_sub(self.turns.available_permits()),
            idle: idle.lock().unwrap_or_else(PoisonError::into_inner).len(),
            opened: opened.load(Ordering::Relaxed),
            waited: waited.load(Ordering::Relaxed),
        }
    }
}

/// The refusal of a store that was closed.
pub(crate) fn closed() -> StoreError {
    StoreError::Stopped("it was closed".into())
}

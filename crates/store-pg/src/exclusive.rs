//! Work on the whole database during which no process of a site may live: copying into it or out of it.
//!
//! Promises: one such work at a time, and no process starts meanwhile, because each start takes the same lock
//! (see `schema`). The lock goes with its session. A process that was killed counts as living until its lease
//! has ended.

use agentsite_store::StoreError;
use tokio_postgres::error::SqlState;

use crate::fault::told;
use crate::session::Session;
use crate::settings::Target;
use crate::{processes, text};

/// Takes the lock of the schema; waits for a start of a site, which is short.
pub(crate) async fn lock(session: &Session, target: &Target) -> Result<(), StoreError> {
    let sql = "SELECT pg_advisory_lock(hashtextextended('agentsite migration ' || $1, 0))";
    match session.execute(sql, &[&target.schema]).await {
        Ok(_) => Ok(()),
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Err(StoreError::Engine(
            "another agentsite copies into this database or out of it: wait until it has ended, then try again"
                .into(),
        )),
        Err(error) => Err(told(&error)),
    }
}

/// Gives the lock back.
pub(crate) async fn unlock(session: &Session, target: &Target) -> Result<(), StoreError> {
    let sql = "SELECT pg_advisory_unlock(hashtextextended('agentsite migration ' || $1, 0))";
    session.execute(sql, &[&target.schema]).await.map(drop).map_err(|error| told(&error))
}

/// Fails while a process of a site lives.
pub(crate) async fn check_idle(session: &Session) -> Result<(), StoreError> {
    let sql = format!("SELECT name FROM processes WHERE until > {} ORDER BY id LIMIT 1", processes::NOW);
    let row = session.first(&sql, &[]).await.map_err(|error| told(&error))?;
    match row {
        None => Ok(()),
        Some(row) => Err(StoreError::Engine(format!(
            "a site is running on this database (process {}): stop all of its processes first; one that was killed counts as running for the time of cluster.lease",
            text::got(row.get(0))
        ))),
    }
}

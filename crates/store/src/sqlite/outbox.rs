//! The outbox's rows: added, taken under a lease, done, tried again or given up.
//!
//! Promises: a row that was taken stays hidden until its lease ends; every taking counts as an attempt, so a worker that dies
//! in the middle is counted too. It sends nothing.

use agentsite_protocol::{TaskId, Timestamp};
use rusqlite::{Connection, params};

use super::seal::time;
use crate::{Claim, OutboxChange, OutboxRow};

/// Applies one change of the outbox; a row that is gone stays gone.
pub(super) fn change(db: &Connection, change: &OutboxChange) -> rusqlite::Result<()> {
    match change {
        OutboxChange::Add(row) => {
            let sql = "INSERT INTO outbox (due, deadline, task, kind, body) VALUES (?1, ?2, ?3, ?4, ?5)";
            let task = row.task.as_ref().map(|id| id.as_bytes().as_slice());
            let (due, deadline) = (row.due.as_millis(), row.deadline.as_millis());
            db.prepare_cached(sql)?.execute(params![due, deadline, task, row.kind, row.body])?;
        }
        OutboxChange::Done(id) => {
            db.prepare_cached("DELETE FROM outbox WHERE id = ?1")?.execute([id.cast_signed()])?;
        }
        OutboxChange::Retry { id, due, error } => {
            let sql = "UPDATE outbox SET due = ?2, error = ?3, dead = 0 WHERE id = ?1";
            db.prepare_cached(sql)?.execute(params![id.cast_signed(), due.as_millis(), error])?;
        }
        OutboxChange::Dead { id, error } => {
            let sql = "UPDATE outbox SET error = ?2, dead = 1 WHERE id = ?1";
            db.prepare_cached(sql)?.execute(params![id.cast_signed(), error])?;
        }
    }
    Ok(())
}

/// Takes rows that are due, the longest due first, and hides them until `until`.
pub(super) fn claim(
    db: &Connection,
    now: Timestamp,
    until: Timestamp,
    limit: usize,
) -> rusqlite::Result<Vec<Claim>> {
    let sql = "SELECT id, attempts, due, deadline, task, kind, body FROM outbox
               WHERE dead = 0 AND due <= ?1 ORDER BY due, id LIMIT ?2";
    let mut find = db.prepare_cached(sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = find.query_map([now.as_millis(), limit], |row| {
        let id: i64 = row.get(0)?;
        let task: Option<[u8; 16]> = row.get(4)?;
        let (task, kind, body) = (task.map(TaskId::from_bytes), row.get(5)?, row.get(6)?);
        let row_of = OutboxRow { task, kind, body, due: time(row.get(2)?), deadline: time(row.get(3)?) };
        Ok(Claim { id: id.cast_unsigned(), attempts: row.get(1)?, row: row_of })
    })?;
    let claims: Vec<Claim> = found.collect::<rusqlite::Result<_>>()?;
    let mut lease = db.prepare_cached("UPDATE outbox SET due = ?2, attempts = attempts + 1 WHERE id = ?1")?;
    for claim in &claims {
        lease.execute([claim.id.cast_signed(), until.as_millis()])?;
    }
    Ok(claims)
}

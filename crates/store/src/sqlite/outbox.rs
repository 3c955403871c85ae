//! The outbox's rows: added, taken under a lease, done, tried again or given up.
//!
//! Promises: a row that was taken stays hidden until its lease ends; every taking counts as an attempt, so a worker that dies
//! in the middle is counted too. Of the rows of a lane the first that is not dead is not held, and all others are; every change keeps
//! that so. It sends nothing.

use agentsite_protocol::{TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::seal::time;
use crate::{Claim, OutboxChange, OutboxQuery, OutboxRow, Parcel, StoreError};

/// The columns of a row, as [`parcel`] reads them.
const COLUMNS: &str = "id, attempts, due, deadline, task, lane, kind, body, error, dead";

/// The lane of a row: its task and its name.
type Lane = (Option<Vec<u8>>, Option<String>);

/// Applies one change of the outbox; a row that is gone stays gone.
pub(super) fn change(db: &Connection, change: &OutboxChange) -> rusqlite::Result<()> {
    match change {
        OutboxChange::Add(row) => add(db, row),
        OutboxChange::Done(id) => {
            let sql = "DELETE FROM outbox WHERE id = ?1 RETURNING task, lane";
            let gone = db.prepare_cached(sql)?.query_row([id.cast_signed()], lane).optional()?;
            gone.map_or(Ok(()), |lane| let_go(db, &lane))
        }
        OutboxChange::Retry { id, due, error } => revive(db, *id, || {
            let sql = "UPDATE outbox SET due = ?2, error = ?3, dead = 0 WHERE id = ?1";
            db.prepare_cached(sql)?.execute(params![id.cast_signed(), due.as_millis(), error])
        }),
        OutboxChange::Defer { id, due } => {
            let sql = "UPDATE outbox SET due = ?2, attempts = max(attempts - 1, 0) WHERE id = ?1";
            db.prepare_cached(sql)?.execute(params![id.cast_signed(), due.as_millis()])?;
            Ok(())
        }
        OutboxChange::Dead { id, error } => {
            let sql = "UPDATE outbox SET error = ?2, dead = 1 WHERE id = ?1 RETURNING task, lane";
            let gone =
                db.prepare_cached(sql)?.query_row(params![id.cast_signed(), error], lane).optional()?;
            gone.map_or(Ok(()), |lane| let_go(db, &lane))
        }
        OutboxChange::Replay { id, due, deadline } => revive(db, *id, || {
            let sql = "UPDATE outbox SET due = ?2, deadline = ?3, attempts = 0, dead = 0 WHERE id = ?1";
            db.prepare_cached(sql)?.execute(params![id.cast_signed(), due.as_millis(), deadline.as_millis()])
        }),
    }
}

/// Adds a row; it is held when another one of its lane has to leave first.
pub(super) fn add(db: &Connection, row: &OutboxRow) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO outbox (due, deadline, task, lane, kind, body, held) VALUES (?1, ?2, ?3, ?4, ?5, ?6,
               EXISTS (SELECT 1 FROM outbox WHERE task = ?3 AND lane = ?4 AND dead = 0))";
    let task = row.task.as_ref().map(|id| id.as_bytes().as_slice());
    let (due, deadline) = (row.due.as_millis(), row.deadline.as_millis());
    db.prepare_cached(sql)?.execute(params![due, deadline, task, row.lane, row.kind, row.body])?;
    Ok(())
}

/// The first row of a lane is not held any more.
fn let_go(db: &Connection, (task, lane): &Lane) -> rusqlite::Result<()> {
    let sql = "UPDATE outbox SET held = 0 WHERE held = 1 AND id =
               (SELECT id FROM outbox WHERE task = ?1 AND lane = ?2 AND dead = 0 ORDER BY id LIMIT 1)";
    if lane.is_some() {
        db.prepare_cached(sql)?.execute(params![task, lane])?;
    }
    Ok(())
}

/// Changes a row that may have been dead; the lane then has another first row.
fn revive(
    db: &Connection,
    id: u64,
    change: impl FnOnce() -> rusqlite::Result<usize>,
) -> rusqlite::Result<()> {
    let sql = "SELECT task, lane FROM outbox WHERE id = ?1 AND dead = 1";
    let dead = db.prepare_cached(sql)?.query_row([id.cast_signed()], lane).optional()?;
    change()?;
    let Some((task, Some(lane))) = dead else { return Ok(()) };
    let sql = "UPDATE outbox SET held = (id <>
                   (SELECT id FROM outbox WHERE task = ?1 AND lane = ?2 AND dead = 0 ORDER BY id LIMIT 1))
               WHERE task = ?1 AND lane = ?2 AND dead = 0 AND (held = 0 OR id = ?3)";
    db.prepare_cached(sql)?.execute(params![task, lane, id.cast_signed()])?;
    Ok(())
}

fn lane(row: &Row<'_>) -> rusqlite::Result<Lane> {
    Ok((row.get(0)?, row.get(1)?))
}

/// Takes rows that are due, the longest due first, and hides them until `until`.
pub(super) fn claim(
    db: &Connection,
    now: Timestamp,
    until: Timestamp,
    limit: usize,
) -> rusqlite::Result<Vec<Claim>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM outbox INDEXED BY outbox_ready
         WHERE dead = 0 AND held = 0 AND due <= ?1 ORDER BY due, id LIMIT ?2"
    );
    let mut find = db.prepare_cached(&sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = find.query_map([now.as_millis(), limit], |row| {
        let Parcel { id, attempts, row, .. } = parcel(row)?;
        Ok(Claim { id, attempts, row })
    })?;
    let claims: Vec<Claim> = found.collect::<rusqlite::Result<_>>()?;
    let mut lease = db.prepare_cached("UPDATE outbox SET due = ?2, attempts = attempts + 1 WHERE id = ?1")?;
    for claim in &claims {
        lease.execute([claim.id.cast_signed(), until.as_millis()])?;
    }
    Ok(claims)
}

/// Rows in the order in which they were added.
pub(super) fn list(db: &Connection, query: &OutboxQuery) -> Result<Vec<Parcel>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM outbox WHERE id > ?1 AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR task = ?3)
         AND (?4 IS NULL OR dead = ?4) ORDER BY id LIMIT ?5"
    );
    let number = |id: u64| i64::try_from(id).unwrap_or(i64::MAX);
    let task = query.task.as_ref().map(|id| id.as_bytes().as_slice());
    let limit = i64::try_from(query.most()).unwrap_or(i64::MAX);
    let mut find = db.prepare_cached(&sql)?;
    let after = query.after.map_or(0, number);
    let found = find.query_map(params![after, query.id.map(number), task, query.dead, limit], parcel)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn parcel(row: &Row<'_>) -> rusqlite::Result<Parcel> {
    let id: i64 = row.get(0)?;
    let task: Option<[u8; 16]> = row.get(4)?;
    let of = OutboxRow {
        task: task.map(TaskId::from_bytes),
        lane: row.get(5)?,
        kind: row.get(6)?,
        body: row.get(7)?,
        due: time(row.get(2)?),
        deadline: time(row.get(3)?),
    };
    Ok(Parcel {
        id: id.cast_unsigned(),
        attempts: row.get(1)?,
        error: row.get(8)?,
        dead: row.get(9)?,
        row: of,
    })
}

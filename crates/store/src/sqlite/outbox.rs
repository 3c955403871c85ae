//! The outbox's rows: added, taken under a lease, done, tried again or given up.
//!
//! Promises: a row that was taken stays hidden until its lease ends; every taking counts as an attempt, so a
//! worker that dies in the middle is counted too. Of the rows of a lane the first that is not dead is not
//! held, and all others are; every change keeps that so. It sends nothing.

use agentsite_protocol::TaskId;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::accounts::{Books, account};
use super::seal::time;
use crate::fair::{Chosen, choose};
use crate::storage::fixed;
use crate::{
    Delivery, DeliveryChange, DeliveryClaim, DeliveryClaimRequest, DeliveryClaims, DeliveryQuery,
    DeliveryRequest, StoreError,
};

/// The columns of a row, as [`delivery`] reads them.
const COLUMNS: &str = "id, attempts, due, deadline, task, lane, kind, body, error, dead, account";

/// The lane of a row: its task and its name.
type Lane = (Option<Vec<u8>>, Option<String>);

/// What a row takes.
pub(super) fn bytes(row: &DeliveryRequest) -> u64 {
    fixed::DELIVERY + row.body.len() as u64
}

/// Applies one change of the outbox; a row that is gone stays gone.
pub(super) fn change(db: &Connection, change: &DeliveryChange, books: &mut Books) -> rusqlite::Result<()> {
    match change {
        DeliveryChange::Add(row) => add(db, row, books),
        DeliveryChange::Done(id) => {
            let sql = "DELETE FROM outbox WHERE id = ?1 RETURNING task, lane, account, octet_length(body)";
            let gone = db.prepare_cached(sql)?.query_row([id.cast_signed()], |row| {
                take_off(row, 2, books)?;
                lane(row)
            });
            gone.optional()?.map_or(Ok(()), |lane| let_go(db, &lane))
        }
        DeliveryChange::Retry { id, due, error } => revive(db, *id, || {
            let sql = "UPDATE outbox SET due = ?2, error = ?3, dead = 0 WHERE id = ?1";
            db.prepare_cached(sql)?.execute(params![id.cast_signed(), due.as_millis(), error])
        }),
        DeliveryChange::Defer { id, due } => {
            let sql = "UPDATE outbox SET due = ?2, attempts = max(attempts - 1, 0) WHERE id = ?1";
            db.prepare_cached(sql)?.execute(params![id.cast_signed(), due.as_millis()])?;
            Ok(())
        }
        DeliveryChange::Dead { id, error } => {
            let sql = "UPDATE outbox SET error = ?2, dead = 1 WHERE id = ?1 RETURNING task, lane";
            let gone =
                db.prepare_cached(sql)?.query_row(params![id.cast_signed(), error], lane).optional()?;
            gone.map_or(Ok(()), |lane| let_go(db, &lane))
        }
        DeliveryChange::Replay { id, due, deadline } => revive(db, *id, || {
            let sql = "UPDATE outbox SET due = ?2, deadline = ?3, attempts = 0, dead = 0 WHERE id = ?1";
            db.prepare_cached(sql)?.execute(params![id.cast_signed(), due.as_millis(), deadline.as_millis()])
        }),
    }
}

/// Takes a removed row off the books; its account and the length of its body stand in these columns.
fn take_off(row: &Row<'_>, at: usize, books: &mut Books) -> rusqlite::Result<()> {
    let (of, body): (String, i64) = (row.get(at)?, row.get(at + 1)?);
    books.accounts.take(&account(Some(&of)), fixed::DELIVERY + body.unsigned_abs());
    Ok(())
}

/// Removes the rows that a condition with one or two values chooses.
pub(super) fn remove(
    db: &Connection,
    wanted: &str,
    values: &[&dyn rusqlite::ToSql],
    books: &mut Books,
) -> rusqlite::Result<()> {
    let sql = format!("DELETE FROM outbox WHERE {wanted} RETURNING account, octet_length(body)");
    let mut gone = db.prepare_cached(&sql)?;
    let mut rows = gone.query(values)?;
    while let Some(row) = rows.next()? {
        take_off(row, 0, books)?;
    }
    Ok(())
}

/// Adds a row; it is held when another one of its lane has to leave first.
pub(super) fn add(db: &Connection, row: &DeliveryRequest, books: &mut Books) -> rusqlite::Result<()> {
    books.accounts.add(&account(Some(&row.account)), bytes(row));
    let sql =
        "INSERT INTO outbox (due, deadline, task, lane, kind, body, account, held) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
               EXISTS (SELECT 1 FROM outbox WHERE task = ?3 AND lane = ?4 AND dead = 0))";
    let task = row.task.as_ref().map(|id| id.as_bytes().as_slice());
    let (due, deadline) = (row.due.as_millis(), row.deadline.as_millis());
    db.prepare_cached(sql)?.execute(params![
        due,
        deadline,
        task,
        row.lane,
        row.kind,
        row.body,
        row.account
    ])?;
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

/// Takes rows that are due, account by account in turn, and hides them until the lease ends.
pub(super) fn claim(db: &Connection, request: &DeliveryClaimRequest) -> rusqlite::Result<DeliveryClaims> {
    let next = |after: Option<&str>| {
        // Two statements, because a condition that may not apply would keep either from seeking.
        let sql = match after {
            None => {
                "SELECT account FROM outbox INDEXED BY outbox_turn
                     WHERE dead = 0 AND held = 0 AND ?1 IS NULL ORDER BY account LIMIT 1"
            }
            Some(_) => {
                "SELECT account FROM outbox INDEXED BY outbox_turn
                        WHERE dead = 0 AND held = 0 AND account > ?1 ORDER BY account LIMIT 1"
            }
        };
        db.prepare_cached(sql)?.query_row([after], |row| row.get(0)).optional()
    };
    let due = |account: &str, most: usize| {
        let sql = "SELECT id FROM outbox INDEXED BY outbox_turn
                   WHERE dead = 0 AND held = 0 AND account = ?1 AND due <= ?2 ORDER BY due, id LIMIT ?3";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut find = db.prepare_cached(sql)?;
        let found =
            find.query_map(params![account, request.now.as_millis(), most], |row| row.get::<_, i64>(0))?;
        found.map(|id| Ok(id?.cast_unsigned())).collect::<rusqlite::Result<Vec<u64>>>()
    };
    let Chosen { rows: ids, turn } = choose(request, next, due)?;
    let mut find = db.prepare_cached(&format!("SELECT {COLUMNS} FROM outbox WHERE id = ?1"))?;
    let mut lease = db.prepare_cached("UPDATE outbox SET due = ?2, attempts = attempts + 1 WHERE id = ?1")?;
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        let Delivery { id, attempts, row, .. } = find.query_row([id.cast_signed()], delivery)?;
        rows.push(DeliveryClaim { id, attempts, row });
        lease.execute([id.cast_signed(), request.until.as_millis()])?;
    }
    Ok(DeliveryClaims { rows, turn })
}

/// Rows in the order in which they were added.
pub(super) fn list(db: &Connection, query: &DeliveryQuery) -> Result<Vec<Delivery>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM outbox WHERE id > ?1 AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR task = ?3)
         AND (?4 IS NULL OR dead = ?4) ORDER BY id LIMIT ?5"
    );
    let number = |id: u64| i64::try_from(id).unwrap_or(i64::MAX);
    let task = query.task.as_ref().map(|id| id.as_bytes().as_slice());
    let limit = i64::try_from(query.most()).unwrap_or(i64::MAX);
    let mut find = db.prepare_cached(&sql)?;
    let after = query.after.map_or(0, number);
    let found = find.query_map(params![after, query.id.map(number), task, query.dead, limit], delivery)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let id: i64 = row.get(0)?;
    let task: Option<[u8; 16]> = row.get(4)?;
    let of = DeliveryRequest {
        account: row.get(10)?,
        task: task.map(TaskId::from_bytes),
        lane: row.get(5)?,
        kind: row.get(6)?,
        body: row.get(7)?,
        due: time(row.get(2)?),
        deadline: time(row.get(3)?),
    };
    Ok(Delivery {
        id: id.cast_unsigned(),
        attempts: row.get(1)?,
        error: row.get(8)?,
        dead: row.get(9)?,
        row: of,
    })
}

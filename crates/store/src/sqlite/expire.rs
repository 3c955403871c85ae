//! Removes what is old: turns of removed conversations, ended tasks with their events, message keys and push
//! configs, journal lines, dead rows of the outbox.
//!
//! Promises: an open task never goes, nor one of which something still has to leave, nor one that a
//! conversation keeps; one call removes at most a portion, so other changes wait for milliseconds only. The
//! newest journal line always stays, so that places in the journal are never given twice. It does not shrink
//! the file; freed pages are used again.

use agentsite_protocol::TaskId;
use rusqlite::{Connection, params};

use super::accounts::{Books, EVENT_BYTES, account};
use super::audit::Audit;
use super::ready::ReadySent;
use super::{conversations, outbox, push, records};
use crate::storage::{JOURNAL, fixed};
use crate::{Entity, Expiry};

/// Removes one portion and gives how many tasks went.
pub(super) fn expire(
    db: &Connection,
    expiry: &Expiry,
    recent: &mut usize,
    books: &mut Books,
    audit: &mut Audit,
    touched: &mut Vec<Entity>,
) -> rusqlite::Result<usize> {
    conversations::release(db, expiry.portion, books)?;
    let rows = victims(db, expiry)?;
    for row in &rows {
        touched.push(Entity::Task(remove_task(db, *row, recent, books, audit)?));
    }
    let mut gone = rows.len();
    while gone < expiry.portion && books.accounts.anonymous() > expiry.anonymous_bytes {
        let Some(row) = anonymous(db, expiry.anonymous_spare.as_millis(), 1)?.pop() else { break };
        touched.push(Entity::Task(remove_task(db, row, recent, books, audit)?));
        gone += 1;
    }
    remove_lines(db, expiry, books, audit)?;
    touched.extend(records::expire(db, expiry.now.as_millis(), bound(expiry.portion), books)?);
    let wanted = "id IN (SELECT id FROM outbox WHERE dead = 1 AND deadline < ?1 ORDER BY id LIMIT ?2)";
    outbox::remove(db, wanted, &[&expiry.before.as_millis(), &bound(expiry.portion)], books)?;
    Ok(gone)
}

/// Removes a task with everything that belongs to it and gives its id; the journal's lines about it lose
/// their texts.
fn remove_task(
    db: &Connection,
    row: i64,
    recent: &mut usize,
    books: &mut Books,
    audit: &mut Audit,
) -> rusqlite::Result<TaskId> {
    let sql = format!(
        "SELECT t.owner, sum({EVENT_BYTES}) FROM task_events e JOIN tasks t ON t.row = e.task WHERE e.task = ?1"
    );
    let (owner, bytes): (Option<String>, Option<i64>) =
        db.prepare_cached(&sql)?.query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
    books.accounts.take(&account(owner.as_deref()), bytes.unwrap_or(0).unsigned_abs());
    remove_keys(db, row, recent)?;
    db.prepare_cached("DELETE FROM task_events WHERE task = ?1")?.execute([row])?;
    push::forget(db, row, books)?;
    let id = db.prepare_cached("SELECT id FROM tasks WHERE row = ?1")?.query_row([row], |row| row.get(0))?;
    let id = TaskId::from_bytes(id);
    books.accounts.take(JOURNAL, audit.redact(db, id)?);
    db.prepare_cached("DELETE FROM tasks WHERE row = ?1")?.execute([row])?;
    db.prepare_cached("DELETE FROM task_expiry WHERE task = ?1")?.execute([row])?;
    Ok(id)
}

/// Ended tasks that are too old or too many, oldest first.
fn victims(db: &Connection, expiry: &Expiry) -> rusqlite::Result<Vec<i64>> {
    let ended: i64 = db
        .prepare_cached("SELECT count(*) FROM tasks INDEXED BY tasks_ended WHERE state >= 4 AND kept = 0")?
        .query_row([], |row| row.get(0))?;
    let too_many = ended.saturating_sub(bound(expiry.keep)).max(0);
    let sql = "SELECT row, updated_at FROM tasks INDEXED BY tasks_ended WHERE state >= 4 AND kept = 0
               AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.task = tasks.id AND outbox.dead = 0)
               ORDER BY updated_at, id LIMIT ?1";
    let mut oldest = db.prepare_cached(sql)?;
    let mut rows = oldest.query([bound(expiry.portion)])?;
    let mut victims = Vec::new();
    while let Some(row) = rows.next()? {
        let updated_at: i64 = row.get(1)?;
        if updated_at >= expiry.before.as_millis() && bound(victims.len()) >= too_many {
            break;
        }
        victims.push(row.get(0)?);
    }
    let space = expiry.portion.saturating_sub(victims.len());
    let over = over(db, expiry, space)?;
    let space = space.saturating_sub(over.len());
    for row in over.into_iter().chain(anonymous(db, expiry.anonymous_before.as_millis(), space)?) {
        if !victims.contains(&row) {
            victims.push(row);
        }
    }
    Ok(victims)
}

/// Ended tasks of callers without a key that were last changed before then, the oldest first.
fn anonymous(db: &Connection, before: i64, most: usize) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT row FROM tasks INDEXED BY tasks_anonymous
               WHERE state >= 4 AND kept = 0 AND owner >= 'anon:' AND owner < 'anon;' AND updated_at < ?1
               AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.task = tasks.id AND outbox.dead = 0)
               ORDER BY updated_at, id LIMIT ?2";
    let mut oldest = db.prepare_cached(sql)?;
    let rows = oldest.query_map(params![before, bound(most)], |row| row.get(0))?;
    rows.collect()
}

/// Ended tasks whose own time is over, the earliest first.
fn over(db: &Connection, expiry: &Expiry, most: usize) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT task FROM task_expiry WHERE expires_at <= ?1
               AND (SELECT state FROM tasks WHERE row = task_expiry.task) >= 4
               AND NOT EXISTS (SELECT 1 FROM outbox JOIN tasks ON outbox.task = tasks.id
                               WHERE tasks.row = task_expiry.task AND outbox.dead = 0)
               ORDER BY expires_at, task LIMIT ?2";
    let mut over = db.prepare_cached(sql)?;
    let rows = over.query_map(params![expiry.now.as_millis(), bound(most)], |row| row.get(0))?;
    rows.collect()
}

/// Removes the keys of the messages that opened and continued a task.
fn remove_keys(db: &Connection, task: i64, recent: &mut usize) -> rusqlite::Result<()> {
    let mut find = db.prepare_cached("SELECT sent FROM task_events WHERE task = ?1 AND sent IS NOT NULL")?;
    let mut rows = find.query([task])?;
    while let Some(row) = rows.next()? {
        let blob: Vec<u8> = row.get(0)?;
        let Some(sent) = ReadySent::from_blob(&blob) else { continue };
        if db.prepare_cached("DELETE FROM sent_recent WHERE key = ?1")?.execute([sent.key()])? == 1 {
            *recent = recent.saturating_sub(1);
        } else {
            db.prepare_cached("DELETE FROM sent WHERE key = ?1")?.execute([sent.key()])?;
        }
    }
    Ok(())
}

/// Removes old lines from the front of the journal, and those that are too many.
fn remove_lines(
    db: &Connection,
    expiry: &Expiry,
    books: &mut Books,
    audit: &mut Audit,
) -> rusqlite::Result<()> {
    let sql = "SELECT seq, at, octet_length(actor) + octet_length(text) FROM journal
               WHERE seq < (SELECT max(seq) FROM journal) ORDER BY seq LIMIT ?1";
    let mut oldest = db.prepare_cached(sql)?;
    let mut rows = oldest.query([bound(expiry.lines())])?;
    let (mut last, mut gone) = (None, 0);
    while let Some(row) = rows.next()? {
        let (at, texts): (i64, i64) = (row.get(1)?, row.get(2)?);
        let too_many = books.accounts.journal() - gone > expiry.journal_bytes;
        if at >= expiry.journal_before.as_millis() && !too_many {
            break;
        }
        last = Some(row.get::<_, i64>(0)?);
        gone += fixed::LINE + texts.unsigned_abs();
    }
    drop(rows);
    if let Some(last) = last {
        audit.remove_lines(db, last)?;
        books.accounts.take(JOURNAL, gone);
    }
    Ok(())
}

fn bound(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

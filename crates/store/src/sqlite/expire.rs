//! Removes what is old: turns of removed conversations, ended tasks with their events, message keys and push configs, journal lines, dead rows of the outbox.
//!
//! Promises: an open task never goes, nor one of which something still has to leave, nor one that a conversation keeps; one call removes at most a portion, so other changes wait for milliseconds only. The
//! newest journal line always stays, so that places in the journal are never given twice. It does not shrink the file; freed pages
//! are used again.

use rusqlite::{Connection, params};

use super::ready::ReadySent;
use super::{conversations, push};
use crate::Expiry;

/// Removes one portion and gives how many tasks went.
pub(super) fn expire(db: &Connection, expiry: &Expiry, recent: &mut usize) -> rusqlite::Result<usize> {
    conversations::release(db, expiry.portion)?;
    let rows = victims(db, expiry)?;
    for row in &rows {
        remove_keys(db, *row, recent)?;
        db.prepare_cached("DELETE FROM task_events WHERE task = ?1")?.execute([row])?;
        push::forget(db, *row)?;
        db.prepare_cached("DELETE FROM tasks WHERE row = ?1")?.execute([row])?;
        db.prepare_cached("DELETE FROM task_expiry WHERE task = ?1")?.execute([row])?;
    }
    remove_lines(db, expiry)?;
    let sql = "DELETE FROM outbox WHERE id IN
               (SELECT id FROM outbox WHERE dead = 1 AND deadline < ?1 ORDER BY id LIMIT ?2)";
    db.prepare_cached(sql)?.execute(params![expiry.before.as_millis(), bound(expiry.portion)])?;
    Ok(rows.len())
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
    let room = expiry.portion.saturating_sub(victims.len());
    for row in over(db, expiry, room)? {
        if !victims.contains(&row) {
            victims.push(row);
        }
    }
    Ok(victims)
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

/// Removes old lines from the front of the journal.
fn remove_lines(db: &Connection, expiry: &Expiry) -> rusqlite::Result<()> {
    let sql = "SELECT seq, at FROM journal WHERE seq < (SELECT max(seq) FROM journal) ORDER BY seq LIMIT ?1";
    let mut oldest = db.prepare_cached(sql)?;
    let mut rows = oldest.query([bound(expiry.lines())])?;
    let mut last: Option<i64> = None;
    while let Some(row) = rows.next()? {
        let at: i64 = row.get(1)?;
        if at >= expiry.journal_before.as_millis() {
            break;
        }
        last = Some(row.get(0)?);
    }
    drop(rows);
    if let Some(last) = last {
        db.prepare_cached("DELETE FROM journal WHERE seq <= ?1")?.execute([last])?;
    }
    Ok(())
}

fn bound(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

//! One change inside the writer's transaction: guards first, then rows.
//!
//! Promises: a guard that fails refuses this change alone and before anything of it is written; after the guards only the
//! engine itself can fail, and then the whole group is rolled back. The outer result of [`apply`] is the engine's, the
//! inner one the change's.

use agentsite_protocol::{Owner, TaskId};
use rusqlite::{Connection, OptionalExtension, params};

use super::accounts::Books;
use super::audit::Audit;
use super::ready::{Ready, ReadySent, ReadyTask};
use super::{conversations, keys, listings, outbox, push, records, seal, tasks};
use crate::storage::{Growth, fixed, grow};
use crate::{OutboxChange, StoreError, other_root};

/// Keys that gather in `sent_recent` before they are moved. They fill about twenty pages, so a full group touches few of
/// them, and a move then puts several keys on each page of a table of a hundred thousand.
const RECENT: usize = 4_096;

/// Applies a change or refuses it.
pub(super) fn apply(
    db: &Connection,
    change: &Ready,
    recent: &mut usize,
    books: &mut Books,
    audit: &mut Audit,
) -> rusqlite::Result<Result<(), StoreError>> {
    if let Some(refusal) = listings::refusal(db, &change.listings)? {
        return Ok(Err(refusal));
    }
    if let Some(refusal) = conversations::refusal(db, &change.conversations)? {
        return Ok(Err(refusal));
    }
    if let Some(refusal) = records::refusal(db, &change.records)? {
        return Ok(Err(refusal));
    }
    let row = match change.task.as_ref().map(|task| guard(db, task)).transpose()? {
        Some(Err(refusal)) => return Ok(Err(refusal)),
        Some(Ok(row)) => row,
        None => None,
    };
    if let Err(refusal) = books.guard(&growth(db, change)?, change.admittance) {
        return Ok(Err(refusal));
    }
    if let Some(task) = &change.task {
        put_task(db, task, row, recent)?;
        books.events(&task.head.owner, task.body.len(), row.is_none());
    }
    for line in &change.journal {
        audit.add_line(db, line)?;
        books.line(&line.actor, &line.text);
    }
    for head in &change.heads {
        audit.add_head(db, head)?;
    }
    for one in &change.push {
        push::change(db, one, books, &audit.vault)?;
    }
    if let Some(notice) = &change.notice {
        push::notify(db, notice, books)?;
    }
    for one in &change.outbox {
        outbox::change(db, one, books)?;
    }
    for one in &change.keys {
        keys::change_key(db, one)?;
    }
    for one in &change.settings {
        keys::change_setting(db, one, books, &audit.vault)?;
    }
    for one in &change.records {
        records::change(db, one, books, &audit.vault)?;
    }
    for one in &change.usage {
        tasks::add_usage(db, one)?;
    }
    for one in &change.listings {
        listings::change(db, one, books)?;
    }
    for one in &change.conversations {
        conversations::change(db, one, books)?;
    }
    for task in &change.forget {
        let sql = "INSERT OR REPLACE INTO task_expiry (task, expires_at) SELECT row, 0 FROM tasks WHERE id = ?1 AND state >= 4 AND kept = 0";
        db.prepare_cached(sql)?.execute([task.as_bytes().as_slice()])?;
    }
    Ok(Ok(()))
}

/// What a change would add to whom, before anything of it is written.
fn growth(db: &Connection, change: &Ready) -> rusqlite::Result<Growth> {
    let mut growth = Growth::new();
    let owner_of = |id: TaskId| match &change.task {
        Some(task) if task.head.id == id => Ok(Some(task.head.owner.clone())),
        _ => push::owner(db, id),
    };
    if let Some(task) = &change.task {
        let first = if task.expect_seq == 0 { fixed::TASK } else { 0 };
        grow(&mut growth, &task.head.owner, fixed::EVENTS + first + task.body.len() as u64);
    }
    for one in &change.push {
        if let (Some(task), bytes) = push::adds(one)
            && let Some(owner) = owner_of(task)?
        {
            grow(&mut growth, &owner, bytes);
        }
    }
    for one in &change.outbox {
        if let OutboxChange::Add(row) = one {
            grow(&mut growth, &Owner::stored(&row.account), outbox::bytes(row));
        }
    }
    for one in &change.settings {
        if let (Some(owner), Some(value)) = (&one.owner, &one.value) {
            let bytes = fixed::SETTING + (one.name.len() + value.len()) as u64;
            let before = keys::setting_bytes(db, &one.name)?.map_or(0, |(_, bytes)| bytes);
            grow(&mut growth, owner, bytes.saturating_sub(before));
        }
    }
    for one in &change.records {
        if let Some((owner, bytes)) = records::adds(db, one)? {
            grow(&mut growth, owner, bytes);
        }
    }
    for one in &change.listings {
        grow(&mut growth, &Owner::stored(&one.owner), listings::adds(db, one)?);
    }
    for one in &change.conversations {
        if let Some((owner, bytes)) = conversations::adds(one) {
            grow(&mut growth, owner, bytes);
        }
    }
    Ok(growth)
}

/// Checks that the message is new and the task is where the change assumes it; gives the task's row if it exists.
fn guard(db: &Connection, task: &ReadyTask) -> rusqlite::Result<Result<Option<i64>, StoreError>> {
    if let Some(sent) = &task.sent
        && let Some((first, body)) = tasks::find_sent(db, sent.key())?
    {
        let same_body = body == sent.body_hash();
        return Ok(Err(StoreError::Duplicate { task: first, same_body }));
    }
    let mut find = db.prepare_cached("SELECT row, seq, state, updated_at, seal FROM tasks WHERE id = ?1")?;
    let found = find.query_row([task.head.id.as_bytes().as_slice()], |row| {
        let (seq, state, updated_at): (i64, i64, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
        Ok((row.get(0)?, seq, seal::head(row.get(4)?, state, updated_at, seq)))
    });
    let found: Option<(i64, i64, i64)> = found.optional()?;
    let seq = found.map_or(0, |(_, seq, _)| seq);
    if seq != task.expect_seq {
        let (expected, found) = (task.expect_seq.unsigned_abs(), seq.unsigned_abs());
        return Ok(Err(StoreError::Stale { task: task.head.id, expected, found }));
    }
    match found {
        Some((_, _, root)) if root != task.root => Ok(Err(other_root(task.head.id))),
        found => Ok(Ok(found.map(|(row, ..)| row))),
    }
}

fn put_task(db: &Connection, task: &ReadyTask, row: Option<i64>, recent: &mut usize) -> rusqlite::Result<()> {
    let head = &task.head;
    let (state, updated_at) = (seal::state_number(head.state), head.updated_at.as_millis());
    let sealed = seal::head(task.root, state, updated_at, task.last_seq);
    let row = if let Some(row) = row {
        let sql = "UPDATE tasks SET state = ?2, seq = ?3, updated_at = ?4, seal = ?5 WHERE row = ?1";
        db.prepare_cached(sql)?.execute(params![row, state, task.last_seq, updated_at, sealed])?;
        row
    } else {
        let sql =
            "INSERT INTO tasks (id, state, seq, created_at, updated_at, seal, parent, agent, owner, context, kept)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        db.prepare_cached(sql)?.insert(params![
            head.id.as_bytes().as_slice(),
            state,
            task.last_seq,
            head.created_at.as_millis(),
            updated_at,
            sealed,
            head.parent.as_ref().map(|id| id.as_bytes().as_slice()),
            head.agent.as_str(),
            head.owner.as_str(),
            head.context.as_str(),
            task.kept,
        ])?
    };
    let sql = "INSERT INTO task_events (task, first_seq, last_seq, seal, sent, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let sent = task.sent.as_ref().map(ReadySent::blob);
    let values = params![row, task.expect_seq + 1, task.last_seq, task.seal, sent, task.body];
    let events = db.prepare_cached(sql)?.insert(values)?;
    if let Some(sent) = &task.sent {
        let sql = "INSERT INTO sent_recent (key, events) VALUES (?1, ?2)";
        db.prepare_cached(sql)?.execute(params![sent.key(), events])?;
        *recent += 1;
    }
    if let Some(expires_at) = task.expires_at {
        let sql = "INSERT OR REPLACE INTO task_expiry (task, expires_at) VALUES (?1, ?2)";
        db.prepare_cached(sql)?.execute([row, expires_at])?;
    }
    Ok(())
}

/// How many keys have gathered.
pub(super) fn count_recent(db: &Connection) -> rusqlite::Result<usize> {
    let count: i64 = db.query_row("SELECT count(*) FROM sent_recent", [], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Moves the gathered keys to their place, in order, when there are enough of them.
pub(super) fn settle_recent(db: &Connection, recent: &mut usize) -> rusqlite::Result<()> {
    if *recent >= RECENT {
        db.prepare_cached("INSERT INTO sent SELECT key, events FROM sent_recent ORDER BY key")?.execute([])?;
        db.prepare_cached("DELETE FROM sent_recent")?.execute([])?;
        *recent = 0;
    }
    Ok(())
}

//! One change inside the writer's transaction: guards first, then rows.
//!
//! Promises: a guard that fails refuses this change alone and before anything of it is written; after the
//! guards only the engine itself can fail, and then the whole group is rolled back. The outer result of
//! [`apply`] is the engine's, the inner one the change's.

use agentsite_protocol::{TaskId, account_of};
use rusqlite::{Connection, OptionalExtension, params};

use super::accounts::Books;
use super::audit::Audit;
use super::ready::{Ready, ReadyEdit, ReadySent, ReadyTask};
use super::{conversations, keys, listings, outbox, push, records, rooms, seal, tasks};
use crate::storage::{Growth, fixed, grow};
use crate::{DeliveryChange, StoreError, other_root};

/// Keys that gather in `sent_recent` before they are moved. They fill about twenty pages, so a full group
/// touches few of them, and a move then puts several keys on each page of a table of a hundred thousand.
const RECENT: usize = 4_096;

/// Applies a change or refuses it.
pub(super) fn apply(
    db: &Connection,
    change: &mut Ready,
    recent: &mut usize,
    books: &mut Books,
    audit: &mut Audit,
) -> rusqlite::Result<Result<(), StoreError>> {
    if let Some(refusal) = refusal(db, change)? {
        return Ok(Err(refusal));
    }
    if let Err(refusal) = books.guard(&growth(db, change)?, change.admittance) {
        return Ok(Err(refusal));
    }
    for line in &change.journal {
        audit.add_line(db, line)?;
        books.line(&line.actor, &line.text);
    }
    for edit in &change.edits {
        make(db, edit, recent, books, audit)?;
    }
    Ok(Ok(()))
}

/// Why a change must not be made, if so; tasks learn their rows.
fn refusal(db: &Connection, change: &mut Ready) -> rusqlite::Result<Option<StoreError>> {
    for task in change.tasks_mut() {
        match guard(db, task)? {
            Ok(row) => task.row = row,
            Err(refusal) => return Ok(Some(refusal)),
        }
    }
    if let Some(refusal) = listings::refusal(db, change.listings())? {
        return Ok(Some(refusal));
    }
    if let Some(refusal) = conversations::refusal(db, change.conversations())? {
        return Ok(Some(refusal));
    }
    if let Some(refusal) = records::refusal(db, change.records())? {
        return Ok(Some(refusal));
    }
    rooms::refusal(db, change.rooms())
}

/// Makes an edit whose guards have been checked.
fn make(
    db: &Connection,
    edit: &ReadyEdit,
    recent: &mut usize,
    books: &mut Books,
    audit: &mut Audit,
) -> rusqlite::Result<()> {
    match edit {
        ReadyEdit::Task(task) => {
            put_task(db, task, recent)?;
            books.events(&task.head.owner, task.body.len(), task.row.is_none());
            Ok(())
        }
        ReadyEdit::Push(change) => push::change(db, change, books, &audit.vault),
        ReadyEdit::Notify(notify) => push::notify(db, notify, books),
        ReadyEdit::Delivery(change) => outbox::change(db, change, books),
        ReadyEdit::Key(change) => keys::change_key(db, change),
        ReadyEdit::Setting(change) => keys::change_setting(db, change, books, &audit.vault),
        ReadyEdit::Record(change) => records::change(db, change, books, &audit.vault),
        ReadyEdit::Usage(change) => tasks::add_usage(db, change),
        ReadyEdit::Listing(change) => listings::change(db, change, books),
        ReadyEdit::Conversation(change) => conversations::change(db, change, books),
        ReadyEdit::Room(change) => rooms::change(db, change, books),
        ReadyEdit::RoomCursor(change) => rooms::move_cursor(db, change),
        ReadyEdit::Forget(id) => forget(db, *id),
        ReadyEdit::SignedHead(head) => audit.add_head(db, head),
    }
}

/// Lets the next expiry take a task that has ended, unless a conversation keeps it.
fn forget(db: &Connection, id: TaskId) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO task_expiry (task, expires_at)
               SELECT row, 0 FROM tasks WHERE id = ?1 AND state >= 4 AND kept = 0";
    db.prepare_cached(sql)?.execute([id.as_bytes().as_slice()])?;
    Ok(())
}

/// What a change would add to whom, before anything of it is written.
fn growth(db: &Connection, change: &Ready) -> rusqlite::Result<Growth> {
    let mut growth = Growth::new();
    for edit in &change.edits {
        match edit {
            ReadyEdit::Task(task) => {
                let first = if task.expect_seq == 0 { fixed::TASK } else { 0 };
                grow(&mut growth, task.head.owner.account(), fixed::EVENTS + first + task.body.len() as u64);
            }
            ReadyEdit::Push(push) => {
                if let (Some(id), bytes) = push::adds(push) {
                    let opened = change.tasks().find(|task| task.head.id == id);
                    let owner = match opened {
                        Some(task) => Some(task.head.owner.clone()),
                        None => push::owner(db, id)?,
                    };
                    owner.iter().for_each(|owner| grow(&mut growth, owner.account(), bytes));
                }
            }
            ReadyEdit::Delivery(DeliveryChange::Add(row)) => {
                grow(&mut growth, &row.account, outbox::bytes(row));
            }
            ReadyEdit::Setting(change) => {
                if let Some((owner, bytes)) = keys::setting_adds(db, change)? {
                    grow(&mut growth, owner.account(), bytes);
                }
            }
            ReadyEdit::Record(change) => {
                if let Some((owner, bytes)) = records::adds(db, change)? {
                    grow(&mut growth, owner.account(), bytes);
                }
            }
            ReadyEdit::Listing(change) => {
                grow(&mut growth, account_of(change.owner.as_str()), listings::adds(db, change)?);
            }
            ReadyEdit::Room(room) => {
                grow(&mut growth, room.change.head.owner.account(), room.change.adds());
            }
            ReadyEdit::Conversation(change) => {
                if let Some((owner, bytes)) = conversations::adds(change) {
                    grow(&mut growth, owner.account(), bytes);
                }
            }
            _ => {}
        }
    }
    Ok(growth)
}

/// Checks that the message is new and the task is where the change assumes it; gives the task's row if it
/// exists.
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

fn put_task(db: &Connection, task: &ReadyTask, recent: &mut usize) -> rusqlite::Result<()> {
    let head = &task.head;
    let (state, updated_at) = (seal::state_number(head.state), head.updated_at.as_millis());
    let sealed = seal::head(task.root, state, updated_at, task.last_seq);
    let row = if let Some(row) = task.row {
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

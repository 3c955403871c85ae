//! One change inside the writer's transaction: guards first, then rows.
//!
//! Promises: a guard that fails refuses this change alone and before anything of it is written; after the guards only the
//! engine itself can fail, and then the whole group is rolled back. The outer result of [`apply`] is the engine's, the
//! inner one the change's.

use agentsite_protocol::{Owner, TaskId};
use rusqlite::{Connection, OptionalExtension, params};

use super::accounts::{Books, account};
use super::audit::Audit;
use super::ready::{Ready, ReadySent, ReadyTask, number};
use super::vault::{SEAL, Vault};
use super::{conversations, listings, outbox, push, records, seal, secrets};
use crate::storage::{Growth, fixed, grow};
use crate::{KeyChange, KeyRecord, OutboxChange, SettingChange, StoreError, UsageChange, other_root};

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
        change_key(db, one)?;
    }
    for one in &change.settings {
        change_setting(db, one, books, &audit.vault)?;
    }
    for one in &change.records {
        records::change(db, one, books, &audit.vault)?;
    }
    for one in &change.usage {
        add_usage(db, one)?;
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
            let before = setting_bytes(db, &one.name)?.map_or(0, |(_, bytes)| bytes);
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
        && let Some((first, body)) = find_sent(db, sent.key())?
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

/// The task that a message opened or continued, with the hash of its content.
pub(super) fn find_sent(db: &Connection, key: &[u8]) -> rusqlite::Result<Option<(TaskId, Vec<u8>)>> {
    const RECENT: &str = "SELECT events FROM sent_recent WHERE key = ?1";
    const SETTLED: &str = "SELECT events FROM sent WHERE key = ?1";
    for sql in [RECENT, SETTLED] {
        let found: Option<i64> = db.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?;
        let Some(events) = found else { continue };
        let sql = "SELECT t.id, e.sent FROM task_events e JOIN tasks t ON t.row = e.task WHERE e.row = ?1";
        return db.prepare_cached(sql)?.query_row([events], |row| {
            let sent: Vec<u8> = row.get(1)?;
            let hash = ReadySent::from_blob(&sent).map(|sent| sent.body_hash().to_vec());
            Ok(Some((TaskId::from_bytes(row.get(0)?), hash.unwrap_or_default())))
        });
    }
    Ok(None)
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

fn change_key(db: &Connection, change: &KeyChange) -> rusqlite::Result<()> {
    match change {
        KeyChange::Put(key) => put_key(db, key),
        KeyChange::Used(id, at) => {
            let sql = "UPDATE keys SET last_used_at = ?2 WHERE id = ?1";
            db.prepare_cached(sql)?.execute(params![id.as_str(), at.as_millis()])?;
            Ok(())
        }
        KeyChange::Remove(id) => {
            db.prepare_cached("DELETE FROM keys WHERE id = ?1")?.execute([id.as_str()])?;
            Ok(())
        }
    }
}

fn put_key(db: &Connection, key: &KeyRecord) -> rusqlite::Result<()> {
    let sql =
        "INSERT OR REPLACE INTO keys (id, hash, label, scopes, created_at, expires_at, last_used_at, session, of_key)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let scopes: Vec<String> = key.scopes.iter().map(ToString::to_string).collect();
    db.prepare_cached(sql)?.execute(params![
        key.id.as_str(),
        key.hash.as_slice(),
        key.label,
        scopes.join(" "),
        key.created_at.as_millis(),
        key.expires_at.map(agentsite_protocol::Timestamp::as_millis),
        key.last_used_at.map(agentsite_protocol::Timestamp::as_millis),
        key.session,
        key.of.as_ref().map(agentsite_protocol::KeyId::as_str),
    ])?;
    Ok(())
}

/// To whom a setting belongs and what it takes.
fn setting_bytes(db: &Connection, name: &str) -> rusqlite::Result<Option<(String, u64)>> {
    let sql = "SELECT owner, octet_length(name) + octet_length(value) FROM settings WHERE name = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        let (owner, texts): (Option<String>, i64) = (row.get(0)?, row.get(1)?);
        Ok((account(owner.as_deref()), fixed::SETTING + texts.unsigned_abs().saturating_sub(SEAL as u64)))
    };
    db.prepare_cached(sql)?.query_row([name], read).optional()
}

fn change_setting(
    db: &Connection,
    change: &SettingChange,
    books: &mut Books,
    vault: &Vault,
) -> rusqlite::Result<()> {
    if let Some((account, bytes)) = setting_bytes(db, &change.name)? {
        books.accounts.take(&account, bytes);
    }
    match &change.value {
        Some(value) => {
            let owner = change.owner.as_ref().map(Owner::as_str);
            let sealed = secrets::seal_setting(vault, &change.name, value);
            let bytes = fixed::SETTING + (change.name.len() + value.len()) as u64;
            books.accounts.add(&account(owner), bytes);
            let sql = "INSERT OR REPLACE INTO settings (name, value, owner) VALUES (?1, ?2, ?3)";
            db.prepare_cached(sql)?.execute(params![change.name, sealed, owner])?;
        }
        None => {
            db.prepare_cached("DELETE FROM settings WHERE name = ?1")?.execute([&change.name])?;
        }
    }
    Ok(())
}

fn add_usage(db: &Connection, change: &UsageChange) -> rusqlite::Result<()> {
    // The sums stop at the largest number of a column instead of turning into floats.
    let sql = "INSERT INTO usage (agent, day, input_tokens, output_tokens, turns, calls) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
               ON CONFLICT DO UPDATE SET
                   input_tokens = min(input_tokens, 9223372036854775807 - excluded.input_tokens) + excluded.input_tokens,
                   output_tokens = min(output_tokens, 9223372036854775807 - excluded.output_tokens) + excluded.output_tokens,
                   turns = min(turns, 9223372036854775807 - excluded.turns) + excluded.turns,
                   calls = min(calls, 9223372036854775807 - excluded.calls) + excluded.calls";
    let used = change.usage;
    db.prepare_cached(sql)?.execute(params![
        change.agent.as_str(),
        change.day,
        number(used.input_tokens),
        number(used.output_tokens),
        number(used.turns),
        number(used.calls),
    ])?;
    Ok(())
}

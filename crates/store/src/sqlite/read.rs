//! Reads single things: a task, its events, keys, settings, usage, sizes.
//!
//! Promises: heads and events are checked against their seals, and a list of events against gaps, before they are
//! handed out; what does not fit is [`StoreError::Corrupt`]. Lists with filters are in `list`.

use std::path::Path;

use agentsite_protocol::{AgentName, KeyId, Owner, TaskEvent, TaskHead, TaskId, Usage};
use rusqlite::{Connection, OptionalExtension, Row};

use super::fault::damaged;
use super::file::beside;
use super::ready::number;
use super::schema::SCHEMA_VERSION;
use super::seal::{self, time};
use super::secrets;
use super::vault::Vault;
use crate::{JournalHead, KeyRecord, StoreError, StoreStats};

/// The columns of a head, as [`head`] reads them.
pub(super) const HEAD: &str = "id, state, seq, created_at, updated_at, seal, parent, agent, owner, context";

/// Reads a head from a row that begins with the columns [`HEAD`].
pub(super) fn head(row: &Row<'_>) -> Result<TaskHead, StoreError> {
    let id = TaskId::from_bytes(row.get(0)?);
    let (state, seq, updated_at): (i64, i64, i64) = (row.get(1)?, row.get(2)?, row.get(4)?);
    let parent: Option<[u8; 16]> = row.get(6)?;
    let wrong = |what: &str| damaged(format!("{what} of task {id}"));
    let text = |at: usize| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
    let head = TaskHead {
        id,
        context: text(9)?.parse().map_err(|_| wrong("the context"))?,
        agent: text(7)?.parse().map_err(|_| wrong("the agent"))?,
        owner: Owner::stored(text(8)?),
        state: seal::state(state).ok_or_else(|| wrong("the state"))?,
        created_at: time(row.get(3)?),
        updated_at: time(updated_at),
        seq: seq.unsigned_abs(),
        parent: parent.map(TaskId::from_bytes),
    };
    if row.get::<_, i64>(5)? != seal::head(seal::root(&head), state, updated_at, seq) {
        return Err(wrong("the seal of the head"));
    }
    Ok(head)
}

/// Reads all heads of a query.
pub(super) fn heads(
    db: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<TaskHead>, StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut heads = Vec::new();
    while let Some(row) = rows.next()? {
        heads.push(head(row)?);
    }
    Ok(heads)
}

pub(super) fn task(db: &Connection, id: TaskId) -> Result<Option<TaskHead>, StoreError> {
    let sql = format!("SELECT {HEAD} FROM tasks WHERE id = ?1");
    Ok(heads(db, &sql, [id.as_bytes().as_slice()])?.pop())
}

pub(super) fn open_tasks(db: &Connection) -> Result<Vec<TaskHead>, StoreError> {
    let sql =
        format!("SELECT {HEAD} FROM tasks INDEXED BY tasks_open WHERE state < 4 ORDER BY created_at, id");
    heads(db, &sql, [])
}

/// Reads events after a number, commit by commit, and makes sure that none is missing.
pub(super) fn events(
    db: &Connection,
    id: TaskId,
    after: u64,
    limit: usize,
) -> Result<Vec<TaskEvent>, StoreError> {
    let moment = db.unchecked_transaction()?;
    let mut find = moment.prepare_cached("SELECT row, seq FROM tasks WHERE id = ?1")?;
    let found =
        find.query_row([id.as_bytes().as_slice()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((task, end)): Option<(i64, i64)> = found else { return Ok(Vec::new()) };
    let sql = "SELECT first_seq, last_seq, seal, sent, body FROM task_events
               WHERE task = ?1 AND last_seq > ?2 ORDER BY last_seq";
    let mut statement = moment.prepare_cached(sql)?;
    let mut rows = statement.query([task, number(after)])?;
    let (mut events, mut read) = (Vec::new(), number(after));
    while events.len() < limit.max(1) && read < end {
        let row =
            rows.next()?.ok_or_else(|| damaged(format!("event {} of task {id} is missing", read + 1)))?;
        let (first, last) = (row.get(0)?, row.get(1)?);
        // Only the first commit may begin before the cursor; each further one follows on the last.
        let follows: bool = if events.is_empty() { first <= read + 1 } else { first == read + 1 };
        if !follows || last > end {
            return Err(damaged(format!("events {first} to {last} of task {id} do not follow event {read}")));
        }
        let commit = commit(row, id, first, last)?;
        events.extend(commit.into_iter().filter(|event| event.seq > after));
        read = last;
    }
    Ok(events)
}

/// Reads one row of events and checks it against its seal.
fn commit(row: &Row<'_>, id: TaskId, first: i64, last: i64) -> Result<Vec<TaskEvent>, StoreError> {
    let wrong = || damaged(format!("events {first} to {last} of task {id}"));
    let body = row.get_ref(4)?.as_bytes().map_err(|_| wrong())?;
    let sent = row.get_ref(3)?.as_blob_or_null().map_err(|_| wrong())?;
    if row.get::<_, i64>(2)? != seal::events(id, first, last, sent, body) {
        return Err(wrong());
    }
    let mut events: Vec<TaskEvent> = serde_json::from_slice(body).map_err(|_| wrong())?;
    for event in &mut events {
        event.task = id;
    }
    Ok(events)
}

/// Checks one row of events that follows event `read`; gives its last number.
pub(super) fn check_commit(row: &Row<'_>, id: TaskId, read: i64) -> Result<i64, StoreError> {
    let (first, last): (i64, i64) = (row.get(0)?, row.get(1)?);
    if first != read + 1 || last < first {
        return Err(damaged(format!("events {first} to {last} of task {id} do not follow event {read}")));
    }
    let wrong = || damaged(format!("events {first} to {last} of task {id}"));
    let body = row.get_ref(4)?.as_bytes().map_err(|_| wrong())?;
    let sent = row.get_ref(3)?.as_blob_or_null().map_err(|_| wrong())?;
    if row.get::<_, i64>(2)? != seal::events(id, first, last, sent, body) {
        return Err(wrong());
    }
    Ok(last)
}

const KEY: &str =
    "SELECT id, hash, label, scopes, created_at, expires_at, last_used_at, session, of_key FROM keys";

pub(super) fn keys(db: &Connection) -> Result<Vec<KeyRecord>, StoreError> {
    let mut statement = db.prepare_cached(&format!("{KEY} ORDER BY created_at, id"))?;
    let mut rows = statement.query([])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push(key_record(row)?);
    }
    Ok(keys)
}

pub(super) fn key(db: &Connection, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
    let mut statement = db.prepare_cached(&format!("{KEY} WHERE id = ?1"))?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(key_record).transpose()
}

fn key_record(row: &Row<'_>) -> Result<KeyRecord, StoreError> {
    let id: String = row.get(0)?;
    let wrong = |what: &str| damaged(format!("the {what} of key {id}"));
    let scopes = row.get_ref(3)?.as_str().map_err(|_| wrong("scopes"))?;
    let scopes = scopes.split_whitespace().map(str::parse).collect::<Result<_, _>>();
    Ok(KeyRecord {
        id: id.parse().map_err(|_| wrong("id"))?,
        hash: row.get(1)?,
        label: row.get(2)?,
        scopes: scopes.map_err(|_| wrong("scopes"))?,
        created_at: time(row.get(4)?),
        expires_at: row.get::<_, Option<i64>>(5)?.map(time),
        last_used_at: row.get::<_, Option<i64>>(6)?.map(time),
        session: row.get(7)?,
        of: match row.get::<_, Option<String>>(8)? {
            Some(key) => Some(key.parse().map_err(|_| wrong("session"))?),
            None => None,
        },
    })
}

pub(super) fn setting(db: &Connection, name: &str, vault: &Vault) -> Result<Option<String>, StoreError> {
    let mut statement = db.prepare_cached("SELECT value FROM settings WHERE name = ?1")?;
    let mut rows = statement.query([name])?;
    rows.next()?.map(|row| secrets::open_setting(vault, name, row.get_ref(0)?)).transpose()
}

/// The end of the journal.
pub(super) fn journal_head(db: &Connection) -> Result<Option<JournalHead>, StoreError> {
    let sql = "SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1";
    let read =
        |row: &Row<'_>| Ok(JournalHead { seq: row.get::<_, i64>(0)?.unsigned_abs(), hash: row.get(1)? });
    Ok(db.prepare_cached(sql)?.query_row([], read).optional()?)
}

pub(super) fn usage(db: &Connection, agent: &AgentName, day: i64) -> Result<Usage, StoreError> {
    let sql = "SELECT input_tokens, output_tokens, turns, calls FROM usage WHERE agent = ?1 AND day = ?2";
    let sums = db.prepare_cached(sql)?.query_row((agent.as_str(), day), |row| {
        let count = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
        Ok(Usage { input_tokens: count(0)?, output_tokens: count(1)?, turns: count(2)?, calls: count(3)? })
    });
    Ok(sums.optional()?.unwrap_or_default())
}

pub(super) fn stats(db: &Connection, path: &Path, commits: u64) -> Result<StoreStats, StoreError> {
    // Lines only go from the front of the journal, so its ends tell its length.
    let sql = "SELECT (SELECT count(*) FROM tasks),
                      (SELECT count(*) FROM tasks INDEXED BY tasks_open WHERE state < 4),
                      (SELECT ifnull(max(seq) + 1, 0) FROM journal) - (SELECT ifnull(min(seq), 0) FROM journal),
                      (SELECT count(*) FROM outbox INDEXED BY outbox_due WHERE dead = 0),
                      (SELECT count(*) FROM outbox WHERE dead = 1)";
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let log_bytes = size(&beside(path, "-wal"));
    let (bytes, schema) = (size(path) + log_bytes, SCHEMA_VERSION);
    let stats = db.prepare_cached(sql)?.query_row([], |row| {
        let count = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
        let (tasks, open_tasks, journal_lines) = (count(0)?, count(1)?, count(2)?);
        let (outbox, dead) = (count(3)?, count(4)?);
        Ok(StoreStats { tasks, open_tasks, journal_lines, outbox, dead, bytes, log_bytes, schema, commits })
    })?;
    Ok(stats)
}

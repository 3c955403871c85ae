//! Tasks in the file: their heads, their events, and what agents have used.
//!
//! Promises: heads and events are checked against their seals, and a list of events against gaps, before they
//! are handed out; what does not fit is [`StoreError::Corrupt`]. Lists with filters are in `list`, writing is
//! in `apply`.

use agentsite_protocol::{AgentName, MessageId, Principal, TaskEvent, TaskHead, TaskId, Usage};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::damaged;
use super::heads::{HEAD, heads};
use super::ready::ReadySent;
use super::seal::{self, number};
use super::{SqliteStore, list};
use crate::{Page, Reply, StoreError, TaskCursor, TaskFilter, TaskHistory, TaskReads, UsageChange};

impl TaskReads for SqliteStore {
    fn task(&self, id: TaskId) -> Reply<'_, Option<TaskHead>> {
        self.readers.read(move |db| task(db, id))
    }

    fn events(&self, id: TaskId, after: u64, limit: usize) -> Reply<'_, Vec<TaskEvent>> {
        self.readers.read(move |db| events(db, id, after, limit))
    }

    fn histories(&self, ids: Vec<TaskId>, events: usize, started: usize) -> Reply<'_, Vec<TaskHistory>> {
        self.readers.read(move |db| histories(db, &ids, events, started))
    }

    fn sent(&self, owner: &Principal, agent: &AgentName, message: &MessageId) -> Reply<'_, Option<TaskId>> {
        let key = seal::sent_key(owner, agent, message);
        self.readers.read(move |db| Ok(find_sent(db, &key)?.map(|(task, _)| task)))
    }

    fn tasks(
        &self,
        filter: TaskFilter,
        after: Option<TaskCursor>,
        limit: usize,
    ) -> Reply<'_, Page<TaskHead, TaskCursor>> {
        self.readers.read(move |db| list::tasks(db, &filter, after, limit))
    }

    fn count_tasks(&self, filter: TaskFilter) -> Reply<'_, u64> {
        self.readers.read(move |db| list::count_tasks(db, &filter))
    }

    fn open_tasks(&self) -> Reply<'_, Vec<TaskHead>> {
        self.readers.read(open_tasks)
    }

    fn usage(&self, agent: &AgentName, day: i64) -> Reply<'_, Usage> {
        let agent = agent.clone();
        self.readers.read(move |db| usage(db, &agent, day))
    }
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

pub(super) fn usage(db: &Connection, agent: &AgentName, day: i64) -> Result<Usage, StoreError> {
    let sql = "SELECT input_tokens, output_tokens, turns, calls FROM usage WHERE agent = ?1 AND day = ?2";
    let sums = db.prepare_cached(sql)?.query_row((agent.as_str(), day), |row| {
        let count = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
        Ok(Usage { input_tokens: count(0)?, output_tokens: count(1)?, turns: count(2)?, calls: count(3)? })
    });
    Ok(sums.optional()?.unwrap_or_default())
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

/// Adds to what an agent has used on a day.
pub(super) fn add_usage(db: &Connection, change: &UsageChange) -> rusqlite::Result<()> {
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

/// The first of some tasks, until there are enough events.
fn histories(
    db: &Connection,
    ids: &[TaskId],
    events: usize,
    started: usize,
) -> Result<Vec<TaskHistory>, StoreError> {
    let mut histories: Vec<TaskHistory> = Vec::new();
    let mut total = 0;
    for id in ids {
        if !histories.is_empty() && total >= events {
            break;
        }
        let history = history(db, *id, started)?;
        total += history.events.len();
        histories.push(history);
    }
    Ok(histories)
}

fn history(db: &Connection, id: TaskId, started: usize) -> Result<TaskHistory, StoreError> {
    let events = events(db, id, 0, usize::MAX)?;
    let filter = TaskFilter { parent: Some(id), ..TaskFilter::default() };
    let started = if started == 0 { Vec::new() } else { list::tasks(db, &filter, None, started)?.items };
    Ok(TaskHistory { id, events, started })
}

//! The rows of a file for a logical copy (see `copying`).
//!
//! Promises: reads only; the memory it takes does not grow with the file. Every table goes by its key, page
//! by page. The index of words holds no text, so the words of a turn come from the events of its task when
//! the index agrees, and else from the index itself, in which letters have lost their accents.

use agentsite_protocol::{Task, TaskEvent, TaskId};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::audit;
use super::fault::damaged;
use super::vault::Vault;
use crate::conversation::INDEXED_BYTES;
use crate::copying::{Cell, CopyTable};
use crate::words::words;
use crate::{StoreError, copying};

/// Rows that are read at once, at most.
const PAGE: usize = 500;

/// Bytes after which a page ends: rows of events may have megabytes each.
const PAGE_BYTES: usize = 4 << 20;

/// Words of a text that must follow one another in the index for the text to count as the one that was
/// indexed.
const COMPARED: usize = 32;

/// A place in the rows of a file.
#[derive(Debug, Default)]
pub(super) struct FileRows {
    table: Option<&'static CopyTable>,
    /// The key of the last row.
    after: Option<Vec<Value>>,
    /// Whether the terms of the index of words lie in a table of their own.
    spooled: bool,
}

impl FileRows {
    /// Begins with a table.
    pub(super) fn begin(&mut self, table: &'static CopyTable) {
        (self.table, self.after) = (Some(table), None);
    }

    /// The next rows; none after the last.
    pub(super) fn next(&mut self, db: &Connection, vault: &Vault) -> Result<Vec<Vec<Cell>>, StoreError> {
        let Some(table) = self.table else { return Ok(Vec::new()) };
        if table.name == "front" {
            if self.after.replace(Vec::new()).is_some() {
                return Ok(Vec::new());
            }
            let (seq, hash) = audit::read_state(db, vault)?.front;
            let sql = "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'outbox'";
            let delivery = db.query_row(sql, [], |row| row.get(0))?;
            return Ok(vec![vec![Cell::Integer(seq), Cell::Bytes(hash.to_vec()), Cell::Integer(delivery)]]);
        }
        let (columns, from, keys) = source(table);
        let marks = vec!["?"; keys.split(", ").count()].join(", ");
        let past = if self.after.is_some() { format!("WHERE ({keys}) > ({marks})") } else { String::new() };
        let sql = format!("SELECT {columns}, {keys} FROM {from} {past} ORDER BY {keys} LIMIT {PAGE}");
        let mut find = db.prepare_cached(&sql)?;
        let count = columns.split(", ").count();
        let all = find.column_count();
        let mut found = find.query(params_from_iter(self.after.iter().flatten()))?;
        let (mut page, mut bytes, mut last) = (Vec::new(), 0, None);
        while bytes < PAGE_BYTES
            && let Some(row) = found.next()?
        {
            let cells = (0..count).map(|at| cell(row, at)).collect::<Result<Vec<_>, _>>()?;
            bytes += cells.iter().map(size).sum::<usize>();
            page.push(cells);
            last = Some((count..all).map(|at| row.get(at)).collect::<rusqlite::Result<Vec<Value>>>()?);
            if table.name == "turns" {
                self.add_words(db, row.get(count)?, page.last_mut())?;
            }
        }
        self.after = last.or_else(|| self.after.take());
        Ok(page)
    }

    /// Adds the words of a turn to its cells.
    fn add_words(
        &mut self,
        db: &Connection,
        turn: i64,
        cells: Option<&mut Vec<Cell>>,
    ) -> Result<(), StoreError> {
        let Some(cells) = cells else { return Ok(()) };
        let task = copying::copied_bytes(cells, 2).map(TaskId::from_bytes)?;
        let said = spoken(db, task)?;
        for (doc, text) in [(turn * 2, &said.0), (turn * 2 + 1, &said.1)] {
            let there: Option<i64> = db
                .prepare_cached("SELECT id FROM turn_words_docsize WHERE id = ?1")?
                .query_row([doc], |row| row.get(0))
                .optional()?;
            cells.push(match there {
                None => Cell::Null,
                Some(_) if fits(db, doc, text)? => Cell::Text(spaced(words(text))),
                Some(_) => Cell::Text(self.terms(db, doc)?),
            });
        }
        Ok(())
    }

    /// The words of a text as the index has them.
    fn terms(&mut self, db: &Connection, doc: i64) -> Result<String, StoreError> {
        if !self.spooled {
            // The index goes by term; all of it is sorted once, in a file that is gone with the connection.
            let read_only: bool = db.pragma_query_value(None, "query_only", |row| row.get(0))?;
            db.pragma_update(None, "query_only", false)?;
            db.execute_batch(
                "CREATE VIRTUAL TABLE temp.turn_terms USING fts5vocab(main, turn_words, instance);
                 CREATE TABLE temp.turn_tokens (doc INTEGER, place INTEGER, term TEXT, PRIMARY KEY (doc, place)) WITHOUT ROWID;
                 INSERT INTO temp.turn_tokens SELECT doc, offset, term FROM temp.turn_terms WHERE col = 'words';",
            )?;
            db.pragma_update(None, "query_only", read_only)?;
            self.spooled = true;
        }
        let sql = "SELECT term FROM temp.turn_tokens WHERE doc = ?1 ORDER BY place";
        let mut find = db.prepare_cached(sql)?;
        let terms = find.query_map([doc], |row| row.get::<_, String>(0))?;
        Ok(spaced(terms.collect::<rusqlite::Result<Vec<_>>>()?.into_iter()))
    }
}

/// The columns of a table of the copy, where they come from, and the key by which they are paged.
fn source(table: &CopyTable) -> (&'static str, &'static str, &'static str) {
    let CopyTable { name, columns, .. } = table;
    match *name {
        "tasks" => (
            "t.id, t.state, t.seq, t.created_at, t.updated_at, t.parent, t.agent, t.owner, t.context, t.kept, x.expires_at",
            "tasks t LEFT JOIN task_expiry x ON x.task = t.row",
            "t.row",
        ),
        // CROSS keeps the order of the tables, so that the rows come in the order of their key.
        "task_events" => (
            "t.id, e.first_seq, e.last_seq, e.sent, e.body",
            "task_events e CROSS JOIN tasks t ON t.row = e.task",
            "e.row",
        ),
        "turns" => (
            "c.id, p.task, t.task, t.at, t.agent, t.context, t.message, t.bytes",
            "turns t CROSS JOIN conversations c ON c.row = t.conversation LEFT JOIN turns p ON p.row = t.parent",
            "t.row",
        ),
        "room_events" => (
            "r.id, e.seq, e.at, e.sender, e.message, e.digest, e.hash, e.signature, e.body",
            "room_events e CROSS JOIN rooms r ON r.row = e.room",
            "e.row",
        ),
        "room_members" => (
            "r.id, m.member, m.joined, m.delivered, m.processed",
            "room_members m CROSS JOIN rooms r ON r.row = m.room",
            "m.room, m.member",
        ),
        "room_snapshots" => {
            ("r.id, s.seq, s.body", "room_snapshots s CROSS JOIN rooms r ON r.row = s.room", "s.room")
        }
        "journal" | "journal_heads" => (columns, name, "seq"),
        "push_configs" => (columns, name, "task, id"),
        "outbox" | "keys" => (columns, name, "id"),
        "settings" => (columns, name, "name"),
        "records" => (columns, name, "collection, key"),
        "usage" => (columns, name, "agent, day"),
        _ => (columns, name, "row"),
    }
}

fn cell(row: &Row<'_>, at: usize) -> Result<Cell, StoreError> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Cell::Text(text.to_owned()),
            Err(_) => return Err(damaged("a text that is not UTF-8")),
        },
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
        ValueRef::Real(_) => return Err(damaged("a number with a fraction")),
    })
}

fn size(cell: &Cell) -> usize {
    match cell {
        Cell::Null | Cell::Integer(_) => 8,
        Cell::Text(text) => text.len(),
        Cell::Bytes(bytes) => bytes.len(),
    }
}

/// The question and the answer of a task as conversations index them; empty for a task that is gone.
fn spoken(db: &Connection, id: TaskId) -> Result<(String, String), StoreError> {
    let sql =
        "SELECT e.body FROM task_events e JOIN tasks t ON t.row = e.task WHERE t.id = ?1 ORDER BY e.last_seq";
    let mut find = db.prepare_cached(sql)?;
    let mut rows = find.query([id.as_bytes().as_slice()])?;
    let mut events: Vec<TaskEvent> = Vec::new();
    while let Some(row) = rows.next()? {
        let body = row.get_ref(0)?.as_bytes().map_err(|_| damaged(format!("events of task {id}")))?;
        let commit: Vec<TaskEvent> =
            serde_json::from_slice(body).map_err(|_| damaged(format!("events of task {id}")))?;
        events.extend(commit.into_iter().map(|event| TaskEvent { task: id, ..event }));
    }
    let Ok(Some(task)) = Task::replay(&events) else { return Ok(Default::default()) };
    let question = task.history.first().map(agentsite_protocol::Message::plain_text).unwrap_or_default();
    Ok((start(question), start(task.answer())))
}

fn start(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(INDEXED_BYTES));
    text
}

/// Whether the index has this text under this number.
fn fits(db: &Connection, doc: i64, text: &str) -> Result<bool, StoreError> {
    let phrase: Vec<String> = words(text).take(COMPARED).collect();
    if phrase.is_empty() {
        // Signs alone are indexed without words.
        return Ok(!text.is_empty());
    }
    let query = format!("words : \"{}\"", phrase.join(" "));
    let mut find = db.prepare_cached("SELECT 1 FROM turn_words WHERE turn_words MATCH ?1 AND rowid = ?2")?;
    Ok(find.exists(rusqlite::params![query, doc])?)
}

/// Words with a space before each.
fn spaced(words: impl Iterator<Item = String>) -> String {
    words.fold(String::new(), |mut out, word| {
        out.push(' ');
        out.push_str(&word);
        out
    })
}

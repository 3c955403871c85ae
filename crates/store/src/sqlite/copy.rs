//! A logical copy into a fresh file: rows of another engine become a database that is sound here.
//!
//! Promises: the file has the form of a backup (see `backup`), so that it restores like one: seals, codes and
//! sums are computed from the rows, secrets stay encrypted as they came. It gets its name when it is whole
//! and checked. Each table tells how many rows it took and the sum of their hashes, which does not depend on
//! their order. It reads no other engine: whoever copies brings the rows.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use agentsite_protocol::{ConversationId, TaskHead, TaskId};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params, params_from_iter};
use sha2::{Digest, Sha256};

use super::backup::{self, Cleanup};
use super::fault::{damaged, on_file};
use super::sidecar::{PRIVATE, sidecar};
use super::vault::Vault;
use super::{audit, conversations, file, schema, seal};
use crate::{StoreError, StoreKey};

/// A value of a row that is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A number, a time in milliseconds, or a yes (1) or no (0).
    Integer(i64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// A table of a logical copy and its columns, in the order in which rows bring them.
#[derive(Debug, Clone, Copy)]
pub struct CopyTable {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static str,
}

/// The tables of a logical copy, in the order in which they are copied: tasks come before their events,
/// conversations before their turns, and turns in the order in which they were said.
///
/// `sent` of an event is the key of its message and the hash of its content. `question` and `answer` of a
/// turn are the words by which it is found. `front` has one row: the last line that was removed from the
/// journal.
pub const COPY_TABLES: &[CopyTable] = &[
    CopyTable {
        name: "tasks",
        columns: "id, state, seq, created_at, updated_at, parent, agent, owner, context, kept, expires_at",
    },
    CopyTable { name: "task_events", columns: "task, first_seq, last_seq, sent, body" },
    CopyTable {
        name: "journal",
        columns: "seq, at, actor, agent, task, text, salt, digest, hash, kind, subject",
    },
    CopyTable { name: "journal_heads", columns: "seq, at, hash, signature" },
    CopyTable { name: "front", columns: "seq, hash" },
    CopyTable { name: "push_configs", columns: "task, id, body" },
    CopyTable {
        name: "outbox",
        columns: "id, due, deadline, attempts, dead, task, lane, kind, error, body, account",
    },
    CopyTable {
        name: "keys",
        columns: "id, hash, label, scopes, created_at, expires_at, last_used_at, session, of_key",
    },
    CopyTable { name: "settings", columns: "name, value, owner" },
    CopyTable { name: "records", columns: "collection, key, owner, revision, expires_at, body" },
    CopyTable { name: "usage", columns: "agent, day, input_tokens, output_tokens, turns, calls" },
    CopyTable {
        name: "listings",
        columns: "id, revision, owner, standing, visibility, media_type, updated_at, due, shape, body",
    },
    CopyTable {
        name: "conversations",
        columns: "id, owner, title, named, pinned, agent, created_at, updated_at, revision, head, turns, gone",
    },
    CopyTable {
        name: "turns",
        columns: "conversation, parent, task, at, agent, context, message, bytes, question, answer",
    },
];

/// How many rows of a table were copied, and the sum of their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopySum {
    /// The rows.
    pub rows: u64,
    /// The sum, the same for the same rows in any order.
    pub sum: u128,
}

impl CopySum {
    /// Adds a row.
    pub fn add(&mut self, row: &[Cell]) {
        let mut hash = Sha256::new();
        for cell in row {
            let (tag, bytes): (u8, &[u8]) = match cell {
                Cell::Null => (0, &[]),
                Cell::Integer(number) => (1, &number.to_le_bytes()),
                Cell::Text(text) => (2, text.as_bytes()),
                Cell::Bytes(bytes) => (3, bytes),
            };
            hash.update([tag]);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        let digest = hash.finalize();
        self.rows += 1;
        self.sum = self.sum.wrapping_add(u128::from_le_bytes(std::array::from_fn(|at| digest[at])));
    }
}

/// A file that rows are copied into.
#[derive(Debug)]
pub struct SqliteSink {
    db: Connection,
    vault: Vault,
    to: PathBuf,
    part: PathBuf,
    front: (i64, [u8; 32]),
    sums: BTreeMap<&'static str, CopySum>,
    _half_made: Cleanup,
}

impl SqliteSink {
    /// Makes an empty file beside `to`, which must not exist.
    ///
    /// # Errors
    /// [`StoreError::Engine`] when `to` exists or cannot be written, [`StoreError::Full`] without space.
    pub fn create(to: &Path, key: &StoreKey) -> Result<Self, StoreError> {
        if to.exists() {
            return Err(StoreError::Engine(format!(
                "{} exists already: name another file for the backup",
                to.display()
            )));
        }
        let part = sidecar(to, ".part");
        let half_made = Cleanup(part.clone());
        let _ = fs::remove_file(&part);
        let made = fs::OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&part);
        made.map_err(|error| on_file("write", &part, &error))?;
        let vault = Vault::new(key);
        let mut db = file::connect(&part, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        db.pragma_update(None, "page_size", file::PAGE)?;
        schema::migrate(&mut db, &vault)?;
        db.execute_batch("BEGIN IMMEDIATE")?;
        let (front, sums) = ((0, super::chain::START), BTreeMap::new());
        Ok(Self { db, vault, to: to.to_owned(), part, front, sums, _half_made: half_made })
    }

    /// Takes rows of a table, each with the columns that [`COPY_TABLES`] names.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for rows that no engine of ours writes.
    pub fn put(&mut self, table: &CopyTable, rows: Vec<Vec<Cell>>) -> Result<(), StoreError> {
        let sum = self.sums.entry(table.name).or_default();
        rows.iter().for_each(|row| sum.add(row));
        for row in rows {
            let values: Vec<Value> = row.into_iter().map(value).collect();
            match table.name {
                "tasks" => self.put_task(values)?,
                "task_events" => self.put_events(&values)?,
                "front" => self.front = (integer(&values, 0)?, bytes(&values, 1)?),
                "conversations" => self.put_conversation(values)?,
                "turns" => self.put_turn(&values)?,
                _ => insert(&self.db, table.name, table.columns, values).map(drop)?,
            }
        }
        Ok(())
    }

    /// Seals, checks and names the file; gives what each table took.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when what came does not fit together, [`StoreError::Full`] without space.
    pub fn finish(self) -> Result<BTreeMap<&'static str, CopySum>, StoreError> {
        let Self { db, vault, to, part, front, sums, .. } = &self;
        db.execute_batch(
            "UPDATE outbox SET held = 1 WHERE dead = 0 AND EXISTS (SELECT 1 FROM outbox b
                 WHERE b.task = outbox.task AND b.lane = outbox.lane AND b.dead = 0 AND b.id < outbox.id)",
        )?;
        audit::seal_copied(db, vault, *front)?;
        db.execute_batch("COMMIT")?;
        file::mark_clean(db, true)?;
        backup::leave_key(db, &vault.key)?;
        file::check(db, "integrity_check")?;
        fs::OpenOptions::new()
            .write(true)
            .open(part)
            .and_then(|file| file.sync_all())
            .map_err(|error| on_file("sync", part, &error))?;
        fs::rename(part, to).map_err(|error| on_file("write", to, &error))?;
        file::sync_folder(to)?;
        Ok(sums.clone())
    }

    fn put_task(&self, mut values: Vec<Value>) -> Result<(), StoreError> {
        let wrong = || damaged("a task that was copied");
        let expires_at = values.pop().unwrap_or(Value::Null);
        let id = TaskId::from_bytes(bytes(&values, 0)?);
        let (state, seq, updated_at) = (integer(&values, 1)?, integer(&values, 2)?, integer(&values, 4)?);
        let parent = match &values[5] {
            Value::Null => None,
            _ => Some(TaskId::from_bytes(bytes(&values, 5)?)),
        };
        let head = TaskHead {
            id,
            context: text(&values, 8)?.parse().map_err(|_| wrong())?,
            agent: text(&values, 6)?.parse().map_err(|_| wrong())?,
            owner: text(&values, 7)?.parse().map_err(|_| wrong())?,
            state: seal::state(state).ok_or_else(wrong)?,
            created_at: seal::time(integer(&values, 3)?),
            updated_at: seal::time(updated_at),
            seq: seq.unsigned_abs(),
            parent,
        };
        values.push(Value::Integer(seal::head(seal::root(&head), state, updated_at, seq)));
        let columns = "id, state, seq, created_at, updated_at, parent, agent, owner, context, kept, seal";
        let row = insert(&self.db, "tasks", columns, values)?;
        if expires_at != Value::Null {
            insert(&self.db, "task_expiry", "task, expires_at", vec![Value::Integer(row), expires_at])?;
        }
        Ok(())
    }

    fn put_events(&self, values: &[Value]) -> Result<(), StoreError> {
        let id = TaskId::from_bytes(bytes(values, 0)?);
        let (first, last) = (integer(values, 1)?, integer(values, 2)?);
        let (sent, body) = (optional(values, 3)?, text(values, 4)?);
        let sealed = seal::events(id, first, last, sent, body.as_bytes());
        let sql = "INSERT INTO task_events (task, first_seq, last_seq, seal, sent, body)
                   SELECT row, ?2, ?3, ?4, ?5, ?6 FROM tasks WHERE id = ?1";
        let mut add = self.db.prepare_cached(sql)?;
        let row = add.insert(params![id.as_bytes().as_slice(), first, last, sealed, sent, body])?;
        if let Some(key) = sent.and_then(|sent| sent.get(..16)) {
            insert(&self.db, "sent", "key, events", vec![Value::Blob(key.to_vec()), Value::Integer(row)])?;
        }
        Ok(())
    }

    fn put_conversation(&self, values: Vec<Value>) -> Result<(), StoreError> {
        let (owner, title) = (text(&values, 1)?.to_owned(), text(&values, 2)?.to_owned());
        let gone = integer(&values, 11)? != 0;
        let columns =
            "id, owner, title, named, pinned, agent, created_at, updated_at, revision, head, turns, gone";
        let row = insert(&self.db, "conversations", columns, values)?;
        let owner = owner.parse().map_err(|_| damaged("a conversation that was copied"))?;
        if gone { Ok(()) } else { Ok(conversations::index(&self.db, "title_words", row, &owner, &title)?) }
    }

    fn put_turn(&self, values: &[Value]) -> Result<(), StoreError> {
        let of = ConversationId::from_bytes(bytes(values, 0)?);
        let sql = "SELECT row, owner FROM conversations WHERE id = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, super::fault::principal(row, 1)?));
        let mut find = self.db.prepare_cached(sql)?;
        let (conversation, owner): (i64, _) = find.query_row([of.as_bytes().as_slice()], read)?;
        let sql = "INSERT INTO turns (conversation, parent, task, at, agent, context, message, bytes)
                   VALUES (?1, ifnull((SELECT row FROM turns WHERE task = ?2), 0), ?3, ?4, ?5, ?6, ?7, ?8)";
        let row = self.db.prepare_cached(sql)?.insert(params![
            conversation,
            optional(values, 1)?,
            optional(values, 2)?,
            integer(values, 3)?,
            text(values, 4)?,
            text(values, 5)?,
            text(values, 6)?,
            integer(values, 7)?,
        ])?;
        for (at, place) in [(8, row * 2), (9, row * 2 + 1)] {
            if let Value::Text(words) = &values[at] {
                conversations::index(&self.db, "turn_words", place, &owner, words)?;
            }
        }
        Ok(())
    }
}

fn insert(db: &Connection, table: &str, columns: &str, values: Vec<Value>) -> Result<i64, StoreError> {
    let marks = vec!["?"; columns.split(", ").count()].join(", ");
    let sql = format!("INSERT INTO {table} ({columns}) VALUES ({marks})");
    db.prepare_cached(&sql)?.execute(params_from_iter(values))?;
    Ok(db.last_insert_rowid())
}

fn value(cell: Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::Integer(number),
        Cell::Text(text) => Value::Text(text),
        Cell::Bytes(bytes) => Value::Blob(bytes),
    }
}

fn integer(values: &[Value], at: usize) -> Result<i64, StoreError> {
    match values.get(at) {
        Some(Value::Integer(number)) => Ok(*number),
        _ => Err(damaged("a number of a row that was copied")),
    }
}

fn text(values: &[Value], at: usize) -> Result<&str, StoreError> {
    match values.get(at) {
        Some(Value::Text(text)) => Ok(text),
        _ => Err(damaged("a text of a row that was copied")),
    }
}

fn optional(values: &[Value], at: usize) -> Result<Option<&[u8]>, StoreError> {
    match values.get(at) {
        Some(Value::Blob(bytes)) => Ok(Some(bytes)),
        Some(Value::Null) => Ok(None),
        _ => Err(damaged("the bytes of a row that was copied")),
    }
}

fn bytes<const N: usize>(values: &[Value], at: usize) -> Result<[u8; N], StoreError> {
    let found = optional(values, at)?.and_then(|bytes| bytes.try_into().ok());
    found.ok_or_else(|| damaged("the bytes of a row that was copied"))
}

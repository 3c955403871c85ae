//! A logical copy into a fresh file: rows of another store become a database that is sound here.
//!
//! Promises: seals, codes and sums are computed from the rows, secrets stay encrypted as they came. The file
//! gets its name when it is whole, audited and read back; a backup then restores like any other, and in the
//! place of a site's database no site starts before that. What a broken-off copy left is removed by the next.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use agentsite_protocol::{ConversationId, RoomId};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params, params_from_iter};

use super::backup::{self, Cleanup};
use super::fault::{damaged, on_file};
use super::file::Lock;
use super::rows::FileRows;
use super::sidecar::{PRIVATE, sidecar};
use super::source::apart;
use super::vault::Vault;
use super::{audit, conversations, file, incomplete, progress, rooms, schema, seal, verify};
use crate::copying::{
    Cell, CopySum, CopyTable, RowSink, RowSource, copied_blob, copied_bytes, copied_head, copied_integer,
    copied_text,
};
use crate::room::words_of;
use crate::{Reply, StoreError, StoreKey};

/// A file that rows are copied into.
#[derive(Debug)]
pub struct SqliteSink {
    draft: Option<Draft>,
}

/// The file while it has no name.
#[derive(Debug)]
struct Draft {
    db: Connection,
    vault: Vault,
    rows: FileRows,
    to: PathBuf,
    part: PathBuf,
    front: (i64, [u8; 32]),
    /// The last number that was given to a delivery.
    delivery: i64,
    /// For the database of a site: no other process may use its place.
    place: Option<Lock>,
    _half_made: Cleanup,
}

impl SqliteSink {
    /// A new backup, which carries the key if that goes into backups. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Engine`] when `to` exists or cannot be written, [`StoreError::Full`] without space.
    pub fn backup(to: &Path, key: &StoreKey) -> Result<Self, StoreError> {
        if to.exists() {
            return Err(StoreError::Engine(format!(
                "{} exists already: name another file for the backup",
                to.display()
            )));
        }
        Draft::begin(to, key, None)
    }

    /// The database of a site that does not run and has none yet. From here on, and until the copy is
    /// complete, no site starts there. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while a site runs there; as [`Self::backup`].
    pub fn place(db: &Path, key: &StoreKey) -> Result<Self, StoreError> {
        let lock = Lock::take(db)?;
        if db.exists() {
            return Err(StoreError::Engine(format!("{} exists already: name an empty folder", db.display())));
        }
        incomplete::set(db)?;
        Draft::begin(db, key, Some(lock))
    }

    /// Removes the mark of a copy that was broken off after its last step: the database has its name.
    ///
    /// # Errors
    /// [`StoreError::Engine`] when the mark cannot be removed.
    pub fn settle(db: &Path) -> Result<(), StoreError> {
        incomplete::remove(db)
    }
}

impl Draft {
    fn begin(to: &Path, key: &StoreKey, place: Option<Lock>) -> Result<SqliteSink, StoreError> {
        let part = sidecar(to, ".part");
        let half_made = Cleanup(part.clone());
        half_made.clear();
        let made = fs::OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&part);
        made.map_err(|error| on_file("write", &part, &error))?;
        let vault = Vault::new(key);
        let mut db = file::connect(&part, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        db.pragma_update(None, "page_size", file::PAGE)?;
        db.pragma_update(None, "temp_store", "FILE")?;
        schema::migrate(&mut db, &vault)?;
        db.execute_batch("BEGIN IMMEDIATE")?;
        let (front, rows) = ((0, super::chain::START), FileRows::default());
        let to = to.to_owned();
        let draft = Self { db, vault, rows, to, part, front, delivery: 0, place, _half_made: half_made };
        Ok(SqliteSink { draft: Some(draft) })
    }

    fn put(&mut self, table: &CopyTable, rows: Vec<Vec<Cell>>) -> Result<(), StoreError> {
        for row in rows {
            match table.name {
                "tasks" => self.put_task(row)?,
                "task_events" => self.put_events(&row)?,
                "front" => {
                    self.front = (copied_integer(&row, 0)?, copied_bytes(&row, 1)?);
                    self.delivery = copied_integer(&row, 2)?;
                }
                "room_events" => self.put_room_event(row)?,
                "room_members" | "room_snapshots" => {
                    self.put_of_room(table.name, table.columns, row).map(drop)?;
                }
                "conversations" => self.put_conversation(row)?,
                "turns" => self.put_turn(&row)?,
                _ => insert(&self.db, table.name, table.columns, row.into_iter().map(value)).map(drop)?,
            }
        }
        Ok(())
    }

    fn seal(&mut self) -> Result<(), StoreError> {
        let Self { db, vault, part, front, delivery, place, .. } = self;
        db.execute("DELETE FROM sqlite_sequence WHERE name = 'outbox'", [])?;
        db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('outbox', ?1)", [*delivery])?;
        db.execute_batch(
            "UPDATE outbox SET held = 1 WHERE dead = 0 AND EXISTS (SELECT 1 FROM outbox b
                 WHERE b.task = outbox.task AND b.lane = outbox.lane AND b.dead = 0 AND b.id < outbox.id)",
        )?;
        audit::seal_copied(db, vault, *front)?;
        db.execute_batch("COMMIT")?;
        file::mark_clean(db, true)?;
        if place.is_none() {
            backup::leave_key(db, &vault.key)?;
        }
        verify::audit(part, Some(&vault.key)).map(drop)
    }

    fn complete(&mut self) -> Result<(), StoreError> {
        let Self { to, part, place, .. } = self;
        fs::OpenOptions::new()
            .write(true)
            .open(&*part)
            .and_then(|file| file.sync_all())
            .map_err(|error| on_file("sync", part, &error))?;
        if place.is_some() {
            // What an earlier database left next to its place does not belong to this one.
            progress::forget(to);
            for ending in ["-wal", "-shm"] {
                let _ = fs::remove_file(sidecar(to, ending));
            }
        }
        fs::rename(&*part, &*to).map_err(|error| on_file("write", to, &error))?;
        file::sync_folder(to)?;
        if place.is_some() { incomplete::remove(to) } else { Ok(()) }
    }

    fn put_task(&self, row: Vec<Cell>) -> Result<(), StoreError> {
        let head = copied_head(&row)?;
        let (state, updated_at, seq) =
            (copied_integer(&row, 1)?, copied_integer(&row, 4)?, copied_integer(&row, 2)?);
        let mut values: Vec<Value> = row.into_iter().map(value).collect();
        let expires_at = values.pop().unwrap_or(Value::Null);
        values.push(Value::Integer(seal::head(seal::root(&head), state, updated_at, seq)));
        let columns = "id, state, seq, created_at, updated_at, parent, agent, owner, context, kept, seal";
        let row = insert(&self.db, "tasks", columns, values.into_iter())?;
        if expires_at != Value::Null {
            let values = [Value::Integer(row), expires_at];
            insert(&self.db, "task_expiry", "task, expires_at", values.into_iter())?;
        }
        Ok(())
    }

    fn put_events(&self, row: &[Cell]) -> Result<(), StoreError> {
        let id = agentsite_protocol::TaskId::from_bytes(copied_bytes(row, 0)?);
        let (first, last) = (copied_integer(row, 1)?, copied_integer(row, 2)?);
        let (sent, body) = (copied_blob(row, 3)?, copied_text(row, 4)?);
        let sealed = seal::events(id, first, last, sent, body.as_bytes());
        let sql = "INSERT INTO task_events (task, first_seq, last_seq, seal, sent, body)
                   SELECT row, ?2, ?3, ?4, ?5, ?6 FROM tasks WHERE id = ?1";
        let mut add = self.db.prepare_cached(sql)?;
        let row = add.insert(params![id.as_bytes().as_slice(), first, last, sealed, sent, body])?;
        if let Some(key) = sent.and_then(|sent| sent.get(..16)) {
            let values = [Value::Blob(key.to_vec()), Value::Integer(row)];
            insert(&self.db, "sent", "key, events", values.into_iter())?;
        }
        Ok(())
    }

    /// A row that names its room by its id.
    fn put_of_room(&self, table: &str, columns: &str, mut row: Vec<Cell>) -> Result<i64, StoreError> {
        let id: [u8; 16] = copied_bytes(&row, 0)?;
        let mut find = self.db.prepare_cached("SELECT row FROM rooms WHERE id = ?1")?;
        row[0] = Cell::Integer(find.query_row([id.as_slice()], |row| row.get(0))?);
        insert(&self.db, table, columns, row.into_iter().map(value))
    }

    fn put_room_event(&self, row: Vec<Cell>) -> Result<(), StoreError> {
        let id = RoomId::from_bytes(copied_bytes(&row, 0)?);
        let words = words_of(copied_text(&row, 8)?);
        let columns = "room, seq, at, sender, message, digest, hash, signature, body";
        let row = self.put_of_room("room_events", columns, row)?;
        Ok(rooms::note_words(&self.db, row, id, &words)?)
    }

    fn put_conversation(&self, row: Vec<Cell>) -> Result<(), StoreError> {
        let (owner, title) = (copied_text(&row, 1)?.to_owned(), copied_text(&row, 2)?.to_owned());
        let gone = copied_integer(&row, 11)? != 0;
        let values = row.into_iter().map(value);
        let columns =
            "id, owner, title, named, pinned, agent, created_at, updated_at, revision, head, turns, gone";
        let row = insert(&self.db, "conversations", columns, values)?;
        let owner = owner.parse().map_err(|_| damaged("a conversation that was copied"))?;
        if gone || title.is_empty() {
            return Ok(());
        }
        Ok(conversations::note_words(&self.db, "title_words", row, &owner, &title)?)
    }

    fn put_turn(&self, values: &[Cell]) -> Result<(), StoreError> {
        let of = ConversationId::from_bytes(copied_bytes(values, 0)?);
        let sql = "SELECT row, owner FROM conversations WHERE id = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, super::fault::principal(row, 1)?));
        let mut find = self.db.prepare_cached(sql)?;
        let (conversation, owner): (i64, _) = find.query_row([of.as_bytes().as_slice()], read)?;
        let sql = "INSERT INTO turns (conversation, parent, task, at, agent, context, message, bytes)
                   VALUES (?1, ifnull((SELECT row FROM turns WHERE task = ?2), 0), ?3, ?4, ?5, ?6, ?7, ?8)";
        let row = self.db.prepare_cached(sql)?.insert(params![
            conversation,
            copied_blob(values, 1)?,
            copied_blob(values, 2)?,
            copied_integer(values, 3)?,
            copied_text(values, 4)?,
            copied_text(values, 5)?,
            copied_text(values, 6)?,
            copied_integer(values, 7)?,
        ])?;
        for (at, place) in [(8, row * 2), (9, row * 2 + 1)] {
            if let Some(Cell::Text(words)) = values.get(at) {
                // Words that are none are noted, too: the text had only signs.
                conversations::note_words(&self.db, "turn_words", place, &owner, words)?;
            }
        }
        Ok(())
    }
}

impl RowSource for SqliteSink {
    fn begin<'a>(&'a mut self, table: &'static CopyTable) -> Reply<'a, ()> {
        Box::pin(apart(&mut self.draft, move |draft| {
            draft.rows.begin(table);
            Ok(())
        }))
    }

    fn next(&mut self) -> Reply<'_, Vec<Vec<Cell>>> {
        Box::pin(apart(&mut self.draft, |draft| draft.rows.next(&draft.db, &draft.vault)))
    }

    fn end(&mut self) -> Reply<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

impl RowSink for SqliteSink {
    fn kept<'a>(&'a mut self, _: &'static CopyTable) -> Reply<'a, Option<CopySum>> {
        // One transaction writes the whole file, and one that was broken off left nothing.
        Box::pin(async { Ok(None) })
    }

    fn clear<'a>(&'a mut self, _: &'static CopyTable) -> Reply<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn put<'a>(&'a mut self, table: &'static CopyTable, rows: Vec<Vec<Cell>>) -> Reply<'a, ()> {
        Box::pin(apart(&mut self.draft, move |draft| draft.put(table, rows)))
    }

    fn keep<'a>(&'a mut self, _: &'static CopyTable, _: CopySum) -> Reply<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn seal(&mut self) -> Reply<'_, ()> {
        Box::pin(apart(&mut self.draft, Draft::seal))
    }

    fn complete(&mut self) -> Reply<'_, ()> {
        Box::pin(apart(&mut self.draft, Draft::complete))
    }
}

fn insert(
    db: &Connection,
    table: &str,
    columns: &str,
    values: impl Iterator<Item = Value>,
) -> Result<i64, StoreError> {
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

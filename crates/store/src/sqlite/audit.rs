//! What makes edits of the file by another program visible: a code for each protected row, a sum of the codes
//! of each table, and the chain of the journal.
//!
//! Promises: a protected row that is changed, added, moved or brought back without the store's key does not
//! fit its code, and one that is removed does not fit the sum; both are written in the transaction that
//! changes the row, by triggers of the writer's connection, so that no statement can forget them. The sums
//! lie sealed in `meta`. Keys and settings are checked whenever the file is opened; everything by `verify`.
//! It does not protect tasks and their events, which have seals of their own (`seal`), nor counters of usage,
//! nor the indexes of words.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agentsite_protocol::{JournalLine, TaskId};
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::chain::{self, ChainEnd, Covered};
use super::vault::Vault;
use crate::{SignedHead, StoreError};

/// A table whose rows are protected.
#[derive(Debug)]
pub(super) struct Source {
    /// Its number in `row_macs` and in the codes; never used for another table.
    pub(super) number: u8,
    pub(super) table: &'static str,
    /// The columns that tell a row.
    keys: &'static [&'static str],
    /// Whether it is checked whenever the file is opened: few rows, and authority.
    at_open: bool,
}

/// The protected tables.
pub(super) const SOURCES: &[Source] = &[
    Source { number: 1, table: "keys", keys: &["id"], at_open: true },
    Source { number: 2, table: "settings", keys: &["name"], at_open: true },
    Source { number: 3, table: "listings", keys: &["row"], at_open: false },
    Source { number: 4, table: "conversations", keys: &["row"], at_open: false },
    Source { number: 5, table: "turns", keys: &["row"], at_open: false },
    Source { number: 6, table: "push_configs", keys: &["task", "id"], at_open: false },
    Source { number: 7, table: "outbox", keys: &["id"], at_open: false },
    Source { number: 8, table: "task_expiry", keys: &["task"], at_open: false },
    Source { number: 9, table: "journal_heads", keys: &["seq"], at_open: false },
    Source { number: 10, table: "records", keys: &["collection", "key"], at_open: true },
    Source { number: 11, table: "rooms", keys: &["row"], at_open: false },
    Source { number: 12, table: "room_members", keys: &["room", "member"], at_open: false },
    Source { number: 13, table: "room_snapshots", keys: &["room"], at_open: false },
];

/// Where the state lies in `meta`.
const STATE: &str = "audit";

/// What is sealed in `meta`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The sum of each table.
    sums: BTreeMap<u8, [u8; 16]>,
    /// The last line that was removed from the front of the journal.
    pub(super) front: (i64, [u8; 32]),
    /// A line that the journal has: the last one when the state was written.
    pub(super) line: (i64, [u8; 32]),
}

type Sums = BTreeMap<u8, u128>;

/// The protection of a file that is being written.
#[derive(Debug)]
pub(super) struct Audit {
    pub(super) vault: Arc<Vault>,
    // A std lock: the triggers of the same thread add to it; there is no other user.
    sums: Arc<Mutex<Sums>>,
    state: State,
    end: ChainEnd,
    /// As they were before the open transaction.
    before: (Sums, State, ChainEnd),
}

/// A row that does not fit its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadRow {
    pub(super) table: &'static str,
    pub(super) key: Option<String>,
    pub(super) why: &'static str,
}

impl Audit {
    /// Checks keys and settings and sets the triggers. The tables have the newest schema.
    pub(super) fn open(db: &Connection, vault: Arc<Vault>) -> Result<Self, StoreError> {
        let state = read_state(db, &vault)?;
        for source in SOURCES.iter().filter(|source| source.at_open) {
            if let Some(bad) = check_rows(db, &vault, source, &state)? {
                return Err(StoreError::Tampered(bad.to_string()));
            }
        }
        let sums: Sums = state.sums.iter().map(|(at, sum)| (*at, u128::from_le_bytes(*sum))).collect();
        let end = last_line(db)?.unwrap_or(ChainEnd { seq: state.front.0, hash: state.front.1 });
        let before = (sums.clone(), state.clone(), end);
        let audit = Self { vault, sums: Arc::new(Mutex::new(sums)), state, end, before };
        audit.set_triggers(db)?;
        Ok(audit)
    }

    fn set_triggers(&self, db: &Connection) -> Result<(), StoreError> {
        // A row that is replaced is a removed and an added one.
        db.pragma_update(None, "recursive_triggers", true)?;
        for (name, adds) in [("audit_add", true), ("audit_remove", false)] {
            let (vault, sums) = (self.vault.clone(), self.sums.clone());
            db.create_scalar_function(name, -1, FunctionFlags::SQLITE_UTF8, move |row: &Context<'_>| {
                let source = row.get::<u8>(0)?;
                let (mac, part) = vault.row(source, (1..row.len()).map(|at| row.get_raw(at)));
                let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
                let sum = sums.entry(source).or_default();
                *sum = if adds { sum.wrapping_add(part) } else { sum.wrapping_sub(part) };
                Ok(mac.to_vec())
            })?;
        }
        for source in SOURCES {
            db.execute_batch(&source.triggers(db)?)?;
        }
        Ok(())
    }

    /// A transaction begins.
    pub(super) fn begin(&mut self) {
        let sums = self.sums().clone();
        self.before = (sums, self.state.clone(), self.end);
    }

    /// Appends a line to the journal.
    pub(super) fn add_line(&mut self, db: &Connection, line: &JournalLine) -> rusqlite::Result<()> {
        let salt = self.vault.salt(&self.end.hash);
        let implied = line.subject == line.implied_subject();
        let subject = (!implied).then(|| line.subject.to_string());
        let digest = chain::digest(&salt, &line.text);
        let covered = Covered::new(self.end.seq + 1, line, subject.as_deref(), digest);
        let next = self.end.next(&covered);
        let sql = "INSERT INTO journal (seq, at, actor, agent, task, text, salt, hash, kind, subject)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        db.prepare_cached(sql)?.execute(params![
            covered.seq,
            covered.at,
            covered.actor,
            covered.agent,
            covered.task,
            line.text,
            salt.as_slice(),
            next.hash.as_slice(),
            covered.kind,
            covered.subject,
        ])?;
        self.end = next;
        Ok(())
    }

    /// Removes the texts of the lines about a task; the chain stays whole. Gives how many bytes of text went.
    pub(super) fn redact(&mut self, db: &Connection, task: TaskId) -> rusqlite::Result<u64> {
        let sql = "SELECT seq, salt, text FROM journal WHERE task = ?1 AND digest IS NULL";
        let mut find = db.prepare_cached(sql)?;
        let lines = find.query_map([task.as_bytes().as_slice()], |row| {
            let (salt, text): (Vec<u8>, String) = (row.get(1)?, row.get(2)?);
            Ok((row.get(0)?, chain::digest(&salt, &text), text.len() as u64))
        })?;
        let lines: Vec<(i64, [u8; 32], u64)> = lines.collect::<rusqlite::Result<_>>()?;
        let sql = "UPDATE journal SET text = '', salt = NULL, digest = ?2 WHERE seq = ?1";
        for (seq, digest, _) in &lines {
            db.prepare_cached(sql)?.execute(params![seq, digest.as_slice()])?;
        }
        Ok(lines.iter().map(|(_, _, bytes)| bytes).sum())
    }

    /// Removes the lines up to `seq` from the front of the journal.
    pub(super) fn remove_lines(&mut self, db: &Connection, seq: i64) -> rusqlite::Result<()> {
        let hash: Vec<u8> = db
            .prepare_cached("SELECT hash FROM journal WHERE seq = ?1")?
            .query_row([seq], |row| row.get(0))?;
        db.prepare_cached("DELETE FROM journal WHERE seq <= ?1")?.execute([seq])?;
        db.prepare_cached("DELETE FROM journal_heads WHERE seq <= ?1")?.execute([seq])?;
        self.state.front = (seq, hash.try_into().unwrap_or(chain::START));
        Ok(())
    }

    /// Keeps a signed head.
    pub(super) fn add_head(&mut self, db: &Connection, head: &SignedHead) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO journal_heads (seq, at, hash, signature) VALUES (?1, ?2, ?3, ?4)";
        let seq = i64::try_from(head.seq).unwrap_or(i64::MAX);
        let values = params![seq, head.at.as_millis(), head.hash.as_slice(), head.signature];
        db.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    /// The transaction ends: writes the state when something of it has changed.
    pub(super) fn write(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let sums = self.sums().clone();
        if sums == self.before.0 && self.state.front == self.before.1.front {
            return Ok(());
        }
        self.state.sums = sums.into_iter().map(|(at, sum)| (at, sum.to_le_bytes())).collect();
        self.state.line = (self.end.seq, self.end.hash);
        write_state(db, &self.vault, &self.state)
    }

    /// The transaction failed.
    pub(super) fn undo(&mut self) {
        let (sums, state, end) = self.before.clone();
        *self.sums() = sums;
        (self.state, self.end) = (state, end);
    }

    /// The end of the journal.
    pub(super) const fn end(&self) -> ChainEnd {
        self.end
    }

    fn sums(&self) -> std::sync::MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source {
    /// The expression for the key of a row; `of` is the row's name with its point, such as `NEW.`.
    fn key(&self, of: &str) -> String {
        match self.keys {
            [first, second] => format!("hex({of}{first}) || ':' || {of}{second}"),
            keys => format!("{of}{}", keys.first().copied().unwrap_or("rowid")),
        }
    }

    /// The columns of a row, as its code covers them.
    fn columns(&self, db: &Connection, of: &str) -> rusqlite::Result<String> {
        let mut names = db.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?;
        let names = names.query_map([self.table], |row| row.get::<_, String>(0))?;
        let names: Vec<String> =
            names.map(|name| Ok(format!("{of}{}", name?))).collect::<rusqlite::Result<_>>()?;
        Ok(names.join(", "))
    }

    fn triggers(&self, db: &Connection) -> rusqlite::Result<String> {
        let (number, table) = (self.number, self.table);
        let (new, old) = (self.columns(db, "NEW.")?, self.columns(db, "OLD.")?);
        let (new_key, old_key) = (self.key("NEW."), self.key("OLD."));
        let add = format!(
            "INSERT INTO row_macs (source, key, mac) VALUES ({number}, {new_key}, audit_add({number}, {new}));"
        );
        let remove = format!(
            "DELETE FROM row_macs WHERE source = {number} AND key = {old_key}; SELECT audit_remove({number}, {old});"
        );
        Ok(format!(
            "CREATE TEMP TRIGGER audit_{table}_insert AFTER INSERT ON main.{table} BEGIN {add} END;
             CREATE TEMP TRIGGER audit_{table}_update AFTER UPDATE ON main.{table} BEGIN {remove} {add} END;
             CREATE TEMP TRIGGER audit_{table}_delete AFTER DELETE ON main.{table} BEGIN {remove} END;"
        ))
    }
}

impl std::fmt::Display for BadRow {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.key {
            Some(key) => write!(out, "row {key} of the table {} {}", self.table, self.why),
            None => write!(out, "the table {} {}", self.table, self.why),
        }
    }
}

/// The first row of a table that does not fit, or a sentence about the table when the rows that are there do.
pub(super) fn check_rows(
    db: &Connection,
    vault: &Vault,
    source: &Source,
    state: &State,
) -> Result<Option<BadRow>, StoreError> {
    let bad = |key, why| Some(BadRow { table: source.table, key, why });
    let (key, columns) = (source.key("t."), source.columns(db, "t.")?);
    let sql = format!(
        "SELECT CAST({key} AS TEXT), m.mac, {columns} FROM {} t LEFT JOIN row_macs m ON m.source = ?1 AND m.key = {key}",
        source.table
    );
    let mut find = db.prepare(&sql)?;
    let count = find.column_count();
    let mut rows = find.query([source.number])?;
    let mut sum = 0_u128;
    while let Some(row) = rows.next()? {
        let values: Vec<ValueRef<'_>> =
            (2..count).map(|at| row.get_ref(at)).collect::<rusqlite::Result<_>>()?;
        let (mac, part) = vault.row(source.number, values.into_iter());
        sum = sum.wrapping_add(part);
        match row.get_ref(1)?.as_blob_or_null().ok().flatten() {
            Some(kept) if *kept == mac => {}
            Some(_) => return Ok(bad(shown(row.get_ref(0)?), "was changed outside of agentsite")),
            None => return Ok(bad(shown(row.get_ref(0)?), "was added outside of agentsite")),
        }
    }
    let sql = format!(
        "SELECT CAST(key AS TEXT) FROM row_macs WHERE source = ?1 AND key NOT IN (SELECT {} FROM {} t) ORDER BY key LIMIT 1",
        source.key("t."),
        source.table
    );
    let gone = db.query_row(&sql, [source.number], |row| Ok(shown(row.get_ref(0)?))).optional()?;
    if let Some(gone) = gone {
        return Ok(bad(gone, "was removed outside of agentsite"));
    }
    let expected = state.sums.get(&source.number).copied().map_or(0, u128::from_le_bytes);
    Ok(if sum == expected {
        None
    } else {
        bad(None, "lacks rows, or has old ones again, that agentsite did not remove or add")
    })
}

/// The protected tables that the file has; one that is on its way to the newest schema lacks some.
pub(super) fn sources(db: &Connection) -> rusqlite::Result<Vec<&'static Source>> {
    let mut find = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
    let mut there = Vec::new();
    for source in SOURCES {
        if find.exists([source.table])? {
            there.push(source);
        }
    }
    Ok(there)
}

/// Fails with the first row of any table that does not fit.
pub(super) fn check_all(db: &Connection, vault: &Vault) -> Result<(), StoreError> {
    let state = read_state(db, vault)?;
    for source in sources(db)? {
        if let Some(bad) = check_rows(db, vault, source, &state)? {
            return Err(StoreError::Tampered(bad.to_string()));
        }
    }
    Ok(())
}

/// A key for people: some are not text.
fn shown(key: ValueRef<'_>) -> Option<String> {
    key.as_bytes_or_null().ok().flatten().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Reads what is sealed in `meta`.
pub(super) fn read_state(db: &Connection, vault: &Vault) -> Result<State, StoreError> {
    let sealed = db.query_row("SELECT value FROM meta WHERE name = ?1", [STATE], |row| row.get(0));
    let sealed: Option<Vec<u8>> = sealed.optional()?;
    let sealed = sealed.ok_or_else(|| StoreError::Tampered("the sums of the tables are missing".into()))?;
    let opened = vault.unseal(&[b"meta", STATE.as_bytes()], &sealed).ok_or(StoreError::WrongKey)?;
    serde_json::from_slice(&opened).map_err(|_| StoreError::WrongKey)
}

fn write_state(db: &Connection, vault: &Vault, state: &State) -> rusqlite::Result<()> {
    let text = serde_json::to_vec(state).expect("numbers are always written");
    let sealed = vault.seal(&[b"meta", STATE.as_bytes()], &text);
    let sql = "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)";
    db.prepare_cached(sql)?.execute(params![STATE, sealed])?;
    Ok(())
}

/// The last line of the journal.
fn last_line(db: &Connection) -> rusqlite::Result<Option<ChainEnd>> {
    let sql = "SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1";
    let read = |row: &rusqlite::Row<'_>| {
        let hash: Option<Vec<u8>> = row.get(1)?;
        // A line without a hash breaks the chain here, which `verify` reports.
        Ok(ChainEnd {
            seq: row.get(0)?,
            hash: hash.and_then(|hash| hash.try_into().ok()).unwrap_or(chain::START),
        })
    };
    db.query_row(sql, [], read).optional()
}

/// Takes everything in the file as it is: encrypts the secrets of an older file, chains its journal and
/// computes every code. Inside a transaction.
pub(super) fn seal_all(db: &Connection, vault: &Vault) -> Result<(), StoreError> {
    super::secrets::seal_plain(db, vault)?;
    let front = chain_lines(db, vault)?;
    let end = last_line(db)?.unwrap_or(front);
    let state = State { sums: BTreeMap::new(), front: (front.seq, front.hash), line: (end.seq, end.hash) };
    write_state(db, vault, &state)?;
    seal_rows(db, vault)
}

/// Computes the codes of rows that were copied from another engine with their chain, whose first line follows
/// `front`. Inside a transaction.
pub(super) fn seal_copied(db: &Connection, vault: &Vault, front: (i64, [u8; 32])) -> Result<(), StoreError> {
    let end = last_line(db)?.map_or(front, |end| (end.seq, end.hash));
    write_state(db, vault, &State { sums: BTreeMap::new(), front, line: end })?;
    seal_rows(db, vault)
}

/// Computes every row's code anew, after a step of the schema or when the operator accepts the file as it is.
/// Inside a transaction.
pub(super) fn seal_rows(db: &Connection, vault: &Vault) -> Result<(), StoreError> {
    let mut state = read_state(db, vault)?;
    state.sums.clear();
    db.execute("DELETE FROM row_macs", [])?;
    let mut add = db.prepare("INSERT INTO row_macs (source, key, mac) VALUES (?1, ?2, ?3)")?;
    for source in sources(db)? {
        let sql =
            format!("SELECT {}, {} FROM {} t", source.key("t."), source.columns(db, "t.")?, source.table);
        let mut find = db.prepare(&sql)?;
        let count = find.column_count();
        let mut rows = find.query([])?;
        let mut sum = 0_u128;
        while let Some(row) = rows.next()? {
            let values: Vec<ValueRef<'_>> =
                (1..count).map(|at| row.get_ref(at)).collect::<rusqlite::Result<_>>()?;
            let (mac, part) = vault.row(source.number, values.into_iter());
            sum = sum.wrapping_add(part);
            let key: rusqlite::types::Value = row.get(0)?;
            add.execute(params![source.number, key, mac.as_slice()])?;
        }
        state.sums.insert(source.number, sum.to_le_bytes());
    }
    drop(add);
    Ok(write_state(db, vault, &state)?)
}

/// The columns of a line's kind and subject, or nothing in their place in a file of a version that had none.
pub(super) fn about_columns(db: &Connection) -> rusqlite::Result<&'static str> {
    let mut find = db.prepare("SELECT 1 FROM pragma_table_info('journal') WHERE name = 'kind'")?;
    Ok(if find.exists([])? { "kind, subject" } else { "NULL, NULL" })
}

/// Gives every line of the journal its hash; gives what the first line follows.
fn chain_lines(db: &Connection, vault: &Vault) -> Result<ChainEnd, StoreError> {
    let first: i64 = db.query_row("SELECT ifnull(min(seq), 1) FROM journal", [], |row| row.get(0))?;
    let front = ChainEnd { seq: first - 1, hash: chain::START };
    let mut end = front;
    let about = about_columns(db)?;
    let sql = format!("SELECT seq, at, actor, agent, task, text, digest, {about} FROM journal ORDER BY seq");
    let mut find = db.prepare(&sql)?;
    let mut rows = find.query([])?;
    let mut put = db.prepare("UPDATE journal SET salt = ?2, hash = ?3 WHERE seq = ?1")?;
    while let Some(row) = rows.next()? {
        let removed: Option<Vec<u8>> = row.get(6)?;
        let removed: Option<[u8; 32]> = removed.and_then(|digest| digest.try_into().ok());
        let salt = removed.is_none().then(|| vault.salt(&end.hash));
        let covered = Covered {
            seq: row.get(0)?,
            at: row.get(1)?,
            actor: row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?,
            agent: row.get_ref(3)?.as_str_or_null().map_err(rusqlite::Error::from)?,
            task: row.get_ref(4)?.as_blob_or_null().map_err(rusqlite::Error::from)?,
            kind: row.get_ref(7)?.as_str_or_null().map_err(rusqlite::Error::from)?,
            subject: row.get_ref(8)?.as_str_or_null().map_err(rusqlite::Error::from)?,
            text: match (removed, &salt) {
                (Some(digest), _) => digest,
                (None, salt) => {
                    let salt = salt.as_ref().map_or(&[][..], |salt| salt.as_slice());
                    chain::digest(salt, row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)?)
                }
            },
        };
        end = end.next(&covered);
        put.execute(params![end.seq, salt.as_ref().map(<[u8; 16]>::as_slice), end.hash.as_slice()])?;
    }
    Ok(front)
}

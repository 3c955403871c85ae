//! What each account holds, in the file: sums that are written down now and then, and everything since.
//!
//! Promises: the sums are exact after a kill at any moment. Ordinary work only appends events and journal
//! lines, and those are found again by their places: the sums are written together with the last places that
//! they include, and whatever came later is added when the file is opened. Every other change writes the sums
//! in its own transaction. See `storage` for the rules and docs/decisions for the reasons.

use agentsite_protocol::{Principal, account_of};
use rusqlite::{Connection, OptionalExtension, params};

use super::vault::SEAL;
use crate::storage::{Accounts, Growth, JOURNAL, SITE, fixed};
use crate::{Admittance, Disk, StorageLimits, StorageQuery, StorageUse, StoreError};

/// Rows that may be appended before the sums are written down: few enough that opening the file after a kill
/// adds them up in milliseconds, many enough that writing costs nothing.
const UNWRITTEN: usize = 4_096;

/// Names of the last places that the written sums include.
const EVENTS_PLACE: &str = "storage_events";
const LINES_PLACE: &str = "storage_lines";

/// What an event row and its share of the task take; `task_events` is `e`.
pub(super) const EVENT_BYTES: &str = "(64 + octet_length(e.body) + (e.first_seq = 1) * 640)";

/// The sums of a file that is being written.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) accounts: Accounts,
    /// How the disk was at the last look.
    pub(super) disk: Disk,
    /// Rows appended since the sums were written down.
    appended: usize,
}

impl Books {
    /// Reads the sums and adds what came after them; counts everything when they were never written.
    pub(super) fn open(db: &Connection, limits: StorageLimits) -> Result<Self, StoreError> {
        debug_assert_eq!((fixed::EVENTS, fixed::TASK), (64, 640), "EVENT_BYTES says the same");
        debug_assert_eq!(SEAL, 28, "the queries of count_all say the same");
        let mut books = Self { accounts: Accounts::new(limits), disk: Disk::default(), appended: 0 };
        let places = (place(db, EVENTS_PLACE)?, place(db, LINES_PLACE)?);
        match places {
            (Some(events), Some(lines)) => {
                let sql = "SELECT account, bytes FROM storage";
                each(db, sql, &[], |account, bytes| books.accounts.append(account, bytes))?;
                books.accounts.written();
                appended(db, events, lines, &mut books.accounts)?;
            }
            _ => {
                count_all(db, &mut books.accounts)?;
                books.appended = UNWRITTEN;
            }
        }
        books.accounts.keep();
        Ok(books)
    }

    /// Refuses a growth for which there is no space on the disk or within the limits.
    pub(super) fn guard(&self, growth: &Growth, admittance: Admittance) -> Result<(), StoreError> {
        self.disk.guard(growth, admittance)?;
        self.accounts.guard(growth, admittance)
    }

    /// What is held, for people.
    pub(super) fn view(&self, query: &StorageQuery) -> StorageUse {
        StorageUse { disk: self.disk, ..self.accounts.view(query) }
    }

    /// Counts a row of events.
    pub(super) fn events(&mut self, owner: &Principal, body: usize, first: bool) {
        self.appended += 1;
        let task = if first { fixed::TASK } else { 0 };
        self.accounts.append(owner.account(), fixed::EVENTS + task + body as u64);
    }

    /// Counts a journal line.
    pub(super) fn line(&mut self, actor: &str, text: &str) {
        self.appended += 1;
        self.accounts.append(JOURNAL, fixed::LINE + (actor.len() + text.len()) as u64);
    }

    /// Writes the sums down inside the open transaction, if they are to be.
    pub(super) fn write(&self, db: &Connection) -> rusqlite::Result<bool> {
        if !self.accounts.must_write() && self.appended < UNWRITTEN {
            return Ok(false);
        }
        for (account, bytes) in self.accounts.unwritten() {
            if bytes == 0 {
                db.prepare_cached("DELETE FROM storage WHERE account = ?1")?.execute([account])?;
            } else {
                let sql = "INSERT OR REPLACE INTO storage (account, bytes) VALUES (?1, ?2)";
                db.prepare_cached(sql)?.execute(params![account, bytes.cast_signed()])?;
            }
        }
        for (name, last) in [
            (EVENTS_PLACE, "SELECT ifnull(max(row), 0) FROM task_events"),
            (LINES_PLACE, "SELECT ifnull(max(seq), 0) FROM journal"),
        ] {
            let last: i64 = db.prepare_cached(last)?.query_row([], |row| row.get(0))?;
            let sql = "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)";
            db.prepare_cached(sql)?.execute(params![name, last])?;
        }
        Ok(true)
    }

    /// The transaction is on disk.
    pub(super) fn keep(&mut self, written: bool) {
        self.accounts.keep();
        if written {
            self.accounts.written();
            self.appended = 0;
        }
    }

    /// The transaction failed.
    pub(super) fn undo(&mut self) {
        self.accounts.undo();
    }
}

/// The account of a column that may be empty.
pub(super) fn account(owner: Option<&str>) -> String {
    match owner {
        None | Some("") => SITE.to_owned(),
        Some(owner) => account_of(owner).to_owned(),
    }
}

/// Counts every row anew.
pub(super) fn recount(
    db: &Connection,
    limits: StorageLimits,
    query: &StorageQuery,
) -> Result<StorageUse, StoreError> {
    let moment = db.unchecked_transaction()?;
    let mut accounts = Accounts::new(limits);
    count_all(&moment, &mut accounts)?;
    Ok(accounts.view(query))
}

fn count_all(db: &Connection, accounts: &mut Accounts) -> Result<(), StoreError> {
    appended(db, 0, 0, accounts)?;
    for sql in [
        "SELECT t.owner, sum(96 + octet_length(p.body) - 28) FROM push_configs p JOIN tasks t ON t.id = p.task GROUP BY t.owner",
        "SELECT account, sum(192 + octet_length(body)) FROM outbox GROUP BY account",
        "SELECT owner, sum(320 + octet_length(body)) FROM listings GROUP BY owner",
        "SELECT owner, sum(384 + octet_length(title)) FROM conversations GROUP BY owner",
        "SELECT c.owner, sum(320 + t.bytes) FROM turns t JOIN conversations c ON c.row = t.conversation GROUP BY c.owner",
        "SELECT owner, sum(1024) FROM rooms GROUP BY owner",
        "SELECT r.owner, sum(384 + octet_length(e.body)) FROM room_events e JOIN rooms r ON r.row = e.room GROUP BY r.owner",
        "SELECT owner, sum(64 + octet_length(name) + octet_length(value) - 28) FROM settings GROUP BY owner",
        "SELECT owner, sum(64 + octet_length(key) + octet_length(body) - 28) FROM records GROUP BY owner",
    ] {
        each(db, sql, &[], |owner, bytes| accounts.append(owner, bytes))?;
    }
    Ok(())
}

/// Adds what was appended after these places.
fn appended(db: &Connection, events: i64, lines: i64, accounts: &mut Accounts) -> Result<(), StoreError> {
    let sql = format!(
        "SELECT t.owner, sum({EVENT_BYTES}) FROM task_events e JOIN tasks t ON t.row = e.task WHERE e.row > ?1 GROUP BY t.owner"
    );
    each(db, &sql, &[events], |owner, bytes| accounts.append(owner, bytes))?;
    let sql =
        "SELECT 'journal', sum(96 + octet_length(actor) + octet_length(text)) FROM journal WHERE seq > ?1";
    each(db, sql, &[lines], |journal, bytes| accounts.append(journal, bytes))
}

/// Runs a query of owners and bytes.
fn each(
    db: &Connection,
    sql: &str,
    values: &[i64],
    mut take: impl FnMut(&str, u64),
) -> Result<(), StoreError> {
    let mut find = db.prepare_cached(sql)?;
    let mut rows = find.query(rusqlite::params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        let owner: Option<String> = row.get(0)?;
        let bytes: Option<i64> = row.get(1)?;
        take(&account(owner.as_deref()), bytes.unwrap_or(0).unsigned_abs());
    }
    Ok(())
}

fn place(db: &Connection, name: &str) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT value FROM meta WHERE name = ?1";
    Ok(db.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?)
}

//! The audit of a whole file: does everything in it fit together?
//!
//! Promises: reads only, and sees one moment, so that it works on a running site, a stopped one and a backup.
//! The first row that does not fit is named. It does not repair, and it does not check signatures: the caller
//! knows the site's keys and gets the signed heads.

use std::path::Path;

use agentsite_protocol::TaskId;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::audit::{self};
use super::chain::{self, ChainEnd, Covered};
use super::file::{self, Lock};
use super::vault::Vault;
use super::{heads, log, progress, records, rooms, schema, secrets, tasks};
use crate::{AuditReport, SignedHead, StoreError, StoreKey};

/// Audits the database at `path`, with the key that a backup carries, else with the one that is given.
///
/// # Errors
/// [`StoreError::Corrupt`] or [`StoreError::Tampered`] with the first thing that does not fit,
/// [`StoreError::WrongKey`] when the key is another one, [`StoreError::Engine`] when the file cannot be read.
pub fn audit(path: &Path, key: Option<&StoreKey>) -> Result<AuditReport, StoreError> {
    if !path.exists() {
        return Err(StoreError::Engine(format!(
            "{} does not exist: name the database of a site or a backup",
            path.display()
        )));
    }
    let stopped = Lock::try_take(path)?;
    let noted = stopped.as_ref().and(key).and_then(|key| progress::read(path, &Vault::new(key)));
    if stopped.is_some() {
        log::judge(log::inspect(path)?, noted.map(|noted| noted.log))?;
    }
    let db = file::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.pragma_update(None, "query_only", true)?;
    if schema::version(&db)? < schema::AUDITED {
        return Err(StoreError::Engine(
            "the database was written by a version without an audit trail: start the site once".into(),
        ));
    }
    let moment = db.unchecked_transaction()?;
    // From here on the moment is fixed, and a site may start.
    moment.query_row("SELECT count(*) FROM meta", [], |_| Ok(()))?;
    drop(stopped);
    let carried = super::backup::carried_key(&moment)?;
    let vault = Vault::new(carried.as_ref().or(key).ok_or(StoreError::WrongKey)?);
    file::check(&moment, "integrity_check")?;
    let state = audit::read_state(&moment, &vault)?;
    let mut report = AuditReport { lines: check_lines(&moment, &state)?, ..AuditReport::default() };
    if let Some(noted) = &noted {
        progress::judge_line(&moment, noted)?;
    }
    report.heads = heads(&moment)?;
    let sources = audit::sources(&moment)?;
    for source in &sources {
        if let Some(bad) = audit::check_rows(&moment, &vault, source, &state)? {
            return Err(StoreError::Tampered(bad.to_string()));
        }
        let count = format!("SELECT count(*) FROM {}", source.table);
        report.rows += moment.query_row(&count, [], |row| row.get::<_, i64>(0))?.unsigned_abs();
    }
    (report.tasks, report.events) = check_tasks(&moment)?;
    if sources.iter().any(|source| source.table == "rooms") {
        report.events += rooms::check_chains(&moment)?;
    }
    report.identity = identity(&moment, &vault)?;
    Ok(report)
}

/// The site's keys: a record, in files of an earlier version a setting.
fn identity(db: &Connection, vault: &Vault) -> Result<Option<String>, StoreError> {
    match records::get(db, "identity", "keys", vault)? {
        Some(record) => Ok(Some(record.body)),
        None => setting(db, vault, "identity"),
    }
}

fn setting(db: &Connection, vault: &Vault, name: &str) -> Result<Option<String>, StoreError> {
    let mut find = db.prepare("SELECT value FROM settings WHERE name = ?1")?;
    let mut rows = find.query([name])?;
    rows.next()?.map(|row| secrets::open_setting(vault, name, row.get_ref(0)?)).transpose()
}

/// Follows the chain from the front to the end; gives how many lines there are.
fn check_lines(db: &Connection, state: &audit::State) -> Result<u64, StoreError> {
    let mut end = ChainEnd { seq: state.front.0, hash: state.front.1 };
    let about = audit::about_columns(db)?;
    let sql = format!(
        "SELECT seq, at, actor, agent, task, text, salt, digest, hash, {about} FROM journal ORDER BY seq"
    );
    let mut find = db.prepare(&sql)?;
    let mut rows = find.query([])?;
    let (mut lines, mut noted) = (0, state.line.0 == end.seq);
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        let bad = |why: &str| StoreError::Tampered(format!("journal line {seq} {why}"));
        let changed = || bad("was changed, moved or added outside of agentsite");
        if seq != end.seq + 1 {
            return Err(StoreError::Tampered(format!(
                "journal line {} was removed outside of agentsite",
                end.seq + 1
            )));
        }
        let text = match row.get_ref(7)?.as_blob_or_null().map_err(|_| changed())? {
            // A removed text leaves its digest and nothing else.
            Some(digest) if row.get_ref(5)?.as_str().is_ok_and(str::is_empty) => {
                digest.try_into().map_err(|_| changed())?
            }
            Some(_) => return Err(changed()),
            None => chain::digest(
                row.get_ref(6)?.as_blob().map_err(|_| changed())?,
                row.get_ref(5)?.as_str().map_err(|_| changed())?,
            ),
        };
        let covered = Covered {
            seq,
            at: row.get(1).map_err(|_| changed())?,
            actor: row.get_ref(2)?.as_str().map_err(|_| changed())?,
            agent: row.get_ref(3)?.as_str_or_null().map_err(|_| changed())?,
            task: row.get_ref(4)?.as_blob_or_null().map_err(|_| changed())?,
            kind: row.get_ref(9)?.as_str_or_null().map_err(|_| changed())?,
            subject: row.get_ref(10)?.as_str_or_null().map_err(|_| changed())?,
            text,
        };
        end = end.next(&covered);
        if row.get_ref(8)?.as_blob().ok() != Some(end.hash.as_slice()) {
            return Err(changed());
        }
        noted |= (end.seq, end.hash) == state.line;
        lines += 1;
    }
    // Lines that retention removed since then are behind the front.
    if !noted && state.line.0 > state.front.0 {
        return Err(StoreError::Tampered(format!(
            "journal line {} was removed outside of agentsite",
            end.seq + 1
        )));
    }
    Ok(lines)
}

/// The signed heads, each with the hash that the chain has there.
fn heads(db: &Connection) -> Result<Vec<SignedHead>, StoreError> {
    let sql = "SELECT h.seq, h.at, h.hash, h.signature, j.hash FROM journal_heads h LEFT JOIN journal j ON j.seq = h.seq ORDER BY h.seq";
    let mut find = db.prepare(sql)?;
    let mut rows = find.query([])?;
    let mut heads = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        let bad = || {
            StoreError::Tampered(format!("the signed head of journal line {seq} does not fit the journal"))
        };
        let hash = row.get_ref(2)?.as_blob().map_err(|_| bad())?;
        if row.get_ref(4)?.as_blob_or_null().ok().flatten() != Some(hash) {
            return Err(bad());
        }
        heads.push(SignedHead {
            seq: seq.unsigned_abs(),
            at: super::seal::time(row.get(1)?),
            hash: hash.try_into().map_err(|_| bad())?,
            signature: row.get(3).map_err(|_| bad())?,
        });
    }
    Ok(heads)
}

/// Reads every task and every event against its seal; gives how many there are.
fn check_tasks(db: &Connection) -> Result<(u64, u64), StoreError> {
    let mut find = db.prepare(&format!("SELECT {}, row FROM tasks ORDER BY row", heads::HEAD))?;
    let mut rows = find.query([])?;
    let (mut tasks, mut events) = (0, 0);
    let sql =
        "SELECT first_seq, last_seq, seal, sent, body FROM task_events WHERE task = ?1 ORDER BY last_seq";
    let mut commits = db.prepare(sql)?;
    while let Some(row) = rows.next()? {
        let head = heads::head(row)?;
        let mut read = 0;
        let mut parts = commits.query([row.get::<_, i64>(10)?])?;
        while let Some(part) = parts.next()? {
            read = tasks::check_commit(part, head.id, read)?;
        }
        if read.unsigned_abs() != head.seq {
            return Err(missing(head.id, read));
        }
        tasks += 1;
        events += head.seq;
    }
    let sql = "SELECT row FROM task_events WHERE task NOT IN (SELECT row FROM tasks) LIMIT 1";
    let stray: Option<i64> = db.query_row(sql, [], |row| row.get(0)).optional()?;
    match stray {
        Some(row) => {
            Err(StoreError::Tampered(format!("row {row} of the table task_events belongs to no task")))
        }
        None => Ok((tasks, events)),
    }
}

fn missing(id: TaskId, read: i64) -> StoreError {
    StoreError::Tampered(format!("event {} of task {id} is missing", read + 1))
}

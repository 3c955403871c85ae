//! The journal in the file: its lines by filter, and the end of its chain.
//!
//! Promises: lines come newest first; a line whose text was removed says so. Lines are appended by `audit`,
//! which chains them.

use agentsite_protocol::{JournalKind, JournalLine, JournalSubject, TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::SqliteStore;
use super::chain::REDACTED;
use super::fault::damaged;
use super::list::{Where, blob};
use super::seal::{number, time};
use crate::{JournalHead, JournalQuery, JournalReads, Reply, StoreError, StoredLine};

impl JournalReads for SqliteStore {
    fn journal(&self, query: JournalQuery) -> Reply<'_, Vec<StoredLine>> {
        self.readers.read(move |db| lines(db, &query))
    }

    fn journal_head(&self) -> Reply<'_, Option<JournalHead>> {
        self.readers.read(head)
    }
}

/// Lines that fit, newest first.
fn lines(db: &Connection, query: &JournalQuery) -> Result<Vec<StoredLine>, StoreError> {
    let mut fits = Where::default();
    fits.and("seq < ?", query.before.map_or(i64::MAX, number));
    fits.and_if("seq > ?", query.after.map(number));
    fits.and_if("agent = ?", query.agent.as_ref().map(|agent| agent.as_str().to_owned()));
    fits.and_if("task = ?", query.task.map(blob));
    fits.and_if("instr(lower(text), lower(?)) > 0", query.text.clone());
    fits.and_if("actor = ?", query.actor.clone());
    fits.and_if("instr(kind || '.', ?) = 1", query.kind.as_ref().map(|kind| format!("{kind}.")));
    if let Some(subject) = &query.subject {
        about(&mut fits, subject);
    }
    fits.and_if("(task IS NOT NULL) = ?", query.about_task.map(i64::from));
    fits.and_if("at >= ?", query.since.map(Timestamp::as_millis));
    fits.and_if("at < ?", query.until.map(Timestamp::as_millis));
    let sql = format!(
        "SELECT seq, at, actor, agent, task, text, digest IS NOT NULL, kind, subject FROM journal WHERE {} ORDER BY seq DESC LIMIT {}",
        fits.sql,
        i64::try_from(query.limit).unwrap_or(i64::MAX)
    );
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(fits.values))?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        lines.push(line(row)?);
    }
    Ok(lines)
}

/// Only lines about this: it is written where neither the task nor the agent of the line says so.
fn about(fits: &mut Where, subject: &JournalSubject) {
    let text = subject.to_string();
    match subject {
        JournalSubject::Task(id) => {
            fits.and("(subject = ? OR subject IS NULL AND task = ?)", text);
            fits.values.push(blob(*id).into());
        }
        JournalSubject::Agent(name) => {
            fits.and("(subject = ? OR subject IS NULL AND task IS NULL AND agent = ?)", text);
            fits.values.push(name.as_str().to_owned().into());
        }
        JournalSubject::Site => {
            fits.and("(subject = ? OR subject IS NULL AND task IS NULL AND agent IS NULL)", text);
        }
        _ => fits.and("subject = ?", text),
    }
}

fn line(row: &Row<'_>) -> Result<StoredLine, StoreError> {
    let seq: i64 = row.get(0)?;
    let agent: Option<String> = row.get(3)?;
    let agent = agent.map(|name| name.parse()).transpose();
    let task: Option<[u8; 16]> = row.get(4)?;
    let subject = row.get_ref(8)?.as_str_or_null().map_err(rusqlite::Error::from)?;
    let mut line = JournalLine {
        at: time(row.get(1)?),
        actor: row.get(2)?,
        kind: row.get::<_, Option<String>>(7)?.map(JournalKind::stored),
        subject: JournalSubject::Site,
        agent: agent.map_err(|_| damaged(format!("the agent of journal line {seq}")))?,
        task: task.map(TaskId::from_bytes),
        text: if row.get(6)? { REDACTED.to_owned() } else { row.get(5)? },
    };
    line.subject = subject.map_or_else(|| line.implied_subject(), JournalSubject::read);
    Ok(StoredLine { seq: seq.unsigned_abs(), line })
}

/// The end of the journal.
fn head(db: &Connection) -> Result<Option<JournalHead>, StoreError> {
    let sql = "SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1";
    let read =
        |row: &Row<'_>| Ok(JournalHead { seq: row.get::<_, i64>(0)?.unsigned_abs(), hash: row.get(1)? });
    Ok(db.prepare_cached(sql)?.query_row([], read).optional()?)
}

//! The journal in the database: its lines by filter, and the end of its chain.
//!
//! Promises: lines come newest first; a line whose text was removed says so. Lines are appended in `head`,
//! which chains them.

use agentsite_protocol::{JournalKind, JournalLine, JournalSubject, Timestamp};
use agentsite_store::engine::REDACTED;
use agentsite_store::{JournalHead, JournalQuery, JournalReads, Reply, StoreError, StoredLine};
use tokio_postgres::Row;

use crate::fault::damaged;
use crate::heads::task_id;
use crate::list::Where;
use crate::{PgStore, text};

impl JournalReads for PgStore {
    fn journal(&self, query: JournalQuery) -> Reply<'_, Vec<StoredLine>> {
        Box::pin(async move {
            let fits = fitting(&query);
            let sql = format!(
                "SELECT seq, at, actor, agent, task, text, digest IS NOT NULL, kind, subject FROM journal WHERE {}
                 ORDER BY seq DESC LIMIT {}",
                fits.conditions(),
                i64::try_from(query.limit).unwrap_or(i64::MAX)
            );
            self.readers.query(&sql, &fits.values()).await?.iter().map(line).collect()
        })
    }

    fn journal_head(&self) -> Reply<'_, Option<JournalHead>> {
        Box::pin(async move {
            let row =
                self.readers.first("SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1", &[]).await?;
            let Some(row) = row else { return Ok(None) };
            let hash = row.get::<_, &[u8]>(1).try_into().map_err(|_| damaged("a hash of the journal"))?;
            Ok(Some(JournalHead { seq: row.get::<_, i64>(0).cast_unsigned(), hash }))
        })
    }
}

fn fitting(query: &JournalQuery) -> Where {
    let number = |place: u64| i64::try_from(place).unwrap_or(i64::MAX);
    let mut fits = Where::default();
    fits.and_if("seq < ?", query.before.map(number));
    fits.and_if("seq > ?", query.after.map(number));
    fits.and_if("agent = ?", query.agent.as_ref().map(ToString::to_string));
    fits.and_if("task = ?", query.task.map(|id| id.as_bytes().to_vec()));
    // The collation lowers ASCII letters only, as every engine does.
    let wanted = query.text.as_ref().map(|wanted| text::put(wanted).to_ascii_lowercase());
    fits.and_if("strpos(lower(text), ?) > 0", wanted);
    fits.and_if("actor = ?", query.actor.as_ref().map(|actor| text::put(actor).into_owned()));
    fits.and_if("starts_with(kind || '.', ?)", query.kind.as_ref().map(|kind| format!("{kind}.")));
    if let Some(subject) = &query.subject {
        about(&mut fits, subject);
    }
    fits.and_if("(task IS NOT NULL) = ?", query.about_task);
    fits.and_if("at >= ?", query.since.map(Timestamp::as_millis));
    fits.and_if("at < ?", query.until.map(Timestamp::as_millis));
    fits
}

/// Only lines about this: it is written where neither the task nor the agent of the line says so.
fn about(fits: &mut Where, subject: &JournalSubject) {
    let written = text::put(&subject.to_string()).into_owned();
    let implied = match subject {
        JournalSubject::Task(id) => {
            format!("OR subject IS NULL AND task = decode('{}', 'hex')", hex(id.as_bytes()))
        }
        JournalSubject::Agent(_) => {
            "OR subject IS NULL AND task IS NULL AND 'agent:' || agent = ?".to_owned()
        }
        JournalSubject::Site => "OR subject IS NULL AND task IS NULL AND agent IS NULL".to_owned(),
        _ => String::new(),
    };
    fits.and(&format!("(subject = ? {implied})"), written);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn line(row: &Row) -> Result<StoredLine, StoreError> {
    let seq: i64 = row.get(0);
    let agent: Option<&str> = row.get(3);
    let task: Option<&[u8]> = row.get(4);
    let subject: Option<String> = row.get(8);
    let mut line = JournalLine {
        at: Timestamp::from_millis(row.get(1)),
        actor: text::got(row.get(2)),
        kind: row.get::<_, Option<String>>(7).map(JournalKind::stored),
        subject: JournalSubject::Site,
        agent: agent
            .map(str::parse)
            .transpose()
            .map_err(|_| damaged(format!("the agent of journal line {seq}")))?,
        task: task.map(|_| task_id(row, 4)).transpose()?,
        text: if row.get(6) { REDACTED.to_owned() } else { text::got(row.get(5)) },
    };
    line.subject = match subject {
        Some(subject) => JournalSubject::read(&text::got(subject)),
        None => line.implied_subject(),
    };
    Ok(StoredLine { seq: seq.cast_unsigned(), line })
}

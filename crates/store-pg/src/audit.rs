//! The audit of the journal in the database: does its chain fit together?
//!
//! Promises: reads one moment and changes nothing; the first line that does not fit is named. It checks the
//! journal and its signed heads. Rows of other tables have no codes here: the database has roles and rights
//! of its own, and triggers that know the key would have to give it to the server (see
//! docs/decisions/0037-postgresql.md).

use agentsite_protocol::Timestamp;
use agentsite_store::engine::{self, ChainEnd, Covered};
use agentsite_store::{AuditReport, RecordReads as _, SignedHead, StoreError};
use tokio_postgres::Row;

use crate::fault::{damaged, told};
use crate::session::Session;
use crate::{PgStore, rooms, text};

/// Lines that are read at once.
const PAGE: i64 = 5_000;

const LINES: &str = "SELECT seq, at, actor, agent, task, text, salt, digest, hash, kind, subject FROM journal
    WHERE seq > $1 ORDER BY seq LIMIT $2";

impl PgStore {
    /// Follows the chain of the journal from its front to its end and compares the signed heads with it; then
    /// the chain of every room.
    ///
    /// # Errors
    /// [`StoreError::Tampered`] with the first line or head that does not fit.
    pub async fn audit(&self) -> Result<AuditReport, StoreError> {
        let mut lent = self.readers.lend().await?;
        lent.spoiled = true;
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        lent.batch(begin).await.map_err(|error| told(&error))?;
        let (lines, heads) = follow(&lent).await?;
        let said = rooms::follow(&lent).await?;
        let counts = "SELECT (SELECT count(*) FROM tasks), (SELECT coalesce(sum(seq), 0)::bigint FROM tasks)";
        let counts = lent.first(counts, &[]).await.map_err(|error| told(&error))?;
        lent.batch("COMMIT").await.map_err(|error| told(&error))?;
        lent.spoiled = false;
        drop(lent);
        let count = |at: usize| counts.as_ref().map_or(0, |row| row.get::<_, i64>(at).cast_unsigned());
        let identity = self.record("identity", "keys").await?.map(|record| record.body);
        Ok(AuditReport { lines, heads, rows: 0, tasks: count(0), events: count(1) + said, identity })
    }
}

/// Follows the chain; gives the number of lines and the signed heads.
pub(crate) async fn follow(session: &Session) -> Result<(u64, Vec<SignedHead>), StoreError> {
    let fault = |error: tokio_postgres::Error| told(&error);
    let sql = "SELECT front_seq, front_hash, journal_seq, journal_hash FROM head";
    let head = session.first(sql, &[]).await.map_err(fault)?.ok_or_else(|| damaged("the table `head`"))?;
    let hash = |row: &Row, at: usize| row.get::<_, &[u8]>(at).try_into().unwrap_or(engine::START);
    let mut end = ChainEnd { seq: head.get(0), hash: hash(&head, 1) };
    let last = ChainEnd { seq: head.get(2), hash: hash(&head, 3) };
    let signed = "SELECT seq, at, hash, signature FROM journal_heads ORDER BY seq";
    let mut signed: Vec<SignedHead> = session
        .query(signed, &[])
        .await
        .map_err(fault)?
        .iter()
        .map(|row| SignedHead {
            seq: row.get::<_, i64>(0).cast_unsigned(),
            at: Timestamp::from_millis(row.get(1)),
            hash: hash(row, 2),
            signature: row.get(3),
        })
        .collect();
    let (mut lines, mut fitting) = (0, Vec::new());
    loop {
        let rows = session.query(LINES, &[&end.seq, &PAGE]).await.map_err(fault)?;
        for row in &rows {
            end = next(&end, row)?;
            lines += 1;
            fitting.extend(
                signed.extract_if(.., |head| (head.seq, head.hash) == (end.seq.cast_unsigned(), end.hash)),
            );
        }
        if i64::try_from(rows.len()).unwrap_or(i64::MAX) < PAGE {
            break;
        }
    }
    if end != last {
        return Err(removed(end.seq + 1));
    }
    match signed.first() {
        Some(head) => Err(StoreError::Tampered(format!(
            "the signed head of journal line {} does not fit the journal",
            head.seq
        ))),
        None => Ok((lines, fitting)),
    }
}

fn removed(seq: i64) -> StoreError {
    StoreError::Tampered(format!("journal line {seq} was removed outside of agentsite"))
}

/// The link of a line, if it fits.
fn next(end: &ChainEnd, row: &Row) -> Result<ChainEnd, StoreError> {
    let seq: i64 = row.get(0);
    if seq != end.seq + 1 {
        return Err(removed(end.seq + 1));
    }
    let changed = || {
        StoreError::Tampered(format!("journal line {seq} was changed, moved or added outside of agentsite"))
    };
    let (said, actor) = (text::got(row.get(5)), text::got(row.get(2)));
    let (salt, digest): (Option<&[u8]>, Option<&[u8]>) = (row.get(6), row.get(7));
    let digest = match digest {
        // A removed text leaves its digest and nothing else.
        Some(digest) if said.is_empty() => digest.try_into().map_err(|_| changed())?,
        Some(_) => return Err(changed()),
        None => engine::digest(salt.unwrap_or_default(), &said),
    };
    let subject = row.get::<_, Option<String>>(10).map(text::got);
    let covered = Covered {
        seq,
        at: row.get(1),
        actor: &actor,
        agent: row.get(3),
        task: row.get(4),
        kind: row.get(9),
        subject: subject.as_deref(),
        text: digest,
    };
    let next = end.next(&covered);
    if row.get::<_, &[u8]>(8) == next.hash { Ok(next) } else { Err(changed()) }
}

//! Processes in the database: a row for each living one, its leases next to it, its number in the tasks that
//! it holds.
//!
//! Promises: time is the server's. A process is dead when its row is gone: the row is not removed while a
//! commit of the process is running, and every later one is refused (see `batch::load`). Of several processes
//! that want the same death, lease or task one gets it. Renewals have a connection of their own and wait for
//! no lock for long, so that neither long reads nor a process that froze in a commit cost others their
//! membership.

use std::sync::atomic::Ordering;
use std::time::Duration;

use agentsite_protocol::{TaskHead, TaskId, Timestamp};
use agentsite_store::engine::{MAX_PAGE, check_lease, check_process, check_report};
use agentsite_store::{ProcessId, ProcessInfo, ProcessReads, ProcessView, Reply, StoreError};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, Row};

use crate::fault::told;
use crate::heads::{HEAD, head};
use crate::{PgStore, text};

/// The server's time in milliseconds.
pub(crate) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// How long the death of a process waits for a commit of it to end: longer than a commit takes, and short
/// enough that the process which declares it renews its own membership in time.
const PATIENCE: Duration = Duration::from_millis(250);

/// A process with what it has, as [`view`] reads it.
const VIEW: &str = "p.id, p.name, p.version, p.report, p.joined_at, p.renewed_at, p.until,
    ARRAY(SELECT l.name FROM leases l WHERE l.process = p.id ORDER BY l.name),
    (SELECT count(*) FROM tasks t WHERE t.state < 4 AND t.holder = p.id)";

/// Tasks that are submitted or working and that no living process holds; these are the first two states.
const FREE: &str =
    "state < 2 AND (holder IS NULL OR NOT EXISTS (SELECT 1 FROM processes p WHERE p.id = holder))";

/// Ends the writing connections of expired processes that wait for their client in the middle of a
/// transaction. Connections are found by the name that [`writer_name`] gives them and by their lock on the
/// table of processes, so that those of another site on the same server are left alone.
const END_STALLED: &str = "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
    JOIN processes p ON a.application_name = 'agentsite process ' || p.id
    WHERE p.id <> $1 AND p.until <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint
      AND a.datname = current_database() AND a.usename = current_user
      AND (a.state LIKE 'idle in transaction%' OR a.wait_event_type = 'Client')
      AND EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.relation = 'processes'::regclass)";

/// The name of the connection by which a process writes, as the server shows it.
pub(crate) fn writer_name(process: ProcessId) -> String {
    format!("agentsite process {}", process.number())
}

impl ProcessReads for PgStore {
    fn join(&self, info: ProcessInfo, ttl: Duration) -> Reply<'_, Option<ProcessId>> {
        Box::pin(async move {
            check_process(&info)?;
            self.leave_row().await?;
            let sql = format!(
                "INSERT INTO processes (id, name, version, joined_at, renewed_at, until, in_time_since)
                 SELECT nextval('process_numbers'), $1, $2, now.at, now.at, now.at + $3, now.at FROM (SELECT {NOW} AS at) now
                 RETURNING id"
            );
            let (name, version) = (text::put(&info.name), text::put(&info.version));
            let row = self.write_row(&sql, &[&name, &version, &millis(ttl)]).await?;
            let number = row.map_or(0, |row| row.get::<_, i64>(0).cast_unsigned());
            self.process.store(number, Ordering::Relaxed);
            Ok(Some(ProcessId::new(number)))
        })
    }

    fn renew(&self, ttl: Duration, report: Option<String>) -> Reply<'_, Vec<ProcessView>> {
        Box::pin(async move {
            check_report(report.as_deref())?;
            let report = report.as_deref().map(text::put);
            let sql = format!(
                "UPDATE processes p SET renewed_at = now.at, until = now.at + $2, report = coalesce($3, p.report),
                     in_time_since = CASE WHEN now.at < p.until THEN p.in_time_since ELSE now.at END
                 FROM (SELECT {NOW} AS at) now WHERE p.id = $1 RETURNING now.at >= p.in_time_since + $2"
            );
            let lent = self.membership.lend().await?;
            let renewed = lent.first(&sql, &[&self.number(), &millis(ttl), &report]).await;
            drop(lent);
            let may_judge: bool = renewed.map_err(|error| told(&error))?.ok_or(StoreError::Fenced)?.get(0);
            if may_judge { self.declare_dead().await } else { Ok(Vec::new()) }
        })
    }

    fn leave(&self) -> Reply<'_, ()> {
        Box::pin(self.leave_row())
    }

    fn processes(&self) -> Reply<'_, Vec<ProcessView>> {
        Box::pin(async move {
            let sql = format!("SELECT {VIEW} FROM processes p ORDER BY p.id");
            Ok(self.membership.query(&sql, &[]).await?.iter().map(view).collect())
        })
    }

    fn acquire(&self, lease: &str) -> Reply<'_, bool> {
        let lease = lease.to_owned();
        Box::pin(async move {
            check_lease(&lease)?;
            // The update changes nothing; it makes the row of a lease that another one has come back, too.
            let sql =
                "INSERT INTO leases (name, process) SELECT $1, id FROM processes WHERE id = $2 FOR KEY SHARE
                       ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING process";
            let number = self.number();
            let row = self.write_row(sql, &[&text::put(&lease), &number]).await?;
            let holder: i64 = row.ok_or(StoreError::Fenced)?.get(0);
            Ok(holder == number)
        })
    }

    fn release(&self, lease: &str) -> Reply<'_, ()> {
        let lease = text::put(lease).into_owned();
        Box::pin(async move {
            let sql = "DELETE FROM leases WHERE name = $1 AND process = $2 RETURNING process";
            self.write_row(sql, &[&lease, &self.number()]).await.map(drop)
        })
    }

    fn orphans(&self, after: Option<TaskId>, limit: usize) -> Reply<'_, Vec<TaskHead>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {HEAD} FROM tasks WHERE {FREE} AND ($1::bytea IS NULL OR id > $1) ORDER BY id LIMIT $2"
            );
            let after = after.map(|id| id.as_bytes().to_vec());
            let most = i64::try_from(limit.clamp(1, MAX_PAGE)).unwrap_or(i64::MAX);
            self.readers.query(&sql, &[&after, &most]).await?.iter().map(head).collect()
        })
    }

    fn adopt(&self, tasks: Vec<TaskId>) -> Reply<'_, Vec<TaskHead>> {
        Box::pin(async move {
            let number = self.number();
            let sql = "SELECT id FROM processes WHERE id = $1";
            self.readers.first(sql, &[&number]).await?.ok_or(StoreError::Fenced)?;
            let ids: Vec<&[u8]> = tasks.iter().map(|id| id.as_bytes().as_slice()).collect();
            let columns: Vec<String> = HEAD.split(", ").map(|name| format!("t.{name}")).collect();
            // The row of the process is locked against being declared dead while it takes the tasks.
            let sql = format!(
                "WITH me AS (SELECT id FROM processes WHERE id = $2 FOR KEY SHARE),
                      free AS (SELECT id FROM tasks WHERE id = ANY($1) AND {FREE} ORDER BY id FOR UPDATE SKIP LOCKED)
                 UPDATE tasks t SET holder = me.id FROM free, me WHERE t.id = free.id RETURNING {}",
                columns.join(", ")
            );
            let lent = self.readers.lend().await?;
            let rows = lent.query(&sql, &[&ids, &number]).await.map_err(|error| told(&error))?;
            let mut heads = rows.iter().map(head).collect::<Result<Vec<_>, _>>()?;
            heads.sort_by_key(|head| head.id);
            Ok(heads)
        })
    }
}

impl PgStore {
    fn number(&self) -> i64 {
        self.process.load(Ordering::Relaxed).cast_signed()
    }

    /// Runs a statement that writes and gives one row at most. It is not tried again: its outcome may be
    /// unknown, and the caller renews or asks again anyway.
    async fn write_row(
        &self,
        sql: &str,
        values: crate::session::Values<'_>,
    ) -> Result<Option<Row>, StoreError> {
        let lent = self.readers.lend().await?;
        lent.first(sql, values).await.map_err(|error| told(&error))
    }

    async fn leave_row(&self) -> Result<(), StoreError> {
        match self.number() {
            0 => Ok(()),
            number => {
                let sql = "DELETE FROM processes WHERE id = $1 RETURNING id";
                self.write_row(sql, &[&number]).await.map(drop)
            }
        }
    }

    /// Removes every other process whose time has passed, and gives what those had: each to one caller only.
    /// The connection of one that stays in the middle of a commit, such as a frozen one, is ended first: its
    /// locks would make every commit of the site wait. Where that is not allowed, it is left for another
    /// time.
    async fn declare_dead(&self) -> Result<Vec<ProcessView>, StoreError> {
        let lent = self.membership.lend().await?;
        let passed = format!("SELECT id FROM processes WHERE id <> $1 AND until <= {NOW} LIMIT 1");
        let passed = lent.first(&passed, &[&self.number()]).await.map_err(|error| told(&error))?;
        if passed.is_none() {
            return Ok(Vec::new());
        }
        let wait = format!("SET lock_timeout TO {}", PATIENCE.as_millis());
        lent.batch(&wait).await.map_err(|error| told(&error))?;
        let declare = |skip: &str| {
            format!(
                "WITH dead AS (SELECT id FROM processes WHERE id <> $1 AND until <= {NOW} ORDER BY id FOR UPDATE {skip}),
                      views AS (SELECT {VIEW} FROM processes p WHERE p.id IN (SELECT id FROM dead)),
                      gone AS (DELETE FROM processes WHERE id IN (SELECT id FROM dead) RETURNING id)
                 SELECT views.* FROM views JOIN gone ON gone.id = views.id ORDER BY views.id"
            )
        };
        let is_locked = |error: &Error| error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
        let mut rows = lent.query(&declare(""), &[&self.number()]).await;
        if rows.as_ref().is_err_and(is_locked) {
            match lent.query(END_STALLED, &[&self.number()]).await {
                Ok(ended) if !ended.is_empty() => {
                    tracing::warn!(
                        connections = ended.len(),
                        "Ended the database connection of a process that stopped in the middle of a commit."
                    );
                    rows = lent.query(&declare(""), &[&self.number()]).await;
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "The connections of expired processes were not ended."),
            }
        }
        if rows.as_ref().is_err_and(is_locked) {
            rows = lent.query(&declare("SKIP LOCKED"), &[&self.number()]).await;
        }
        Ok(rows.map_err(|error| told(&error))?.iter().map(view).collect())
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn view(row: &Row) -> ProcessView {
    let time = |at: usize| Timestamp::from_millis(row.get(at));
    ProcessView {
        id: ProcessId::new(row.get::<_, i64>(0).cast_unsigned()),
        info: ProcessInfo { name: text::got(row.get(1)), version: text::got(row.get(2)) },
        report: text::got(row.get(3)),
        joined_at: time(4),
        renewed_at: time(5),
        until: time(6),
        leases: row.get::<_, Vec<String>>(7).into_iter().map(text::got).collect(),
        tasks: row.get::<_, i64>(8).cast_unsigned(),
    }
}

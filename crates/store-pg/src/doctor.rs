//! What `agentsite doctor` says about the database.
//!
//! Promises: reads only; a check that cannot be made is left out of the report, not guessed. It judges
//! nothing: limits and advice are the doctor's.

use std::time::{Duration, Instant};

use agentsite_protocol::Timestamp;
use agentsite_store::StoreError;

use crate::PgStore;

/// The state of the server as this process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PgReport {
    /// The version of the server, such as `15.18 (Debian …)`.
    pub version: String,
    /// How long a question and its answer take: the least of some.
    pub latency: Duration,
    /// The server's time when the question was answered; the caller compares it with its own clock.
    pub server_time: Timestamp,
    /// Whether tables may be made in the schema.
    pub may_create: bool,
    /// Whether the server takes no changes.
    pub read_only: bool,
    /// Whether an acknowledged commit survives a crash of the server: `fsync` and `full_page_writes` are on.
    pub durable: bool,
    /// Most connections of the server that this user can have.
    pub most_connections: u64,
    /// Connections of the server that are in use, by everybody.
    pub used_connections: u64,
    /// The schema of the tables.
    pub schema: String,
}

/// How often the latency is measured.
const ROUNDS: usize = 5;

impl PgStore {
    /// Looks at the server.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it does not answer.
    pub async fn check(&self) -> Result<PgReport, StoreError> {
        let mut latency = Duration::MAX;
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            self.readers.query("SELECT 1", &[]).await?;
            latency = latency.min(begun.elapsed());
        }
        let sql = "SELECT current_setting('server_version'), (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                       has_schema_privilege(current_schema(), 'CREATE'),
                       pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
                       current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on',
                       current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint,
                       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')";
        let row = self.readers.first(sql, &[]).await?;
        let row = row.ok_or_else(|| StoreError::Unavailable("the server gave no answer".into()))?;
        Ok(PgReport {
            version: row.get(0),
            latency,
            server_time: Timestamp::from_millis(row.get(1)),
            may_create: row.get(2),
            read_only: row.get(3),
            durable: row.get(4),
            most_connections: row.get::<_, i64>(5).cast_unsigned(),
            used_connections: row.get::<_, i64>(6).cast_unsigned(),
            schema: self.target.schema.clone(),
        })
    }
}

//! Session: one connection to the server with its settings and prepared statements.
//!
//! Promises: every connection has the same bounded times; a statement is prepared once. Statements that are
//! started together are sent together and answered in order. A commit is never weaker than the server's own
//! `synchronous_commit`, and never off. It does not reconnect: who uses it does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::poll_fn;
use tokio::sync::Notify;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Error, Row, Statement};

use crate::settings::Target;
use crate::tls::Tls;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// How long one statement may run: the longest are pages of lists and portions of expiry, far below a second.
const STATEMENT: Duration = Duration::from_secs(30);

/// How long a statement waits for a row of another process: far longer than a commit takes.
const LOCK: Duration = Duration::from_secs(5);

/// How long the server keeps an open transaction of a process that is silent: rows must not stay locked by
/// one that sleeps.
const IDLE: Duration = Duration::from_secs(15);

/// Prepared statements of a connection: lists with filters have a few dozen forms.
const STATEMENTS: usize = 256;

/// Values of a statement.
pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// One connection.
pub(crate) struct Session {
    client: Client,
    // A std lock: held to look up or add one statement, never across an await.
    statements: Mutex<HashMap<String, Statement>>,
    /// The process of the server that serves it.
    pub(crate) pid: i32,
    driver: tokio::task::JoinHandle<()>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Session({})", self.pid)
    }
}

impl Session {
    /// Connects; notifications wake `heard`.
    pub(crate) async fn open(target: &Target, tls: &Tls, heard: Option<Arc<Notify>>) -> Result<Self, Error> {
        let mut config = target.config.clone();
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        let (client, mut connection) = config.connect(tls.clone()).await?;
        let driver = tokio::spawn(async move {
            loop {
                match poll_fn(|cx| connection.poll_message(cx)).await {
                    Some(Ok(AsyncMessage::Notification(_))) => {
                        heard.iter().for_each(|heard| heard.notify_one());
                    }
                    Some(Ok(_)) => {}
                    // Callers that wait for an answer get an error of their own.
                    Some(Err(_)) | None => break,
                }
            }
            heard.iter().for_each(|heard| heard.notify_one());
        });
        let set = format!(
            "SET search_path TO {}; SET statement_timeout TO {}; SET lock_timeout TO {};
             SET idle_in_transaction_session_timeout TO {}; SET client_min_messages TO warning;
             SET default_transaction_isolation TO 'read committed'; SET jit TO off;
             SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
            target.schema,
            STATEMENT.as_millis(),
            LOCK.as_millis(),
            IDLE.as_millis()
        );
        client.batch_execute(&set).await?;
        let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await?.get(0);
        Ok(Self { client, statements: Mutex::default(), pid, driver })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs statements without values.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    /// A prepared statement.
    pub(crate) async fn statement(&self, sql: &str) -> Result<Statement, Error> {
        let known = self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        if statements.len() >= STATEMENTS {
            statements.clear();
        }
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(crate) async fn query(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, Error> {
        let statement = self.statement(sql).await?;
        self.client.query(&statement, values).await
    }

    /// Runs a query that is not worth preparing.
    pub(crate) async fn unprepared(&self, sql: &str) -> Result<Vec<Row>, Error> {
        self.client.query(sql, &[]).await
    }

    pub(crate) async fn first(&self, sql: &str, values: Values<'_>) -> Result<Option<Row>, Error> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    pub(crate) async fn execute(&self, sql: &str, values: Values<'_>) -> Result<u64, Error> {
        let statement = self.statement(sql).await?;
        self.client.execute(&statement, values).await
    }
}

impl Session {
    /// Appends rows to a table by COPY; each has a value for each of the columns.
    pub(crate) async fn load<V: ToSql + Sync>(
        &self,
        table: &str,
        columns: &str,
        rows: &[Vec<V>],
    ) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let shape = self.statement(&format!("SELECT {columns} FROM {table}")).await?;
        let types: Vec<Type> = shape.columns().iter().map(|column| column.type_().clone()).collect();
        let sink = self.client.copy_in(&format!("COPY {table} ({columns}) FROM STDIN BINARY")).await?;
        let mut writer = std::pin::pin!(BinaryCopyInWriter::new(sink, &types));
        for row in rows {
            writer.as_mut().write_raw(row.iter()).await?;
        }
        writer.finish().await.map(drop)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

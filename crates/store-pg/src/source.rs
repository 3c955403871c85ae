//! The database as the source of a logical copy: for backups of a running site, and for data that moves.
//!
//! Promises: everything is read at one moment and changes nothing. A backup is taken while the site runs.
//! Data that moves is read only while no process of a site lives: none can start meanwhile, and one that did
//! makes the copy fail at its end.

use std::path::Path;

use agentsite_store::copying::{self, Cell, CopyTable, RowSource};
use agentsite_store::engine::Vault;
use agentsite_store::{Reply, SqliteSink, StoreError, StoreKey};

use crate::fault::told;
use crate::readers::Lent;
use crate::rows::PgRows;
use crate::session::Session;
use crate::settings::Target;
use crate::tls::Tls;
use crate::{PgStore, audit, exclusive, schema, unreachable};

/// Everything is read at this moment, however long it takes.
const MOMENT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout TO 0;
    SET LOCAL idle_in_transaction_session_timeout TO 0";

/// The rows of a database.
#[derive(Debug)]
pub struct PgSource {
    session: Connection,
    rows: PgRows,
}

/// The connection of a source.
#[derive(Debug)]
enum Connection {
    /// Of a store that is in use.
    Lent(Lent),
    /// Of its own, with the lock that keeps processes from starting.
    Own(Session),
}

impl Connection {
    fn session(&self) -> &Session {
        match self {
            Self::Lent(lent) => lent,
            Self::Own(session) => session,
        }
    }
}

impl PgSource {
    /// A database whose data moves: no process of a site may live.
    ///
    /// # Errors
    /// [`StoreError::Engine`] with what to do: no data, a living process, an earlier version;
    /// [`StoreError::Incomplete`], [`StoreError::WrongKey`], [`StoreError::TooNew`] and
    /// [`StoreError::Tampered`] by what it holds; as [`PgStore::open`] for the rest.
    pub async fn open(url: &str, key: &StoreKey) -> Result<Self, StoreError> {
        let target = Target::read(url)?;
        let session = Box::pin(connect(&target)).await?;
        schema::check_complete(&session, &target).await?;
        exclusive::lock(&session, &target).await?;
        schema::check_known(&session, &target).await?;
        schema::check_key(&session, &Vault::new(key)).await?;
        exclusive::check_idle(&session).await?;
        session.batch(MOMENT).await.map_err(|error| told(&error))?;
        audit::follow(&session).await?;
        Ok(Self { session: Connection::Own(session), rows: PgRows::default() })
    }
}

/// A connection for work that takes long.
pub(crate) async fn connect(target: &Target) -> Result<Session, StoreError> {
    let tls = Tls::new(target)?;
    let session = Session::open(target, &tls, None).await.map_err(|error| unreachable(target, &error))?;
    let patient = "SET statement_timeout TO 0; SET idle_in_transaction_session_timeout TO 0";
    session.batch(patient).await.map_err(|error| told(&error))?;
    Ok(session)
}

impl RowSource for PgSource {
    fn begin<'a>(&'a mut self, table: &'static CopyTable) -> Reply<'a, ()> {
        Box::pin(async move { self.rows.begin(self.session.session(), table).await })
    }

    fn next(&mut self) -> Reply<'_, Vec<Vec<Cell>>> {
        Box::pin(async move { self.rows.next(self.session.session()).await })
    }

    fn end(&mut self) -> Reply<'_, ()> {
        Box::pin(async move {
            self.session.session().batch("COMMIT").await.map_err(|error| told(&error))?;
            match &mut self.session {
                Connection::Own(session) => exclusive::check_idle(session).await,
                Connection::Lent(lent) => {
                    lent.spoiled = false;
                    Ok(())
                }
            }
        })
    }
}

impl PgStore {
    /// Copies everything to a new file, of the form that SQLite's backups have.
    pub(crate) async fn copy_to(&self, to: &Path) -> Result<(), StoreError> {
        let (to, key) = (to.to_owned(), self.key.clone());
        let made = tokio::task::spawn_blocking(move || SqliteSink::backup(&to, &key)).await;
        let mut sink =
            made.map_err(|error| StoreError::Engine(format!("the backup was broken off: {error}")))??;
        let mut lent = self.readers.lend().await?;
        lent.spoiled = true;
        lent.batch(MOMENT).await.map_err(|error| told(&error))?;
        let mut source = PgSource { session: Connection::Lent(lent), rows: PgRows::default() };
        let report = copying::copy(&mut source, &mut sink, &mut |_| {}).await?;
        match report.difference() {
            Some(table) => Err(StoreError::Corrupt(format!(
                "the table {} of the backup is not what was read from the database",
                table.table
            ))),
            None => Ok(()),
        }
    }
}

//! A file as the source of a logical copy.
//!
//! Promises: everything in the file was audited before the first row is given, and nothing of it is changed.
//! While a site's own file is read its lock is held, so that no site starts on it. It reads on threads that
//! may block.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::file::{self, Lock};
use super::rows::FileRows;
use super::vault::Vault;
use super::{incomplete, schema, verify};
use crate::copying::{Cell, CopyTable, RowSource};
use crate::{Reply, SCHEMA_VERSION, StoreError, StoreKey};

/// The rows of a file.
#[derive(Debug)]
pub struct SqliteSource {
    reading: Option<Reading>,
    _lock: Option<Lock>,
}

#[derive(Debug)]
struct Reading {
    db: Connection,
    vault: Vault,
    rows: FileRows,
}

impl SqliteSource {
    /// The database of a site that does not run. Blocks: it audits the file.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while a site runs on it, [`StoreError::Incomplete`] when a copy into it was
    /// broken off, [`StoreError::WrongKey`], [`StoreError::Tampered`] and [`StoreError::Corrupt`] by what it
    /// holds, [`StoreError::Engine`] when it is of an earlier version.
    pub fn open(db: &Path, key: &StoreKey) -> Result<Self, StoreError> {
        if file::is_in_use(db) {
            return Err(StoreError::Locked);
        }
        incomplete::check(db)?;
        verify::audit(db, Some(key))?;
        let lock = Lock::take(db)?;
        let found = file::connect(db, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        found.pragma_update(None, "query_only", true)?;
        let version = schema::version(&found)?;
        if version < SCHEMA_VERSION {
            return Err(StoreError::Engine(format!(
                "the data was written by an earlier version of agentsite (schema {version}, this one has {SCHEMA_VERSION}): start the site once with this version, stop it, then try again"
            )));
        }
        Self::of(found, key, Some(lock))
    }

    /// A backup, in a copy of the file that is the caller's own: one of an earlier version is brought up to
    /// date in it. Blocks.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_backup(copy: &Path, key: &StoreKey) -> Result<Self, StoreError> {
        let mut found = file::connect(copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        if schema::version(&found)? == 0 {
            return Err(StoreError::Corrupt("the backup is empty".into()));
        }
        schema::migrate(&mut found, &Vault::new(key))?;
        verify::audit(copy, Some(key))?;
        Self::of(found, key, None)
    }

    fn of(db: Connection, key: &StoreKey, lock: Option<Lock>) -> Result<Self, StoreError> {
        // The words of conversations may be sorted, and can be more than the memory.
        db.pragma_update(None, "temp_store", "FILE")?;
        db.execute_batch("BEGIN")?;
        let reading = Reading { db, vault: Vault::new(key), rows: FileRows::default() };
        Ok(Self { reading: Some(reading), _lock: lock })
    }
}

impl RowSource for SqliteSource {
    fn begin<'a>(&'a mut self, table: &'static CopyTable) -> Reply<'a, ()> {
        Box::pin(apart(&mut self.reading, move |reading| {
            reading.rows.begin(table);
            Ok(())
        }))
    }

    fn next(&mut self) -> Reply<'_, Vec<Vec<Cell>>> {
        Box::pin(apart(&mut self.reading, |reading| reading.rows.next(&reading.db, &reading.vault)))
    }

    fn end(&mut self) -> Reply<'_, ()> {
        // The lock was held all the time.
        Box::pin(async { Ok(()) })
    }
}

/// Works on a thread that may block with what lies in `of`.
pub(super) async fn apart<S: Send + 'static, T: Send + 'static>(
    of: &mut Option<S>,
    work: impl FnOnce(&mut S) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let broken_off = || StoreError::Engine("the copy was broken off".into());
    let mut taken = of.take().ok_or_else(broken_off)?;
    let done = tokio::task::spawn_blocking(move || {
        let done = work(&mut taken);
        (taken, done)
    });
    let (taken, done) = done.await.map_err(|_| broken_off())?;
    *of = Some(taken);
    done
}

//! Upkeep of the file: expiry, removal, backup and sizes, as jobs of the writer or by a reader.
//!
//! Promises: what changes the file goes through the one writer; a backup is read beside it. What is removed
//! is decided in `expire`.

use std::path::Path;

use rusqlite::Connection;

use super::job::Job;
use super::schema::SCHEMA_VERSION;
use super::sidecar::sidecar;
use super::{SqliteStore, accounts, backup};
use crate::{Expiry, Reply, StorageQuery, StorageUse, StoreError, StoreStats, Upkeep};

impl Upkeep for SqliteStore {
    fn expire(&self, expiry: Expiry) -> Reply<'_, usize> {
        self.ask(move |answer| Job::Expire { expiry, gone: 0, touched: Vec::new(), answer })
    }

    fn scrub(&self) -> Reply<'_, ()> {
        Box::pin(async move {
            for begins in std::iter::once(true).chain(std::iter::repeat(false)) {
                if !self.ask(move |answer| Job::Scrub { begins, more: false, answer }).await? {
                    break;
                }
            }
            self.ask(|answer| Job::EmptyLog { answer }).await
        })
    }

    fn backup(&self, to: &Path) -> Reply<'_, ()> {
        let (from, to, vault) = (self.path.clone(), to.to_owned(), self.vault.clone());
        self.readers.apart(move || backup::backup(&from, &to, &vault.key))
    }

    fn stats(&self) -> Reply<'_, StoreStats> {
        let (path, commits) = (self.path.clone(), self.writer.commits());
        self.readers.read(move |db| stats(db, &path, commits))
    }

    fn storage(&self, query: StorageQuery) -> Reply<'_, StorageUse> {
        let limits = self.storage.limits;
        if query.recount {
            return self.readers.read(move |db| accounts::recount(db, limits, &query));
        }
        self.ask(move |answer| Job::Storage { query, found: StorageUse::default(), answer })
    }

    fn close(&self) -> Reply<'_, ()> {
        Box::pin(async move {
            self.readers.close().await;
            self.writer.close().await
        })
    }
}

fn stats(db: &Connection, path: &Path, commits: u64) -> Result<StoreStats, StoreError> {
    // Lines only go from the front of the journal, so its ends tell its length.
    let sql = "SELECT (SELECT count(*) FROM tasks),
                      (SELECT count(*) FROM tasks INDEXED BY tasks_open WHERE state < 4),
                      (SELECT ifnull(max(seq) + 1, 0) FROM journal) - (SELECT ifnull(min(seq), 0) FROM journal),
                      (SELECT count(*) FROM outbox INDEXED BY outbox_due WHERE dead = 0),
                      (SELECT count(*) FROM outbox WHERE dead = 1)";
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let log_bytes = size(&sidecar(path, "-wal"));
    let (bytes, schema) = (size(path) + log_bytes, SCHEMA_VERSION);
    let stats = db.prepare_cached(sql)?.query_row([], |row| {
        let count = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
        let (tasks, open_tasks, journal_lines) = (count(0)?, count(1)?, count(2)?);
        let (outbox, dead) = (count(3)?, count(4)?);
        Ok(StoreStats { tasks, open_tasks, journal_lines, outbox, dead, bytes, log_bytes, schema, commits })
    })?;
    Ok(stats)
}

//! Upkeep of the database: expiry, backup, sizes and closing.
//!
//! Promises: what is removed is gone for every reader with the commit; the server's vacuum frees the space.
//! What is removed is decided in `expire`.

use std::path::Path;

use agentsite_store::{Expiry, Reply, StorageQuery, StorageUse, StoreStats, Upkeep};

use crate::PgStore;
use crate::fault::told;
use crate::schema::PG_SCHEMA_VERSION;

/// The tables that hold texts of people, for `scrub`.
const SCRUBBED: &str = "VACUUM (TRUNCATE false, INDEX_CLEANUP on) tasks, task_events, journal, turn_words, conversations, outbox, settings, records";

impl Upkeep for PgStore {
    fn expire(&self, expiry: Expiry) -> Reply<'_, usize> {
        Box::pin(async move { Box::pin(self.remove_old(&expiry)).await })
    }

    fn scrub(&self) -> Reply<'_, ()> {
        Box::pin(async move {
            // Dead rows leave the pages when the tables are vacuumed; the write-ahead log is the server's.
            let mut lent = self.readers.lend().await?;
            lent.spoiled = true;
            let done = lent.batch("SET statement_timeout TO 0").await;
            let done = match done {
                Ok(()) => lent.batch(SCRUBBED).await,
                failed => failed,
            };
            done.map_err(|error| told(&error))
        })
    }

    fn backup(&self, to: &Path) -> Reply<'_, ()> {
        let to = to.to_owned();
        Box::pin(async move { Box::pin(self.copy_to(&to)).await })
    }

    fn stats(&self) -> Reply<'_, StoreStats> {
        Box::pin(async move {
            let sql = "SELECT (SELECT count(*) FROM tasks), (SELECT count(*) FROM tasks WHERE state < 4),
                              (SELECT count(*) FROM journal), (SELECT count(*) FROM outbox WHERE NOT dead),
                              (SELECT count(*) FROM outbox WHERE dead),
                              (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
                               WHERE c.relnamespace = to_regnamespace(current_schema()) AND c.relkind = 'r')";
            let row = self.readers.first(sql, &[]).await?;
            let count = |at: usize| row.as_ref().map_or(0, |row| row.get::<_, i64>(at).cast_unsigned());
            Ok(StoreStats {
                tasks: count(0),
                open_tasks: count(1),
                journal_lines: count(2),
                outbox: count(3),
                dead: count(4),
                bytes: count(5),
                log_bytes: 0,
                schema: PG_SCHEMA_VERSION,
                commits: self.writer.commits(),
            })
        })
    }

    fn storage(&self, query: StorageQuery) -> Reply<'_, StorageUse> {
        Box::pin(async move { self.held(&query).await })
    }

    fn close(&self) -> Reply<'_, ()> {
        Box::pin(async move {
            self.readers.close().await;
            self.membership.close().await;
            self.writer.close().await;
            Ok(())
        })
    }
}

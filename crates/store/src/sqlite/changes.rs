//! The change feed of a file: kept in memory by the one process that has it open.
//!
//! Promises: the writer appends before it answers. It writes nothing to the file; see `feed`.

use std::future::ready;

use tokio::sync::watch;

use super::SqliteStore;
use crate::{ChangeCursor, ChangeReads, Changes, Reply, Topic};

impl ChangeReads for SqliteStore {
    fn changes(&self, topic: Topic, after: ChangeCursor, limit: usize) -> Reply<'_, Changes> {
        Box::pin(ready(Ok(self.feed.changes(topic, after, limit))))
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<ChangeCursor> {
        self.feed.watch(topic)
    }
}

//! The change feed of a store in memory: one for each opening, shared by all its handles.
//!
//! Promises: a cursor of an earlier opening gets a gap. What the feed keeps is in `feed`.

use std::future::ready;

use tokio::sync::watch;

use super::MemStore;
use crate::{ChangeCursor, ChangeReads, Changes, Reply, Topic};

impl ChangeReads for MemStore {
    fn changes(&self, topic: Topic, after: ChangeCursor, limit: usize) -> Reply<'_, Changes> {
        Box::pin(ready(self.live().map(|inner| inner.feed.changes(topic, after, limit))))
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<ChangeCursor> {
        self.lock().feed.watch(topic)
    }
}

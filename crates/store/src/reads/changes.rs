//! The change feed: what was touched since a reader last looked.
//!
//! Promises: whatever is read from the store after a change was acknowledged has its entry in the feed. It
//! tells what to read again, not what it says now; see `feed`.

use tokio::sync::watch;

use crate::{ChangeCursor, Changes, Reply, Topic};

/// How caches and watchers follow a store.
pub trait ChangeReads {
    /// What was touched after a cursor, at most `limit` entries.
    fn changes(&self, topic: Topic, after: ChangeCursor, limit: usize) -> Reply<'_, Changes>;

    /// The end of a topic's feed, which moves with each commit that touches the topic.
    fn watch(&self, topic: Topic) -> watch::Receiver<ChangeCursor>;
}

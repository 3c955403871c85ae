//! The ends of the feeds as this process knows them, for those who wait for more.
//!
//! Promises: an end only grows; a watcher is woken when the end of its topic has moved, in whichever process.
//! It does not read the database: the writer and the follower tell it.

use agentsite_store::engine::{cursor, cursor_parts};
use agentsite_store::{ChangeCursor, Topic};
use tokio::sync::watch;

/// One end for each topic.
#[derive(Debug)]
pub(crate) struct Ends([watch::Sender<ChangeCursor>; Topic::ALL.len()]);

impl Ends {
    pub(crate) fn new(opening: u64, ends: &[u64]) -> Self {
        let end = |topic: Topic| ends.get(topic as usize).copied().unwrap_or(0);
        Self(Topic::ALL.map(|topic| watch::Sender::new(cursor(opening, end(topic)))))
    }

    /// Moves the ends that have grown.
    pub(crate) fn move_to(&self, opening: u64, ends: &[u64]) {
        for (topic, end) in self.0.iter().zip(ends) {
            topic.send_if_modified(|known| {
                let (of, seq) = cursor_parts(*known);
                let moved = of != opening || seq < *end;
                if moved {
                    *known = cursor(opening, *end);
                }
                moved
            });
        }
    }

    pub(crate) fn watch(&self, topic: Topic) -> watch::Receiver<ChangeCursor> {
        self.0[topic as usize].subscribe()
    }
}

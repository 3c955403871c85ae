//! FeedReader: what was touched in one topic since the last look.
//!
//! Promises: a change that was acknowledged, through any handle of the store, is in what the next look gives.
//! A reader that is too far behind is told to read everything again. A look costs one comparison while
//! nothing has changed. It keeps no entities and does not say how they changed.

use tokio::sync::watch;

use crate::{ChangeCursor, Changes, Entity, SharedStore, StoreError, Topic};

/// Entries that are read at once: a full import of the registry.
const PAGE: usize = 1_000;

/// What was touched since the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// These, oldest first; one entity may come several times.
    Entities(Vec<Entity>),
    /// More than the feed keeps: read everything again.
    All,
}

/// A place in the feed of one topic.
#[derive(Debug)]
pub struct FeedReader {
    store: SharedStore,
    topic: Topic,
    end: watch::Receiver<ChangeCursor>,
    /// Up to where the reader has looked.
    seen: ChangeCursor,
}

impl FeedReader {
    /// Begins now: what changed before is not in what it gives.
    #[must_use]
    pub fn new(store: SharedStore, topic: Topic) -> Self {
        let end = store.watch(topic);
        let seen = *end.borrow();
        Self { store, topic, end, seen }
    }

    /// What was touched since the last look. When it fails or is dropped, the next look gives the same again.
    ///
    /// # Errors
    /// What the store reports when its feed cannot be read.
    pub async fn look(&mut self) -> Result<Touched, StoreError> {
        let (mut touched, mut at) = (Vec::new(), self.seen);
        while at != *self.end.borrow() {
            match self.store.changes(self.topic, at, PAGE).await? {
                Changes::Page { items, next } => {
                    touched.extend(items);
                    at = next;
                }
                Changes::Gap(next) => {
                    self.seen = next;
                    return Ok(Touched::All);
                }
            }
        }
        self.seen = at;
        Ok(Touched::Entities(touched))
    }

    /// Waits until there is something to look at; false when the store has closed. Safe to drop.
    pub async fn wait(&mut self) -> bool {
        let seen = self.seen;
        self.end.wait_for(|end| *end != seen).await.is_ok()
    }
}

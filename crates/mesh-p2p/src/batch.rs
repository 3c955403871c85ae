//! Batch: records that leave together, and those that gossip brought already.
//!
//! Promises: a record waits at most [`DELAY`]; a batch fits one message. A record that came by gossip is not
//! published again, for that would make every site send it anew. What is remembered is bounded.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::{Message, Record, RecordId, batches, limits};

/// How long records are collected. The first hop takes as long anyway, and a site that starts publishes all
/// of its agents within this time.
pub(crate) const DELAY: Duration = Duration::from_millis(30);
/// Most records that wait: a whole site.
pub(crate) const MAX_WAITING: usize = 1_024;
/// Ids of records in one generation of what gossip brought; there are two, one MB together.
const GENERATION: usize = 16_384;

/// Records that wait to be published.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    waiting: Vec<Arc<Record>>,
    bytes: usize,
}

impl Outgoing {
    /// Adds a record. True when the batch should leave at once.
    pub(crate) fn push(&mut self, record: Arc<Record>) -> bool {
        self.bytes += record.bytes().len();
        self.waiting.push(record);
        // A message also has a few bytes for each length.
        self.waiting.len() >= limits::MAX_BATCH || self.bytes > limits::MAX_MESSAGE * 7 / 8
    }

    /// How many records wait.
    pub(crate) const fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Takes what waits, as messages.
    pub(crate) fn take(&mut self) -> Vec<Message> {
        self.bytes = 0;
        batches(std::mem::take(&mut self.waiting)).into_iter().map(Message::Push).collect()
    }
}

/// Which records gossip brought lately.
#[derive(Debug, Default)]
pub(crate) struct Gossiped {
    young: HashSet<RecordId>,
    old: HashSet<RecordId>,
}

impl Gossiped {
    pub(crate) fn insert(&mut self, id: RecordId) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(id);
    }

    pub(crate) fn contains(&self, id: &RecordId) -> bool {
        self.young.contains(id) || self.old.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentsite_mesh::story::{Site, at};

    #[test]
    fn a_batch_leaves_when_it_is_full() {
        let (site, mut outgoing) = (Site::new(1), Outgoing::default());
        for number in 1..64 {
            assert!(!outgoing.push(site.lease(number, at(0))), "{number}");
        }
        assert!(outgoing.push(site.lease(64, at(0))));
        let messages = outgoing.take();
        assert!(matches!(&messages[..], [Message::Push(batch)] if batch.len() == 64));
        assert_eq!((outgoing.len(), outgoing.take().len()), (0, 0));
        assert!(messages[0].encode().len() <= limits::MAX_MESSAGE);
    }

    #[test]
    fn what_gossip_brought_is_remembered_for_a_while() {
        let mut gossiped = Gossiped::default();
        let id = |number: usize| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number.to_be_bytes());
            RecordId::from_bytes(bytes)
        };
        (0..100_000).for_each(|number| gossiped.insert(id(number)));
        assert!(gossiped.contains(&id(99_999)) && gossiped.contains(&id(99_999 - GENERATION)));
        assert!(!gossiped.contains(&id(0)));
        assert!(gossiped.young.len() + gossiped.old.len() <= 2 * GENERATION);
    }
}

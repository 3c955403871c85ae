//! Batch: the effects of several inputs, sorted into what is kept and what leaves.
//!
//! Promises: pure; of several changes of one record or entry the last one counts. What leaves keeps its
//! order, and all of it waits for what is kept, so that nothing leaves the site before it is on disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentsite_mesh::{Effect, GossipTicket, Record, RecordKey, SiteId, Subject, Verdict};
use agentsite_protocol::Timestamp;
use agentsite_protocol::listing::ListingId;

use crate::entries::entry_id;

/// What becomes of records: a new version, or none any more.
pub(crate) type RecordChanges = BTreeMap<RecordKey, Option<Arc<Record>>>;

/// The effects of several inputs.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// What is kept or removed.
    pub(crate) records: RecordChanges,
    /// What is listed or withdrawn.
    pub(crate) entries: BTreeMap<ListingId, Option<Arc<Record>>>,
    /// What is done after that, in order.
    pub(crate) actions: Vec<Effect>,
    /// Gossip that was judged.
    pub(crate) verdicts: Vec<(GossipTicket, Verdict)>,
    /// When the catalogue is to be woken, if that changed.
    pub(crate) wake: Option<Timestamp>,
}

impl Batch {
    /// Takes in the effects of one input.
    pub(crate) fn add(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Store(record) => drop(self.records.insert(record.key().clone(), Some(record))),
                Effect::Remove(key) => drop(self.records.insert(key, None)),
                Effect::Upsert(record) => {
                    if let Some(id) = entry_id(record.key()) {
                        self.entries.insert(id, Some(record));
                    }
                }
                Effect::Withdraw { key, .. } => {
                    if let Some(id) = entry_id(&key) {
                        self.entries.insert(id, None);
                    }
                }
                Effect::WakeAt(at) => self.wake = Some(at),
                other => self.actions.push(other),
            }
        }
    }

    /// The sites whose leases are new.
    pub(crate) fn renewed_leases(&self) -> impl Iterator<Item = SiteId> {
        let is_lease =
            |key: &RecordKey, record: &Option<Arc<Record>>| key.subject == Subject::Lease && record.is_some();
        self.records.iter().filter(move |(key, record)| is_lease(key, record)).map(|(key, _)| key.site)
    }

    /// Whether nothing has to be written.
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.records.is_empty() && self.entries.is_empty()
    }
}

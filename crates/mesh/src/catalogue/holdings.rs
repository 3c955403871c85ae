//! Holdings: the records of a catalogue with every index over them.
//!
//! Promises: all indexes change together, so they always describe the same records. Which record goes when
//! there are too many depends on the records alone: of one site the one with the greatest name, in all the
//! one whose site did the least work. Records of this site never go.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentsite_protocol::Timestamp;

use crate::limits::{CLOCK_SLACK, Limits};
use crate::reconcile::{Item, RangeSet};
use crate::record::{Claim, Record, RecordId, RecordKey, Subject};
use crate::site_id::SiteId;

/// The order in which records make room: least work first, then greatest key.
type Rank = (u32, Reverse<RecordKey>);

/// Records and their indexes.
#[derive(Debug, Default)]
pub(super) struct Holdings {
    records: BTreeMap<RecordKey, Arc<Record>>,
    ids: BTreeMap<RecordId, RecordKey>,
    set: RangeSet,
    ranks: BTreeSet<Rank>,
    deadlines: BTreeSet<(Timestamp, RecordKey)>,
    counts: BTreeMap<SiteId, usize>,
    /// Whether agents are kept by cells, so that they are not compared with every peer.
    parted: bool,
}

impl Holdings {
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn get(&self, key: &RecordKey) -> Option<&Arc<Record>> {
        self.records.get(key)
    }

    pub(super) fn has(&self, id: &RecordId) -> bool {
        self.ids.contains_key(id)
    }

    pub(super) fn by_id(&self, id: &RecordId) -> Option<&Arc<Record>> {
        self.ids.get(id).and_then(|key| self.records.get(key))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.records.values()
    }

    /// The records of one site, the lease first.
    pub(super) fn of_site(&self, site: SiteId) -> impl DoubleEndedIterator<Item = &Arc<Record>> {
        let beyond = next_site(site);
        let begin = std::ops::Bound::Included(RecordKey::lease(site));
        let end = beyond
            .map_or(std::ops::Bound::Unbounded, |site| std::ops::Bound::Excluded(RecordKey::lease(site)));
        self.records.range((begin, end)).map(|(_, record)| record)
    }

    pub(super) fn count_of(&self, site: &SiteId) -> usize {
        self.counts.get(site).copied().unwrap_or(0)
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = (&SiteId, usize)> {
        self.counts.iter().map(|(site, count)| (site, *count))
    }

    pub(super) const fn set(&self) -> &RangeSet {
        &self.set
    }

    pub(super) fn fingerprint(&self) -> [u8; 16] {
        self.set.digest()
    }

    /// Whether agents are kept by cells.
    pub(super) const fn is_parted(&self) -> bool {
        self.parted
    }

    /// Whether a record is in the set that is compared with every peer.
    fn is_compared(&self, record: &Claim) -> bool {
        !self.parted || !matches!(record.subject(), Subject::Agent(_))
    }

    /// Compares agents with every peer, or leaves them to cells.
    pub(super) fn part(&mut self, parted: bool) {
        if self.parted == parted {
            return;
        }
        self.parted = parted;
        for record in self.records.values().filter(|record| matches!(record.subject(), Subject::Agent(_))) {
            if parted {
                self.set.remove(&item(record));
            } else {
                self.set.insert(item(record));
            }
        }
    }

    /// Puts a record in the place of the one with its key.
    pub(super) fn put(&mut self, record: Arc<Record>) {
        let key = record.key().clone();
        self.take(&key);
        self.ids.insert(record.id(), key.clone());
        if self.is_compared(&record) {
            self.set.insert(item(&record));
        }
        self.ranks.insert(rank(&record));
        self.deadlines.insert((deadline(&record), key.clone()));
        *self.counts.entry(key.site).or_default() += 1;
        self.records.insert(key, record);
    }

    /// Takes a record out.
    pub(super) fn take(&mut self, key: &RecordKey) -> Option<Arc<Record>> {
        let record = self.records.remove(key)?;
        self.ids.remove(&record.id());
        self.set.remove(&item(&record));
        self.ranks.remove(&rank(&record));
        self.deadlines.remove(&(deadline(&record), key.clone()));
        if let Some(count) = self.counts.get_mut(&key.site) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&key.site);
            }
        }
        Some(record)
    }

    /// Whether a foreign record would be kept if it were put in.
    pub(super) fn has_room(&self, claim: &Claim, own: SiteId, limits: &Limits) -> bool {
        if self.records.contains_key(claim.key()) {
            return true;
        }
        let own_share = self.count_of(&claim.site()) < limits.records_per_site
            || self.of_site(claim.site()).next_back().is_some_and(|last| claim.key() < last.key());
        own_share
            && (self.len() < limits.records || self.lowest(own).is_some_and(|lowest| *lowest < rank(claim)))
    }

    /// The record that must make room, if there are more than the limits allow.
    pub(super) fn overflow(&self, site: SiteId, own: SiteId, limits: &Limits) -> Option<RecordKey> {
        if site != own && self.count_of(&site) > limits.records_per_site {
            return self.of_site(site).next_back().map(|record| record.key().clone());
        }
        if self.len() <= limits.records {
            return None;
        }
        self.lowest(own).map(|(_, Reverse(key))| key.clone())
    }

    /// The foreign record that makes room first.
    fn lowest(&self, own: SiteId) -> Option<&Rank> {
        self.ranks.iter().find(|(_, Reverse(key))| key.site != own)
    }

    /// When the first record ends, with the slack for clocks.
    pub(super) fn first_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The records that have ended at this time, each with its end.
    pub(super) fn ended(&self, now: Timestamp) -> Vec<(Timestamp, RecordKey)> {
        self.deadlines.iter().take_while(|(deadline, _)| *deadline <= now).cloned().collect()
    }

    /// Whether every index describes the same records; looks at all of them.
    pub(super) fn is_consistent(&self) -> bool {
        let sizes = [self.ids.len(), self.ranks.len(), self.deadlines.len()];
        let compared = self.records.values().filter(|record| self.is_compared(record)).count();
        self.set.len() == compared
            && sizes.iter().all(|size| *size == self.records.len())
            && self.counts.values().sum::<usize>() == self.records.len()
            && self.records.iter().all(|(key, record)| {
                key == record.key()
                    && self.ids.get(&record.id()) == Some(key)
                    && self.ranks.contains(&rank(record))
                    && self.deadlines.contains(&(deadline(record), key.clone()))
            })
            && self.set.items(0..self.set.len()).all(|item| self.ids.contains_key(&item.id))
    }
}

/// When a record stops counting: its end, and the slack for clocks.
pub(super) fn deadline(record: &Claim) -> Timestamp {
    record.expires_at().plus(CLOCK_SLACK)
}

fn item(record: &Claim) -> Item {
    Item { at: u64::try_from(record.issued_at().as_millis()).unwrap_or(0), id: record.id() }
}

fn rank(record: &Claim) -> Rank {
    (record.work().bits, Reverse(record.key().clone()))
}

/// The least id above this one; none above the greatest.
fn next_site(site: SiteId) -> Option<SiteId> {
    let mut bytes = *site.as_bytes();
    for byte in bytes.iter_mut().rev() {
        let (next, over) = byte.overflowing_add(1);
        *byte = next;
        if !over {
            return Some(SiteId::from_bytes(bytes));
        }
    }
    None
}

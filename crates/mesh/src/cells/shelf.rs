//! Shelf: the copy of one cell that a site keeps.
//!
//! Promises: one version of each agent, the latest; the set that is reconciled is exactly the set of entries.
//! A search looks at every vector, so within one cell it is exact.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentsite_protocol::Timestamp;

use super::entry::{CellEntry, EntryKey};
use super::known::KnownSites;
use crate::limits::CLOCK_SLACK;
use crate::reconcile::{Item, RangeSet};
use crate::record::RecordId;
use crate::vectors::VectorCodes;

/// An entry with how near it is.
#[derive(Debug, Clone)]
pub struct CellHit {
    /// The agent.
    pub entry: Arc<CellEntry>,
    /// The cosine of its nearest vector.
    pub nearness: f64,
    /// What it is ranked by: the nearness, less where many sites share a network.
    pub worth: f64,
}

impl CellHit {
    /// An entry with how near it is and what it is worth, in the view of a site that knows these others.
    pub(super) fn of(entry: &Arc<CellEntry>, nearness: f64, known: &KnownSites) -> Self {
        let worth = nearness.max(0.0) * known.weight(&entry.key.site);
        Self { entry: entry.clone(), nearness, worth }
    }
}

/// The copy of one cell.
#[derive(Debug)]
pub(super) struct Shelf {
    /// Each entry with the bits of its vectors that are in this cell.
    items: BTreeMap<EntryKey, (Arc<CellEntry>, u32)>,
    set: RangeSet,
    vectors: usize,
    centre: Option<VectorCodes>,
    /// The least cosine of a vector with the centre, also of vectors that left.
    reach: f64,
}

impl Shelf {
    /// An empty copy of the cell with this centre.
    pub(super) fn new(centre: Option<VectorCodes>) -> Self {
        Self { items: BTreeMap::new(), set: RangeSet::default(), vectors: 0, centre, reach: 1.0 }
    }

    /// The least cosine of a vector of this cell with its centre.
    pub(super) fn reach(&self) -> f64 {
        if self.centre.is_some() { self.reach } else { -1.0 }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// How many vectors are in this cell.
    pub(super) const fn vectors(&self) -> usize {
        self.vectors
    }

    pub(super) const fn set(&self) -> &RangeSet {
        &self.set
    }

    pub(super) fn get(&self, key: EntryKey) -> Option<&Arc<CellEntry>> {
        self.items.get(&key).map(|(entry, _)| entry)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<CellEntry>> {
        self.items.values().map(|(entry, _)| entry)
    }

    /// The vectors that are in this cell, in the order of their agents.
    pub(super) fn own_vectors(&self) -> Vec<&VectorCodes> {
        self.items
            .values()
            .flat_map(|(entry, bits)| {
                entry.vectors.iter().enumerate().filter(move |(part, _)| bits >> part & 1 == 1)
            })
            .map(|(_, vector)| vector)
            .collect()
    }

    /// Takes an entry in, unless a later version is there; says whether it is new.
    pub(super) fn put(&mut self, entry: Arc<CellEntry>, parts: u32) -> bool {
        if self.get(entry.hash).is_some_and(|held| !entry.supersedes(held)) {
            return false;
        }
        self.take(entry.hash);
        self.set.insert(item(&entry));
        self.vectors += parts.count_ones() as usize;
        if let Some(centre) = &self.centre {
            let own = entry.vectors.iter().enumerate().filter(|(part, _)| parts >> part & 1 == 1);
            self.reach = own.map(|(_, vector)| centre.nearness(vector)).fold(self.reach, f64::min);
        }
        self.items.insert(entry.hash, (entry, parts));
        true
    }

    pub(super) fn take(&mut self, key: EntryKey) -> Option<Arc<CellEntry>> {
        let (entry, parts) = self.items.remove(&key)?;
        self.set.remove(&item(&entry));
        self.vectors -= parts.count_ones() as usize;
        Some(entry)
    }

    /// The entries with these ids.
    pub(super) fn by_ids(&self, ids: &[RecordId]) -> Vec<Arc<CellEntry>> {
        let ids: BTreeSet<RecordId> = ids.iter().copied().collect();
        self.entries().filter(|entry| ids.contains(&entry.id)).cloned().collect()
    }

    /// The best agents, the first ones first.
    pub(super) fn search(
        &self,
        vector: &VectorCodes,
        limit: usize,
        known: &KnownSites,
        best: &mut Vec<CellHit>,
    ) {
        for (entry, parts) in self.items.values() {
            let near = entry.vectors.iter().enumerate().filter(|(part, _)| parts >> part & 1 == 1);
            let nearness = near.map(|(_, own)| own.nearness(vector)).fold(-1.0, f64::max);
            let is_among =
                |worth: f64| best.len() < limit || best.last().is_some_and(|last| worth > last.worth);
            // Nothing is worth more than it is near, and few entries get further.
            if nearness <= -1.0 || !is_among(nearness) || best.iter().any(|hit| hit.entry.hash == entry.hash)
            {
                continue;
            }
            let hit = CellHit::of(entry, nearness, known);
            if is_among(hit.worth) {
                let place = best.partition_point(|other| other.worth >= hit.worth);
                best.insert(place, hit);
                best.truncate(limit);
            }
        }
    }

    /// Removes what has ended.
    pub(super) fn expire(&mut self, settled: Timestamp) {
        let ended = |entry: &&Arc<CellEntry>| entry.expires_at.plus(CLOCK_SLACK) <= settled;
        let keys: Vec<EntryKey> = self.entries().filter(ended).map(|entry| entry.hash).collect();
        keys.into_iter().for_each(|key| drop(self.take(key)));
    }
}

fn item(entry: &CellEntry) -> Item {
    Item { at: u64::try_from(entry.issued_at.as_millis()).unwrap_or(0), id: entry.id }
}

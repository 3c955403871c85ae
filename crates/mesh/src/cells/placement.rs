//! Placement: which cells a site keeps, where its own agents go, and when a cell is split.
//!
//! Promises: the cells that a site is nearest to come first, then those of its own agents, then what else
//! fits the budget. When the codebook changes, entries move to their new cells at once, and what this site
//! publishes is sent to the servers of new cells.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::codebook::Codebook;
use super::entry::{CellEntry, EntryKey};
use super::event::CellEffect;
use super::halves::{halve, is_acceptable};
use super::known::KnownSites;
use super::shelf::Shelf;
use super::{CellTurn, Cells};
use crate::cell_id::{CellId, site_key};
use crate::record::SplitProfile;
use crate::site_id::SiteId;
use crate::vectors::{PROTOCOL_MODEL, VectorCodes};

/// How long a server waits for each nearer one before it proposes a split itself, so that one proposes and
/// the others agree.
const PROPOSE_STEP: Duration = Duration::from_secs(10);
/// A split is supported from this share of the full size on, because copies differ a little.
const NEARLY_FULL: f64 = 0.8;
/// Sites up to this multiple of the replicas keep a cell before others do, in place of nearer ones without
/// room.
pub(super) const SUBSTITUTES: usize = 3;
/// Most foreign splits that are remembered as bad; judging one takes milliseconds.
const MAX_UNACCEPTABLE: usize = 1_024;
/// Bytes of memory for one vector: its numbers, and the indexes over its entry.
const VECTOR_BYTES: u64 = 640;
/// Bytes per day for one vector: a change of its record each day, once for each of two copies, and comparing.
const VECTOR_TRAFFIC: u64 = 8_000;

/// What a site spends on cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Memory, in bytes.
    pub memory: u64,
    /// Traffic, in kilobits per second.
    pub kilobits: u64,
}

/// How cells are made and kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellSettings {
    /// From how many vectors on a cell is split. A scan of so many takes some 6 ms on one core.
    pub split_at: usize,
    /// How many sites keep each cell at least. With ten, all are away at once one time in a million when
    /// three in ten are away.
    pub replicas: usize,
    /// Whether something else spreads everything while there is one cell, so that nothing is sent for it.
    pub root_is_replicated: bool,
    /// What this site spends.
    pub budget: Budget,
    /// Whether it also keeps cells that it need not keep, as far as the budget goes: then more is found
    /// without asking others.
    pub fills: bool,
}

impl Default for CellSettings {
    fn default() -> Self {
        let budget = Budget { memory: 256 << 20, kilobits: 1_000 };
        Self { split_at: 50_000, replicas: 10, root_is_replicated: false, budget, fills: true }
    }
}

impl CellSettings {
    /// How many full cells the budget allows.
    #[must_use]
    pub fn capacity(&self) -> usize {
        let size = self.split_at.max(1) as u64;
        let by_memory = self.budget.memory / (size * VECTOR_BYTES);
        let by_traffic = self.budget.kilobits * 125 * 86_400 / (size * VECTOR_TRAFFIC);
        usize::try_from(by_memory.min(by_traffic)).unwrap_or(usize::MAX)
    }
}

impl Cells {
    /// The cells that this site should keep.
    pub(super) fn wanted(&self) -> BTreeSet<CellId> {
        let (leaves, capacity) = (self.codebook.leaves(), self.settings.capacity());
        if leaves.len() <= capacity {
            return leaves.iter().map(|leaf| leaf.cell).collect();
        }
        let of_own: BTreeSet<CellId> =
            self.own.values().flat_map(|(_, places)| places.iter().map(|(cell, _)| *cell)).collect();
        let own_key = site_key(&self.site);
        let order = |cell: CellId| {
            let rank = self.known.rank(cell, &self.site, self.settings.replicas * SUBSTITUTES);
            let class = match rank {
                Some(rank) if rank < self.settings.replicas => 0,
                Some(_) if of_own.contains(&cell) => 1,
                Some(_) => 2,
                None => 3 + u8::from(!of_own.contains(&cell)),
            };
            let mut distance = cell.key();
            distance.iter_mut().zip(own_key).for_each(|(byte, own)| *byte ^= own);
            (class, rank, distance)
        };
        let mut cells: Vec<_> = leaves.iter().map(|leaf| (order(leaf.cell), leaf.cell)).collect();
        cells.sort_unstable();
        cells.retain(|((class, ..), _)| self.settings.fills || *class == 0);
        cells.into_iter().take(capacity).map(|(_, cell)| cell).collect()
    }

    pub(super) fn learn(&mut self, known: Arc<KnownSites>, turn: &mut CellTurn<'_>) {
        self.known = known;
        self.adopt(turn);
        // A cell may have been full before this site was known to be near it.
        let kept: Vec<CellId> = self.shelves.keys().copied().collect();
        kept.into_iter().for_each(|cell| self.consider_split(cell, turn));
    }

    pub(super) fn restored(
        &mut self,
        known: Arc<KnownSites>,
        supports: Vec<(SiteId, CellId, Arc<SplitProfile>)>,
        turn: &mut CellTurn<'_>,
    ) {
        self.known = known;
        for (signer, cell, split) in supports {
            self.support.put(cell, signer, split);
        }
        self.adopt(turn);
    }

    /// Takes back what this site had published and others had confirmed.
    pub(super) fn restore_own(&mut self, own: Vec<Arc<CellEntry>>, turn: &CellTurn<'_>) {
        for entry in own {
            let places = self.codebook.place(&entry.vectors);
            self.put_everywhere(&entry, turn);
            self.own.insert(entry.hash, (entry, places));
        }
    }

    /// A site supports a split, or no longer does.
    pub(super) fn supported(
        &mut self,
        signer: SiteId,
        cell: CellId,
        split: Option<Arc<SplitProfile>>,
        turn: &mut CellTurn<'_>,
    ) {
        match split.filter(|split| split.model() == PROTOCOL_MODEL) {
            Some(split) => {
                self.support.put(cell, signer, split.clone());
                self.support_of_other(cell, &split, turn);
            }
            None => self.support.remove(cell, &signer),
        }
        self.adopt_if_changed(cell, turn);
    }

    /// Follows the split of one cell, which may count now or no longer.
    fn adopt_if_changed(&mut self, cell: CellId, turn: &mut CellTurn<'_>) {
        let winner = self.support.winner(cell, &self.known, self.settings.replicas);
        if self.codebook.splits().get(&cell) != winner.as_ref() {
            self.adopt(turn);
        }
    }

    /// Supports a split of another site when it halves our copy well.
    fn support_of_other(&mut self, cell: CellId, split: &Arc<SplitProfile>, turn: &mut CellTurn<'_>) {
        let is_near = self.known.rank(cell, &self.site, self.settings.replicas).is_some();
        let Some(shelf) = self.shelves.get(&cell).filter(|_| is_near) else { return };
        let is_full = shelf.vectors() as f64 >= self.settings.split_at as f64 * NEARLY_FULL;
        let has_chosen = self.support.of(cell, &self.site).is_some();
        let digest = split.digest(cell);
        if !is_full || has_chosen || self.unacceptable.contains(&digest) {
            return;
        }
        if is_acceptable(&shelf.own_vectors(), split.centroids()) {
            self.endorse(cell, split.clone(), turn);
        } else if self.unacceptable.len() < MAX_UNACCEPTABLE {
            self.unacceptable.insert(digest);
        }
    }

    fn endorse(&mut self, cell: CellId, split: Arc<SplitProfile>, turn: &mut CellTurn<'_>) {
        self.proposals.remove(&cell);
        self.support.put(cell, self.site, split.clone());
        turn.push(CellEffect::Endorse { cell, split });
    }

    /// Plans to propose a split when a cell is full: the nearer this site is to it, the sooner.
    pub(super) fn consider_split(&mut self, cell: CellId, turn: &CellTurn<'_>) {
        let vectors = self.shelves.get(&cell).map_or(0, Shelf::vectors);
        // A cell that could not be halved is tried again when it has grown by a quarter.
        let tried = self.tried.get(&cell).map_or(0, |vectors| vectors * 5 / 4);
        let is_full = vectors > self.settings.split_at.max(tried);
        if !is_full || self.proposals.contains_key(&cell) || self.support.of(cell, &self.site).is_some() {
            return;
        }
        if let Some(rank) = self.known.rank(cell, &self.site, self.settings.replicas) {
            let wait = PROPOSE_STEP * u32::try_from(rank).unwrap_or(0);
            self.proposals.insert(cell, turn.now.plus(wait));
        }
    }

    /// Supports the best proposal of others for each full cell, or proposes a split.
    pub(super) fn propose_due(&mut self, turn: &mut CellTurn<'_>) {
        let due = self.proposals.iter().filter(|(_, at)| **at <= turn.now);
        let due: Vec<CellId> = due.map(|(cell, _)| *cell).collect();
        for cell in due {
            self.proposals.remove(&cell);
            let Some(shelf) = self.shelves.get(&cell) else { continue };
            let vectors = shelf.own_vectors();
            let others = self.support.proposals(cell, &self.known, self.settings.replicas);
            let other = others.into_iter().find(|(_, split)| is_acceptable(&vectors, split.centroids()));
            let split = other.map(|(_, split)| split).or_else(|| {
                let centres = halve(&vectors)?;
                SplitProfile::new(PROTOCOL_MODEL, centres).ok().map(Arc::new)
            });
            if let Some(split) = split {
                self.endorse(cell, split, turn);
                self.adopt_if_changed(cell, turn);
            } else {
                let vectors = vectors.len();
                self.tried.insert(cell, vectors);
            }
        }
    }

    /// Follows the splits that count, and keeps the cells that this site should keep.
    fn adopt(&mut self, turn: &mut CellTurn<'_>) {
        let adopted = self.support.adopted(&self.known, self.settings.replicas);
        let has_changed = adopted != *self.codebook.splits();
        let mut new_centres = Vec::new();
        if has_changed {
            let before = std::mem::replace(&mut self.codebook, Codebook::of(adopted));
            new_centres = self.codebook.centres_unlike(&before);
            let leaves = self.codebook.leaves();
            self.tried.retain(|cell, _| leaves.iter().any(|leaf| leaf.cell == *cell));
            self.reaches.clear();
            self.unacceptable.clear();
        }
        let wanted = self.wanted();
        let mut old = std::mem::take(&mut self.shelves);
        for cell in old.keys().filter(|cell| !wanted.contains(cell)) {
            self.proposals.remove(cell);
            turn.push(CellEffect::Drop(*cell));
        }
        for cell in wanted {
            let kept = old.remove(&cell);
            if kept.is_none() {
                turn.push(CellEffect::Keep(cell));
            }
            let shelf = kept.unwrap_or_else(|| Shelf::new(self.codebook.centroid(cell)));
            self.shelves.insert(cell, shelf);
        }
        if has_changed {
            self.move_entries(&old, &new_centres, turn);
            self.place_own(turn);
        }
    }

    /// Puts entries of cells that are no longer kept into their new cells, and removes from the others what a
    /// nearer cell has taken over. Tombstones go into every part of their cell.
    fn move_entries(
        &mut self,
        old: &BTreeMap<CellId, Shelf>,
        new_centres: &[VectorCodes],
        turn: &CellTurn<'_>,
    ) {
        for (cell, shelf) in &mut self.shelves {
            let centre = self.codebook.centroid(*cell);
            // Only a new centre that is nearer than that of this cell can take a vector over.
            let may_leave = |vector: &VectorCodes| {
                let own = centre.as_ref().map_or(1.0, |centre| centre.nearness(vector));
                new_centres.iter().any(|new| new.nearness(vector) > own)
            };
            let has_left = |entry: &&Arc<CellEntry>| {
                if !entry.vectors.iter().any(may_leave) {
                    return false;
                }
                let places = self.codebook.place(&entry.vectors);
                !entry.is_removed() && !places.iter().any(|(place, _)| place == cell)
            };
            let gone: Vec<EntryKey> = shelf.entries().filter(has_left).map(|entry| entry.hash).collect();
            gone.into_iter().for_each(|key| drop(shelf.take(key)));
        }
        for (cell, shelf) in old {
            for entry in shelf.entries() {
                self.put_everywhere(entry, turn);
                for (kept, part) in &mut self.shelves {
                    if entry.is_removed() && cell.contains(*kept) {
                        part.put(entry.clone(), 0);
                    }
                }
            }
        }
    }

    /// The bits of the vectors of an entry that are in a cell.
    pub(super) fn parts_in(&self, cell: CellId, entry: &CellEntry) -> u32 {
        let places = self.codebook.place(&entry.vectors);
        places.into_iter().find(|(place, _)| *place == cell).map_or(0, |(_, parts)| parts)
    }

    /// Puts an entry into each kept cell that it belongs to; a tombstone into each that has the agent.
    fn put_everywhere(&mut self, entry: &Arc<CellEntry>, turn: &CellTurn<'_>) {
        let places = self.codebook.place(&entry.vectors);
        for (cell, shelf) in &mut self.shelves {
            let parts = places.iter().find(|(place, _)| place == cell).map_or(0, |(_, parts)| *parts);
            let is_removed = entry.is_removed() && shelf.get(entry.hash).is_some();
            if parts > 0 || is_removed {
                shelf.put(entry.clone(), parts);
            } else if shelf.get(entry.hash).is_some_and(|held| entry.supersedes(held)) {
                shelf.take(entry.hash);
            }
        }
        places.into_iter().for_each(|(cell, _)| self.consider_split(cell, turn));
    }

    pub(super) fn listed(&mut self, entry: &Arc<CellEntry>, turn: &CellTurn<'_>) {
        self.put_everywhere(entry, turn);
    }

    pub(super) fn copied(&mut self, cell: CellId, entries: Vec<(Arc<CellEntry>, u32)>) {
        if let Some(shelf) = self.shelves.get_mut(&cell) {
            for (entry, parts) in entries {
                shelf.put(entry, parts);
            }
        }
    }

    /// Publishes an agent of this site, or its tombstone: also to the cells that the last version was in.
    pub(super) fn publish(&mut self, entry: &Arc<CellEntry>, turn: &mut CellTurn<'_>) {
        let places = self.codebook.place(&entry.vectors);
        let before = self.own.insert(entry.hash, (entry.clone(), places.clone()));
        let mut cells: BTreeSet<CellId> = places.iter().map(|(cell, _)| *cell).collect();
        cells.extend(before.into_iter().flat_map(|(_, places)| places).map(|(cell, _)| cell));
        if entry.is_removed() {
            // Where it was stays known, so that the tombstone can be sent again.
            let places = cells.iter().map(|cell| (*cell, 0)).collect();
            self.own.insert(entry.hash, (entry.clone(), places));
        }
        self.put_everywhere(entry, turn);
        cells.into_iter().for_each(|cell| self.send_own(cell, entry, turn));
    }

    /// Sends own entries to cells that they were not in before.
    fn place_own(&mut self, turn: &mut CellTurn<'_>) {
        let own: Vec<Arc<CellEntry>> = self.own.values().map(|(entry, _)| entry.clone()).collect();
        self.unconfirmed.retain(|(cell, _), _| self.codebook.leaves().iter().any(|leaf| leaf.cell == *cell));
        for entry in own.into_iter().filter(|entry| !entry.is_removed()) {
            let places = self.codebook.place(&entry.vectors);
            let before = self.own.insert(entry.hash, (entry.clone(), places.clone()));
            let before = before.map(|(_, places)| places).unwrap_or_default();
            self.put_everywhere(&entry, turn);
            for (cell, _) in places {
                if !before.iter().any(|(old, _)| *old == cell) {
                    self.send_own(cell, &entry, turn);
                }
            }
        }
    }

    /// The sites that this site knows.
    #[must_use]
    pub const fn known(&self) -> &Arc<KnownSites> {
        &self.known
    }
}

//! Support: which sites stand for which split of a cell, and which split counts.
//!
//! A split is a record that any site may sign. It counts the more of the sites nearest to the cell sign the
//! same one, one for each network; of several the one with most support counts, and among equals the one with
//! the least digest.
//!
//! Promises: a pure function of the records and the known sites, so sites that have both in common have the
//! same codebook, in whatever order records came. What is kept for one cell is bounded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::known::{KnownSites, Subnet};
use crate::cell_id::CellId;
use crate::record::SplitProfile;
use crate::site_id::SiteId;

/// How many of the nearest sites must support a split, or all when there are fewer. Three networks are more
/// than an attacker with two has, and few enough that a split does not wait for sites that are away.
const QUORUM: usize = 3;
/// Sites up to this multiple of the replicas are heard, because not all know the same sites.
const HEARD: usize = 2;
/// Most supporters that are kept for one cell; those who are not heard are not counted anyway.
const MAX_SUPPORTERS: usize = 64;

/// The splits that sites support.
#[derive(Debug, Default)]
pub(super) struct Support {
    cells: BTreeMap<CellId, BTreeMap<SiteId, Supported>>,
}

/// The networks of the supporters of one split; those that are not proven count as one.
type Networks = BTreeSet<Option<Subnet>>;

/// A split with its digest, which costs more to compute than all the rest.
type Supported = ([u8; 32], Arc<SplitProfile>);

impl Support {
    /// A site supports a split.
    pub(super) fn put(&mut self, cell: CellId, signer: SiteId, split: Arc<SplitProfile>) {
        let supporters = self.cells.entry(cell).or_default();
        if supporters.len() < MAX_SUPPORTERS || supporters.contains_key(&signer) {
            supporters.insert(signer, (split.digest(cell), split));
        }
    }

    /// A site no longer supports a split.
    pub(super) fn remove(&mut self, cell: CellId, signer: &SiteId) {
        if let Some(supporters) = self.cells.get_mut(&cell) {
            supporters.remove(signer);
        }
    }

    /// What a site supports for a cell.
    pub(super) fn of(&self, cell: CellId, signer: &SiteId) -> Option<&Arc<SplitProfile>> {
        self.cells.get(&cell)?.get(signer).map(|(_, split)| split)
    }

    /// The different splits that are proposed for a cell, most support first.
    pub(super) fn proposals(
        &self,
        cell: CellId,
        known: &KnownSites,
        replicas: usize,
    ) -> Vec<(usize, Arc<SplitProfile>)> {
        let Some(supporters) = self.cells.get(&cell) else { return Vec::new() };
        let heard = known.nearest(cell, replicas * HEARD);
        let mut counts: BTreeMap<[u8; 32], (Networks, Arc<SplitProfile>)> = BTreeMap::new();
        for server in &heard {
            if let Some((digest, split)) = supporters.get(&server.site) {
                let (networks, _) = counts.entry(*digest).or_insert_with(|| (BTreeSet::new(), split.clone()));
                networks.insert(server.subnet);
            }
        }
        let mut proposals: Vec<_> =
            counts.into_values().map(|(networks, split)| (networks.len(), split)).collect();
        // Stable: among equals the order of digests stays.
        proposals.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        proposals
    }

    /// The split of a cell that counts.
    pub(super) fn winner(
        &self,
        cell: CellId,
        known: &KnownSites,
        replicas: usize,
    ) -> Option<Arc<SplitProfile>> {
        let quorum = QUORUM.min(known.servers()).max(1);
        let best = self.proposals(cell, known, replicas).into_iter().next();
        best.filter(|(count, _)| *count >= quorum).map(|(_, split)| split)
    }

    /// The splits that count.
    pub(super) fn adopted(&self, known: &KnownSites, replicas: usize) -> BTreeMap<CellId, Arc<SplitProfile>> {
        let counting = |cell: &CellId| Some((*cell, self.winner(*cell, known, replicas)?));
        self.cells.keys().filter_map(counting).collect()
    }
}

//! Codebook: the tree of centroids, and which cells a vector belongs to.
//!
//! Promises: pure functions of the adopted splits. All sites with the same codebook put a vector into the
//! same two cells. Splits whose cell is not in the tree are kept and have no effect until it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cell_id::CellId;
use crate::record::SplitProfile;
use crate::vectors::VectorCodes;

/// In how many cells each vector is kept. Two find more than asking twice as many cells.
pub const CELLS_PER_VECTOR: usize = 2;

/// A cell that was not split.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// The cell.
    pub cell: CellId,
    /// Its centre; none for the root.
    pub centroid: Option<VectorCodes>,
}

/// The adopted splits, and the cells that they leave.
#[derive(Debug, Clone)]
pub struct Codebook {
    splits: BTreeMap<CellId, Arc<SplitProfile>>,
    leaves: Vec<Leaf>,
}

impl Default for Codebook {
    fn default() -> Self {
        Self::of(BTreeMap::new())
    }
}

impl Codebook {
    /// The tree of these splits.
    #[must_use]
    pub fn of(splits: BTreeMap<CellId, Arc<SplitProfile>>) -> Self {
        let mut leaves = Vec::new();
        let mut open = vec![Leaf { cell: CellId::ROOT, centroid: None }];
        while let Some(leaf) = open.pop() {
            let sides = splits.get(&leaf.cell).and_then(|split| {
                let side = |side: usize| {
                    let centroid = Some(split.centroids()[side].clone());
                    leaf.cell.child(side).map(|cell| Leaf { cell, centroid })
                };
                Some([side(1)?, side(0)?])
            });
            match sides {
                Some(sides) => open.extend(sides),
                None => leaves.push(leaf),
            }
        }
        Self { splits, leaves }
    }

    /// The adopted splits.
    #[must_use]
    pub const fn splits(&self) -> &BTreeMap<CellId, Arc<SplitProfile>> {
        &self.splits
    }

    /// The cells that were not split.
    #[must_use]
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The centre of a cell that was not split; none for the root.
    #[must_use]
    pub fn centroid(&self, cell: CellId) -> Option<VectorCodes> {
        self.leaves.iter().find(|leaf| leaf.cell == cell).and_then(|leaf| leaf.centroid.clone())
    }

    /// The centres of cells that another codebook does not have.
    pub(super) fn centres_unlike(&self, other: &Self) -> Vec<VectorCodes> {
        let is_old = |leaf: &&Leaf| {
            other.leaves.iter().any(|old| old.cell == leaf.cell && old.centroid == leaf.centroid)
        };
        self.leaves.iter().filter(|leaf| !is_old(leaf)).filter_map(|leaf| leaf.centroid.clone()).collect()
    }

    /// All cells with the cosine of their centre, the nearest first.
    #[must_use]
    pub fn rank(&self, vector: &VectorCodes) -> Vec<(CellId, f64)> {
        let near = |leaf: &Leaf| leaf.centroid.as_ref().map_or(1.0, |centroid| centroid.nearness(vector));
        let mut ranked: Vec<(CellId, f64)> = self.leaves.iter().map(|leaf| (leaf.cell, near(leaf))).collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        ranked
    }

    /// The cells of an agent with these vectors, each with the vectors (as bits) that are in it.
    #[must_use]
    pub fn place<'a>(&self, vectors: impl IntoIterator<Item = &'a VectorCodes>) -> Vec<(CellId, u32)> {
        let mut cells: BTreeMap<CellId, u32> = BTreeMap::new();
        for (part, vector) in vectors.into_iter().enumerate().take(32) {
            for cell in self.nearest(vector) {
                *cells.entry(cell).or_default() |= 1 << part;
            }
        }
        cells.into_iter().collect()
    }

    /// The cells of one vector; cheaper than a whole ranking.
    fn nearest(&self, vector: &VectorCodes) -> impl Iterator<Item = CellId> + use<> {
        let mut best: [Option<(f64, CellId)>; CELLS_PER_VECTOR] = [None; CELLS_PER_VECTOR];
        for leaf in &self.leaves {
            let near = leaf.centroid.as_ref().map_or(1.0, |centroid| centroid.nearness(vector));
            let mut next = Some((near, leaf.cell));
            for place in &mut best {
                let is_nearer = match (&next, &place) {
                    (Some(new), Some(old)) => {
                        new.0.total_cmp(&old.0).then(old.1.cmp(&new.1)) == std::cmp::Ordering::Greater
                    }
                    (new, None) => new.is_some(),
                    (None, _) => false,
                };
                if is_nearer {
                    std::mem::swap(place, &mut next);
                }
            }
        }
        best.into_iter().flatten().map(|(_, cell)| cell)
    }
}

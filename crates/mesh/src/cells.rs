//! Cells: how a catalogue that is too large for one site is searched by all.
//!
//! Vectors are parted by a tree of centroids. While there is one cell, every site keeps it and a search is
//! exact and local. A cell with too many vectors is split by the sites that keep it; each vector is in its
//! two nearest cells; a site keeps what its budget allows, first the cells that it is nearest to. A search
//! asks the nearest cells of other sites.
//!
//! A pure state machine: [`Cells::apply`] takes what happened, the time and a source of randomness, and
//! gives what is to be done. The design and its reasons are in docs/decisions/0042-cells-of-the-mesh.md.
//!
//! Promises: 1. only cells of the codebook are kept, at most what the budget allows. 2. Sites with the same
//! records of splits and the same known sites have the same codebook. 3. What this site publishes is sent
//! to its cells until enough servers confirm it. 4. With one cell a search finds the true best.

mod codebook;
mod entry;
mod event;
mod halves;
mod known;
mod page;
mod placement;
mod query;
mod search;
mod shelf;
mod support;
mod sync;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentsite_protocol::{Rng, Timestamp};

use self::search::{Question, Search};
use self::shelf::Shelf;
use self::support::Support;
use self::sync::{COMPARE_INTERVAL, Unconfirmed};
use crate::cell_id::CellId;
use crate::site_id::SiteId;

pub use codebook::{CELLS_PER_VECTOR, Codebook, Leaf};
pub use entry::{CellEntry, EntryKey};
pub use event::{CellAnswer, CellEffect, CellInput, CellMessage, Coverage};
pub use halves::{halve, is_acceptable};
pub use known::{KnownSite, KnownSites, Subnet};
pub use placement::{Budget, CellSettings};
pub use shelf::CellHit;

/// Cells of a vector with the bits of an agent's vectors that are in each.
type Places = Vec<(CellId, u32)>;

/// The cells of one site.
#[derive(Debug)]
pub struct Cells {
    site: SiteId,
    settings: CellSettings,
    known: Arc<KnownSites>,
    support: Support,
    codebook: Codebook,
    /// The cells that are kept.
    shelves: BTreeMap<CellId, Shelf>,
    /// What this site publishes, and where it was sent.
    own: BTreeMap<EntryKey, (Arc<CellEntry>, Places)>,
    unconfirmed: BTreeMap<(CellId, EntryKey), Unconfirmed>,
    resend_at: Option<Timestamp>,
    compare_at: Option<Timestamp>,
    /// When a split of a full cell is proposed, unless others do before.
    proposals: BTreeMap<CellId, Timestamp>,
    /// Digests of foreign splits that do not halve our copy well.
    unacceptable: BTreeSet<[u8; 32]>,
    /// How many vectors a cell had when it could not be halved.
    tried: BTreeMap<CellId, usize>,
    searches: BTreeMap<u64, Search>,
    questions: BTreeMap<u64, (u64, Question)>,
    next_request: u64,
    /// How often each server left something out.
    strikes: BTreeMap<SiteId, u32>,
    /// The least cosine of a vector in a cell with its centre, as servers stated it.
    reaches: BTreeMap<CellId, f64>,
    wake: Option<Timestamp>,
}

impl Cells {
    /// The cells of a site that does not know others yet.
    #[must_use]
    pub fn new(site: SiteId, settings: CellSettings) -> Self {
        let mut cells = Self {
            site,
            settings,
            known: Arc::default(),
            support: Support::default(),
            codebook: Codebook::default(),
            shelves: BTreeMap::new(),
            own: BTreeMap::new(),
            unconfirmed: BTreeMap::new(),
            resend_at: None,
            compare_at: None,
            proposals: BTreeMap::new(),
            unacceptable: BTreeSet::new(),
            tried: BTreeMap::new(),
            searches: BTreeMap::new(),
            questions: BTreeMap::new(),
            next_request: 0,
            strikes: BTreeMap::new(),
            reaches: BTreeMap::new(),
            wake: None,
        };
        for cell in cells.wanted() {
            cells.shelves.insert(cell, Shelf::new(cells.codebook.centroid(cell)));
        }
        cells
    }

    /// Takes in what happened and gives what is to be done, in order.
    pub fn apply(&mut self, input: CellInput, now: Timestamp, rng: &dyn Rng) -> Vec<CellEffect> {
        let mut turn = CellTurn { now, rng, effects: Vec::new() };
        match input {
            CellInput::Known(known) => self.learn(known, &mut turn),
            CellInput::Own(entry) => self.publish(&entry, &mut turn),
            CellInput::Listed(entry) => self.listed(&entry, &turn),
            CellInput::Copied { cell, entries } => self.copied(cell, entries),
            CellInput::Support { signer, cell, split } => self.supported(signer, cell, split, &mut turn),
            CellInput::Restored { known, supports, own } => {
                self.restored(known, supports, &mut turn);
                self.restore_own(own, &turn);
            }
            CellInput::Search { search, vector, limit, effort } => {
                self.begin_search(search, vector, (limit, effort), &mut turn);
            }
            CellInput::Received { peer, message } => self.received(peer, message, &mut turn),
            CellInput::Tick => self.tick(&mut turn),
        }
        self.schedule(&mut turn);
        turn.effects
    }

    fn received(&mut self, peer: SiteId, message: CellMessage, turn: &mut CellTurn<'_>) {
        match message {
            CellMessage::Put { cell, entries, confirm } => {
                self.received_entries(peer, (cell, confirm), entries, turn);
            }
            CellMessage::Stored { cell, entries } => self.confirmed(peer, cell, &entries),
            CellMessage::Compare { cell, frame } => self.compared(peer, cell, &frame, turn),
            CellMessage::Differ { cell, frame } => self.differs(peer, cell, &frame, turn),
            CellMessage::Fetch { cell, ids } => self.fetched(peer, cell, &ids, turn),
            CellMessage::Ask { request, cell, vector, limit } => {
                let answer = self.serve(cell, &vector, limit);
                turn.push(CellEffect::Send { peer, message: CellMessage::Answer { request, answer } });
            }
            CellMessage::Answer { request, answer } => self.answered(peer, request, answer, turn),
        }
    }

    fn tick(&mut self, turn: &mut CellTurn<'_>) {
        self.wake = None;
        let now = turn.now;
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        if is_due(self.resend_at) {
            self.resend(turn);
        }
        if is_due(self.compare_at) {
            self.shelves.values_mut().for_each(|shelf| shelf.expire(turn.now));
            self.compare(turn);
            self.compare_at = Some(turn.now.plus(turn.jittered(COMPARE_INTERVAL)));
        }
        self.propose_due(turn);
        self.stalled_searches(turn);
    }

    /// Asks the driver to wake us when something is due.
    fn schedule(&mut self, turn: &mut CellTurn<'_>) {
        if self.compare_at.is_none() && self.known.servers() > 0 {
            self.compare_at = Some(turn.now.plus(turn.jittered(COMPARE_INTERVAL)));
        }
        let proposal = self.proposals.values().min().copied();
        let search = self.searches.values().map(|search| search.deadline).min();
        let due = [self.resend_at, self.compare_at, proposal, search].into_iter().flatten().min();
        if due != self.wake {
            self.wake = due;
            turn.effects.extend(due.map(CellEffect::WakeAt));
        }
    }

    /// The adopted splits.
    #[must_use]
    pub const fn codebook(&self) -> &Codebook {
        &self.codebook
    }

    /// The cells that are kept, each with how many entries and vectors it has.
    pub fn kept(&self) -> impl Iterator<Item = (CellId, usize, usize)> {
        self.shelves.iter().map(|(cell, shelf)| (*cell, shelf.len(), shelf.vectors()))
    }

    /// Whether more than one cell exists, so that not every site has everything.
    #[must_use]
    pub fn is_parted(&self) -> bool {
        self.codebook.leaves().len() > 1
    }

    /// Whether a cell is kept.
    #[must_use]
    pub fn keeps(&self, cell: CellId) -> bool {
        self.shelves.contains_key(&cell)
    }

    /// The version of an agent that is in some kept cell.
    #[must_use]
    pub fn holds(&self, key: EntryKey) -> Option<&Arc<CellEntry>> {
        self.shelves.values().find_map(|shelf| shelf.get(key))
    }

    /// The entry of an agent in a cell that is kept.
    #[must_use]
    pub fn get(&self, cell: CellId, key: EntryKey) -> Option<&Arc<CellEntry>> {
        self.shelves.get(&cell)?.get(key)
    }

    /// A short value that two copies of a cell have in common exactly when they are equal.
    #[must_use]
    pub fn fingerprint(&self, cell: CellId) -> Option<[u8; 16]> {
        self.shelves.get(&cell).map(|shelf| shelf.set().digest())
    }

    /// How many entries of this site wait for confirmation.
    #[must_use]
    pub fn unconfirmed(&self) -> usize {
        self.unconfirmed.len()
    }

    /// Checks what must always be true.
    ///
    /// # Errors
    /// What is not true, in a sentence.
    pub fn audit(&self) -> Result<(), String> {
        let capacity = self.settings.capacity();
        if self.shelves.len() > capacity {
            return Err(format!("{} cells are kept, the budget allows {capacity}", self.shelves.len()));
        }
        let is_leaf = |cell: &CellId| self.codebook.leaves().iter().any(|leaf| leaf.cell == *cell);
        if let Some(cell) = self.shelves.keys().find(|cell| !is_leaf(cell)) {
            return Err(format!("the cell {cell} is kept but was split"));
        }
        let differs = self.shelves.iter().find(|(_, shelf)| shelf.len() != shelf.set().len());
        if let Some((cell, _)) = differs {
            return Err(format!("the set of {cell} does not describe its entries"));
        }
        if self.searches.len() > query::MAX_SEARCHES || self.questions.len() > query::MAX_QUESTIONS {
            return Err("more searches are in progress than are allowed".into());
        }
        Ok(())
    }
}

/// One call of [`Cells::apply`]: the time, the randomness, and the effects so far.
struct CellTurn<'a> {
    now: Timestamp,
    rng: &'a dyn Rng,
    effects: Vec<CellEffect>,
}

impl CellTurn<'_> {
    fn push(&mut self, effect: CellEffect) {
        self.effects.push(effect);
    }

    fn random(&self) -> u64 {
        let bytes = self.rng.bytes16();
        u64::from_le_bytes(bytes[..8].try_into().expect("sixteen bytes have eight"))
    }

    /// A duration that differs from the given one by up to a fifth.
    fn jittered(&self, duration: std::time::Duration) -> std::time::Duration {
        let share = u32::try_from(self.random() % 401).expect("below 401") + 800;
        duration * share / 1_000
    }
}

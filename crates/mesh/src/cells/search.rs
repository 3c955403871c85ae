//! A search over cells: which are asked, when it has seen enough, and who left something out.
//!
//! The cells that the site keeps are looked at once. Of the others the nearest are asked, two servers of
//! different networks for each, [`WIDTHS`] at a time. It ends when no unasked cell can hold anything better
//! (by centroid and radius), when the farther half of the asked cells contributed nothing, or when the
//! effort is spent.
//!
//! Promises: what a server returns is compared by the vectors of signed records, so a server can only leave
//! something out, and is caught when the other one does not. A server that does not answer is replaced
//! twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Timestamp;

use super::entry::{CellEntry, EntryKey};
use super::event::Coverage;
use super::known::{KnownSite, KnownSites};
use super::placement::SUBSTITUTES;
use super::shelf::CellHit;
use crate::cell_id::CellId;
use crate::site_id::SiteId;
use crate::vectors::VectorCodes;

/// How many remote cells are asked in all after each step.
const WIDTHS: [usize; 3] = [8, 16, 32];
/// How many servers of a cell are asked, of different networks.
const SERVERS_PER_CELL: usize = 2;
/// How many servers of a cell are tried in all.
const MAX_TRIES: usize = 6;
/// How long a server may take: five of the slowest round trips across the world.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_millis(1_500);
/// More are found than are shown, so that fair shares have a choice.
pub(super) const SPARE: usize = 2;
/// Records younger than this may not have reached every server.
const OMISSION_GRACE: Duration = Duration::from_secs(10 * 60);

/// One question to one server.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) request: u64,
    pub(super) peer: SiteId,
    pub(super) cell: CellId,
}

/// What a server returned, and whether there was more than fit a message.
type Returned = (Vec<CellHit>, bool);

/// One cell that was asked.
#[derive(Debug, Default)]
struct AskedCell {
    tried: Vec<KnownSite>,
    waiting: BTreeSet<SiteId>,
    answers: Vec<(SiteId, Returned)>,
}

/// A search that is in progress.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) vector: VectorCodes,
    pub(super) limit: usize,
    effort: usize,
    /// The remote cells, the nearest first, with the cosine of their centre.
    order: Vec<(CellId, f64)>,
    step: usize,
    asked: BTreeMap<CellId, AskedCell>,
    found: BTreeMap<EntryKey, (CellHit, Option<CellId>)>,
    pub(super) deadline: Timestamp,
    pub(super) coverage: Coverage,
}

impl Search {
    /// A search that has looked at what the site keeps.
    pub(super) fn new(
        vector: VectorCodes,
        (limit, effort): (usize, usize),
        ranked: Vec<(CellId, f64)>,
        is_kept: impl Fn(CellId) -> bool,
        local: Vec<CellHit>,
    ) -> Self {
        let cells = ranked.len();
        let order: Vec<(CellId, f64)> = ranked.into_iter().filter(|(cell, _)| !is_kept(*cell)).collect();
        let coverage = Coverage { cells, local: cells - order.len(), ..Coverage::default() };
        let found = local.into_iter().map(|hit| (hit.entry.hash, (hit, None))).collect();
        let deadline = Timestamp::from_millis(i64::MAX);
        Self { vector, limit, effort, order, step: 0, asked: BTreeMap::new(), found, deadline, coverage }
    }

    /// The cells of the next step; none when the search has ended.
    pub(super) fn next_cells(&mut self, bound: impl Fn(CellId, f64) -> f64) -> Vec<CellId> {
        let before = self.asked.len();
        let width = WIDTHS.get(self.step).copied().unwrap_or(before).min(self.effort).min(self.order.len());
        if width <= before || (self.step > 0 && self.has_enough(bound)) {
            return Vec::new();
        }
        self.step += 1;
        self.order[before..width].iter().map(|(cell, _)| *cell).collect()
    }

    /// Whether more cells are not worth asking.
    fn has_enough(&self, bound: impl Fn(CellId, f64) -> f64) -> bool {
        let mut hits: Vec<&(CellHit, Option<CellId>)> = self.found.values().collect();
        hits.sort_by(|one, other| other.0.worth.total_cmp(&one.0.worth));
        hits.truncate(self.limit);
        let Some((last, _)) = hits.last().filter(|_| hits.len() == self.limit) else { return false };
        let asked = self.asked.len();
        let is_beyond = self.order[asked..].iter().all(|(cell, near)| bound(*cell, *near) <= last.worth);
        let farther: BTreeSet<CellId> = self.order[asked / 2..asked].iter().map(|(cell, _)| *cell).collect();
        let from_farther = hits.iter().filter(|(_, from)| from.is_some_and(|cell| farther.contains(&cell)));
        is_beyond || from_farther.count() == 0
    }

    /// Which servers of a cell are asked now; those with fewer strikes first.
    pub(super) fn choose(
        &mut self,
        cell: CellId,
        known: &KnownSites,
        replicas: usize,
        strikes: impl Fn(&SiteId) -> u32,
        random: &mut dyn FnMut() -> u64,
    ) -> Vec<SiteId> {
        let asked = self.asked.entry(cell).or_default();
        // Substitutes are asked when those who should keep the cell have no room for it.
        let servers = known.nearest(cell, replicas * SUBSTITUTES).into_iter().enumerate();
        let mut order: Vec<_> = servers
            .map(|(rank, server)| (strikes(&server.site), rank >= replicas, random(), server))
            .collect();
        order.sort_by_key(|(strikes, is_substitute, random, _)| (*strikes, *is_substitute, *random));
        let mut chosen = Vec::new();
        for (_, _, _, server) in order {
            let is_open = asked.answers.len() + asked.waiting.len() < SERVERS_PER_CELL;
            let same_network = |other: &KnownSite| other.subnet.is_some() && other.subnet == server.subnet;
            let is_new = !asked.tried.iter().any(|other| other.site == server.site || same_network(other));
            if is_open && is_new && asked.tried.len() < MAX_TRIES {
                asked.tried.push(server);
                asked.waiting.insert(server.site);
                chosen.push(server.site);
            }
        }
        chosen
    }

    /// Takes an answer in; none when the server does not keep the cell. Says whether it was expected.
    pub(super) fn answered(
        &mut self,
        (cell, peer): (CellId, SiteId),
        hits: Option<(Vec<Arc<CellEntry>>, bool)>,
        known: &KnownSites,
    ) -> bool {
        let Some(asked) = self.asked.get_mut(&cell).filter(|asked| asked.waiting.contains(&peer)) else {
            return false;
        };
        asked.waiting.remove(&peer);
        let Some((mut entries, is_cut)) = hits else { return true };
        entries.truncate(self.limit * SPARE);
        let hit = |entry: &Arc<CellEntry>| CellHit::of(entry, entry.nearness(&self.vector), known);
        let hits: Vec<CellHit> = entries.iter().map(hit).collect();
        for hit in &hits {
            let is_newer = |(old, _): &(CellHit, Option<CellId>)| hit.entry.supersedes(&old.entry);
            if self.found.get(&hit.entry.hash).is_none_or(is_newer) {
                self.found.insert(hit.entry.hash, (hit.clone(), Some(cell)));
            }
        }
        asked.answers.push((peer, (hits, is_cut)));
        true
    }

    /// Whether a cell has fewer answers than servers that should be asked.
    pub(super) fn needs_more(&self, cell: CellId) -> bool {
        self.asked
            .get(&cell)
            .is_some_and(|asked| asked.answers.len() + asked.waiting.len() < SERVERS_PER_CELL)
    }

    /// Stops waiting for servers that did not answer, and gives their cells.
    pub(super) fn give_up_waiting(&mut self) -> Vec<CellId> {
        let stalled = self.asked.iter_mut().filter(|(_, asked)| !asked.waiting.is_empty());
        stalled
            .map(|(cell, asked)| {
                asked.waiting.clear();
                *cell
            })
            .collect()
    }

    /// Whether all servers that were asked have answered.
    pub(super) fn is_settled(&self) -> bool {
        self.asked.values().all(|asked| asked.waiting.is_empty())
    }

    /// Ends the search: what was found, what was looked at, and which servers left something out.
    pub(super) fn finish(mut self, now: Timestamp) -> (Vec<CellHit>, Coverage, Vec<SiteId>) {
        let omitters = self.omitters(now);
        self.coverage.asked = self.asked.len();
        self.coverage.answered = self.asked.values().filter(|asked| !asked.answers.is_empty()).count();
        self.coverage.omitted = omitters.len();
        (self.found.into_values().map(|(hit, _)| hit).collect(), self.coverage, omitters)
    }

    /// Servers that did not return what another one of the same cell did, and that is near enough.
    fn omitters(&self, now: Timestamp) -> Vec<SiteId> {
        let mut omitters = Vec::new();
        for asked in self.asked.values() {
            for (peer, (own, is_cut)) in &asked.answers {
                let least = own.iter().map(|hit| hit.worth).fold(f64::MAX, f64::min);
                let floor = if own.len() < self.limit * SPARE && !is_cut { -1.0 } else { least };
                let others = asked.answers.iter().filter(|(other, _)| other != peer);
                // Sites may not agree how crowded a network is: what counts less proves nothing.
                let is_missing = |hit: &CellHit| {
                    let is_old = hit.entry.issued_at.plus(OMISSION_GRACE) < now;
                    let is_due = is_old && hit.worth >= hit.nearness && hit.worth > floor;
                    is_due && !own.iter().any(|held| held.entry.hash == hit.entry.hash)
                };
                if others.flat_map(|(_, (hits, _))| hits).any(is_missing) {
                    omitters.push(*peer);
                }
            }
        }
        omitters
    }
}

//! Searches over cells that users of this site make.
//!
//! What was found in cells of other sites is listed here for a while, with its record: so it is ranked,
//! filtered, explained and called like everything else that this site knows.
//!
//! Promises: a search ends with an answer or with the session. Agents of sites without a lease are left out,
//! and withdrawn when the lease ends. What is listed because it was found is bounded ([`MAX_VISITED`]) and
//! withdrawn after [`VISIT_FOR`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::cells::{CellHit, CellInput, Coverage};
use agentsite_mesh::{Record, RecordId, RecordKey, SiteId};
use agentsite_protocol::Timestamp;
use agentsite_protocol::listing::ListingId;
use agentsite_registry::PeerAgent;

use crate::batch::RecordChanges;
use crate::cell_search::{CellCoverage, CellFindings, CellSearch};
use crate::entries::{entry_id, peer_agent};
use crate::error::PeersError;
use crate::session::MeshSession;

/// Most records of answers that are remembered: 64 questions of 64 records.
const MAX_REMEMBERED: usize = 4_096;

/// Most remote cells that one search asks; eight gave 95 % of what an exact search finds.
const EFFORT: usize = 16;

/// Most agents that are listed because they were found: the pages of some hundred searches, 4 MB.
const MAX_VISITED: usize = 1_024;

/// How long such an agent is listed: long enough to call it, short enough to see its changes.
const VISIT_FOR: Duration = Duration::from_secs(10 * 60);

/// The searches in progress, and what they found elsewhere.
#[derive(Debug, Default)]
pub(super) struct Searches {
    next: u64,
    waiting: BTreeMap<u64, CellSearch>,
    records: BTreeMap<RecordId, Arc<Record>>,
    /// Agents that are listed because they were found, and since when.
    visited: BTreeMap<ListingId, (Arc<Record>, Timestamp)>,
}

impl Searches {
    /// Remembers the records of an answer.
    pub(super) fn remember(&mut self, records: Vec<Arc<Record>>) {
        if !self.waiting.is_empty() && self.records.len() + records.len() <= MAX_REMEMBERED {
            self.records.extend(records.into_iter().map(|record| (record.id(), record)));
        }
    }

    /// The agents that are no longer listed: those that went, and the oldest when there are too many.
    fn leave(&mut self, has_gone: impl Fn(&Record, Timestamp) -> bool) -> Vec<(ListingId, RecordKey)> {
        let mut order: Vec<(bool, Timestamp, ListingId)> = self
            .visited
            .iter()
            .map(|(id, (record, since))| (!has_gone(record, *since), *since, id.clone()))
            .collect();
        order.sort_unstable();
        let gone = order.iter().take_while(|(stays, ..)| !stays).count();
        let leaves = gone.max(order.len().saturating_sub(MAX_VISITED));
        let leaving = order.into_iter().take(leaves).map(|(_, _, id)| id);
        leaving
            .filter_map(|id| self.visited.remove(&id).map(|(record, _)| (id, record.key().clone())))
            .collect()
    }
}

impl MeshSession {
    /// Begins a search.
    pub(in crate::session) async fn begin_search(&mut self, asked: CellSearch) -> Result<(), PeersError> {
        let Some(cells) = &mut self.cells else { return Ok(()) };
        cells.searches.next += 1;
        let search = cells.searches.next;
        let (vector, limit) = (asked.vector.clone(), asked.limit);
        cells.searches.waiting.insert(search, asked);
        self.apply_to_cells(CellInput::Search { search, vector, limit, effort: EFFORT });
        self.settle_cells().await
    }

    /// A search has ended: what was found elsewhere is listed, and the caller gets the answer.
    pub(super) async fn found(
        &mut self,
        search: u64,
        hits: Vec<CellHit>,
        coverage: Coverage,
    ) -> Result<(), PeersError> {
        let now = self.shared.ids.clock().now();
        let mut agents = Vec::new();
        let mut visited = Vec::new();
        for hit in hits {
            let key = &hit.entry.key;
            let held = self.catalogue()?.get(key).filter(|record| record.id() == hit.entry.id).cloned();
            let Some(cells) = &mut self.cells else { return Ok(()) };
            let (is_kept, came) = (held.is_some(), cells.searches.records.get(&hit.entry.id).cloned());
            let Some(record) = held.or(came) else { continue };
            if self.banned.contains(&key.site) || !self.has_lease(key.site, now) {
                continue;
            }
            agents.extend(peer_agent(&record));
            if !is_kept && key.site != self.site {
                visited.push(record);
            }
        }
        self.visit(visited, now).await?;
        let Some(cells) = &mut self.cells else { return Ok(()) };
        if let Some(asked) = cells.searches.waiting.remove(&search) {
            // The caller may have given up.
            let _ = asked.answer.send(CellFindings { agents, coverage: CellCoverage::from(coverage) });
        }
        if cells.searches.waiting.is_empty() {
            cells.searches.records.clear();
        }
        Ok(())
    }

    /// Lists agents that were found, for a while.
    async fn visit(&mut self, records: Vec<Arc<Record>>, now: Timestamp) -> Result<(), PeersError> {
        let Some(cells) = &mut self.cells else { return Ok(()) };
        let (mut changes, mut put) = (RecordChanges::new(), Vec::new());
        for record in records {
            let Some(id) = entry_id(record.key()) else { continue };
            let before = cells.searches.visited.insert(id, (record.clone(), now));
            if before.is_none_or(|(before, _)| before.id() != record.id()) {
                put.extend(peer_agent(&record));
                changes.insert(record.key().clone(), Some(record));
            }
        }
        let mut gone = Vec::new();
        for (id, key) in cells.searches.leave(|_, _| false) {
            gone.push(id);
            changes.insert(key, None);
        }
        if changes.is_empty() { Ok(()) } else { self.commit(&changes, &put, &gone).await }
    }

    /// Withdraws agents that were found a while ago, or whose site is gone.
    pub(in crate::session) async fn end_visits(&mut self) -> Result<(), PeersError> {
        let now = self.shared.ids.clock().now();
        let Some(cells) = &self.cells else { return Ok(()) };
        let sites: BTreeSet<SiteId> =
            cells.searches.visited.values().map(|(record, _)| record.site()).collect();
        let live: BTreeSet<SiteId> = sites
            .into_iter()
            .filter(|site| !self.banned.contains(site) && self.has_lease(*site, now))
            .collect();
        let Some(cells) = &mut self.cells else { return Ok(()) };
        let left = cells.searches.leave(|record, since| {
            let is_old = now.since(since) >= VISIT_FOR || record.expires_at() <= now;
            is_old || !live.contains(&record.site())
        });
        // What came into a cell of this site meanwhile is the catalogue's.
        let catalogue = self.catalogue()?;
        let left = left.into_iter().filter(|(_, key)| catalogue.get(key).is_none());
        let (gone, changes): (Vec<ListingId>, RecordChanges) =
            left.map(|(id, key)| (id, (key, None))).unzip();
        if gone.is_empty() { Ok(()) } else { self.commit(&changes, &[], &gone).await }
    }

    /// The agent that is listed under this name because it was found.
    pub(in crate::session) fn visited_agent(&self, id: &ListingId) -> Option<PeerAgent> {
        let (record, _) = self.cells.as_ref()?.searches.visited.get(id)?;
        peer_agent(record)
    }

    /// Whether the lease of a site holds.
    fn has_lease(&self, site: SiteId, now: Timestamp) -> bool {
        let lease = self.catalogue.as_ref().and_then(|catalogue| catalogue.get(&RecordKey::lease(site)));
        site == self.site || lease.is_some_and(|lease| !lease.is_removed() && now < lease.expires_at())
    }
}

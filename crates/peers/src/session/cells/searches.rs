//! Searches over cells that users of this site make.
//!
//! Promises: a search ends with an answer or with the session. Agents of sites without a lease are left out
//! of what was found. Records of answers are remembered while a search is in progress, at most
//! [`MAX_REMEMBERED`].

use std::collections::BTreeMap;
use std::sync::Arc;

use agentsite_mesh::cells::{CellHit, CellInput, Coverage};
use agentsite_mesh::{Record, RecordId, RecordKey, SiteId};
use agentsite_protocol::Timestamp;

use crate::cell_search::{CellCoverage, CellFindings, CellSearch, FoundAgent};
use crate::error::PeersError;
use crate::session::MeshSession;

/// Most records of answers that are remembered: 64 questions of 64 records.
const MAX_REMEMBERED: usize = 4_096;

/// Most remote cells that one search asks; eight gave 95 % of what an exact search finds.
const EFFORT: usize = 16;

/// The searches in progress.
#[derive(Debug, Default)]
pub(super) struct Searches {
    next: u64,
    waiting: BTreeMap<u64, CellSearch>,
    records: BTreeMap<RecordId, Arc<Record>>,
}

impl Searches {
    /// Remembers the records of an answer.
    pub(super) fn remember(&mut self, records: Vec<Arc<Record>>) {
        if !self.waiting.is_empty() && self.records.len() + records.len() <= MAX_REMEMBERED {
            self.records.extend(records.into_iter().map(|record| (record.id(), record)));
        }
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

    /// A search has ended.
    pub(super) fn found(
        &mut self,
        search: u64,
        hits: Vec<CellHit>,
        coverage: Coverage,
    ) -> Result<(), PeersError> {
        let now = self.shared.ids.clock().now();
        let Some(cells) = &mut self.cells else { return Ok(()) };
        let Some(asked) = cells.searches.waiting.remove(&search) else { return Ok(()) };
        let Some(catalogue) = &self.catalogue else { return Ok(()) };
        let has_lease = |site: SiteId, now: Timestamp| {
            let lease = catalogue.get(&RecordKey::lease(site));
            lease.is_some_and(|lease| !lease.is_removed() && now < lease.expires_at())
        };
        let live = hits.iter().filter(|hit| {
            let site = hit.entry.key.site;
            !self.banned.contains(&site) && has_lease(site, now)
        });
        let agents = live.filter_map(|hit| {
            let held = catalogue.get(&hit.entry.key).filter(|record| record.id() == hit.entry.id);
            FoundAgent::of(held.or_else(|| cells.searches.records.get(&hit.entry.id))?)
        });
        let coverage = CellCoverage {
            cells: coverage.cells,
            local: coverage.local,
            asked: coverage.asked,
            answered: coverage.answered,
            omitted: coverage.omitted,
        };
        // Whoever asked may have given up.
        let _ = asked.answer.send(CellFindings { agents: agents.collect(), coverage });
        if cells.searches.waiting.is_empty() {
            cells.searches.records.clear();
        }
        Ok(())
    }
}

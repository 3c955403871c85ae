//! Searching the cells that other sites keep, for the search of this one.
//!
//! Promises: with one cell nothing is asked. A search ends after [`SEARCH_WITHIN`] at the latest. What is
//! found was signed by its site; how well it fits is for the search to decide.

use std::time::Duration;

use agentsite_mesh::{Body, Record, VectorCodes};
use agentsite_registry::PeerAgent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::entries::peer_agent;
use crate::handle::Peers;
use crate::published_vectors::AgentCodes;

/// How long a search may take: two steps with one replacement of a server each.
const SEARCH_WITHIN: Duration = Duration::from_secs(5);

/// What a search over cells looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CellCoverage {
    /// Cells that there are.
    pub cells: usize,
    /// Cells that this site keeps.
    pub local: usize,
    /// Cells of other sites that were asked.
    pub asked: usize,
    /// Cells of which at least one site answered.
    pub answered: usize,
    /// Answers that left an agent out which another site returned.
    pub omitted: usize,
}

/// What a search over cells found.
#[derive(Debug, Clone, Default)]
pub struct CellFindings {
    /// The nearest agents.
    pub agents: Vec<FoundAgent>,
    /// What was looked at.
    pub coverage: CellCoverage,
}

/// An agent that was found in a cell.
#[derive(Debug, Clone)]
pub struct FoundAgent {
    /// What its record says.
    pub agent: PeerAgent,
    /// The vectors of its record.
    pub vectors: Option<AgentCodes>,
}

impl FoundAgent {
    /// The agent of a record.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let Body::Agent(profile) = record.body() else { return None };
        let vectors = profile.vectors().and_then(AgentCodes::of);
        Some(Self { agent: peer_agent(record)?, vectors })
    }
}

/// A search on its way to the session.
#[derive(Debug)]
pub(crate) struct CellSearch {
    pub(crate) vector: VectorCodes,
    pub(crate) limit: usize,
    pub(crate) answer: oneshot::Sender<CellFindings>,
}

impl Peers {
    /// Whether agents of the mesh are in cells that this site does not keep, and this process can ask.
    #[must_use]
    pub fn is_parted(&self) -> bool {
        self.0.is_parted()
    }

    /// Searches the cells that other sites keep; none when there is one cell, when the mesh does not run in
    /// this process, or when it took too long.
    pub async fn search_cells(&self, vector: VectorCodes, limit: usize) -> Option<CellFindings> {
        if !self.is_parted() {
            return None;
        }
        let (answer, found) = oneshot::channel();
        self.0.searches.try_send(CellSearch { vector, limit, answer }).ok()?;
        tokio::time::timeout(SEARCH_WITHIN, found).await.ok()?.ok()
    }
}

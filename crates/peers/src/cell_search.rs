//! Searching the cells that other sites keep, for the search of this one.
//!
//! Promises: plain values. What is found was signed by its site and is an entry of the registry for some
//! minutes, so that it is ranked and called like all others. The verbs are those of `handle`.

use agentsite_mesh::VectorCodes;
use agentsite_mesh::cells::Coverage;
use agentsite_registry::PeerAgent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

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
    /// The nearest agents; those of other sites are entries of the registry for a while.
    pub agents: Vec<PeerAgent>,
    /// What was looked at.
    pub coverage: CellCoverage,
}

impl From<Coverage> for CellCoverage {
    fn from(Coverage { cells, local, asked, answered, omitted }: Coverage) -> Self {
        Self { cells, local, asked, answered, omitted }
    }
}

/// A search on its way to the session.
#[derive(Debug)]
pub(crate) struct CellSearch {
    pub(crate) vector: VectorCodes,
    pub(crate) limit: usize,
    pub(crate) answer: oneshot::Sender<CellFindings>,
}

//! What happens to the cells of a site, what they want done, and what sites say to each other about cells.
//!
//! Promises: plain values. A driver verifies records before it makes entries of them.

use std::sync::Arc;

use agentsite_protocol::Timestamp;

use super::entry::{CellEntry, EntryKey};
use super::known::KnownSites;
use super::shelf::CellHit;
use crate::cell_id::CellId;
use crate::record::{RecordId, SplitProfile};
use crate::site_id::SiteId;
use crate::vectors::VectorCodes;

/// What happens to cells.
#[derive(Debug, Clone)]
pub enum CellInput {
    /// The driver knows other sites than before.
    Known(Arc<KnownSites>),
    /// This site has an agent, it changed, or it was removed.
    Own(Arc<CellEntry>),
    /// The catalogue lists a foreign agent, or took it back; for a site that holds everything.
    Listed(Arc<CellEntry>),
    /// A whole copy of a cell came, of records that were verified.
    Copied {
        /// The cell.
        cell: CellId,
        /// Its entries, with the bits of their vectors that are in it.
        entries: Vec<(Arc<CellEntry>, u32)>,
    },
    /// A site supports a split of a cell, or no longer does; this site's own support counts from the start.
    Support {
        /// The site that signed.
        signer: SiteId,
        /// The cell.
        cell: CellId,
        /// The split.
        split: Option<Arc<SplitProfile>>,
    },
    /// What was known before a restart: sites, the splits that each of them supports, and what this site
    /// published.
    Restored {
        /// The sites.
        known: Arc<KnownSites>,
        /// Who supports which split of which cell.
        supports: Vec<(SiteId, CellId, Arc<SplitProfile>)>,
        /// The agents of this site; they were confirmed before.
        own: Vec<Arc<CellEntry>>,
    },
    /// A user of this site searches.
    Search {
        /// Names the search in its results.
        search: u64,
        /// What is searched for.
        vector: VectorCodes,
        /// How many agents are wanted.
        limit: usize,
        /// Most remote cells that are asked.
        effort: usize,
    },
    /// A site sent a message.
    Received {
        /// The site.
        peer: SiteId,
        /// The message.
        message: CellMessage,
    },
    /// The time that was asked for has come.
    Tick,
}

/// What is to be done, in order.
#[derive(Debug, Clone)]
pub enum CellEffect {
    /// Keep this cell from now on.
    Keep(CellId),
    /// Keep this cell no longer.
    Drop(CellId),
    /// Sign a record that supports this split, and spread it.
    Endorse {
        /// The cell.
        cell: CellId,
        /// How it is split.
        split: Arc<SplitProfile>,
    },
    /// Send a message to a site.
    Send {
        /// The site.
        peer: SiteId,
        /// The message.
        message: CellMessage,
    },
    /// A search has ended.
    Found {
        /// The search.
        search: u64,
        /// The best agents, each with how near it is.
        hits: Vec<CellHit>,
        /// What was looked at.
        coverage: Coverage,
    },
    /// A server left out an agent that the other one returned.
    Omitted {
        /// The server.
        peer: SiteId,
    },
    /// Call [`CellInput::Tick`] at this time. A later one replaces an earlier one.
    WakeAt(Timestamp),
}

/// What a search looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Cells that there are.
    pub cells: usize,
    /// Cells that this site keeps.
    pub local: usize,
    /// Remote cells that were asked.
    pub asked: usize,
    /// Remote cells of which at least one server answered.
    pub answered: usize,
    /// Answers that left something out.
    pub omitted: usize,
}

/// What sites say to each other about cells.
#[derive(Debug, Clone)]
pub enum CellMessage {
    /// Entries for a cell; answered by `Stored` when their publisher sends them.
    Put {
        /// The cell.
        cell: CellId,
        /// The entries.
        entries: Vec<Arc<CellEntry>>,
        /// Whether the sender wants to know that they are kept.
        confirm: bool,
    },
    /// These entries are kept.
    Stored {
        /// The cell.
        cell: CellId,
        /// The entries, with the number of the version.
        entries: Vec<(EntryKey, u64)>,
    },
    /// A frame that compares two copies of a cell.
    Compare {
        /// The cell.
        cell: CellId,
        /// The frame.
        frame: Vec<u8>,
    },
    /// The answer to such a frame.
    Differ {
        /// The cell.
        cell: CellId,
        /// The frame.
        frame: Vec<u8>,
    },
    /// Entries that are wanted.
    Fetch {
        /// The cell.
        cell: CellId,
        /// Their ids.
        ids: Vec<RecordId>,
    },
    /// Which agents of this cell are nearest?
    Ask {
        /// Names the question in its answer.
        request: u64,
        /// The cell.
        cell: CellId,
        /// What is searched for.
        vector: VectorCodes,
        /// How many are wanted.
        limit: usize,
    },
    /// These are.
    Answer {
        /// The question.
        request: u64,
        /// What the server found; none when the cell is not kept.
        answer: Option<CellAnswer>,
    },
}

/// What a server knows of a cell.
#[derive(Debug, Clone)]
pub struct CellAnswer {
    /// The nearest agents, the best first.
    pub hits: Vec<Arc<CellEntry>>,
    /// The least cosine of a vector of the cell with its centre.
    pub reach: f64,
    /// Whether there were more than fit a message.
    pub is_cut: bool,
}

impl CellMessage {
    /// Bytes on the wire: kind, version, cell, counts, and the records.
    #[must_use]
    pub fn size(&self) -> usize {
        const HEAD: usize = 10;
        let records = |entries: &[Arc<CellEntry>]| entries.iter().map(|entry| entry.size + 2).sum::<usize>();
        HEAD + match self {
            Self::Put { entries, .. } => records(entries),
            Self::Stored { entries, .. } => entries.len() * 24,
            Self::Compare { frame, .. } | Self::Differ { frame, .. } => frame.len(),
            Self::Fetch { ids, .. } => ids.len() * 32,
            Self::Ask { vector, .. } => 8 + vector.codes().len(),
            Self::Answer { answer, .. } => 12 + answer.as_ref().map_or(0, |answer| records(&answer.hits)),
        }
    }
}

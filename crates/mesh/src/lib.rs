//! The mesh: how sites find each other's agents without a centre.
//!
//! This crate holds the catalogue: signed, numbered records of limited life that every site keeps a copy of,
//! and the rules by which copies become equal. It is a pure state machine,
//! `apply(input, now, rng) -> effects`: no socket, no clock, no randomness of its own. A driver, or a
//! simulator, carries the effects out.
//!
//! Start reading at [`Catalogue`] (the machine), [`Record`] (what is signed) and [`reconcile`] (how two
//! copies find their differences). What is promised, the wire forms and the limits are in docs/mesh.md.

#![forbid(unsafe_code)]

pub mod catalogue;
mod cell_id;
pub mod cells;
#[cfg(test)]
mod golden;
pub mod limits;
pub mod overlay;
pub mod reconcile;
mod record;
mod site_id;
pub mod story;
mod varint;
pub mod vector_check;
mod vectors;
mod wire;
mod work;

pub use catalogue::{Catalogue, Effect, Input};
pub use cell_id::{BadCell, CellId, MAX_SPLITS};
pub use limits::Limits;
pub use overlay::memory::{MemoryNetwork, MemoryOverlay};
pub use overlay::{
    GossipTicket, LinkStream, Overlay, OverlayError, OverlayEvent, OverlayEvents, PeerStatus, Verdict,
};
pub use record::{
    AgentProfile, BadProfile, BadRecord, Body, Candidate, Claim, Draft, Record, RecordId, RecordKey,
    SiteProfile, SkillProfile, SplitProfile, Subject,
};
pub use site_id::SiteId;
pub use vectors::{
    AgentVectors, BadVector, MAX_DIMENSIONS, PROTOCOL_DIMENSIONS, PROTOCOL_MODEL, VectorCodes, VectorText,
};
pub use wire::{BadMessage, Batch, CellFrame, Message, batches};
pub use work::{MAX_NONCE, Work};

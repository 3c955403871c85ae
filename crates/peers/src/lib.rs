//! What a site does in the mesh: it tells others of its public agents, lists theirs, and calls them.
//!
//! The catalogue (`mesh`) decides what is said and believed, an overlay carries it, and this crate joins
//! both with the store, the registry and the callers of a site. Start reading at [`Peers`] (the verbs),
//! `node` (the one task that owns the catalogue) and [`LocalSite`] (what it asks the site for).
//!
//! Promises: a site that did not enable the mesh says nothing and does not listen. Nothing that is not
//! public leaves the site. What others say never takes the name of an agent or of an entry here.
//!
//! It opens no socket: a [`Transport`] does. It does not run agents and does not answer HTTP.

#![forbid(unsafe_code)]

mod batch;
mod capability;
mod cell_search;
mod dialing;
mod elsewhere;
mod entries;
mod error;
mod guard;
mod handle;
mod hosts;
mod invite;
mod kept;
mod kinds;
mod known;
mod links;
mod local;
mod metrics;
mod network;
mod node;
mod probing;
mod published_vectors;
mod reach;
mod session;
mod settings;
mod shared;
mod sites;
mod status;
mod tokens;
mod transport;
mod verbs;

#[cfg(test)]
mod tests;

pub use agentsite_mesh::{PROTOCOL_MODEL, VectorCodes, VectorText};
pub use cell_search::{CellCoverage, CellFindings};
pub use error::PeersError;
pub use handle::{Peers, PeersParts};
pub use hosts::{link_host, site_of_host};
pub use invite::{BadInvite, Invite};
pub use local::{LocalSite, OfferedAgent};
pub use network::NetworkSecret;
pub use published_vectors::{AgentCodes, published_vectors};
pub use settings::{CallerIdentity, Expose, MeshSettings};
pub use shared::{Duplex, PeerStream, SiteAbout};
pub use sites::{KnownSite, SiteEntry};
pub use status::{MeshView, PeerView};
pub use transport::{OverlayPlan, Transport};
pub use verbs::SiteDocument;

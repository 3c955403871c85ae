//! The overlay on libp2p: connections, gossip, the DHT, relays and streams between sites.
//!
//! It implements the seam `agentsite_mesh::Overlay` and is a crate of its own because libp2p is slow to
//! compile and changes seldom. The site's Ed25519 key is its identity here, so a peer is proven to be the
//! site that its records name. What is sent and what is believed is decided elsewhere, by the catalogue.
//!
//! Start reading at [`P2pOverlay`] (the handle), `driver` (the one task that owns the swarm) and
//! `behaviour` (which parts of libp2p are used, with which limits). Why so: docs/decisions/0040-libp2p.md.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # async fn example(key: agentsite_protocol::SigningKey, clock: Arc<dyn agentsite_protocol::Clock>)
//! # -> Result<(), agentsite_mesh::OverlayError> {
//! use agentsite_mesh_p2p::{P2pOverlay, P2pSettings};
//!
//! let (overlay, events) = P2pOverlay::start(P2pSettings::default(), &key, clock).await?;
//! # drop((overlay, events)); Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod address;
mod batch;
mod behaviour;
mod door;
mod driver;
mod identity;
mod overlay;
mod settings;
mod status;
mod streams;
mod traffic;
mod transport;

pub use overlay::P2pOverlay;
pub use settings::{NetworkKey, P2pLimits, P2pSettings};
pub use status::P2pStatus;
pub use transport::StreamTransport;

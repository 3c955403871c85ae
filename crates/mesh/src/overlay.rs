//! Overlay: the seam between a site and the network that connects it with other sites.
//!
//! The catalogue decides what is sent; an overlay carries it. The product's overlay is libp2p (crate
//! `mesh-p2p`); the fake is a network in memory. Every implementation passes the same contract suite.
//!
//! Promises: a peer's [`SiteId`] is proven by the transport before any event names it. Nothing here is
//! unbounded: a peer that does not read is disconnected, not waited for. An overlay does not judge records:
//! it asks for a [`Verdict`] before it passes gossip on. Between [`OverlayEvent::Connected`] and
//! [`OverlayEvent::Gone`] of a peer, and only then, come its other events.
//!
//! How a site uses it: each event becomes an input of the catalogue, and its effects are carried out
//! ([`Overlay::send`], [`Overlay::publish`], [`Overlay::disconnect`]). Gossip is an [`Input::Received`] with
//! the neighbour as the peer; then it is judged by [`Verdict::of`] its effects.
//!
//! [`Input::Received`]: crate::Input::Received

#[cfg(any(test, feature = "contract"))]
#[expect(clippy::unwrap_used, reason = "cases of tests")]
pub mod contract;
pub mod memory;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Timestamp;
use async_trait::async_trait;
use futures::io::{AsyncRead, AsyncWrite};
use futures::stream::BoxStream;

use crate::catalogue::{Effect, Offence};
use crate::record::Record;
use crate::site_id::SiteId;
use crate::wire::Message;

/// A stream of bytes to another site, in both directions.
pub trait LinkStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> LinkStream for T {}

/// What happens on an overlay, in order. It ends when the overlay has stopped.
pub type OverlayEvents = BoxStream<'static, OverlayEvent>;

/// What happens on an overlay.
pub enum OverlayEvent {
    /// The first connection with a peer stands.
    Connected {
        /// The peer.
        peer: SiteId,
    },
    /// The last connection with a peer ended.
    Gone {
        /// The peer.
        peer: SiteId,
    },
    /// A peer sent a message to this site alone.
    Received {
        /// The peer.
        peer: SiteId,
        /// What it sent.
        message: Message,
    },
    /// A peer sent bytes that are not a message.
    Unreadable {
        /// The peer.
        peer: SiteId,
    },
    /// Records came by gossip. They are passed on only after [`Overlay::judge`].
    Gossip {
        /// The neighbour that they came from, which need not have written them.
        peer: SiteId,
        /// The records.
        message: Message,
        /// By which they are judged.
        ticket: GossipTicket,
    },
    /// A peer opened a stream, to call an agent of this site.
    Stream {
        /// The peer.
        peer: SiteId,
        /// The stream.
        stream: Box<dyn LinkStream>,
    },
    /// The addresses under which others reach this site changed.
    Addresses(Vec<String>),
}

impl fmt::Debug for OverlayEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { peer } => write!(out, "Connected({peer})"),
            Self::Gone { peer } => write!(out, "Gone({peer})"),
            Self::Received { peer, message } => write!(out, "Received({peer}, {message:?})"),
            Self::Unreadable { peer } => write!(out, "Unreadable({peer})"),
            Self::Gossip { peer, message, .. } => write!(out, "Gossip({peer}, {message:?})"),
            Self::Stream { peer, .. } => write!(out, "Stream({peer})"),
            Self::Addresses(addresses) => write!(out, "Addresses({addresses:?})"),
        }
    }
}

/// Names gossip that waits for its verdict: opaque, given back as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GossipTicket(pub Vec<u8>);

/// What becomes of gossip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is passed on.
    Accept,
    /// It is not passed on, and its sender did nothing wrong.
    Ignore,
    /// It is not passed on, and its sender loses score.
    Reject,
}

impl Verdict {
    /// The verdict on gossip whose records had these effects on the catalogue: forged or unreadable records
    /// are rejected, new ones are passed on, and what is known or came too fast goes no further.
    #[must_use]
    pub fn of(effects: &[Effect]) -> Self {
        let is_bad =
            |effect: &Effect| matches!(effect, Effect::Score { offence, .. } if *offence != Offence::Flood);
        if effects.iter().any(is_bad) {
            Self::Reject
        } else if effects.iter().any(|effect| matches!(effect, Effect::Forward { .. })) {
            Self::Accept
        } else {
            Self::Ignore
        }
    }
}

/// What an overlay knows about a connected peer.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerStatus {
    /// The peer.
    pub site: SiteId,
    /// The address of its connection.
    pub address: String,
    /// Whether a relay carries the connection.
    pub is_relayed: bool,
    /// Time of a round trip, once it was measured.
    pub latency: Option<Duration>,
    /// How well it behaves in gossip; below zero is bad.
    pub score: f64,
    /// Since when it is connected.
    pub since: Timestamp,
    /// Bytes that came from it and went to it, of messages, gossip and streams.
    pub bytes: (u64, u64),
}

/// Why an overlay could not do something.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// The text is not an address of a peer.
    #[error("{0} is not an address of a peer; write it as /ip4/192.0.2.1/tcp/4001 or host:port")]
    BadAddress(String),
    /// No connection came about.
    #[error("cannot reach {to}: {why}")]
    Unreachable {
        /// Whom.
        to: String,
        /// What the network says.
        why: String,
    },
    /// Another site answered than the one that was expected.
    #[error("{found} answered at the address of {expected}")]
    OtherSite {
        /// Who was expected.
        expected: SiteId,
        /// Who answered.
        found: SiteId,
    },
    /// The site was banned.
    #[error("{0} is banned here; allow it with `agentsite peer allow`")]
    Banned(SiteId),
    /// A limit of this site was reached.
    #[error("{0}; try again later")]
    Busy(&'static str),
    /// The overlay has stopped, or cannot start.
    #[error("the mesh is not running: {0}")]
    Stopped(String),
}

/// What carries messages, gossip and streams between sites.
#[async_trait]
pub trait Overlay: fmt::Debug + Send + Sync {
    /// Sends a message to a connected peer; lost when the peer is gone, as on every network.
    async fn send(&self, peer: SiteId, message: Message) -> Result<(), OverlayError>;

    /// Spreads a record to all sites. Records are batched. A record that came from a peer (`from`) by
    /// gossip is not spread again: the verdict on the gossip does that. One that came in a session is, so
    /// that both sides of a healed partition get it at once.
    async fn publish(&self, record: Arc<Record>, from: Option<SiteId>) -> Result<(), OverlayError>;

    /// Decides what becomes of gossip. Gossip without a verdict is dropped after a while.
    async fn judge(&self, ticket: GossipTicket, verdict: Verdict);

    /// Connects to an address, and says who answered there.
    async fn dial(&self, address: &str) -> Result<SiteId, OverlayError>;

    /// Ends the connections with a peer, and refuses it until then. Without a time it may return at once.
    async fn disconnect(&self, peer: SiteId, banned_until: Option<Timestamp>);

    /// Lifts a ban.
    async fn allow(&self, peer: SiteId);

    /// Opens a stream to a site: over a connection that stands, or one that is found by the DHT, or through a
    /// relay.
    async fn open(&self, site: SiteId) -> Result<Box<dyn LinkStream>, OverlayError>;

    /// The connected peers.
    async fn peers(&self) -> Vec<PeerStatus>;

    /// The addresses under which others reach this site.
    async fn addresses(&self) -> Vec<String>;

    /// The addresses for a site that an admin chose and hands an invite to: besides those of
    /// [`Self::addresses`] those of the local network and of this machine, which other sites do not learn.
    async fn invite_addresses(&self) -> Vec<String> {
        self.addresses().await
    }

    /// Ends every connection, and the events.
    async fn stop(&self);
}

//! Command: what the handle asks of the driver, and what the driver's own tasks report to it.
//!
//! Promises: plain values with a place for the answer. Who asked may stop waiting at any time.

use std::sync::Arc;

use agentsite_mesh::{GossipTicket, LinkStream, OverlayError, PeerStatus, Record, SiteId, Verdict};
use agentsite_protocol::Timestamp;
use libp2p::{Multiaddr, PeerId};
use tokio::sync::oneshot;

use crate::status::P2pStatus;

/// Where the answer to a dial goes.
pub(crate) type DialReply = oneshot::Sender<Result<SiteId, OverlayError>>;
/// Where a stream to an agent goes.
pub(crate) type OpenReply = oneshot::Sender<Result<Box<dyn LinkStream>, OverlayError>>;

/// What the handle asks of the driver.
pub(crate) enum Command {
    /// Send this message.
    Send { site: SiteId, bytes: Vec<u8> },
    /// Spread this record.
    Publish { record: Arc<Record>, from: Option<SiteId> },
    /// Decide about gossip.
    Judge { ticket: GossipTicket, verdict: Verdict },
    /// Connect to one of these addresses, in order.
    Dial { addresses: Vec<Multiaddr>, reply: DialReply },
    /// End the connections with a site.
    Disconnect { site: SiteId, banned_until: Option<Timestamp>, done: oneshot::Sender<()> },
    /// Lift a ban.
    Allow { site: SiteId, done: oneshot::Sender<()> },
    /// Open a stream.
    Open { site: SiteId, reply: OpenReply },
    /// Who is connected?
    Peers(oneshot::Sender<Vec<PeerStatus>>),
    /// Where do others reach this site?
    Addresses(oneshot::Sender<Vec<String>>),
    /// Where does a site that an admin invites reach this one?
    InviteAddresses(oneshot::Sender<Vec<String>>),
    /// How is it going?
    Status(oneshot::Sender<P2pStatus>),
}

/// A caller that waits for a stream.
pub(super) struct Waiting {
    pub(super) reply: OpenReply,
    /// Which try this is.
    pub(super) attempt: u32,
}

/// What a task of the driver reports.
pub(super) enum Report {
    /// A peer does not read what is sent to it.
    Stuck(PeerId),
    /// The stream with messages to a peer broke; these were not written.
    Broken { peer: PeerId, unsent: Vec<Vec<u8>> },
    /// A connection ended before a stream over it stood.
    LinkEnded { site: SiteId, waiting: Waiting },
    /// The name of a seed was resolved, or not.
    Resolved { seed: usize, addresses: Vec<Multiaddr> },
}

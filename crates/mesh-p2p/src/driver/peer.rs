//! Peer: what the driver knows about a site that is connected.
//!
//! Promises: what one peer can occupy here is bounded: two readers, one outbox, a number of streams, a rate
//! of gossip. It does not touch the swarm.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use agentsite_mesh::SiteId;
use agentsite_protocol::Timestamp;
use futures::io::{AsyncRead, AsyncWrite};
use libp2p::swarm::ConnectionId;
use libp2p::{Multiaddr, Stream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::address::is_relayed;

/// Messages of gossip that one neighbour may bring each second. A batch has up to 64 records, and a network
/// of 10,000 sites renews 33 leases each second.
const GOSSIP_PER_SECOND: f64 = 50.0;
/// Messages of gossip that may come at once.
const GOSSIP_BURST: f64 = 500.0;
/// Messages beyond the rate after which a neighbour is banned for a while.
const GOSSIP_EXCESS: u32 = 2_000;
/// Incoming streams of messages: one, and one that replaces it.
const READERS: usize = 2;

/// What becomes of gossip before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GossipRate {
    /// It is read.
    Fine,
    /// It is dropped.
    Excess,
    /// The neighbour floods.
    Flood,
}

/// A site that is connected.
#[derive(Debug)]
pub(super) struct ConnectedSite {
    pub(super) site: SiteId,
    pub(super) since: Timestamp,
    pub(super) connections: BTreeMap<ConnectionId, Multiaddr>,
    pub(super) latency: Option<Duration>,
    /// Pings that were not answered in a row.
    pub(super) silent: u32,
    /// Streams of messages to it that broke.
    pub(super) broken: u32,
    /// Messages that wait to be written.
    pub(super) outbox: Option<mpsc::Sender<Vec<u8>>>,
    readers: Vec<AbortHandle>,
    /// Streams that came before the site was told of this peer.
    pub(super) waiting: Vec<Stream>,
    /// Held by each stream with a call that this peer opened.
    links: Arc<()>,
    /// Held by each stream with a call that this site opened.
    pub(super) calls: Arc<()>,
    tokens: f64,
    counted_at: Instant,
    excess: u32,
}

impl ConnectedSite {
    pub(super) fn new(site: SiteId, since: Timestamp) -> Self {
        Self {
            site,
            since,
            connections: BTreeMap::new(),
            latency: None,
            silent: 0,
            broken: 0,
            outbox: None,
            readers: Vec::new(),
            waiting: Vec::new(),
            links: Arc::new(()),
            calls: Arc::new(()),
            tokens: GOSSIP_BURST,
            counted_at: Instant::now(),
            excess: 0,
        }
    }

    /// The address of its best connection: a direct one, if there is one.
    pub(super) fn address(&self) -> Option<&Multiaddr> {
        self.connections.values().min_by_key(|address| is_relayed(address))
    }

    /// Counts a message of gossip.
    pub(super) fn count_gossip(&mut self, now: Instant) -> GossipRate {
        let passed = now.saturating_duration_since(self.counted_at).as_secs_f64();
        self.tokens = (self.tokens + passed * GOSSIP_PER_SECOND).min(GOSSIP_BURST);
        self.counted_at = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return GossipRate::Fine;
        }
        self.excess += 1;
        if self.excess > GOSSIP_EXCESS { GossipRate::Flood } else { GossipRate::Excess }
    }

    /// Whether a call is in progress, in either direction.
    pub(super) fn is_called(&self) -> bool {
        Arc::strong_count(&self.links) + Arc::strong_count(&self.calls) > 2
    }

    /// Keeps a stream until the site was told of this peer.
    pub(super) fn keep_waiting(&mut self, stream: Stream) {
        if self.waiting.len() < READERS {
            self.waiting.push(stream);
        }
    }

    /// Takes note of a reader; the oldest of too many ends.
    pub(super) fn add_reader(&mut self, reader: AbortHandle) {
        self.readers.retain(|reader| !reader.is_finished());
        if self.readers.len() >= READERS {
            self.readers.remove(0).abort();
        }
        self.readers.push(reader);
    }

    /// A stream with a call, unless this peer has too many.
    pub(super) fn link(&self, stream: Stream, most: u32) -> Option<CallStream> {
        let open = Arc::strong_count(&self.links) - 1;
        (open < most as usize).then(|| CallStream { stream, _place: Some(self.links.clone()) })
    }
}

impl Drop for ConnectedSite {
    fn drop(&mut self) {
        self.readers.iter().for_each(AbortHandle::abort);
    }
}

/// A stream with a call to an agent.
#[derive(Debug)]
pub(super) struct CallStream {
    stream: Stream,
    /// The place that it takes among the streams of its peer.
    _place: Option<Arc<()>>,
}

impl CallStream {
    /// A stream that this site opened.
    pub(super) const fn outgoing(stream: Stream, place: Option<Arc<()>>) -> Self {
        Self { stream, _place: place }
    }
}

impl AsyncRead for CallStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for CallStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentsite_mesh::story::{Site, at};

    #[test]
    fn gossip_beyond_the_rate_is_dropped_and_a_flood_is_noticed() {
        let mut peer = ConnectedSite::new(Site::new(1).id, at(0));
        let start = peer.counted_at;
        assert!((0..500).all(|_| peer.count_gossip(start) == GossipRate::Fine));
        assert!((0..2_000).all(|_| peer.count_gossip(start) == GossipRate::Excess));
        assert_eq!(peer.count_gossip(start), GossipRate::Flood);
        assert_eq!(peer.count_gossip(start + Duration::from_secs(1)), GossipRate::Fine);
    }
}

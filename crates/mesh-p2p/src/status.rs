//! Status: how an overlay is doing, in numbers.
//!
//! Promises: plain data; counters begin at zero with each start.

/// How an overlay is doing, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct P2pStatus {
    /// Connected sites.
    pub peers: usize,
    /// Connected sites that only a relay reaches.
    pub relayed_peers: usize,
    /// Neighbours in the mesh of gossip.
    pub neighbours: usize,
    /// Topics of gossip that peers named and that are kept, for all peers together.
    pub topics: usize,
    /// Sites in the routing table.
    pub routes: usize,
    /// Sites that are refused at present.
    pub bans: usize,
    /// Places at relays.
    pub relay_places: usize,
    /// Messages of gossip that this site published.
    pub published: u64,
    /// Records in them.
    pub published_records: u64,
    /// Messages of gossip that came and were read.
    pub gossip: u64,
    /// Messages of gossip that came too fast, or while the site was busy, and were dropped.
    pub gossip_dropped: u64,
    /// Dials that failed.
    pub failed_dials: u64,
    /// Connections that were refused before they stood.
    pub refused: u64,
    /// Streams of others that were refused.
    pub refused_streams: u64,
    /// Bytes received and sent in all.
    pub bytes: (u64, u64),
}

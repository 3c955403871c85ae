//! Settings of the overlay: where it listens, whom it asks first, how much it takes from others.
//!
//! Promises: plain data with a schema; unknown keys are errors; every key has a default that is safe on the
//! open internet. It reads no file. Addresses are checked when the overlay starts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fewest characters of a network key: what can be guessed can be tried without the network, against a
/// recorded handshake.
pub(crate) const MIN_NETWORK_KEY: usize = 16;

/// How this site connects with other sites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct P2pSettings {
    /// Addresses to listen on, such as `/ip4/0.0.0.0/tcp/4101`, `/ip4/0.0.0.0/udp/4101/quic-v1` or
    /// `0.0.0.0:4101` (TCP). Port 0 takes a free one. Without an address this site connects to others, and
    /// others reach it only through a relay.
    pub listen: Vec<String>,
    /// Whether another port is taken when one of `listen` is in use: for a port that the operator did not
    /// choose.
    pub other_port_if_used: bool,
    /// Addresses under which others reach this site, when they are known: `/dns4/site.example/tcp/4101`.
    /// Others are found out by asking peers.
    pub external: Vec<String>,
    /// Sites that are dialed first, such as `site.example:4101` or `/ip4/192.0.2.1/tcp/4101/p2p/12D3…`.
    pub seeds: Vec<String>,
    /// The name of the network. Sites of different networks do not connect.
    pub network: String,
    /// A secret of at least 16 characters that all sites of a private network share. Sites without it cannot
    /// connect.
    pub network_key: Option<NetworkKey>,
    /// Whether sites in the local network are found by multicast DNS.
    pub mdns: bool,
    /// Whether addresses of private networks that others name are dialed. Without it, a foreign peer could
    /// make this site connect to machines behind its firewall. Seeds and what an admin dials are always
    /// dialed.
    pub allow_private_addresses: bool,
    /// Whether this site asks for places at relays when others cannot reach it.
    pub relay_client: bool,
    /// Whether this site relays connections of others that cannot be reached.
    pub relay_server: bool,
    /// How much this site takes from others.
    pub limits: P2pLimits,
}

impl Default for P2pSettings {
    fn default() -> Self {
        Self {
            listen: vec!["/ip4/0.0.0.0/tcp/4101".into(), "/ip4/0.0.0.0/udp/4101/quic-v1".into()],
            other_port_if_used: false,
            external: Vec::new(),
            seeds: Vec::new(),
            network: "agentsite".into(),
            network_key: None,
            mdns: false,
            allow_private_addresses: false,
            relay_client: true,
            relay_server: false,
            limits: P2pLimits::default(),
        }
    }
}

/// How much a site takes from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct P2pLimits {
    /// Most connections; each takes about 0.1 MB.
    pub connections: u32,
    /// Most connections that others opened.
    pub incoming: u32,
    /// Most connections with one site.
    pub per_site: u32,
    /// Most connections whose handshake is in progress, in each direction.
    pub pending: u32,
    /// Most connections that came from one subnet (/24 of IPv4, /48 of IPv6). Private networks are not
    /// counted when `allow_private_addresses` is set.
    pub per_subnet: u32,
    /// Most sites of one subnet in the routing table; at most 2 of them share a bucket.
    pub routes_per_subnet: u32,
    /// Most open streams of one site with calls to agents.
    pub streams_per_site: u32,
    /// With how many sites this site wants to be connected; below, it looks for more.
    pub wanted: u32,
    /// Seconds between pings. A peer that misses two in a row is disconnected.
    pub ping_seconds: u32,
    /// Sites that hold a place at this relay.
    pub relay_reservations: u32,
    /// Connections that this relay carries at once.
    pub relay_circuits: u32,
    /// Most megabytes that one relayed connection carries.
    pub relay_megabytes: u32,
    /// How many minutes a relayed connection lasts.
    pub relay_minutes: u32,
}

impl Default for P2pLimits {
    fn default() -> Self {
        // 96 connections keep memory at 10 MB and are far more than the mesh of gossip needs (4). A relay
        // carries calls of agents and not only the signalling for which libp2p's 128 KiB are meant.
        Self {
            connections: 96,
            incoming: 64,
            per_site: 3,
            pending: 32,
            per_subnet: 16,
            routes_per_subnet: 10,
            streams_per_site: 32,
            wanted: 8,
            ping_seconds: 15,
            relay_reservations: 64,
            relay_circuits: 32,
            relay_megabytes: 64,
            relay_minutes: 30,
        }
    }
}

/// The secret of a private network. It is not shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NetworkKey(String);

impl NetworkKey {
    /// Wraps a secret; whether it is long enough is checked at the start.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for NetworkKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("NetworkKey(…)")
    }
}

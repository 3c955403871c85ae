//! Behaviour: the parts of libp2p that this overlay is made of, each with its limits.
//!
//! Promises: what a part keeps about foreign peers is bounded. It does not act: the driver
//! does.

pub(crate) mod gossip;
pub(crate) mod routing;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Clock;
use libp2p::identity::Keypair;
use libp2p::swarm::NetworkBehaviour;
use libp2p::swarm::behaviour::toggle::Toggle;
use libp2p::{autonat, connection_limits, dcutr, identify, mdns, ping, relay};

use self::gossip::Gossip;
use self::routing::Routing;
use crate::address::AddressPolicy;
use crate::door::Door;
use crate::settings::{P2pLimits, P2pSettings};
use crate::streams::Streams;

/// What peers call our protocols when they introduce themselves.
const PROTOCOL: &str = "agentsite/1";
/// Peers whose addresses are remembered after they introduced themselves.
const INTRODUCED: usize = 256;

/// The parts of this overlay.
#[derive(NetworkBehaviour)]
pub(crate) struct Behaviour {
    pub(crate) door: Door,
    pub(crate) limits: connection_limits::Behaviour,
    pub(crate) identify: identify::Behaviour,
    pub(crate) ping: ping::Behaviour,
    pub(crate) routing: Routing,
    pub(crate) gossip: Gossip,
    pub(crate) streams: Streams,
    pub(crate) autonat_client: autonat::v2::client::Behaviour,
    pub(crate) autonat_server: autonat::v2::server::Behaviour,
    pub(crate) relay_client: relay::client::Behaviour,
    pub(crate) relay_server: Toggle<relay::Behaviour>,
    pub(crate) dcutr: dcutr::Behaviour,
    pub(crate) mdns: Toggle<mdns::tokio::Behaviour>,
}

impl Behaviour {
    /// Puts the parts together.
    pub(crate) fn new(
        keypair: &Keypair,
        settings: &P2pSettings,
        policy: &AddressPolicy,
        clock: Arc<dyn Clock>,
        relay_client: relay::client::Behaviour,
    ) -> io::Result<Self> {
        let me = keypair.public().to_peer_id();
        let mdns = settings.mdns.then(|| mdns::tokio::Behaviour::new(mdns::Config::default(), me));
        // A machine that does not let us list its interfaces still reaches the sites that are added.
        let mdns = mdns.and_then(|mdns| {
            mdns.inspect_err(|error| tracing::warn!(%error, "Sites in the local network are not found.")).ok()
        });
        let identify = identify::Config::new(PROTOCOL.into(), keypair.public())
            .with_agent_version(format!("agentsite/{}", env!("CARGO_PKG_VERSION")))
            .with_push_listen_addr_updates(true)
            .with_cache_size(INTRODUCED)
            // Addresses of a private network tell foreign peers about it and are of no use to them.
            .with_hide_listen_addrs(!settings.allow_private_addresses);
        // An answer may take as long as the pause between two pings.
        let pause = Duration::from_secs(u64::from(settings.limits.ping_seconds.max(1)));
        Ok(Self {
            door: Door::new(clock, policy.clone(), settings.limits.per_subnet),
            limits: connection_limits::Behaviour::new(connection_limits(&settings.limits)),
            identify: identify::Behaviour::new(identify),
            ping: ping::Behaviour::new(ping::Config::new().with_interval(pause).with_timeout(pause)),
            routing: routing::build(me, settings),
            gossip: gossip::build(keypair, settings).map_err(io::Error::other)?,
            streams: Streams::default(),
            autonat_client: autonat::v2::client::Behaviour::default(),
            autonat_server: autonat::v2::server::Behaviour::default(),
            relay_client,
            relay_server: Toggle::from(
                settings.relay_server.then(|| relay::Behaviour::new(me, relay_limits(&settings.limits))),
            ),
            dcutr: dcutr::Behaviour::new(me),
            mdns: Toggle::from(mdns),
        })
    }
}

fn connection_limits(limits: &P2pLimits) -> connection_limits::ConnectionLimits {
    connection_limits::ConnectionLimits::default()
        .with_max_established(Some(limits.connections))
        .with_max_established_incoming(Some(limits.incoming))
        .with_max_established_per_peer(Some(limits.per_site))
        .with_max_pending_incoming(Some(limits.pending))
        .with_max_pending_outgoing(Some(limits.pending))
}

fn relay_limits(limits: &P2pLimits) -> relay::Config {
    relay::Config {
        max_reservations: limits.relay_reservations as usize,
        max_reservations_per_peer: 1,
        max_circuits: limits.relay_circuits as usize,
        max_circuits_per_peer: (limits.relay_circuits as usize / 4).max(1),
        max_circuit_bytes: u64::from(limits.relay_megabytes) * 1_000_000,
        max_circuit_duration: Duration::from_secs(u64::from(limits.relay_minutes) * 60),
        ..relay::Config::default()
    }
}

//! What happens on the network, and what follows from it.
//!
//! Promises: what a peer says about itself is cut and filtered before it is kept. It does not
//! decide whom to dial.

use libp2p::swarm::{ConnectionId, SwarmEvent};
use libp2p::{Multiaddr, PeerId, identify, kad, mdns, ping, relay};

use super::Driver;
use super::peer::ConnectedSite;
use super::sync;
use crate::address::{MAX_ADDRESSES, is_relayed};
use crate::behaviour::{BehaviourEvent, routing};
use crate::identity;
use crate::streams::{Inbound, LINK, SYNC};
use agentsite_mesh::OverlayEvent;

/// Pings in a row without an answer after which a connection ends: the other end vanished.
const SILENT_PINGS: u32 = 2;

impl Driver {
    /// Something happened on the network.
    pub(super) fn network_event(&mut self, event: SwarmEvent<BehaviourEvent>) {
        match event {
            SwarmEvent::ConnectionEstablished { peer_id, connection_id, endpoint, .. } => {
                self.connected(peer_id, connection_id, endpoint.get_remote_address().clone());
            }
            SwarmEvent::ConnectionClosed { peer_id, connection_id, num_established, .. } => {
                self.disconnected(peer_id, connection_id, num_established == 0);
            }
            SwarmEvent::OutgoingConnectionError { connection_id, peer_id, error } => {
                self.dial_failed(connection_id, peer_id, &error);
                if let Some(peer) = peer_id {
                    self.seek_failed(peer, &error);
                }
            }
            SwarmEvent::IncomingConnectionError { .. } => self.counters.refused += 1,
            SwarmEvent::ListenerClosed { listener_id, .. } => {
                self.relays.lost(listener_id);
                self.addresses.1 = true;
            }
            SwarmEvent::NewListenAddr { address, .. } => {
                tracing::info!(%address, "The mesh listens.");
                self.addresses.1 = true;
            }
            SwarmEvent::ExpiredListenAddr { .. }
            | SwarmEvent::ExternalAddrConfirmed { .. }
            | SwarmEvent::ExternalAddrExpired { .. } => self.addresses.1 = true,
            SwarmEvent::Behaviour(event) => self.part_event(event),
            _ => {}
        }
    }

    fn part_event(&mut self, event: BehaviourEvent) {
        match event {
            BehaviourEvent::Identify(identify::Event::Received { peer_id, info, .. }) => {
                self.introduced(peer_id, info);
            }
            BehaviourEvent::Ping(event) => self.pinged(&event),
            BehaviourEvent::Gossip(libp2p::gossipsub::Event::Message {
                propagation_source,
                message_id,
                message,
            }) => self.gossip_came(propagation_source, &message_id, &message),
            BehaviourEvent::Routing(kad::Event::OutboundQueryProgressed {
                id,
                result: kad::QueryResult::GetClosestPeers(result),
                ..
            }) => self.sought(id, result),
            BehaviourEvent::Streams(inbound) => self.stream_came(inbound),
            BehaviourEvent::Mdns(mdns::Event::Discovered(found)) => {
                for (peer, address) in found.into_iter().take(MAX_ADDRESSES) {
                    if self.policy.trust_neighbour(&address) {
                        self.dial_site(peer, vec![address]);
                    }
                }
            }
            BehaviourEvent::RelayClient(relay::client::Event::ReservationReqAccepted {
                relay_peer_id,
                ..
            }) => tracing::info!(relay = %relay_peer_id, "This site is reached through a relay."),
            _ => {}
        }
    }

    fn connected(&mut self, id: PeerId, connection: ConnectionId, address: Multiaddr) {
        // The door lets only sites in.
        let Some(site) = identity::site_of(&id) else { return };
        let now = self.clock.now();
        let peer = self.peers.entry(id).or_insert_with(|| ConnectedSite::new(site, now));
        peer.connections.insert(connection, address);
        self.unsettled.insert(id);
        self.dial_succeeded(connection, id);
        self.seek_succeeded(site, id);
    }

    fn disconnected(&mut self, id: PeerId, connection: ConnectionId, is_last: bool) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.connections.remove(&connection);
        }
        if is_last {
            self.peers.remove(&id);
            self.relays.gone(&id);
            self.unsettled.insert(id);
        }
    }

    /// A peer says what it offers and where it listens.
    fn introduced(&mut self, peer: PeerId, info: identify::Info) {
        let addresses = info.listen_addrs.into_iter().take(MAX_ADDRESSES);
        let addresses: Vec<Multiaddr> =
            addresses.filter(|address| self.policy.is_worth_keeping(address)).collect();
        if info.protocols.contains(&routing::PROTOCOL) {
            for address in &addresses {
                let (routing, per_table) =
                    (&mut self.swarm.behaviour_mut().routing, self.settings.limits.routes_per_subnet);
                if routing::admits(routing, &self.policy, per_table, peer, address) {
                    routing.add_address(&peer, address.clone());
                }
            }
        }
        let direct = addresses.into_iter().find(|address| !is_relayed(address));
        if info.protocols.contains(&relay::HOP_PROTOCOL_NAME)
            && let Some(address) = direct
        {
            self.relays.offer(peer, address);
        }
    }

    fn pinged(&mut self, event: &ping::Event) {
        let Some(peer) = self.peers.get_mut(&event.peer) else { return };
        match &event.result {
            Ok(time) => (peer.latency, peer.silent) = (Some(*time), 0),
            Err(ping::Failure::Unsupported) => {}
            Err(_) => {
                peer.silent += 1;
                if peer.silent >= SILENT_PINGS {
                    tracing::info!(site = %peer.site, "A peer does not answer; its connection ends.");
                    self.swarm.close_connection(event.connection);
                }
            }
        }
    }

    fn stream_came(&mut self, Inbound { peer: id, protocol, stream }: Inbound) {
        let is_told = self.told.contains(&id);
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if protocol == SYNC {
            peer.keep_waiting(stream);
            if is_told {
                self.read_waiting(id);
            }
        } else if protocol == LINK {
            let link = peer.link(stream, self.settings.limits.streams_per_site).filter(|_| is_told);
            let event = link.map(|link| OverlayEvent::Stream { peer: peer.site, stream: Box::new(link) });
            // A stream that is dropped is reset, which the other side notices at once.
            if event.is_none_or(|event| self.events.try_send(event).is_err()) {
                self.counters.refused_streams += 1;
            }
        }
    }

    /// Reads the messages of a peer that the site knows of.
    pub(super) fn read_waiting(&mut self, id: PeerId) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        for stream in std::mem::take(&mut peer.waiting) {
            let reader = self.tasks.spawn(sync::read(peer.site, stream, self.events.clone()));
            peer.add_reader(reader);
        }
    }
}

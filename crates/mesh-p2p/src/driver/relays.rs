//! Relays: places at other sites through which this one is reached when nothing else works.
//!
//! Promises: at most [`WANTED`] places, only while no address of this site is confirmed, and only at sites
//! that offer it. A direct connection is tried by hole punching once a relayed one stands.

use std::collections::HashMap;
use std::time::Duration;

use libp2p::core::transport::ListenerId;
use libp2p::multiaddr::Protocol;
use libp2p::{Multiaddr, PeerId};
use tokio::time::Instant;

use super::Driver;
use crate::address::{is_relayed, with_peer};

/// Places that this site asks for: one may fail.
const WANTED: usize = 2;
/// How long peers may take to confirm an address before a relay is asked.
const PATIENCE: Duration = Duration::from_secs(30);
/// Sites that offer places and are remembered.
const MAX_OFFERS: usize = 32;

/// The places of this site at relays.
#[derive(Debug)]
pub(super) struct Relays {
    started: Instant,
    offers: HashMap<PeerId, Multiaddr>,
    places: HashMap<ListenerId, PeerId>,
}

impl Relays {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), offers: HashMap::new(), places: HashMap::new() }
    }

    /// A connected site offers places.
    pub(super) fn offer(&mut self, peer: PeerId, address: Multiaddr) {
        if self.offers.len() < MAX_OFFERS && !is_relayed(&address) {
            self.offers.insert(peer, address);
        }
    }

    /// A site left.
    pub(super) fn gone(&mut self, peer: &PeerId) {
        self.offers.remove(peer);
    }

    /// A place was lost.
    pub(super) fn lost(&mut self, listener: ListenerId) {
        self.places.remove(&listener);
    }

    /// How many places this site holds or has asked for.
    pub(super) fn places(&self) -> usize {
        self.places.len()
    }
}

impl Driver {
    /// Asks for places while others cannot reach this site.
    pub(super) fn ask_relays(&mut self) {
        let is_reachable = self.swarm.external_addresses().any(|address| !is_relayed(address));
        let is_early = self.relays.started.elapsed() < PATIENCE && !self.settings.listen.is_empty();
        if !self.settings.relay_client || is_reachable || is_early || self.relays.places.len() >= WANTED {
            return;
        }
        let taken: Vec<PeerId> = self.relays.places.values().copied().collect();
        let free = self.relays.offers.iter().find(|(peer, _)| !taken.contains(peer));
        let Some((peer, address)) = free.map(|(peer, address)| (*peer, address.clone())) else { return };
        match self.swarm.listen_on(with_peer(address, peer).with(Protocol::P2pCircuit)) {
            Ok(listener) => drop(self.relays.places.insert(listener, peer)),
            Err(error) => {
                tracing::debug!(%peer, %error, "A relay cannot be used.");
                self.relays.offers.remove(&peer);
            }
        }
    }
}

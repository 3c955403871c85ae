//! The door: who may be connected at all.
//!
//! Promises: a banned site is refused by its key, whatever address it comes from, as soon as the handshake
//! has proven it; so is a peer that is not a site, and one more connection of a subnet that has many. The
//! numbers of connections are limited by libp2p's own part. Bans are forgotten with the process: the site
//! keeps them.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use agentsite_mesh::SiteId;
use agentsite_protocol::{Clock, Timestamp};
use libp2p::core::transport::PortUse;
use libp2p::core::{ConnectedPoint, Endpoint};
use libp2p::swarm::{
    ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, THandler, THandlerInEvent, THandlerOutEvent,
    ToSwarm, dummy,
};
use libp2p::{Multiaddr, PeerId};

use crate::address::{AddressPolicy, Subnet, ip_of};
use crate::identity;

/// Most bans that are remembered, as many as the catalogue remembers.
const MAX_BANS: usize = 1_024;

/// Why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The site was banned.
    #[error("{0} is banned")]
    Banned(SiteId),
    /// Its key is not Ed25519.
    #[error("the peer is not a site: its key is not Ed25519")]
    NotASite,
    /// Its subnet has too many connections.
    #[error("too many connections from one subnet")]
    Subnet,
}

/// Until when sites are refused.
#[derive(Debug, Default)]
struct Bans(BTreeMap<SiteId, Timestamp>);

impl Bans {
    fn insert(&mut self, site: SiteId, until: Timestamp, now: Timestamp) {
        self.0.retain(|_, until| now < *until);
        self.0.insert(site, until);
        if self.0.len() > MAX_BANS {
            let first = self.0.iter().min_by_key(|(_, until)| **until).map(|(site, _)| *site);
            first.and_then(|site| self.0.remove(&site));
        }
    }

    fn hold(&self, site: &SiteId, now: Timestamp) -> bool {
        self.0.get(site).is_some_and(|until| now < *until)
    }
}

/// The part of the swarm that refuses connections.
#[derive(Debug)]
pub(crate) struct Door {
    clock: Arc<dyn Clock>,
    policy: AddressPolicy,
    per_subnet: u32,
    bans: Bans,
    /// Connections that others opened.
    incoming: HashMap<ConnectionId, Subnet>,
    counts: HashMap<Subnet, u32>,
}

impl Door {
    pub(crate) fn new(clock: Arc<dyn Clock>, policy: AddressPolicy, per_subnet: u32) -> Self {
        let (incoming, counts) = (HashMap::new(), HashMap::new());
        Self { clock, policy, per_subnet, bans: Bans::default(), incoming, counts }
    }

    /// Refuses a site until then. Connections that stand are the driver's to end.
    pub(crate) fn ban(&mut self, site: SiteId, until: Timestamp) {
        let now = self.clock.now();
        self.bans.insert(site, until, now);
    }

    /// Lifts a ban.
    pub(crate) fn allow(&mut self, site: &SiteId) {
        self.bans.0.remove(site);
    }

    /// Whether a site is refused at present.
    pub(crate) fn is_banned(&self, site: &SiteId) -> bool {
        self.bans.hold(site, self.clock.now())
    }

    /// How many bans hold.
    pub(crate) fn bans(&self) -> usize {
        let now = self.clock.now();
        self.bans.0.values().filter(|until| now < **until).count()
    }

    fn check_peer(&self, peer: &PeerId) -> Result<(), Refusal> {
        let site = identity::site_of(peer).ok_or(Refusal::NotASite)?;
        if self.is_banned(&site) { Err(Refusal::Banned(site)) } else { Ok(()) }
    }

    fn check_address(&self, address: &Multiaddr) -> Result<(), Refusal> {
        let subnet = self.subnet(address);
        let is_full =
            subnet.and_then(|subnet| self.counts.get(&subnet)).is_some_and(|count| *count >= self.per_subnet);
        if is_full { Err(Refusal::Subnet) } else { Ok(()) }
    }

    fn subnet(&self, address: &Multiaddr) -> Option<Subnet> {
        ip_of(address).filter(|ip| self.policy.counts(*ip)).map(Subnet::of)
    }

    fn leave(&mut self, connection: ConnectionId) {
        let Some(subnet) = self.incoming.remove(&connection) else { return };
        if let Some(count) = self.counts.get_mut(&subnet) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&subnet);
            }
        }
    }
}

impl NetworkBehaviour for Door {
    type ConnectionHandler = dummy::ConnectionHandler;
    type ToSwarm = Infallible;

    fn handle_pending_inbound_connection(
        &mut self,
        _: ConnectionId,
        _: &Multiaddr,
        remote: &Multiaddr,
    ) -> Result<(), ConnectionDenied> {
        self.check_address(remote).map_err(ConnectionDenied::new)
    }

    fn handle_established_inbound_connection(
        &mut self,
        _: ConnectionId,
        peer: PeerId,
        _: &Multiaddr,
        remote: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        self.check_peer(&peer).and_then(|()| self.check_address(remote)).map_err(ConnectionDenied::new)?;
        Ok(dummy::ConnectionHandler)
    }

    fn handle_pending_outbound_connection(
        &mut self,
        _: ConnectionId,
        peer: Option<PeerId>,
        _: &[Multiaddr],
        _: Endpoint,
    ) -> Result<Vec<Multiaddr>, ConnectionDenied> {
        peer.map_or(Ok(()), |peer| self.check_peer(&peer)).map_err(ConnectionDenied::new)?;
        Ok(Vec::new())
    }

    fn handle_established_outbound_connection(
        &mut self,
        _: ConnectionId,
        peer: PeerId,
        _: &Multiaddr,
        _: Endpoint,
        _: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        self.check_peer(&peer).map_err(ConnectionDenied::new)?;
        Ok(dummy::ConnectionHandler)
    }

    fn on_swarm_event(&mut self, event: FromSwarm<'_>) {
        match event {
            FromSwarm::ConnectionEstablished(established) => {
                if let ConnectedPoint::Listener { send_back_addr, .. } = established.endpoint
                    && let Some(subnet) = self.subnet(send_back_addr)
                {
                    self.incoming.insert(established.connection_id, subnet);
                    *self.counts.entry(subnet).or_default() += 1;
                }
            }
            FromSwarm::ConnectionClosed(closed) => self.leave(closed.connection_id),
            _ => {}
        }
    }

    fn on_connection_handler_event(&mut self, _: PeerId, _: ConnectionId, event: THandlerOutEvent<Self>) {
        match event {}
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<ToSwarm<Infallible, THandlerInEvent<Self>>> {
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentsite_mesh::story::{Site, at};

    #[test]
    fn bans_end_and_are_bounded() {
        let mut bans = Bans::default();
        for number in 0..2_000 {
            let until = at(100 + i64::try_from(number).unwrap());
            bans.insert(Site::with_work(number, 0).id, until, at(0));
        }
        assert_eq!(bans.0.len(), MAX_BANS);
        let last = Site::with_work(1_999, 0).id;
        assert!(bans.hold(&last, at(0)), "those that last longest are kept");
        assert!(!bans.hold(&last, at(3_000)), "and end");
        assert!(!bans.hold(&Site::with_work(0, 0).id, at(0)));
    }
}

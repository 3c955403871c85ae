//! Dialing: what an admin asks for, seeds, and enough peers.
//!
//! Promises: a dial that was asked for is answered once. Seeds and known sites are dialed while there are too
//! few peers, each with a pause that grows with its failures.

use std::collections::{HashMap, VecDeque};
use std::error::Error as _;

use agentsite_mesh::OverlayError;
use libp2p::swarm::dial_opts::{DialOpts, PeerCondition};
use libp2p::swarm::{ConnectionId, DialError};
use libp2p::{Multiaddr, PeerId};
use tokio::time::Instant;

use super::Driver;
use super::backoff::Backoff;
use super::command::{DialReply, Report};
use crate::address::{Written, peer_in};
use crate::door::Refusal;
use crate::identity;

/// Dials that were asked for and are in progress.
const MAX_DIALS: usize = 64;
/// Known sites that are dialed at once when there are too few peers.
const KNOWN_AT_ONCE: usize = 2;

/// What is dialed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Target {
    Seed(usize),
    Site(PeerId),
}

/// A dial that was asked for, or that of a seed.
#[derive(Debug)]
struct Dial {
    /// Addresses that are tried when this one fails.
    rest: VecDeque<Multiaddr>,
    address: Multiaddr,
    reply: Option<DialReply>,
    seed: Option<usize>,
}

/// A site that is dialed first.
#[derive(Debug)]
struct Seed {
    written: Written,
    /// Who answered there.
    peer: Option<PeerId>,
}

/// What is being dialed.
#[derive(Debug, Default)]
pub(super) struct Dialing {
    dials: HashMap<ConnectionId, Dial>,
    seeds: Vec<Seed>,
    pub(super) backoff: Backoff<Target>,
}

impl Dialing {
    pub(super) fn new(seeds: Vec<Written>) -> Self {
        let seeds = seeds.into_iter().map(|written| Seed { written, peer: None }).collect();
        Self { seeds, ..Self::default() }
    }
}

impl Driver {
    /// Dials what an admin named.
    pub(super) fn dial(&mut self, addresses: Vec<Multiaddr>, reply: DialReply) {
        if self.dialing.dials.len() >= MAX_DIALS {
            drop(reply.send(Err(OverlayError::Busy("too many dials are in progress"))));
            return;
        }
        addresses.iter().for_each(|address| self.policy.trust(address));
        self.dial_next(addresses.into(), Some(reply), None, None);
    }

    /// Dials the first of these addresses that can be dialed.
    fn dial_next(
        &mut self,
        mut rest: VecDeque<Multiaddr>,
        reply: Option<DialReply>,
        seed: Option<usize>,
        mut error: Option<OverlayError>,
    ) {
        while let Some(address) = rest.pop_front() {
            let options = match peer_in(&address) {
                Some(peer) if self.peers.contains_key(&peer) => {
                    return self.answer_dial(peer, reply, seed);
                }
                Some(peer) => DialOpts::peer_id(peer)
                    .addresses(vec![address.clone()])
                    .condition(PeerCondition::Always)
                    // From the port that it listens on, a dial fails while an earlier connection between the
                    // same two ports is not forgotten by the system.
                    .allocate_new_port()
                    .build(),
                None => DialOpts::unknown_peer_id().address(address.clone()).allocate_new_port().build(),
            };
            let connection = options.connection_id();
            match self.swarm.dial(options) {
                Ok(()) => {
                    self.dialing.dials.insert(connection, Dial { rest, address, reply, seed });
                    return;
                }
                Err(failure) => error = Some(explain(&address, &failure)),
            }
        }
        if let Some(reply) = reply {
            let none = || OverlayError::Unreachable { to: "the site".into(), why: "no address".into() };
            drop(reply.send(Err(error.unwrap_or_else(none))));
        }
    }

    fn answer_dial(&mut self, peer: PeerId, reply: Option<DialReply>, seed: Option<usize>) {
        if let Some(number) = seed {
            self.dialing.seeds[number].peer = Some(peer);
            self.dialing.backoff.succeeded(&Target::Seed(number));
        }
        if let (Some(reply), Some(site)) = (reply, identity::site_of(&peer)) {
            drop(reply.send(Ok(site)));
        }
    }

    /// A connection was made.
    pub(super) fn dial_succeeded(&mut self, connection: ConnectionId, peer: PeerId) {
        self.dialing.backoff.succeeded(&Target::Site(peer));
        if let Some(dial) = self.dialing.dials.remove(&connection) {
            self.answer_dial(peer, dial.reply, dial.seed);
        }
    }

    /// A connection was not made.
    pub(super) fn dial_failed(&mut self, connection: ConnectionId, peer: Option<PeerId>, error: &DialError) {
        self.counters.failed_dials += 1;
        if let Some(peer) = peer {
            self.dialing.backoff.failed(Target::Site(peer), Instant::now());
        }
        if let Some(dial) = self.dialing.dials.remove(&connection) {
            let error = explain(&dial.address, error);
            tracing::debug!(address = %dial.address, %error, "A dial failed.");
            self.dial_next(dial.rest, dial.reply, dial.seed, Some(error));
        }
    }

    /// Looks for more peers when there are too few.
    pub(super) fn look_for_peers(&mut self) {
        if self.peers.len() >= self.settings.limits.wanted as usize {
            return;
        }
        let now = Instant::now();
        for number in 0..self.dialing.seeds.len() {
            let seed = &self.dialing.seeds[number];
            let is_connected = seed.peer.is_some_and(|peer| self.peers.contains_key(&peer));
            if is_connected || !self.dialing.backoff.may_dial(&Target::Seed(number), now) {
                continue;
            }
            let (written, reports) = (seed.written.clone(), self.reports.0.clone());
            self.dialing.backoff.failed(Target::Seed(number), now);
            self.tasks.spawn(async move {
                let addresses = written.resolve().await.unwrap_or_default();
                drop(reports.send(Report::Resolved { seed: number, addresses }).await);
            });
        }
        self.dial_known(now);
    }

    fn dial_known(&mut self, now: Instant) {
        let mut known = Vec::new();
        for bucket in self.swarm.behaviour_mut().routing.kbuckets() {
            known.extend(bucket.iter().map(|entry| *entry.node.key.preimage()));
        }
        let is_due = |peer: &PeerId| {
            !self.peers.contains_key(peer) && self.dialing.backoff.may_dial(&Target::Site(*peer), now)
        };
        let due: Vec<PeerId> = known.into_iter().filter(is_due).take(KNOWN_AT_ONCE).collect();
        for peer in due {
            self.dial_site(peer, Vec::new());
        }
    }

    /// The name of a seed was resolved.
    pub(super) fn seed_resolved(&mut self, number: usize, addresses: Vec<Multiaddr>) {
        if addresses.is_empty() {
            tracing::warn!(seed = number, "The name of a seed of the mesh cannot be resolved.");
        }
        addresses.iter().for_each(|address| self.policy.trust(address));
        self.dial_next(addresses.into(), None, Some(number), None);
    }

    /// Dials a site, unless it is connected or was dialed lately.
    pub(super) fn dial_site(&mut self, peer: PeerId, addresses: Vec<Multiaddr>) {
        let now = Instant::now();
        if self.peers.contains_key(&peer) || !self.dialing.backoff.may_dial(&Target::Site(peer), now) {
            return;
        }
        let options = DialOpts::peer_id(peer)
            .addresses(addresses)
            .extend_addresses_through_behaviour()
            .condition(PeerCondition::DisconnectedAndNotDialing)
            .allocate_new_port()
            .build();
        if self.swarm.dial(options).is_err() {
            self.dialing.backoff.failed(Target::Site(peer), now);
        }
    }
}

/// What a failed dial means to an admin.
pub(super) fn explain(address: &Multiaddr, error: &DialError) -> OverlayError {
    let to = address.to_string();
    let unreachable = |why: String| OverlayError::Unreachable { to: to.clone(), why };
    match error {
        DialError::WrongPeerId { obtained, .. } => {
            let expected = peer_in(address).and_then(|peer| identity::site_of(&peer));
            match (expected, identity::site_of(obtained)) {
                (Some(expected), Some(found)) => OverlayError::OtherSite { expected, found },
                _ => unreachable("another peer answered".into()),
            }
        }
        DialError::Denied { cause } => {
            let mut source = cause.source();
            while let Some(error) = source {
                match error.downcast_ref::<Refusal>() {
                    Some(Refusal::Banned(site)) => return OverlayError::Banned(*site),
                    Some(refusal) => return unreachable(refusal.to_string()),
                    None => source = error.source(),
                }
            }
            OverlayError::Busy("this site has as many connections as it may have")
        }
        DialError::LocalPeerId { .. } => unreachable("this is the address of this site itself".into()),
        DialError::Transport(failures) => {
            let why = failures.iter().map(|(_, error)| innermost(error)).next();
            unreachable(why.unwrap_or_else(|| "no transport for this address".into()))
        }
        other => unreachable(other.to_string()),
    }
}

/// The first cause of an error, which says more than what was made of it on the way.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

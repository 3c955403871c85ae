//! The network of overlays in memory: who is connected with whom, and what is on its way.
//!
//! Promises: one order of events for each member. A message is lost by chance, by a silent link or because
//! its receiver does not read; that a peer came or went is never lost. It has no time of its own.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use agentsite_protocol::{Clock, Rng as _, Timestamp};
use futures::FutureExt as _;
use futures::channel::oneshot;
use sha2::{Digest as _, Sha256};

use super::Weather;
use super::pipe::Connection;
use crate::overlay::{GossipTicket, OverlayEvent};
use crate::record::RecordId;
use crate::site_id::SiteId;
use crate::story::SeededRng;
use crate::wire::Message;

/// Events that wait for a member that does not read; further messages are lost.
const INBOX: usize = 4_096;

/// A connection between two members.
#[derive(Debug)]
struct Link {
    since: Timestamp,
    /// Dropped with the link, which ends its streams.
    _guard: oneshot::Sender<()>,
    connection: Connection,
}

/// Gossip that waits for its verdict.
#[derive(Debug)]
pub(super) struct Unjudged {
    pub(super) from: SiteId,
    bytes: Arc<[u8]>,
}

/// A member of the network.
#[derive(Debug, Default)]
pub(super) struct Member {
    /// What happened, each with the time at which it arrives.
    pub(super) inbox: VecDeque<(Duration, OverlayEvent)>,
    pub(super) reader: Option<Waker>,
    pub(super) bans: BTreeMap<SiteId, Timestamp>,
    pub(super) unjudged: BTreeMap<Vec<u8>, Unjudged>,
    /// Gossip that came before.
    seen: BTreeSet<Vec<u8>>,
    /// Records that came by gossip.
    pub(super) gossiped: BTreeSet<RecordId>,
    pub(super) scores: BTreeMap<SiteId, f64>,
    /// Bytes from and to each peer.
    pub(super) bytes: BTreeMap<SiteId, (u64, u64)>,
}

/// What the members share.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) weather: Weather,
    rng: SeededRng,
    pub(super) members: BTreeMap<SiteId, Member>,
    /// By its ends, the lesser one first.
    links: BTreeMap<(SiteId, SiteId), Link>,
    /// Pairs that cannot connect.
    cut: BTreeSet<(SiteId, SiteId)>,
    /// From and to: what is sent vanishes.
    silent: BTreeSet<(SiteId, SiteId)>,
    /// Everything that was sent, once a test asked for it.
    pub(super) sent: Option<Vec<SentBytes>>,
    /// Whether sites have addresses of different networks.
    pub(super) has_addresses: bool,
}

/// What one member sent to another: from, to, and the bytes.
pub type SentBytes = (SiteId, SiteId, Vec<u8>);

impl Network {
    pub(super) fn new(clock: Arc<dyn Clock>, weather: Weather) -> Self {
        Self {
            clock,
            rng: SeededRng::new(weather.seed),
            weather,
            members: BTreeMap::new(),
            links: BTreeMap::new(),
            cut: BTreeSet::new(),
            silent: BTreeSet::new(),
            sent: None,
            has_addresses: false,
        }
    }

    /// Connects two members, unless they are connected. False when they cannot be.
    pub(super) fn connect(&mut self, one: SiteId, other: SiteId) -> bool {
        let ends = pair(one, other);
        let now = self.clock.now();
        let refuses = |network: &Self, site: SiteId, peer: SiteId| {
            network
                .members
                .get(&site)
                .is_none_or(|member| member.bans.get(&peer).is_some_and(|until| now < *until))
        };
        if one == other || self.cut.contains(&ends) || refuses(self, one, other) || refuses(self, other, one)
        {
            return false;
        }
        if let Entry::Vacant(place) = self.links.entry(ends) {
            let (guard, end) = oneshot::channel();
            place.insert(Link { since: now, _guard: guard, connection: end.shared() });
            self.tell(one, OverlayEvent::Connected { peer: other });
            self.tell(other, OverlayEvent::Connected { peer: one });
        }
        true
    }

    /// Ends the connection of two members.
    pub(super) fn disconnect(&mut self, one: SiteId, other: SiteId) {
        if self.links.remove(&pair(one, other)).is_some() {
            self.tell(one, OverlayEvent::Gone { peer: other });
            self.tell(other, OverlayEvent::Gone { peer: one });
        }
    }

    /// Ends the connection of two members, and keeps them from connecting.
    pub(super) fn cut(&mut self, one: SiteId, other: SiteId) {
        self.cut.insert(pair(one, other));
        self.disconnect(one, other);
    }

    /// Lets everything vanish that goes from one member to the other.
    pub(super) fn silence(&mut self, from: SiteId, to: SiteId) {
        self.silent.insert((from, to));
    }

    /// Undoes [`Self::cut`] and [`Self::silence`] between two members.
    pub(super) fn heal(&mut self, one: SiteId, other: SiteId) {
        self.cut.remove(&pair(one, other));
        self.silent.remove(&(one, other));
        self.silent.remove(&(other, one));
    }

    /// The connected peers of a member, each with the time since when.
    pub(super) fn peers(&self, site: SiteId) -> Vec<(SiteId, Timestamp)> {
        let other = |(one, other): &(SiteId, SiteId)| match (*one == site, *other == site) {
            (true, _) => Some(*other),
            (_, true) => Some(*one),
            _ => None,
        };
        self.links.iter().filter_map(|(ends, link)| Some((other(ends)?, link.since))).collect()
    }

    /// The connection of two members.
    pub(super) fn connection(&self, one: SiteId, other: SiteId) -> Option<Connection> {
        self.links.get(&pair(one, other)).map(|link| link.connection.clone())
    }

    /// Sends a message over a connection; without one it is lost.
    pub(super) fn send(&mut self, from: SiteId, to: SiteId, bytes: &[u8]) {
        if !self.passes(from, to, bytes) {
            return;
        }
        let event = match Message::decode(bytes) {
            Ok(message) => OverlayEvent::Received { peer: from, message },
            Err(_) => OverlayEvent::Unreadable { peer: from },
        };
        self.deliver(to, event);
    }

    /// Sends gossip to all neighbours but one.
    pub(super) fn spread(&mut self, from: SiteId, but: Option<SiteId>, bytes: &Arc<[u8]>) {
        if let Some(member) = self.members.get_mut(&from) {
            member.seen.insert(Sha256::digest(bytes).to_vec());
        }
        for (to, _) in self.peers(from) {
            if Some(to) != but && self.passes(from, to, bytes) {
                self.gossip(from, to, bytes);
            }
        }
    }

    fn gossip(&mut self, from: SiteId, to: SiteId, bytes: &Arc<[u8]>) {
        let id = Sha256::digest(bytes).to_vec();
        let Some(member) = self.members.get_mut(&to) else { return };
        if !member.seen.insert(id.clone()) {
            return;
        }
        let event = match Message::decode(bytes) {
            Ok(message @ Message::Push(_)) => {
                if let Message::Push(batch) = &message {
                    member.gossiped.extend(batch.records.iter().map(crate::record::Candidate::id));
                }
                member.unjudged.insert(id.clone(), Unjudged { from, bytes: bytes.clone() });
                OverlayEvent::Gossip { peer: from, message, ticket: GossipTicket(id) }
            }
            _ => OverlayEvent::Unreadable { peer: from },
        };
        self.deliver(to, event);
    }

    /// Passes gossip on that was accepted.
    pub(super) fn pass_on(&mut self, site: SiteId, gossip: &Unjudged) {
        self.spread(site, Some(gossip.from), &gossip.bytes);
    }

    /// Whether something that is sent now arrives; counts its bytes.
    fn passes(&mut self, from: SiteId, to: SiteId, bytes: &[u8]) -> bool {
        if !self.links.contains_key(&pair(from, to)) {
            return false;
        }
        if let Some(sent) = &mut self.sent {
            sent.push((from, to, bytes.to_vec()));
        }
        let length = bytes.len() as u64;
        if let Some(member) = self.members.get_mut(&from) {
            member.bytes.entry(to).or_default().1 += length;
        }
        let is_lost = self.random(100) < u64::from(self.weather.loss_percent);
        if is_lost || self.silent.contains(&(from, to)) {
            return false;
        }
        if let Some(member) = self.members.get_mut(&to) {
            member.bytes.entry(from).or_default().0 += length;
        }
        true
    }

    /// A message arrives, unless its receiver has not read for long.
    fn deliver(&mut self, to: SiteId, event: OverlayEvent) {
        if self.members.get(&to).is_some_and(|member| member.inbox.len() < INBOX) {
            self.tell(to, event);
        }
    }

    pub(super) fn tell(&mut self, site: SiteId, event: OverlayEvent) {
        let (least, most) = (self.weather.delay.start().as_millis(), self.weather.delay.end().as_millis());
        let spread = u64::try_from(most.saturating_sub(least)).unwrap_or(u64::MAX).saturating_add(1);
        let delay = *self.weather.delay.start() + Duration::from_millis(self.random(spread));
        let at = self.clock.elapsed() + delay;
        if let Some(member) = self.members.get_mut(&site) {
            // What was sent first arrives first, as on one connection.
            let at = member.inbox.back().map_or(at, |(before, _)| at.max(*before));
            member.inbox.push_back((at, event));
            if let Some(reader) = member.reader.take() {
                reader.wake();
            }
        }
    }

    fn random(&self, below: u64) -> u64 {
        let bytes = self.rng.bytes16();
        u64::from_le_bytes(bytes[..8].try_into().expect("sixteen bytes have eight")) % below.max(1)
    }
}

fn pair(one: SiteId, other: SiteId) -> (SiteId, SiteId) {
    (one.min(other), one.max(other))
}

//! Peers: who is connected, how much each may send, and who is no longer listened to.
//!
//! Promises: what one peer can cost is bounded by its own rates, whatever the others do. Offences add up to a
//! ban and are forgotten with time. A ban holds across connections. It does not use addresses: how many peers
//! may come from one network is decided where connections are accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use agentsite_protocol::Timestamp;

use super::{Catalogue, Effect, Offence, Turn};
use crate::record::RecordId;
use crate::site_id::SiteId;

/// From how many points on a peer is banned.
const BAN_POINTS: u32 = 100;
/// How long a ban holds: long enough to make trying again pointless, short enough to forgive a mended bug.
const BAN_FOR: Duration = Duration::from_secs(60 * 60);
/// After how long half of the points are forgotten.
const HALF_LIFE: Duration = Duration::from_secs(10 * 60);
/// Most bans that are remembered; the one that ends first makes room.
pub(super) const MAX_BANS: usize = 1_024;

/// How many records too many are one offence.
const FLOOD: usize = 1_000;

/// A token bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    /// What is left, in units of 1/60,000 of a token: a rate per minute refills it by itself each
    /// millisecond.
    level: u64,
    at: Timestamp,
}

impl Bucket {
    const TOKEN: u64 = 60_000;

    pub(super) fn full(burst: u32, now: Timestamp) -> Self {
        Self { level: u64::from(burst) * Self::TOKEN, at: now }
    }

    /// Takes tokens if there are so many.
    pub(super) fn take(&mut self, tokens: usize, per_minute: u32, burst: u32, now: Timestamp) -> bool {
        let passed = u64::try_from(now.since(self.at).as_millis()).unwrap_or(u64::MAX);
        let refilled = self.level.saturating_add(passed.saturating_mul(u64::from(per_minute)));
        self.level = refilled.min(u64::from(burst) * Self::TOKEN);
        self.at = now;
        match self.level.checked_sub(tokens as u64 * Self::TOKEN) {
            Some(rest) => {
                self.level = rest;
                true
            }
            None => false,
        }
    }
}

/// What is known of a connected peer.
#[derive(Debug)]
pub(super) struct Peer {
    /// Records that it may push.
    pub(super) pushes: Bucket,
    /// Frames that it may ask about.
    pub(super) queries: Bucket,
    /// Records that it may ask for.
    pub(super) gives: Bucket,
    /// Records that we asked it for in our session and did not get yet.
    pub(super) wanted: BTreeSet<RecordId>,
    /// Records that it offered, that we asked for and did not get yet.
    pub(super) accepted: BTreeSet<RecordId>,
    /// What it sent or asked for beyond its rates, in records.
    excess: usize,
    points: u32,
    points_at: Timestamp,
}

/// The connected peers, and the banned ones.
#[derive(Debug, Default)]
pub(super) struct Peers {
    connected: BTreeMap<SiteId, Peer>,
    bans: BTreeMap<SiteId, Timestamp>,
}

impl Peers {
    pub(super) fn is_empty(&self) -> bool {
        self.connected.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.connected.len()
    }

    pub(super) fn bans(&self) -> usize {
        self.bans.len()
    }

    pub(super) fn get_mut(&mut self, peer: &SiteId) -> Option<&mut Peer> {
        self.connected.get_mut(peer)
    }

    /// The peer at a place in the order of ids; a random number may be given.
    pub(super) fn pick(&self, number: u64) -> Option<SiteId> {
        let place = number.checked_rem(self.connected.len() as u64)?;
        self.connected.keys().nth(usize::try_from(place).ok()?).copied()
    }

    /// Some different peers; `random` gives random numbers.
    pub(super) fn some(&self, count: usize, mut random: impl FnMut() -> u64) -> Vec<SiteId> {
        let mut peers: Vec<SiteId> = self.connected.keys().copied().collect();
        for place in 0..count.min(peers.len()) {
            let rest = (peers.len() - place) as u64;
            peers.swap(place, place + usize::try_from(random() % rest).unwrap_or(0));
        }
        peers.truncate(count);
        peers
    }

    fn ban(&mut self, peer: SiteId, until: Timestamp) {
        self.connected.remove(&peer);
        self.bans.insert(peer, until);
        if self.bans.len() > MAX_BANS {
            let first = self.bans.iter().min_by_key(|(_, until)| **until).map(|(peer, _)| *peer);
            first.map(|peer| self.bans.remove(&peer));
        }
    }
}

impl Catalogue {
    pub(super) fn peer_connected(&mut self, peer: SiteId, turn: &mut Turn<'_>) {
        let now = turn.now();
        let banned_until = self.peers.bans.get(&peer).copied().filter(|until| now < *until);
        let is_new = !self.peers.connected.contains_key(&peer);
        let is_full = is_new && self.peers.len() >= self.limits.peers;
        if peer == self.site() || banned_until.is_some() || is_full {
            return turn.push(Effect::Disconnect { peer, banned_until });
        }
        self.peers.bans.remove(&peer);
        if is_new {
            let limits = &self.limits;
            let state = Peer {
                pushes: Bucket::full(limits.push_burst, now),
                queries: Bucket::full(limits.queries_per_minute, now),
                gives: Bucket::full(limits.give_burst, now),
                wanted: BTreeSet::new(),
                accepted: BTreeSet::new(),
                excess: 0,
                points: 0,
                points_at: now,
            };
            self.peers.connected.insert(peer, state);
            self.sync_with_new_peer(peer, turn);
        }
    }

    pub(super) fn peer_gone(&mut self, peer: &SiteId) {
        self.peers.connected.remove(peer);
        if self.session.as_ref().is_some_and(|session| session.peer == *peer) {
            self.session = None;
        }
    }

    /// Counts what a peer sent or asked for beyond its rates.
    pub(super) fn count_excess(&mut self, peer: SiteId, records: usize, turn: &mut Turn<'_>) {
        let Some(state) = self.peers.get_mut(&peer) else { return };
        state.excess += records;
        let floods = state.excess / FLOOD;
        state.excess %= FLOOD;
        for _ in 0..floods {
            self.punish(peer, Offence::Flood, turn);
        }
    }

    /// Counts an offence; enough of them end the connection.
    pub(super) fn punish(&mut self, peer: SiteId, offence: Offence, turn: &mut Turn<'_>) {
        let now = turn.now();
        let Some(state) = self.peers.get_mut(&peer) else { return };
        let halvings = now.since(state.points_at).as_millis() / HALF_LIFE.as_millis();
        if halvings > 0 {
            state.points = state.points.checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0);
            state.points_at = now;
        }
        state.points += offence.points();
        let is_banned = state.points >= BAN_POINTS;
        turn.push(Effect::Score { peer, offence });
        if is_banned {
            let until = now.plus(BAN_FOR);
            self.peer_gone(&peer);
            self.peers.ban(peer, until);
            turn.push(Effect::Disconnect { peer, banned_until: Some(until) });
        }
    }
}

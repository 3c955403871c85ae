//! The catalogue: a site's copy of what all sites say, and the rules by which copies become equal.
//!
//! A pure state machine. [`Catalogue::apply`] takes what happened, the time and a source of randomness, and
//! gives what is to be done, in order. A driver stores before it sends: an [`Effect::Store`] must be on disk
//! before the effects after it leave the site.
//!
//! Invariants, which [`Catalogue::audit`] checks:
//! 1. Every record held was signed by the site that it names. (The type [`Record`] keeps this.)
//! 2. There is one record for each subject of a site: the one with the highest number, and among equal
//!    numbers the one with the highest id.
//! 3. The set that is reconciled is exactly the set of records held.
//! 4. No limit of [`Limits`] is exceeded after any input.
//! 5. An agent is listed only while its own record and the lease of its site hold; the site's own agents are
//!    never listed, because the site knows them already.
//! 6. What this site publishes is held, whatever others send.
//!
//! Two catalogues that took in the same records, in whatever order and however often, hold the same: also
//! when a limit was reached, because what goes is decided by what a record is and not by when it came.

mod admission;
mod audit;
mod event;
mod expiry;
mod follow_up;
mod holdings;
mod own;
mod peers;
mod saved;
mod session;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentsite_protocol::{AgentName, BadKey, Rng, SigningKey, Timestamp};

use self::admission::Refused;
use self::follow_up::FollowUp;
use self::holdings::Holdings;
use self::own::Own;
use self::peers::{Bucket, Peers};
use self::session::Session;
use crate::limits::Limits;
use crate::record::{Record, RecordKey, Subject};
use crate::site_id::SiteId;
use crate::work::Work;

pub use event::{Effect, Input, Moment, Offence, Proof, Withdrawal};
pub use saved::Saved;

/// Who this site is: its key, and the work done for it.
#[derive(Debug, Clone)]
pub struct Identity {
    key: SigningKey,
    site: SiteId,
    work: Work,
}

impl Identity {
    /// Takes the key of a site and the nonce that proves its work.
    ///
    /// # Errors
    /// [`BadKey::Kind`] when the key is not Ed25519.
    pub fn new(key: SigningKey, nonce: u64) -> Result<Self, BadKey> {
        let site = SiteId::of(&key.public())?;
        Ok(Self { key, site, work: Work::of(&site, nonce) })
    }
}

/// A site's copy of what all sites say.
#[derive(Debug)]
pub struct Catalogue {
    identity: Identity,
    limits: Limits,
    holdings: Holdings,
    /// What this site publishes.
    own: Own,
    /// Foreign agents that can be found at present.
    listed: BTreeSet<RecordKey>,
    peers: Peers,
    /// The session that this site began, if one is in progress.
    session: Option<Session>,
    /// Whether a session was ever completed: until then, every new peer is asked.
    synced: bool,
    next_sync: Timestamp,
    /// News that is offered once more.
    follow_up: FollowUp,
    refused: Refused,
    /// How often each site may change its records.
    changes: BTreeMap<SiteId, Bucket>,
    proofs: BTreeMap<SiteId, Proof>,
    /// When the driver was last asked to wake us.
    wake: Option<Timestamp>,
}

impl Catalogue {
    /// An empty catalogue of this site.
    #[must_use]
    pub fn new(identity: Identity, limits: Limits) -> Self {
        Self {
            identity,
            limits,
            holdings: Holdings::default(),
            own: Own::default(),
            listed: BTreeSet::new(),
            peers: Peers::default(),
            session: None,
            synced: false,
            next_sync: Timestamp::from_millis(i64::MIN),
            follow_up: FollowUp::default(),
            refused: Refused::default(),
            changes: BTreeMap::new(),
            proofs: BTreeMap::new(),
            wake: None,
        }
    }

    /// Takes in what happened and gives what is to be done, in order.
    pub fn apply(&mut self, input: Input, moment: Moment, rng: &dyn Rng) -> Vec<Effect> {
        let mut turn = Turn { moment, rng, effects: Vec::new() };
        match input {
            Input::Connected { peer } => self.peer_connected(peer, &mut turn),
            Input::Gone { peer } => self.peer_gone(&peer),
            Input::Received { peer, message } => self.message(peer, message, &mut turn),
            Input::Unreadable { peer } => self.punish(peer, Offence::Unreadable, &mut turn),
            Input::Publish { name, profile } => self.publish(name, profile, &mut turn),
            Input::Unpublish { name } => self.unpublish(name, &mut turn),
            Input::Describe(about) => self.describe(about, &mut turn),
            Input::Endorse { cell, split } => self.endorse(cell, split, &mut turn),
            Input::Parted(parted) => self.holdings.part(parted),
            Input::Placed(records) => self.place(records, &mut turn),
            Input::Evict(keys) => self.evict(&keys, &mut turn),
            Input::Misled { peer } => self.punish(peer, Offence::WrongVector, &mut turn),
            Input::Retire => self.retire(&mut turn),
            Input::Tick => {
                self.wake = None;
                self.renew_own(&mut turn);
                self.expire(&mut turn);
                self.offer_news(&mut turn);
                self.tick_session(&mut turn);
            }
        }
        self.schedule(&mut turn);
        turn.effects
    }

    /// This site.
    #[must_use]
    pub const fn site(&self) -> SiteId {
        self.identity.site
    }

    /// How many records are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.holdings.len()
    }

    /// Whether no record is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The current record about a subject.
    #[must_use]
    pub fn get(&self, key: &RecordKey) -> Option<&Arc<Record>> {
        self.holdings.get(key)
    }

    /// All records held, ordered by site and subject.
    pub fn records(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.holdings.iter()
    }

    /// Whether a foreign agent can be found at present.
    #[must_use]
    pub fn lists(&self, key: &RecordKey) -> bool {
        self.listed.contains(key)
    }

    /// The foreign agents that can be found at present.
    pub fn listed(&self) -> impl Iterator<Item = &RecordKey> {
        self.listed.iter()
    }

    /// The agents that this site publishes.
    pub fn published(&self) -> impl Iterator<Item = &AgentName> {
        self.own.bodies.keys().filter_map(|subject| match subject {
            Subject::Agent(name) => Some(name),
            _ => None,
        })
    }

    /// The proofs that a site signed two versions with one number.
    pub fn proofs(&self) -> impl Iterator<Item = &Proof> {
        self.proofs.values()
    }

    /// A short value that two catalogues have in common exactly when they hold the same records.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 16] {
        self.holdings.fingerprint()
    }

    /// Asks the driver to wake us when something is due.
    fn schedule(&mut self, turn: &mut Turn<'_>) {
        let session = self.session.as_ref().map(|session| session.deadline);
        let sync = (self.session.is_none() && !self.peers.is_empty()).then_some(self.next_sync);
        let expiry = self.holdings.first_deadline().map(|deadline| {
            // What the settled time keeps is looked at again after a while.
            if deadline <= turn.now() { turn.now().plus(crate::limits::CLOCK_SLACK) } else { deadline }
        });
        let due = [session, sync, expiry, self.own.due(), self.follow_up.due()].into_iter().flatten().min();
        if due != self.wake {
            self.wake = due;
            turn.effects.extend(due.map(Effect::WakeAt));
        }
    }
}

/// One call of [`Catalogue::apply`]: the time, the randomness, and the effects so far.
struct Turn<'a> {
    moment: Moment,
    rng: &'a dyn Rng,
    effects: Vec<Effect>,
}

impl Turn<'_> {
    const fn now(&self) -> Timestamp {
        self.moment.now
    }

    fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// A random number.
    fn random(&self) -> u64 {
        let bytes = self.rng.bytes16();
        u64::from_le_bytes(bytes[..8].try_into().expect("sixteen bytes have eight"))
    }

    /// A duration that differs from the given one by up to a fifth, so that sites do not act together.
    fn jittered(&self, duration: std::time::Duration) -> std::time::Duration {
        let share = u32::try_from(self.random() % 401).expect("below 401") + 800;
        duration * share / 1_000
    }
}

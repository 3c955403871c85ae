//! The catalogue of the mesh as a node: the pure machine with a simple overlay in place of its driver.
//!
//! New records are pushed to a few random neighbours in batches; everything else is the catalogue itself. The
//! overlay represents gossipsub, which the driver of the product will use: it says nothing about its costs.

mod hostile;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::catalogue::{Effect, Identity, Input, Moment, Saved};
use agentsite_mesh::story::{Site, at};
use agentsite_mesh::{Catalogue, Limits, Message, Record, RecordKey, SiteId, batches};
use agentsite_protocol::Timestamp;

use crate::node::{Context, Event, Node, NodeId};

pub use hostile::Hostile;
pub use world::{Setting, World};

/// To how many neighbours a new record is pushed. Five reach 99.3 % at random, and sessions the rest.
const FAN_OUT: usize = 5;

/// How long new records are collected before they are pushed together.
const BATCH_DELAY: Duration = Duration::from_millis(20);

/// What nodes send each other.
#[derive(Debug, Clone)]
pub enum Transmission {
    /// A message as a value: what this process made is not decoded or verified again. For large runs.
    Value(Arc<Message>),
    /// A message as bytes, as on a real wire.
    Bytes(Arc<[u8]>),
}

/// What a scenario tells a node to do.
#[derive(Debug)]
pub enum Command {
    /// Something happens to its catalogue.
    Apply(Input),
    /// It sends these bytes to all its neighbours; only hostile nodes do.
    Send(Vec<Vec<u8>>),
}

/// What a node did and saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Sessions that it began and completed.
    pub sessions: u64,
    /// Offences of its peers.
    pub offences: u64,
    /// Peers that it banned.
    pub bans: u64,
    /// Contradictions that it proved.
    pub proofs: u64,
}

/// A catalogue that takes part in a simulation.
#[derive(Debug)]
pub struct CatalogueNode {
    catalogue: Catalogue,
    site: Site,
    limits: Limits,
    /// Which site each node is; nodes are added in this order.
    directory: Arc<Vec<SiteId>>,
    numbers: Arc<BTreeMap<SiteId, NodeId>>,
    neighbours: BTreeSet<NodeId>,
    /// Records to push, each with the neighbour that it came from.
    outgoing: Vec<(Arc<Record>, Option<NodeId>)>,
    push_at: Option<Duration>,
    wake: Option<Duration>,
    /// How far its clock is ahead, in milliseconds.
    clock_ahead: i64,
    /// What is on its disk.
    disk: BTreeMap<RecordKey, Arc<Record>>,
    as_bytes: bool,
    audits: bool,
    tally: Tally,
}

impl CatalogueNode {
    /// The catalogue.
    #[must_use]
    pub const fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// What it did and saw.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// The time by its own clock.
    fn time(&self, now: Duration) -> Timestamp {
        let millis = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(at(0).as_millis() + millis + self.clock_ahead)
    }

    /// The time of the simulation at a time by its own clock.
    fn moment_of(&self, time: Timestamp) -> Duration {
        let millis = time.as_millis() - at(0).as_millis() - self.clock_ahead;
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    /// The node after a restart: everything but the disk is lost.
    #[must_use]
    pub fn restarted(mut self, now: Duration, stopped_at: Duration, dice: &crate::Dice) -> Self {
        let records = self.disk.values().map(|record| record.bytes().to_vec()).collect();
        let saved = Saved { at: self.time(stopped_at), records };
        let identity =
            Identity::new(self.site.key.clone(), self.site.work.nonce).expect("the key is Ed25519");
        let moment = Moment::exact(self.time(now));
        let (catalogue, effects) = Catalogue::restore(identity, self.limits, &saved, moment, dice);
        self.catalogue = catalogue;
        (self.neighbours, self.outgoing, self.push_at, self.wake) = (BTreeSet::new(), Vec::new(), None, None);
        for effect in effects {
            match effect {
                Effect::Forward { record, .. } => self.outgoing.push((record, None)),
                Effect::Store(record) => drop(self.disk.insert(record.key().clone(), record)),
                Effect::Remove(key) => drop(self.disk.remove(&key)),
                Effect::WakeAt(time) => self.wake = Some(self.moment_of(time)),
                _ => {}
            }
        }
        self
    }

    fn apply(&mut self, input: Input, context: &mut Context<'_, Transmission>) {
        let moment = Moment::exact(self.time(context.now));
        for effect in self.catalogue.apply(input, moment, context.dice) {
            self.act(effect, context);
        }
    }

    fn act(&mut self, effect: Effect, context: &mut Context<'_, Transmission>) {
        match effect {
            Effect::Store(record) => drop(self.disk.insert(record.key().clone(), record)),
            Effect::Remove(key) => drop(self.disk.remove(&key)),
            Effect::Forward { record, from } => {
                self.outgoing.push((record, from.and_then(|site| self.numbers.get(&site).copied())));
                self.push_at.get_or_insert(context.now + BATCH_DELAY);
            }
            Effect::Send { peer, message } => {
                if let Some(number) = self.numbers.get(&peer) {
                    context.send(*number, self.transmission(message));
                }
            }
            Effect::Disconnect { peer, banned_until } => {
                self.tally.bans += u64::from(banned_until.is_some());
                if let Some(number) = self.numbers.get(&peer) {
                    context.disconnect(*number);
                }
            }
            Effect::Score { .. } => self.tally.offences += 1,
            Effect::Synced { .. } => self.tally.sessions += 1,
            Effect::Contradiction(_) => self.tally.proofs += 1,
            Effect::WakeAt(time) => self.wake = Some(self.moment_of(time)),
            Effect::Upsert(_)
            | Effect::Withdraw { .. }
            | Effect::OwnKeyElsewhere(_)
            | Effect::Unsigned { .. } => {}
        }
    }

    fn transmission(&self, message: Message) -> Transmission {
        if self.as_bytes {
            Transmission::Bytes(message.encode().into())
        } else {
            Transmission::Value(Arc::new(message))
        }
    }

    /// Pushes what was collected to a few neighbours, to none what came from it.
    fn push(&mut self, context: &mut Context<'_, Transmission>) {
        let neighbours: Vec<NodeId> = self.neighbours.iter().copied().collect();
        let outgoing = std::mem::take(&mut self.outgoing);
        for to in context.dice.pick(&neighbours, FAN_OUT) {
            let news = outgoing.iter().filter(|(_, from)| *from != Some(to));
            for batch in batches(news.map(|(record, _)| record.clone()).collect()) {
                context.send(to, self.transmission(Message::Push(batch)));
            }
        }
    }

    fn received(&mut self, from: NodeId, message: Transmission, context: &mut Context<'_, Transmission>) {
        let peer = self.directory[from.0];
        let message = match message {
            Transmission::Value(message) => Ok(Arc::unwrap_or_clone(message)),
            Transmission::Bytes(bytes) => Message::decode(&bytes),
        };
        let input = message.map_or(Input::Unreadable { peer }, |message| Input::Received { peer, message });
        self.apply(input, context);
    }

    fn handle(&mut self, event: Event<Transmission, Command>, context: &mut Context<'_, Transmission>) {
        match event {
            Event::Started if !self.outgoing.is_empty() => self.push_at = Some(context.now + BATCH_DELAY),
            Event::Started => {}
            Event::Connected(other) => {
                self.neighbours.insert(other);
                self.apply(Input::Connected { peer: self.directory[other.0] }, context);
            }
            Event::Disconnected(other) => {
                self.neighbours.remove(&other);
                self.apply(Input::Gone { peer: self.directory[other.0] }, context);
            }
            Event::Received { from, message } => self.received(from, message, context),
            Event::Command(Command::Apply(input)) => self.apply(input, context),
            Event::Command(Command::Send(_)) => {}
            Event::Woken => {}
        }
        if self.push_at.is_some_and(|at| at <= context.now) {
            self.push_at = None;
            self.push(context);
        }
        if self.wake.is_some_and(|at| at <= context.now) {
            self.wake = None;
            self.apply(Input::Tick, context);
        }
        if let Some(at) = [self.push_at, self.wake].into_iter().flatten().min() {
            context.wake_at(at);
        }
    }
}

/// A node of the mesh: an honest one, or one that sends what it likes.
#[derive(Debug)]
pub enum MeshNode {
    /// It follows the protocol.
    Honest(Box<CatalogueNode>),
    /// It does not.
    Hostile(Hostile),
}

impl Node for MeshNode {
    type Message = Transmission;
    type Command = Command;

    fn handle(&mut self, event: Event<Transmission, Command>, context: &mut Context<'_, Transmission>) {
        match self {
            Self::Honest(node) => node.handle(event, context),
            Self::Hostile(node) => node.handle(event, context),
        }
    }

    fn size(message: &Transmission) -> usize {
        match message {
            Transmission::Value(message) => message.encoded_len(),
            Transmission::Bytes(bytes) => bytes.len(),
        }
    }

    fn check(&self) -> Result<(), String> {
        match self {
            Self::Honest(node) if node.audits => node.catalogue.audit(),
            Self::Honest(node) => node.catalogue.within_limits(),
            Self::Hostile(_) => Ok(()),
        }
    }
}

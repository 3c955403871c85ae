//! The simulation: a queue of what happens next, in virtual time.
//!
//! Promises: events happen in the order of their time, and those of one time in the order in which they were
//! caused, so a seed determines the whole run. A stopped node gets nothing and sends nothing; its neighbours
//! notice only when the scenario says so, because a dead machine does not say goodbye.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

use crate::dice::Dice;
use crate::network::Network;
use crate::node::{Context, Event, Node, NodeId};

/// What one node sent and received, lost messages counted as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes that it sent.
    pub sent: u64,
    /// Bytes that it received.
    pub received: u64,
    /// Messages that it received.
    pub messages: u64,
}

/// What happens to which node.
struct Due<M, C> {
    node: NodeId,
    event: Event<M, C>,
}

/// One node and what the simulation knows of it.
struct Slot<N> {
    /// None while it is stopped.
    node: Option<N>,
    /// When it is woken; a queued wake-up of another time is stale.
    wake: Option<Duration>,
    neighbours: BTreeSet<NodeId>,
    traffic: Traffic,
}

/// Nodes, the network between them, and what happens next.
pub struct Simulation<N: Node> {
    seed: u64,
    now: Duration,
    steps: u64,
    dice: Dice,
    /// When and in which order; what is in `due`.
    queue: BinaryHeap<Reverse<(Duration, u64)>>,
    due: BTreeMap<u64, Due<N::Message, N::Command>>,
    next: u64,
    slots: Vec<Slot<N>>,
    /// The links between the nodes; a scenario changes it at any time.
    pub network: Network,
    /// Whether every node reaches every other, as by dialling it, and not only its neighbours.
    pub reaches_all: bool,
}

impl<N: Node> std::fmt::Debug for Simulation<N> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "seed {}, step {}, {:?}, {} nodes", self.seed, self.steps, self.now, self.slots.len())
    }
}

impl<N: Node> Simulation<N> {
    /// An empty simulation.
    #[must_use]
    pub fn new(seed: u64, network: Network) -> Self {
        Self {
            seed,
            now: Duration::ZERO,
            steps: 0,
            dice: Dice::new(seed),
            queue: BinaryHeap::new(),
            due: BTreeMap::new(),
            next: 0,
            slots: Vec::new(),
            network,
            reaches_all: false,
        }
    }

    /// The time since it began.
    #[must_use]
    pub const fn now(&self) -> Duration {
        self.now
    }

    /// How many events have happened.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// The randomness of the run, for scenarios.
    #[must_use]
    pub const fn dice(&self) -> &Dice {
        &self.dice
    }

    /// Adds a node, which starts now.
    pub fn add(&mut self, node: N) -> NodeId {
        let id = NodeId(self.slots.len());
        let slot =
            Slot { node: Some(node), wake: None, neighbours: BTreeSet::new(), traffic: Traffic::default() };
        self.slots.push(slot);
        self.enqueue(self.now, id, Event::Started);
        id
    }

    /// The nodes that run.
    pub fn running(&self) -> impl Iterator<Item = (NodeId, &N)> {
        let nodes = self.slots.iter().enumerate();
        nodes.filter_map(|(place, slot)| Some((NodeId(place), slot.node.as_ref()?)))
    }

    /// Whether a node runs.
    #[must_use]
    pub fn is_running(&self, id: NodeId) -> bool {
        self.slots[id.0].node.is_some()
    }

    /// A node that runs.
    ///
    /// # Panics
    /// When it is stopped: a scenario knows which ones are.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &N {
        self.slots[id.0].node.as_ref().expect("the scenario asks for a node that runs")
    }

    /// What a node sent and received since it was added.
    #[must_use]
    pub fn traffic(&self, id: NodeId) -> Traffic {
        self.slots[id.0].traffic
    }

    /// What all nodes sent and received.
    #[must_use]
    pub fn total_traffic(&self) -> Traffic {
        self.slots.iter().map(|slot| slot.traffic).fold(Traffic::default(), |sum, one| Traffic {
            sent: sum.sent + one.sent,
            received: sum.received + one.received,
            messages: sum.messages + one.messages,
        })
    }

    /// The nodes that a node has a connection with.
    #[must_use]
    pub fn neighbours(&self, id: NodeId) -> Vec<NodeId> {
        self.slots[id.0].neighbours.iter().copied().collect()
    }

    /// Connects two nodes.
    pub fn connect(&mut self, one: NodeId, other: NodeId) {
        if one != other && self.slots[one.0].neighbours.insert(other) {
            self.slots[other.0].neighbours.insert(one);
            self.enqueue(self.now, one, Event::Connected(other));
            self.enqueue(self.now, other, Event::Connected(one));
        }
    }

    /// Ends the connection of two nodes; both notice.
    pub fn disconnect(&mut self, one: NodeId, other: NodeId) {
        if self.slots[one.0].neighbours.remove(&other) {
            self.slots[other.0].neighbours.remove(&one);
            self.enqueue(self.now, one, Event::Disconnected(other));
            self.enqueue(self.now, other, Event::Disconnected(one));
        }
    }

    /// Tells a node to do something, now.
    pub fn command(&mut self, id: NodeId, command: N::Command) {
        self.enqueue(self.now, id, Event::Command(command));
    }

    /// Stops a node without a word and gives it back. Its connections stay for the others.
    pub fn stop(&mut self, id: NodeId) -> Option<N> {
        self.slots[id.0].wake = None;
        self.slots[id.0].node.take()
    }

    /// Lets a stopped node run again; its connections are new ones, for both ends.
    pub fn restart(&mut self, id: NodeId, node: N) {
        self.slots[id.0].node = Some(node);
        self.enqueue(self.now, id, Event::Started);
        for other in self.neighbours(id) {
            self.disconnect(id, other);
            self.connect(id, other);
        }
    }

    /// Runs until this time.
    pub fn run_until(&mut self, end: Duration) {
        while self.queue.peek().is_some_and(|Reverse((at, _))| *at <= end) {
            self.step();
        }
        self.now = self.now.max(end);
    }

    /// Runs for this long.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Runs until something is true, looking every `interval`, and says when it was; none when it did not
    /// become true within `most`.
    pub fn run_to(
        &mut self,
        interval: Duration,
        most: Duration,
        mut is_true: impl FnMut(&Self) -> bool,
    ) -> Option<Duration> {
        let begun = self.now;
        loop {
            if is_true(self) {
                return Some(self.now - begun);
            }
            if self.now - begun >= most {
                return None;
            }
            self.run_for(interval);
        }
    }

    fn enqueue(&mut self, at: Duration, node: NodeId, event: Event<N::Message, N::Command>) {
        self.queue.push(Reverse((at, self.next)));
        self.due.insert(self.next, Due { node, event });
        self.next += 1;
    }

    /// Lets the next event happen.
    fn step(&mut self) {
        let Some(Reverse((at, number))) = self.queue.pop() else { return };
        let Some(Due { node: id, event }) = self.due.remove(&number) else { return };
        self.now = at;
        let slot = &mut self.slots[id.0];
        match &event {
            Event::Woken if slot.wake != Some(at) => return,
            Event::Woken => slot.wake = None,
            Event::Received { from, .. } if !self.reaches_all && !slot.neighbours.contains(from) => return,
            Event::Received { message, .. } => {
                slot.traffic.received += N::size(message) as u64;
                slot.traffic.messages += 1;
            }
            _ => {}
        }
        let Some(mut node) = slot.node.take() else { return };
        let mut context =
            Context { id, now: at, dice: &self.dice, sent: Vec::new(), dropped: Vec::new(), wake: None };
        node.handle(event, &mut context);
        let Context { sent, dropped, wake, .. } = context;
        self.steps += 1;
        if let Err(broken) = node.check() {
            panic!("{self:?}, node {}: {broken}. Run this seed again to repeat it.", id.0);
        }
        self.slots[id.0].node = Some(node);
        if let Some(at) = wake {
            // A time that has passed is now.
            let at = at.max(self.now);
            self.slots[id.0].wake = Some(at);
            self.enqueue(at, id, Event::Woken);
        }
        sent.into_iter().for_each(|(to, message)| self.send(id, to, &message));
        dropped.into_iter().for_each(|other| self.disconnect(id, other));
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: &N::Message) {
        if !self.reaches_all && !self.slots[from.0].neighbours.contains(&to) {
            return;
        }
        self.slots[from.0].traffic.sent += N::size(message) as u64;
        for delay in self.network.carry(from, to, &self.dice) {
            self.enqueue(self.now + delay, to, Event::Received { from, message: message.clone() });
        }
    }
}

#[cfg(test)]
mod tests;

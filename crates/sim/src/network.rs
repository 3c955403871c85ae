//! Network: what becomes of a message between two nodes.
//!
//! Promises: a message is delayed, lost or doubled as its link says; it is lost without a word when the
//! link is cut in its direction or its ends lie on different sides of a partition. Messages may overtake
//! each other.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::dice::Dice;
use crate::node::NodeId;

/// How a link treats messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkConditions {
    /// The least and the most time that a message takes.
    pub latency: (Duration, Duration),
    /// How likely a message is lost.
    pub loss: f64,
    /// How likely it arrives twice.
    pub duplication: f64,
}

impl Default for LinkConditions {
    /// The links of the aims: 10 to 100 ms, nothing lost.
    fn default() -> Self {
        Self { latency: (Duration::from_millis(10), Duration::from_millis(100)), loss: 0.0, duplication: 0.0 }
    }
}

/// The links between all nodes.
#[derive(Debug, Default)]
pub struct Network {
    link: LinkConditions,
    special: BTreeMap<(NodeId, NodeId), LinkConditions>,
    cuts: BTreeSet<(NodeId, NodeId)>,
    /// The side of each node of a partition; nodes that are not named are on side 0.
    sides: BTreeMap<NodeId, u32>,
}

impl Network {
    /// A network of links that are all like this one.
    #[must_use]
    pub fn of(link: LinkConditions) -> Self {
        Self { link, ..Self::default() }
    }

    /// Gives the link from one node to another its own treatment.
    pub fn set(&mut self, from: NodeId, to: NodeId, link: LinkConditions) {
        self.special.insert((from, to), link);
    }

    /// Loses everything from one node to another, and nothing the other way.
    pub fn cut(&mut self, from: NodeId, to: NodeId) {
        self.cuts.insert((from, to));
    }

    /// Parts the network: messages between different sides are lost.
    pub fn partition(&mut self, sides: impl IntoIterator<Item = (NodeId, u32)>) {
        self.sides = sides.into_iter().collect();
    }

    /// Ends the partition and mends all cuts.
    pub fn heal(&mut self) {
        self.sides.clear();
        self.cuts.clear();
    }

    /// After how long a message arrives, once for each copy; not at all when it is lost.
    pub(crate) fn carry(&self, from: NodeId, to: NodeId, dice: &Dice) -> Vec<Duration> {
        let side = |node: NodeId| self.sides.get(&node).copied().unwrap_or(0);
        if side(from) != side(to) || self.cuts.contains(&(from, to)) {
            return Vec::new();
        }
        let link = self.special.get(&(from, to)).unwrap_or(&self.link);
        if dice.chance(link.loss) {
            return Vec::new();
        }
        let copies = if dice.chance(link.duplication) { 2 } else { 1 };
        (0..copies).map(|_| dice.between(link.latency.0, link.latency.1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(1);

    #[test]
    fn a_cut_has_a_direction_and_a_partition_has_none() {
        let (mut network, dice) = (Network::default(), Dice::new(1));
        network.cut(A, B);
        assert!(network.carry(A, B, &dice).is_empty());
        assert_eq!(network.carry(B, A, &dice).len(), 1);
        network.partition([(B, 1)]);
        assert!(network.carry(B, A, &dice).is_empty());
        network.heal();
        assert_eq!(network.carry(A, B, &dice).len(), 1);
    }

    #[test]
    fn links_lose_and_double_as_often_as_they_say() {
        let link = LinkConditions { loss: 0.2, duplication: 0.5, ..LinkConditions::default() };
        let (mut network, dice) = (Network::of(link), Dice::new(1));
        let copies: usize = (0..10_000).map(|_| network.carry(A, B, &dice).len()).sum();
        assert!((11_500..12_500).contains(&copies), "0.8 times 1.5: {copies}");
        network.set(A, B, LinkConditions::default());
        assert!((0..100).all(|_| network.carry(A, B, &dice).len() == 1));
    }
}

//! The simulator itself, with nodes that pass a number on.
//!
//! The catalogue has scenarios of its own in `tests/scenarios`.

use super::*;
use crate::network::LinkConditions;

/// Passes each number on to all neighbours once, and remembers what it did and when.
#[derive(Default)]
struct Gossip {
    seen: BTreeSet<u32>,
    neighbours: BTreeSet<NodeId>,
    log: Vec<(Duration, u32)>,
    woken: Vec<Duration>,
    forbidden: Option<u32>,
}

impl Gossip {
    fn learn(&mut self, number: u32, context: &mut Context<'_, u32>) {
        if self.seen.insert(number) {
            self.log.push((context.now, number));
            self.neighbours.iter().for_each(|other| context.send(*other, number));
            context.wake_at(context.now + Duration::from_secs(1));
        }
    }
}

impl Node for Gossip {
    type Message = u32;
    type Command = u32;

    fn handle(&mut self, event: Event<u32, u32>, context: &mut Context<'_, u32>) {
        match event {
            Event::Connected(other) => drop(self.neighbours.insert(other)),
            Event::Disconnected(other) => drop(self.neighbours.remove(&other)),
            Event::Received { message, .. } => self.learn(message, context),
            Event::Command(number) => self.learn(number, context),
            Event::Woken => self.woken.push(context.now),
            Event::Started => {}
        }
    }

    fn size(_: &u32) -> usize {
        4
    }

    fn check(&self) -> Result<(), String> {
        match self.forbidden {
            Some(number) if self.seen.contains(&number) => Err(format!("it knows {number}")),
            _ => Ok(()),
        }
    }
}

fn ring(seed: u64, nodes: usize, link: LinkConditions) -> Simulation<Gossip> {
    let mut simulation = Simulation::new(seed, Network::of(link));
    let ids: Vec<NodeId> = (0..nodes).map(|_| simulation.add(Gossip::default())).collect();
    for place in 0..nodes {
        simulation.connect(ids[place], ids[(place + 1) % nodes]);
    }
    simulation.run_for(Duration::from_secs(1));
    simulation
}

fn knowing(simulation: &Simulation<Gossip>, number: u32) -> usize {
    simulation.running().filter(|(_, node)| node.seen.contains(&number)).count()
}

#[test]
fn a_seed_determines_the_run_and_another_one_gives_another() {
    let run = |seed| {
        let mut simulation =
            ring(seed, 10, LinkConditions { loss: 0.1, duplication: 0.1, ..LinkConditions::default() });
        simulation.command(NodeId(0), 7);
        simulation.run_for(Duration::from_secs(5));
        let logs: Vec<_> = simulation.running().flat_map(|(_, node)| node.log.clone()).collect();
        (simulation.steps(), logs)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn messages_take_their_time_and_bytes_are_counted() {
    let fixed = Duration::from_millis(50);
    let mut simulation = ring(1, 5, LinkConditions { latency: (fixed, fixed), ..LinkConditions::default() });
    simulation.command(NodeId(0), 7);
    let reached =
        simulation.run_to(Duration::from_millis(10), Duration::from_secs(1), |all| knowing(all, 7) == 5);
    assert_eq!(reached, Some(Duration::from_millis(100)), "two hops each way round");
    simulation.run_for(Duration::from_secs(1));
    assert_eq!(simulation.traffic(NodeId(0)).sent, 8);
    assert_eq!(simulation.total_traffic().sent, simulation.total_traffic().received);
}

#[test]
fn a_partition_holds_messages_back_until_it_heals() {
    let mut simulation = ring(1, 6, LinkConditions::default());
    simulation.network.partition((3..6).map(|place| (NodeId(place), 1)));
    simulation.command(NodeId(0), 7);
    simulation.run_for(Duration::from_secs(5));
    assert_eq!(knowing(&simulation, 7), 3);
    simulation.network.heal();
    simulation.command(NodeId(0), 8);
    simulation.run_for(Duration::from_secs(5));
    assert_eq!(knowing(&simulation, 8), 6);
}

#[test]
fn a_stopped_node_is_a_black_hole_and_a_restarted_one_is_connected_anew() {
    let mut simulation = ring(1, 4, LinkConditions::default());
    let node = simulation.stop(NodeId(1)).unwrap();
    simulation.command(NodeId(0), 7);
    simulation.run_for(Duration::from_secs(5));
    assert_eq!((knowing(&simulation, 7), simulation.running().count()), (3, 3));
    assert_eq!(simulation.neighbours(NodeId(0)).len(), 2, "nobody noticed");
    simulation.restart(NodeId(1), node);
    simulation.command(NodeId(0), 8);
    simulation.run_for(Duration::from_secs(5));
    assert_eq!(knowing(&simulation, 8), 4);
}

#[test]
fn only_the_last_wake_up_counts() {
    let mut simulation = ring(1, 3, LinkConditions::default());
    simulation.command(NodeId(0), 7);
    simulation.run_for(Duration::from_millis(500));
    simulation.command(NodeId(0), 8);
    simulation.run_for(Duration::from_secs(5));
    assert_eq!(simulation.node(NodeId(0)).woken, [Duration::from_millis(2_500)]);
}

#[test]
#[should_panic(expected = "seed 42, step")]
fn a_broken_invariant_names_the_seed() {
    let mut simulation = Simulation::new(42, Network::default());
    let id = simulation.add(Gossip { forbidden: Some(13), ..Gossip::default() });
    simulation.command(id, 13);
    simulation.run_for(Duration::from_secs(1));
}

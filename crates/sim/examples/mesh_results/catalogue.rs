//! The catalogue at 100, 1,000 and 10,000 nodes: spreading, cost, late joiner, partition, black holes.
//!
//! The overlay of the simulator represents gossipsub; what gossipsub itself costs is measured with the real
//! driver (`sim-p2p`).

use std::time::{Duration, Instant};

use agentsite_sim::NodeId;
use agentsite_sim::catalogue::{Setting, World};
use serde_json::json;

use super::{Rows, millis};

/// Adds a row for each size.
pub(crate) fn measure(rows: &mut Rows, is_small: bool) {
    for (nodes, publishers) in
        [(100, 100), (1_000, 100), (10_000, 50)].into_iter().take(if is_small { 1 } else { 3 })
    {
        row(rows, nodes, publishers);
    }
}

fn row(rows: &mut Rows, nodes: usize, publishers: usize) {
    let begun = Instant::now();
    let mut world = World::new(Setting::of(nodes as u64, nodes));
    for node in (0..publishers).map(NodeId) {
        world.publish(node, "agent", "Does one thing");
    }
    assert!(world.time_to_agree(Duration::from_secs(180)).is_some(), "{:?}", world.simulation);
    let owner = NodeId(nodes - 1);

    world.publish(owner, "calc", "Adds numbers");
    let came = world.time_to_find(owner, "calc", 0.99);
    world.unpublish(owner, "calc");
    let gone = world.time_to_lose(owner, "calc", 0.99);
    world.simulation.run_for(Duration::from_secs(60));

    // Twenty changes in a row: what do they cost each receiver, sessions left out?
    let idle = idle(&mut world, nodes);
    let before = world.simulation.total_traffic().sent;
    let since = world.simulation.now();
    for number in 0..20 {
        world.publish(owner, &format!("batch-{number}"), "Does one thing more, described in a sentence");
    }
    world.simulation.run_for(Duration::from_secs(20));
    let sent = (world.simulation.total_traffic().sent - before) as f64;
    let quiet = idle * nodes as f64 * (world.simulation.now() - since).as_secs_f64();
    let payload: usize = {
        let site = world.site(owner).id;
        let node = world.honest(NodeId(0)).expect("node 0 is honest");
        let new = node.catalogue().records().filter(|record| record.site() == site && !record.is_removed());
        new.map(|record| record.bytes().len()).sum()
    };
    let amplification = (sent - quiet) / (payload * nodes) as f64;

    let late = late_joiner(&mut world, NodeId(nodes / 2));
    let heal = heal(&mut world, nodes);
    let holes = black_holes(&mut world, nodes);
    rows.add(&json!({
        "kind": "catalogue", "nodes": nodes, "publishers": publishers, "publish": came.map(millis),
        "unpublish": gone.map(millis), "holedPublish": holes.map(millis), "amplification": amplification,
        "idle": idle, "late": late.map(millis), "heal": heal.map(millis),
        "steps": world.simulation.steps(), "seconds": begun.elapsed().as_secs_f64(),
    }));
}

/// Bytes per second and node when nothing changes but leases.
fn idle(world: &mut World, nodes: usize) -> f64 {
    let before = world.simulation.total_traffic().sent;
    world.simulation.run_for(Duration::from_secs(120));
    (world.simulation.total_traffic().sent - before) as f64 / (120 * nodes) as f64
}

/// How long a node that lost everything takes to hold what its neighbours hold, after it is connected.
fn late_joiner(world: &mut World, node: NodeId) -> Option<Duration> {
    let neighbours = world.simulation.neighbours(node);
    neighbours.iter().for_each(|other| world.simulation.disconnect(node, *other));
    world.simulation.run_for(Duration::from_secs(1));
    world.forget(node);
    world.simulation.connect(node, neighbours[0]);
    let (begun, most) = (world.simulation.now(), Duration::from_secs(60));
    let listed = |world: &World, id| world.honest(id).map_or(0, |node| node.catalogue().listed().count());
    while listed(world, node) < listed(world, neighbours[0]) {
        if world.simulation.now() - begun > most {
            return None;
        }
        world.simulation.run_for(Duration::from_millis(20));
    }
    let took = world.simulation.now() - begun;
    neighbours.iter().for_each(|other| world.simulation.connect(node, *other));
    Some(took)
}

/// How long half of the world takes to learn what the other half published during ten minutes of partition.
fn heal(world: &mut World, nodes: usize) -> Option<Duration> {
    world.simulation.network.partition((nodes / 2..nodes).map(|node| (NodeId(node), 1)));
    world.publish(NodeId(1), "divided", "Came during the partition");
    world.simulation.run_for(Duration::from_secs(600));
    world.simulation.network.heal();
    world.time_to_find(NodeId(1), "divided", 0.99)
}

/// How long news take when every third node is a silent black hole.
fn black_holes(world: &mut World, nodes: usize) -> Option<Duration> {
    for node in (0..nodes).filter(|node| node % 10 < 3) {
        drop(world.simulation.stop(NodeId(node)));
    }
    world.publish(NodeId(nodes - 1), "after", "Came after the black-out");
    world.time_to_find(NodeId(nodes - 1), "after", 0.99)
}

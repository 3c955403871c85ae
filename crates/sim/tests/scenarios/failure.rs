//! What fails by itself: links, machines, networks.
//!
//! Nothing is lost, and nothing that was removed comes back.

use agentsite_sim::catalogue::{Setting, World};
use agentsite_sim::{LinkConditions, NodeId};

use super::{minutes, nodes, seconds};

fn published(setting: Setting, publishers: usize) -> World {
    let mut world = World::new(setting);
    for node in nodes(0..publishers) {
        world.publish(node, "agent", "Does one thing");
    }
    world.simulation.run_for(seconds(10));
    world
}

#[test]
fn a_partition_of_half_an_hour_leaves_nothing_lost_and_nothing_undead() {
    let mut world = published(Setting { audits: true, ..Setting::of(11, 24) }, 24);
    assert!(world.time_to_agree(minutes(3)).is_some());
    world.simulation.network.partition(nodes(12..24).map(|node| (node, 1)));
    world.simulation.run_for(minutes(1));
    for node in [2, 13] {
        world.publish(NodeId(node), "new", "Came during the partition");
        world.unpublish(NodeId(node + 1), "agent");
    }
    world.simulation.run_for(minutes(29));
    assert!(world.share_that_finds(NodeId(2), "new") < 0.5, "half of the world is away");
    assert!(world.share_that_finds(NodeId(20), "agent") < 0.6, "its leases ended over there");
    world.simulation.network.heal();
    let healed = world.time_to_agree(minutes(3)).expect("the copies become equal");
    assert!(healed < minutes(2), "{healed:?}");
    for node in [2, 13] {
        assert!((world.share_that_finds(NodeId(node), "new") - 1.0).abs() < f64::EPSILON);
        assert!(world.share_that_finds(NodeId(node + 1), "agent") < f64::EPSILON);
    }
    assert!((world.share_that_finds(NodeId(20), "agent") - 1.0).abs() < f64::EPSILON);
    assert_eq!(world.tally().offences, 0);
}

#[test]
fn a_machine_that_dies_silently_is_gone_within_its_lease() {
    let mut world = published(Setting::of(12, 30), 30);
    world.simulation.run_for(minutes(2));
    let dead = NodeId(4);
    drop(world.simulation.stop(dead));
    world.simulation.run_for(minutes(10));
    assert!((world.share_that_finds(dead, "agent") - 1.0).abs() < f64::EPSILON, "nobody knows yet");
    world.simulation.run_for(minutes(13));
    assert!(world.share_that_finds(dead, "agent") < f64::EPSILON);
}

#[test]
fn links_that_lose_and_double_delay_but_lose_nothing() {
    let link = LinkConditions { loss: 0.1, duplication: 0.1, ..LinkConditions::default() };
    let mut world = published(Setting { link, audits: true, as_bytes: true, ..Setting::of(13, 30) }, 30);
    let agreed = world.time_to_agree(minutes(10));
    assert!(agreed.is_some(), "{:?}", world.simulation);
    assert!(nodes(0..30).all(|node| world.share_that_finds(node, "agent") > 0.99));
    assert_eq!(world.tally().offences, 0);
}

#[test]
fn a_site_that_hears_but_is_not_heard_by_most_is_still_known() {
    let mut world = World::new(Setting::of(14, 20));
    let deaf = NodeId(5);
    let neighbours = world.simulation.neighbours(deaf);
    // All but one of its links carry nothing away from it.
    neighbours.iter().skip(1).for_each(|other| world.simulation.network.cut(deaf, *other));
    world.publish(deaf, "calc", "Adds numbers");
    world.publish(NodeId(10), "echo", "Repeats");
    world.simulation.run_for(minutes(5));
    assert!((world.share_that_finds(deaf, "calc") - 1.0).abs() < f64::EPSILON);
    assert!((world.share_that_finds(NodeId(10), "echo") - 1.0).abs() < f64::EPSILON);
}

#[test]
fn sites_that_come_and_go_all_the_time_end_with_equal_copies() {
    let mut world = published(Setting { audits: true, ..Setting::of(15, 24) }, 24);
    for round in 0..20 {
        let victim = NodeId(world.simulation.dice().below(24));
        let stopped_at = world.simulation.now();
        let node = world.simulation.stop(victim).unwrap();
        world.publish(NodeId((victim.0 + 1) % 24), &format!("round-{round}"), "Came meanwhile");
        world.simulation.run_for(minutes(3));
        world.restart(victim, node, stopped_at);
        world.simulation.run_for(seconds(20));
    }
    assert!(world.time_to_agree(minutes(5)).is_some(), "{:?}", world.simulation);
    assert!(nodes(0..24).all(|node| world.share_that_finds(node, "agent") > 0.99));
    assert_eq!(world.tally().offences, 0);
}

#[test]
fn a_site_back_after_eight_days_brings_nothing_back_from_the_dead() {
    let mut world = published(Setting { degree: 3, ..Setting::of(16, 5) }, 5);
    world.simulation.run_for(minutes(2));
    let away = NodeId(2);
    let stopped_at = world.simulation.now();
    let node = world.simulation.stop(away).unwrap();
    world.simulation.run_for(minutes(1));
    world.unpublish(NodeId(3), "agent");
    world.simulation.run_for(minutes(8 * 24 * 60));
    assert!(world.share_that_finds(away, "agent") < f64::EPSILON);
    world.restart(away, node, stopped_at);
    assert!(world.time_to_agree(minutes(3)).is_some(), "{:?}", world.simulation);
    assert!((world.share_that_finds(away, "agent") - 1.0).abs() < f64::EPSILON, "its own agent is back");
    assert!(world.share_that_finds(NodeId(3), "agent") < f64::EPSILON, "what was taken back stays away");
    assert_eq!(world.tally().offences, 0);
}

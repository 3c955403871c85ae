//! Clocks that are wrong.
//!
//! They hurt their own site only.

use agentsite_sim::NodeId;
use agentsite_sim::catalogue::{Setting, World};

use super::{minutes, nodes};

#[test]
fn clocks_hours_off_hurt_their_own_site_only() {
    let mut world = World::new(Setting { audits: true, ..Setting::of(21, 20) });
    let (early, late) = (NodeId(3), NodeId(4));
    world.set_clock(early, -3 * 3_600);
    world.set_clock(late, 3 * 3_600);
    for node in nodes(0..20) {
        world.publish(node, "agent", "Does one thing");
    }
    world.simulation.run_for(minutes(30));
    for node in nodes(0..20).filter(|node| *node != early && *node != late) {
        let share = world.share_that_finds(node, "agent");
        assert!(share >= 17.0 / 19.0 - f64::EPSILON, "node {} is found by {share}", node.0);
    }
    assert!(world.share_that_finds(late, "agent") < 0.06, "its records lie ahead of all others");
    let right: std::collections::BTreeSet<_> = world
        .honest_nodes()
        .filter(|(id, _)| *id != early && *id != late)
        .map(|(_, node)| node.catalogue().listed().count())
        .collect();
    assert_eq!(right.len(), 1, "all others agree");
    assert_eq!(world.tally().bans, 0, "a wrong clock is no offence");
}

#[test]
fn clocks_a_minute_off_do_not_matter() {
    let mut world = World::new(Setting::of(22, 20));
    for node in nodes(0..20) {
        world.set_clock(node, (i64::try_from(node.0).unwrap() - 10) * 6);
    }
    for node in nodes(0..20) {
        world.publish(node, "agent", "Does one thing");
    }
    world.simulation.run_for(minutes(10));
    assert!(nodes(0..20).all(|node| world.share_that_finds(node, "agent") > 0.99));
}

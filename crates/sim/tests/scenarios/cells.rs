//! Cells in a network that fails, and with sites that lie.
//!
//! Where answers are judged by skill, agents have real vectors of 60 skills, with noise. Cells are small
//! here, so that there are many of them with few agents; the full size is measured by `cargo xtask sim`.

use std::time::Duration;

use agentsite_mesh::cells::{Budget, CellInput, CellSettings};
use agentsite_sim::cells::{Agents, CellSetting, CellWorld, VectorSource};
use agentsite_sim::{LinkConditions, NodeId};

use super::skills::real_vectors;
use super::{minutes, nodes, seconds};

/// Sites that each keep at most so many cells of this size.
fn setting(seed: u64, nodes: usize, split_at: usize, keeps: usize) -> CellSetting {
    let budget = Budget { memory: (split_at * keeps) as u64 * 640, kilobits: u64::MAX >> 24 };
    let cells = CellSettings { split_at, replicas: 10, root_is_replicated: false, budget, fills: false };
    CellSetting { seed, nodes, server_every: 1, omits_every: 0, cells, link: LinkConditions::default() }
}

/// Directions without meaning, which cost nothing to encode.
fn made_up() -> VectorSource {
    VectorSource::random(100, 64)
}

fn lossy() -> LinkConditions {
    LinkConditions { loss: 0.01, ..LinkConditions::default() }
}

#[test]
fn with_one_cell_every_search_finds_the_true_best_without_asking() {
    let mut world = CellWorld::new(setting(51, 60, 50_000, 1), Agents::new(made_up(), 2), 0);
    world.publish(0..600, seconds(60));
    world.simulation.run_for(minutes(2));
    let quality = world.ask(0..40, 32);
    assert!((quality.recall - 1.0).abs() < f64::EPSILON, "{quality:?}");
    assert!(quality.asked < f64::EPSILON && quality.bytes < f64::EPSILON, "{quality:?}");
}

#[test]
fn cells_split_while_agents_come_and_eight_cells_answer_nearly_as_well_as_all() {
    let setting = CellSetting { link: lossy(), ..setting(52, 20, 120, 24) };
    let mut world = CellWorld::new(setting, Agents::new(real_vectors(60), 2), 0);
    world.publish(0..300, minutes(3));
    world.simulation.run_for(minutes(4));
    assert_eq!(world.codebooks(), 1, "{:?}", world.simulation);
    let leaves = world.codebook().leaves().len();
    let (least, ..) = world.copies();
    assert!(leaves >= 9 && least >= 10, "{leaves} cells, {least} copies");
    assert_eq!((world.lost_updates(), world.differing_cells()), (0, 0), "{:?}", world.simulation);
    let quality = world.ask(0..60, 8);
    let is_right = quality.right_skill >= 0.95 * quality.right_skill_exact;
    assert!(quality.score_ratio >= 0.95 && is_right, "{leaves} cells: {quality:?}");
}

#[test]
fn a_partition_of_half_an_hour_loses_no_update() {
    let mut world = CellWorld::new(
        CellSetting { link: lossy(), ..setting(53, 50, 500, 16) },
        Agents::new(made_up(), 1),
        0,
    );
    world.populate(1_500);
    world.simulation.run_for(minutes(2));
    world.simulation.network.partition(nodes(25..50).map(|node| (node, 1)));
    world.publish(0..60, minutes(10));
    world.publish(2_000..2_100, minutes(10));
    (100..120).for_each(|number| world.unpublish(number));
    world.simulation.run_for(minutes(10));
    assert!(world.lost_updates() > 0, "half of the servers cannot know");
    world.simulation.network.heal();
    world.simulation.run_for(minutes(5));
    assert_eq!(world.lost_updates(), 0, "{:?}", world.simulation);
    assert_eq!((world.differing_cells(), world.codebooks()), (0, 1), "{:?}", world.simulation);
}

#[test]
fn servers_that_come_and_go_lose_no_update_and_searches_end() {
    let mut world = CellWorld::new(setting(54, 50, 500, 16), Agents::new(made_up(), 1), 0);
    world.populate(1_500);
    for round in 0..12 {
        let away = NodeId(round * 4);
        let node = world.simulation.stop(away).expect("it runs");
        world.publish(round as u64 * 10..round as u64 * 10 + 10, seconds(60));
        let quality = world.ask(round * 5..round * 5 + 5, 8);
        assert!(quality.unanswered < f64::EPSILON, "the other copies answer: {quality:?}");
        world.simulation.restart(away, node);
        world.simulation.command(away, CellInput::Tick);
    }
    world.simulation.run_for(minutes(5));
    assert_eq!((world.lost_updates(), world.differing_cells()), (0, 0), "{:?}", world.simulation);
}

#[test]
fn one_server_in_five_that_leaves_the_best_out_is_caught_and_hardly_matters() {
    let setting = CellSetting { omits_every: 5, ..setting(55, 60, 600, 24) };
    let mut world = CellWorld::new(setting, Agents::new(made_up(), 2), 0);
    world.populate(2_000);
    world.simulation.run_for(seconds(10));
    let quality = world.ask(0..60, 8);
    assert!(quality.score_ratio >= 0.95, "{quality:?}");
    let caught: Vec<_> = world.simulation.running().flat_map(|(_, node)| node.omissions().to_vec()).collect();
    let known = world.simulation.running().count();
    assert!(caught.len() >= 10, "{} omissions seen by {known} nodes", caught.len());
}

#[test]
fn a_thousand_sybils_at_four_addresses_get_at_most_one_place_in_ten() {
    let mut world = CellWorld::new(setting(56, 60, 600, 24), Agents::new(made_up(), 2), 1_000);
    world.populate(1_500);
    world.flood_with_sybils(1_000, 0..40);
    world.simulation.run_for(Duration::from_secs(10));
    let quality = world.ask(0..40, 8);
    assert!(quality.honest >= 0.9, "{quality:?}");
}

//! Measures the mesh in simulations and writes one line of JSON for each row of docs/mesh-results.md.
//!
//! `cargo run --release -p agentsite-sim --example mesh_results -- FOLDER [--small] [PART]...` writes a file
//! for each part, all of them if none is named; `cargo xtask sim` runs it, draws the plots and writes the
//! page.

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

mod catalogue;
#[path = "../../tests/scenarios/skills.rs"]
mod skills;

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agentsite_mesh::cells::{Budget, CellSettings};
use agentsite_sim::catalogue::{Setting, World};
use agentsite_sim::cells::{Agents, CellSetting, CellWorld, Quality, VectorSource};
use agentsite_sim::{LinkConditions, NodeId};
use serde_json::{Value, json};

/// Rows of the results.
struct Rows(File);

impl Rows {
    fn add(&mut self, row: &Value) {
        println!("{row}");
        writeln!(self.0, "{row}").expect("the file of results can be written");
    }
}

/// The parts, in the order in which they run: the longest last.
const PARTS: [&str; 6] = ["spread", "liars", "failures", "widths", "catalogue", "sizes"];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("usage: mesh_results FOLDER [--small] [PART]..."));
    let (flags, wanted): (Vec<String>, Vec<String>) = arguments.partition(|word| word.starts_with("--"));
    let is_small = !flags.is_empty();
    let is_wanted = |part: &&str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == part);
    let source = skills::real_vectors(skills::ALL);
    for part in PARTS.into_iter().filter(is_wanted) {
        let file = File::create(folder.join(format!("{part}.jsonl")));
        let mut rows = Rows(file.expect("the file of results can be created"));
        match part {
            "spread" => spread(&mut rows, if is_small { 3 } else { 24 }),
            "liars" => liars(&mut rows, &source),
            "failures" => failures(&mut rows),
            "widths" => widths(&mut rows, &source, is_small),
            "catalogue" => catalogue::measure(&mut rows, is_small),
            _ => sizes(&mut rows, &source, is_small),
        }
    }
}

/// A world of sites on links that lose one message in a hundred.
fn setting(seed: u64, nodes: usize, server_every: usize, split_at: usize) -> CellSetting {
    let budget = Budget { memory: (split_at * 32) as u64 * 640, kilobits: u64::MAX >> 24 };
    let cells = CellSettings { split_at, replicas: 10, root_is_replicated: false, budget, fills: false };
    let link = LinkConditions { loss: 0.01, ..LinkConditions::default() };
    CellSetting { seed, nodes, server_every, omits_every: 0, cells, link }
}

/// How long the last of 100 sites takes to find an agent, and to lose it, for some seeds.
fn spread(rows: &mut Rows, seeds: u64) {
    for seed in 100..100 + seeds {
        let mut world = World::new(Setting::of(seed, 100));
        (0..10).for_each(|node| world.publish(NodeId(node), "agent", "Does one thing"));
        world.simulation.run_for(Duration::from_secs(60));
        let owner = NodeId(17);
        world.publish(owner, "calc", "Adds numbers");
        let came = world.time_to_find(owner, "calc", 1.0).map(millis);
        world.unpublish(owner, "calc");
        let gone = world.time_to_lose(owner, "calc", 1.0).map(millis);
        rows.add(&json!({ "kind": "spread", "seed": seed, "publish": came, "unpublish": gone }));
    }
}

/// Full-size cells: from one cell to a million agents over 10,000 sites.
fn sizes(rows: &mut Rows, source: &VectorSource, is_small: bool) {
    let all = [(100, 10_000, 1), (1_000, 100_000, 5), (10_000, 1_000_000, 8)];
    for (nodes, count, server_every) in all.into_iter().take(if is_small { 1 } else { 3 }) {
        let (begun, memory) = (Instant::now(), resident());
        let agents = Agents::new(source.clone(), 1);
        let mut world = CellWorld::new(setting(71, nodes, server_every, 50_000), agents, 0);
        world.populate(count);
        let populated = begun.elapsed().as_secs_f64();
        world.simulation.run_for(Duration::from_secs(5));
        for effort in [8, 16, 32] {
            let quality = world.ask(0..100, effort);
            rows.add(&with_quality(
                json!({ "kind": "size", "nodes": nodes, "agents": count, "effort": effort }),
                &quality,
            ));
        }
        let mut row = update(&mut world, count);
        let copied: usize = world
            .simulation
            .running()
            .map(|(_, node)| node.cells().kept().map(|(_, entries, _)| entries).sum::<usize>())
            .sum();
        let (least, most, fullest) = world.copies();
        let figures = json!({
            "kind": "world", "nodes": nodes, "agents": count, "cells": world.codebook().leaves().len(),
            "leastCopies": least, "mostCopies": most, "fullest": fullest, "entries": copied,
            "memory": resident().saturating_sub(memory), "populateSeconds": populated,
            "seconds": begun.elapsed().as_secs_f64(), "steps": world.simulation.steps(),
            "virtualSeconds": world.simulation.now().as_secs_f64(),
        });
        merge(&mut row, &figures);
        rows.add(&row);
    }
}

/// What a change costs: bytes sent for it, and how long until every server of its cells has it.
fn update(world: &mut CellWorld, count: u64) -> Value {
    let idle = world.simulation.total_traffic().sent;
    world.simulation.run_for(Duration::from_secs(60));
    let per_second = (world.simulation.total_traffic().sent - idle) / 60;
    let (changes, before) = (50, world.simulation.total_traffic().sent);
    let begun = world.simulation.now();
    world.publish(0..changes.min(count), Duration::from_millis(50));
    while world.missing(0..changes) > 0 && world.simulation.now() - begun < Duration::from_secs(180) {
        world.simulation.run_for(Duration::from_millis(100));
    }
    let took = world.simulation.now() - begun;
    let sent = world.simulation.total_traffic().sent - before;
    let background = per_second as f64 * took.as_secs_f64();
    json!({
        "updateBytes": (sent as f64 - background).max(0.0) / changes as f64, "updateMillis": millis(took),
        "idleBytesPerSecond": per_second, "lost": world.missing(0..changes),
    })
}

/// Small cells, so that there are many: how good answers are by the number of cells asked.
fn widths(rows: &mut Rows, source: &VectorSource, is_small: bool) {
    let sizes = [(1_000, 20_000, 4_000), (1_000, 20_000, 1_000), (1_000, 40_000, 1_000)];
    for (nodes, count, split_at) in sizes.into_iter().take(if is_small { 1 } else { 3 }) {
        let agents = Agents::new(source.clone(), 2);
        let mut world = CellWorld::new(setting(72, nodes, 4, split_at), agents, 0);
        world.populate(count);
        let cells = world.codebook().leaves().len();
        for effort in [1, 2, 4, 8, 16, 32] {
            let quality = world.ask(0..160, effort);
            let row = json!({
                "kind": "width", "nodes": nodes, "agents": count, "splitAt": split_at, "cells": cells, "effort": effort,
            });
            rows.add(&with_quality(row, &quality));
        }
    }
}

/// Servers that leave agents out, and identities in bulk.
fn liars(rows: &mut Rows, source: &VectorSource) {
    for omits_every in [0, 5] {
        let setting = CellSetting { omits_every, ..setting(73, 200, 1, 1_000) };
        let mut world = CellWorld::new(setting, Agents::new(source.clone(), 2), 0);
        world.populate(10_000);
        let quality = world.ask(0..160, 8);
        let caught: usize = world.simulation.running().map(|(_, node)| node.omissions().len()).sum();
        let row = json!({ "kind": "omit", "omitsEvery": omits_every, "caught": caught });
        rows.add(&with_quality(row, &quality));
    }
    for sybils in [0, 32, 1_000] {
        let mut world = CellWorld::new(setting(74, 200, 1, 1_000), Agents::new(source.clone(), 2), sybils);
        world.populate(10_000);
        world.flood_with_sybils(sybils, 0..40);
        world.simulation.run_for(Duration::from_secs(10));
        let quality = world.ask(0..40, 8);
        rows.add(&with_quality(json!({ "kind": "sybil", "sybils": sybils }), &quality));
    }
}

/// A partition of half an hour, for some seeds.
fn failures(rows: &mut Rows) {
    for seed in 80..84 {
        let agents = Agents::new(VectorSource::random(200, 64), 1);
        let mut world = CellWorld::new(setting(seed, 100, 1, 500), agents, 0);
        world.populate(4_000);
        let half = (50..100).map(|node| (NodeId(node), 1));
        world.simulation.network.partition(half);
        world.publish(0..200, Duration::from_secs(900));
        world.publish(5_000..5_200, Duration::from_secs(900));
        let during = world.lost_updates();
        world.simulation.network.heal();
        let begun = world.simulation.now();
        while world.lost_updates() > 0 && world.simulation.now() - begun < Duration::from_secs(600) {
            world.simulation.run_for(Duration::from_secs(1));
        }
        rows.add(&json!({
            "kind": "partition", "seed": seed, "during": during, "lost": world.lost_updates(),
            "heal": millis(world.simulation.now() - begun), "codebooks": world.codebooks(),
        }));
    }
}

fn with_quality(mut row: Value, quality: &Quality) -> Value {
    let figures = json!({
        "recall": quality.recall, "scoreRatio": quality.score_ratio, "rightSkill": quality.right_skill,
        "rightSkillExact": quality.right_skill_exact,
        "asked": quality.asked, "unanswered": quality.unanswered, "median": quality.time.0, "p99": quality.time.1,
        "bytes": quality.bytes, "honest": quality.honest,
    });
    merge(&mut row, &figures);
    row
}

fn merge(row: &mut Value, more: &Value) {
    let members = more.as_object().into_iter().flatten();
    members.for_each(|(name, value)| row[name] = value.clone());
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Bytes of memory that this process has; 0 where the system does not tell.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
}

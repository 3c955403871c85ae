//! The catalogue in a network that fails: one file for each kind of trouble.
//!
//! Every scenario has a seed; when one fails, the seed is in the message. The long runs are those of
//! `cargo run -p agentsite-sim --example catalogue_results`.

#[path = "scenarios/attack.rs"]
mod attack;
#[path = "scenarios/cells.rs"]
mod cells;
#[path = "scenarios/clocks.rs"]
mod clocks;
#[path = "scenarios/failure.rs"]
mod failure;
#[path = "scenarios/skills.rs"]
mod skills;
#[path = "scenarios/spread.rs"]
mod spread;

use std::time::Duration;

use agentsite_sim::NodeId;

/// So many seconds.
const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// So many minutes.
const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

/// The nodes with these numbers.
fn nodes(range: std::ops::Range<usize>) -> impl Iterator<Item = NodeId> {
    range.map(NodeId)
}

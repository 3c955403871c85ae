//! `cargo xtask crash`: the long form of the crash tests.
//!
//! Promises: runs the same stories as CI does, with as many kills or for as long as asked for, and shows
//! their progress. The stories themselves, with their own limits and checks, are integration tests of the
//! binary; this only chooses which and how much.

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::tools;
use crate::workspace::{Workspace, run as run_command};

/// What `cargo xtask crash --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask crash [--kills N]
       cargo xtask crash --cluster [--minutes N]

Kills the real server N times (default 200) at random moments under load and checks after each that every acknowledged
task is there, that its events are dense, and that none is doubled.

With --cluster three processes of a site share a database behind a balancer for N minutes (default 5): one is killed
every 3 seconds, one is frozen for a while, and the database is restarted. It prints how long each recovery took.";

/// Enough to meet each phase of a commit several times over; takes some minutes.
const KILLS: u32 = 200;

/// A hundred kills.
const MINUTES: u32 = 5;

/// The story of one process, and that of a cluster.
const ALONE: &str = "crash::";
const CLUSTER: &str = "cluster::crash::";

/// Runs the crash test.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let cluster = arguments.flag("--cluster");
    let (name, story) = if cluster { ("--minutes", CLUSTER) } else { ("--kills", ALONE) };
    let amount = arguments.value(name)?.unwrap_or(if cluster { MINUTES } else { KILLS });
    arguments.finish()?;
    if amount == 0 {
        return Err(Failure::Usage(format!("`{name}` has to be at least 1")));
    }
    let words =
        format!("run --package agentsite --test e2e --run-ignored all --no-capture -E test(/^{story}/)");
    let variable = if cluster { "AGENTSITE_CRASH_MINUTES" } else { "AGENTSITE_CRASH_KILLS" };
    run_command(tools::nextest(workspace, &words)?.env(variable, amount.to_string()))
}

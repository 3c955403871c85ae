//! `cargo xtask crash`: the long form of the crash test.
//!
//! Promises: runs the same story as CI does, with as many kills as asked for, and shows its progress. The
//! story itself, with its own limits and checks, is an integration test of the binary; this only chooses the
//! number.

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::workspace::{Workspace, run as run_command};

/// What `cargo xtask crash --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask crash [--kills N]

Kills the real server N times (default 200) at random moments under load and checks after each that every acknowledged
task is there, that its events are dense, and that none is doubled.";

/// Enough to meet each phase of a commit several times over; takes some minutes.
const KILLS: u32 = 200;

/// Runs the crash test.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let kills = arguments.value("--kills")?.unwrap_or(KILLS);
    arguments.finish()?;
    if kills == 0 {
        return Err(Failure::Usage("`--kills` has to be at least 1".to_owned()));
    }
    let words = if workspace.has_nextest() {
        "nextest run --package agentsite --test e2e --run-ignored all --no-capture crash"
    } else {
        "test --package agentsite --test e2e -- --include-ignored --nocapture crash"
    };
    run_command(workspace.cargo(words).env("AGENTSITE_CRASH_KILLS", kills.to_string()))
}

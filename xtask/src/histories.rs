//! `cargo xtask histories`: many random histories of several processes, in memory and on PostgreSQL.
//!
//! Promises: runs the same test as CI does, with as many histories as asked for. Needs a server of PostgreSQL
//! on this machine, as the tests of the store do.

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::tools;
use crate::workspace::{Workspace, run as run_command};

/// What `cargo xtask histories --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask histories [--cases N]

Makes N random histories (default 1000) of three processes that share a store, and checks that every answer and
everything that can be read afterwards is the same in memory and on PostgreSQL. A history that differs is made shorter
and printed.";

/// As many as the promise of the store names.
const CASES: u32 = 1_000;

/// Runs the histories.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let cases = arguments.value("--cases")?.unwrap_or(CASES);
    arguments.finish()?;
    if cases == 0 {
        return Err(Failure::Usage("`--cases` has to be at least 1".to_owned()));
    }
    let words = "run --package agentsite-store-pg --run-ignored only --no-capture a_thousand_histories";
    run_command(tools::nextest(workspace, words)?.env("AGENTSITE_HISTORIES", cases.to_string()))
}

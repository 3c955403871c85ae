//! `cargo xtask lint`: everything that can be judged without running the product's tests.
//!
//! Promises: runs all stages even when one fails, so that one run shows everything, and denies every warning.
//! To add a stage, add a line to [`STAGES`].

use crate::arguments::Arguments;
use crate::failure::Outcome;
use crate::stages::{self, AfterFailure, Stage};
use crate::workspace::{Workspace, run as run_command};
use crate::{advisories, cost, deps, generate, python, tidy};

/// What `cargo xtask lint --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask lint [--only STAGE]

Runs every lint stage and reports all failures together: format, spelling, tidy, deps, advisories, cost, clippy,
docs, generated files. Advisories are skipped, and the run says so, where their database cannot be reached.";

/// Every stage, in order: the quick ones that need no build come first.
const STAGES: &[Stage] = &[
    Stage { name: "format", always: false, run: format },
    Stage { name: "spelling", always: false, run: spelling },
    Stage { name: "tidy", always: false, run: tidy::check },
    Stage { name: "deps", always: false, run: deps::check },
    Stage { name: "cost", always: false, run: cost::check },
    Stage { name: "advisories", always: false, run: advisories::check },
    Stage { name: "clippy", always: false, run: clippy },
    Stage { name: "docs", always: false, run: docs },
    Stage { name: "generated", always: false, run: generate::check },
];

/// Runs the stages, or the one that `--only` names.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let only: Option<String> = arguments.value("--only")?;
    arguments.finish()?;
    stages::run(workspace, STAGES, only.as_deref(), AfterFailure::GoOn)
}

fn format(workspace: &Workspace) -> Outcome {
    run_command(&mut workspace.cargo("fmt --all -- --check"))
}

fn clippy(workspace: &Workspace) -> Outcome {
    run_command(&mut workspace.cargo("clippy --workspace --all-targets -- -D warnings"))
}

fn docs(workspace: &Workspace) -> Outcome {
    run_command(workspace.cargo("doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings"))
}

/// Spelling is checked by `typos`, which the Python environment brings along.
fn spelling(workspace: &Workspace) -> Outcome {
    python::CURRENT.set_up(workspace)?;
    run_command(&mut workspace.program(python::program(workspace, "typos")))
}

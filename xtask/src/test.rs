//! `cargo xtask test`: everything that has to pass, from a clean clone, in one command.
//!
//! Promises: sets up what the stages need, runs them in order, stops at the first failure and ends with
//! `stages: N passed, M failed`. Nothing is skipped silently: what a machine lacks is installed or named. To
//! add a stage, add a line to [`STAGES`].

use std::process::Command;

use crate::arguments::Arguments;
use crate::built;
use crate::debian;
use crate::failure::Outcome;
use crate::node;
use crate::python;
use crate::retrieval;
use crate::sim;
use crate::stages::{self, AfterFailure, Stage};
use crate::tools;
use crate::web;
use crate::workspace::{Workspace, run as run_command};

/// What `cargo xtask test --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask test [--only STAGE]

Runs the test stages in order and stops at the first failure.

  setup     the Python environments of the end-to-end tests (always runs; reused when nothing changed)
  node      the npm packages of the end-to-end tests (always runs; reused when nothing changed)
  tools     programs of others that the tests drive (always runs; built once)
  browser   what the pages are built with and tried in (always runs; reused when nothing changed)
  proxies   the reverse proxies of the attacks on access (always runs; installed once)
  networks  what makes networks that fail, for the stories of the mesh (always runs; installed once)
  postgres  the server of PostgreSQL that the tests of the store run against (always runs; installed once)
  pages     the pages: types, logic, size, and that what is committed is what the sources give
  tests     every test of the workspace, by nextest
  ranking   that each part of the ranking makes it better on public questions, where ../shared/data has them
  doctests  the examples in the documentation
  virtual   the real driver of the mesh under virtual time, 20 sites (compiles libp2p once more, with another clock)";

/// Every stage, in order.
const STAGES: &[Stage] = &[
    Stage { name: "setup", always: true, run: python::set_up },
    Stage { name: "node", always: true, run: node::set_up },
    Stage { name: "tools", always: true, run: tools::set_up },
    Stage { name: "browser", always: true, run: web::set_up },
    Stage { name: "proxies", always: true, run: debian::proxies },
    Stage { name: "networks", always: true, run: debian::networks },
    Stage { name: "postgres", always: true, run: debian::postgres },
    Stage { name: "pages", always: false, run: web::check },
    Stage { name: "tests", always: false, run: tests },
    Stage { name: "ranking", always: false, run: ranking },
    Stage { name: "doctests", always: false, run: doctests },
    Stage { name: "virtual", always: false, run: sim::virtual_time },
];

/// Runs the stages, or the one that `--only` names.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let only: Option<String> = arguments.value("--only")?;
    arguments.finish()?;
    stages::run(workspace, STAGES, only.as_deref(), AfterFailure::Stop)
}

fn tests(workspace: &Workspace) -> Outcome {
    let mut tests = tools::nextest(workspace, "run --workspace --profile ci")?;
    run_command(counterparts(workspace, &mut tests))
}

/// Runs the story that needs the public questions, which are not part of the repository.
fn ranking(workspace: &Workspace) -> Outcome {
    let folder = workspace.path(retrieval::DATA);
    if !folder.is_dir() {
        println!("not run: the public questions are not there ({})", retrieval::DATA);
        return Ok(());
    }
    run_command(built::example(workspace, "blends")?.arg(folder))
}

/// Tells a test run where the real counterparts are.
pub(crate) fn counterparts<'a>(workspace: &Workspace, command: &'a mut Command) -> &'a mut Command {
    let python = |environment: python::Environment| environment.program(workspace, "python");
    command
        .env("AGENTSITE_TEST_PYTHON", python(python::CURRENT))
        .env("AGENTSITE_TEST_PYTHON_03", python(python::OLD))
        .env("AGENTSITE_TEST_PYTHON_MCP", python(python::MCP))
        .env("AGENTSITE_TEST_PYTHON_CONTRACT", python(python::CONTRACT))
        .env("AGENTSITE_TEST_NODE", node::node(workspace))
        .env("AGENTSITE_TEST_NPM", node::modules(workspace))
        .env("AGENTSITE_TEST_A2A_CLI", tools::a2a_cli(workspace))
        .env("AGENTSITE_TEST_CHROMIUM", web::chromium())
}

fn doctests(workspace: &Workspace) -> Outcome {
    run_command(&mut workspace.cargo("test --doc --workspace"))
}

//! Programs of the workspace that chores run, built as the tests build them.
//!
//! Promises: a program is up to date when it is handed out. It is built with the features that the whole
//! workspace and its tests need: with one package selected cargo unifies features differently, and builds
//! nearly everything once more. It does not serve the release profile: that is what users build.

use std::process::Command;

use crate::failure::Failure;
use crate::workspace::{Workspace, run};

/// Where cargo puts what the tests run.
const FOLDER: &str = "target/debug";

/// The binary of the product.
pub(crate) fn binary(workspace: &Workspace) -> Result<Command, Failure> {
    build(workspace, "--test e2e")?;
    Ok(workspace.program(workspace.path(FOLDER).join("agentsite")))
}

/// An example of one of the crates.
pub(crate) fn example(workspace: &Workspace, name: &str) -> Result<Command, Failure> {
    build(workspace, &format!("--example {name}"))?;
    Ok(workspace.program(workspace.path(FOLDER).join("examples").join(name)))
}

fn build(workspace: &Workspace, target: &str) -> Result<(), Failure> {
    run(&mut workspace.cargo(&format!("test --quiet --workspace --no-run {target}")))
}

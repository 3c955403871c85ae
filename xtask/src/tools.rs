//! Programs of others that the tests drive, in `target/tools`.
//!
//! Promises: each is pinned to a version, built from its own lock file, and built again only when the version
//! changes. They are built apart from the workspace, so that none of what they need comes into it.

use std::path::PathBuf;
use std::process::Command;

use crate::debian;
use crate::failure::{Failure, Outcome};
use crate::workspace::{Workspace, capture, run};

/// Where they are installed, below the root; cargo keeps a list there and does nothing when a program is up
/// to date.
const FOLDER: &str = "target/tools";

/// The official Rust client of A2A, which is built on `a2a-client-lf`, and its version.
const A2A_CLI: (&str, &str) = ("a2a-cli", "0.4.5");

/// The program that compares our crates with the RustSec advisories, and its version.
const CARGO_DENY: (&str, &str) = ("cargo-deny", "0.20.2");

/// The runner of the tests, and its version. It gives each test a process of its own and keeps the heavy
/// ones apart (`.config/nextest.toml`).
const NEXTEST: (&str, &str) = ("cargo-nextest", "0.9.151");

/// The program of the official Rust client.
pub(crate) fn a2a_cli(workspace: &Workspace) -> PathBuf {
    workspace.path(FOLDER).join("bin/a2acli")
}

/// Installs the library with which the attacks on the clock show the site another time, or finds it ready.
pub(crate) fn faketime(workspace: &Workspace) -> Outcome {
    let find = "ls /usr/lib/*/faketime/libfaketimeMT.so.1";
    if capture(workspace.program("sh").args(["-c", find])).is_err() {
        debian::install(workspace, "libfaketime", "faketime")?;
    }
    Ok(())
}

/// Installs the programs, or finds them ready.
pub(crate) fn set_up(workspace: &Workspace) -> Outcome {
    faketime(workspace)?;
    nextest(workspace, "--version")?;
    install(workspace, A2A_CLI, "")
}

/// The runner of the tests with the arguments of one command line: the one of this machine, else one that is
/// installed first.
pub(crate) fn nextest(workspace: &Workspace, words: &str) -> Result<Command, Failure> {
    if capture(&mut workspace.cargo("nextest --version")).is_ok() {
        return Ok(workspace.cargo(&format!("nextest {words}")));
    }
    install(workspace, NEXTEST, "--no-default-features --features default-no-update")?;
    Ok(workspace.builder(workspace.path(FOLDER).join("bin/cargo-nextest"), &format!("nextest {words}")))
}

/// The check for advisories, ready to be run; the program is installed first where it is missing.
pub(crate) fn cargo_deny(workspace: &Workspace) -> Result<Command, Failure> {
    install(workspace, CARGO_DENY, "")?;
    let mut check = workspace.program(workspace.path(FOLDER).join("bin/cargo-deny"));
    check.args(["check", "advisories"]);
    Ok(check)
}

fn install(workspace: &Workspace, (name, version): (&str, &str), features: &str) -> Outcome {
    let words = format!("install --locked --debug --root {FOLDER} --version {version} {features} {name}");
    // A folder of its own, so that the profile and the features of the workspace's builds stay as they are.
    run(workspace.cargo(&words).env("CARGO_TARGET_DIR", workspace.path(FOLDER).join("build")))
}

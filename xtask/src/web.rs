//! `cargo xtask web`: builds the pages into the folder that the gateway holds in the binary, and checks them.
//!
//! Promises: the shapes of the API, the types, the logic and the size of the first load are checked before
//! anything is built; the same sources give the same bytes, so that `--check` can say whether what is
//! committed is what they give. The pages are tried in a browser by the end-to-end tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::Arguments;
use crate::debian;
use crate::failure::{Failure, Outcome};
use crate::node;
use crate::workspace::{Workspace, capture, run as run_command};

/// What `cargo xtask web --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask web [--check]

Builds the pages from web/ into crates/gateway/web: installs the pinned packages, writes the types of the API, checks types and logic, builds,
and checks that the first load is within its budget.

  --check   build apart and compare; exit code 1 when what is committed is not what the sources give";

/// The sources of the pages, and where their packages are pinned.
const SOURCES: &str = "web";

/// Where their packages are installed.
const FOLDER: &str = "target/web";

/// What is committed, and where a build for comparing goes.
const BUILT: &str = "crates/gateway/web";
const APART: &str = "target/web/built";

/// The types of the API, and what they are written from.
const TYPES: &str = "web/src/api/schema.d.ts";
const OPENAPI: &str = "crates/gateway/tests/golden/openapi.json";

/// Where Debian's browser is.
const CHROMIUM: &str = "/usr/bin/chromium";

/// Builds the pages, or compares.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let compare = arguments.flag("--check");
    arguments.finish()?;
    if compare {
        return check(workspace);
    }
    node::set_up(workspace)?;
    set_up(workspace)?;
    types(workspace, TYPES)?;
    examine(workspace)?;
    build(workspace, BUILT)
}

/// Checks the pages, and that what is committed is what the sources give.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    node::set_up(workspace)?;
    set_up(workspace)?;
    let apart = format!("{FOLDER}/schema.d.ts");
    types(workspace, &apart)?;
    if read(&workspace.path(&apart))? != read(&workspace.path(TYPES))? {
        return Err(drift(TYPES));
    }
    examine(workspace)?;
    build(workspace, APART)?;
    let (committed, built) = (files(&workspace.path(BUILT))?, files(&workspace.path(APART))?);
    let differs = committed.keys().chain(built.keys()).find(|name| committed.get(*name) != built.get(*name));
    differs.map_or(Ok(()), |name| Err(drift(&format!("{BUILT}/{name}"))))
}

/// Installs the packages that the pages are built with, and the browser that they are tried in.
pub(crate) fn set_up(workspace: &Workspace) -> Outcome {
    node::install(workspace, SOURCES, FOLDER)?;
    let link = workspace.path(SOURCES).join("node_modules");
    if fs::symlink_metadata(&link).is_err() {
        std::os::unix::fs::symlink(Path::new("..").join(FOLDER).join("node_modules"), &link)
            .map_err(|error| Failure::io("cannot link web/node_modules", &error))?;
    }
    if capture(workspace.program(CHROMIUM).arg("--version")).is_err() {
        debian::install(workspace, "chromium", "chromium")?;
    }
    Ok(())
}

/// The browser that the pages are tried in.
pub(crate) fn chromium() -> PathBuf {
    PathBuf::from(CHROMIUM)
}

fn types(workspace: &Workspace, to: &str) -> Outcome {
    let program = script(workspace, "openapi-typescript/bin/cli.js");
    let mut command = tool(workspace, &program);
    run_command(command.arg(workspace.path(OPENAPI)).arg("-o").arg(workspace.path(to)))
}

fn examine(workspace: &Workspace) -> Outcome {
    let check = script(workspace, "svelte-check/bin/svelte-check");
    run_command(tool(workspace, &check).args(["--tsconfig", "./tsconfig.json", "--fail-on-warnings"]))?;
    run_command(tool(workspace, &script(workspace, "vitest/vitest.mjs")).arg("run"))
}

fn build(workspace: &Workspace, to: &str) -> Outcome {
    let vite = script(workspace, "vite/bin/vite.js");
    run_command(tool(workspace, &vite).arg("build").env("AGENTSITE_WEB_OUT", workspace.path(to)))
}

fn script(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.path(FOLDER).join("node_modules").join(name)
}

/// A script of a package, run in the folder of the sources by the pinned Node.
fn tool(workspace: &Workspace, script: &Path) -> Command {
    let mut command = workspace.program(node::node(workspace));
    command.arg(script).current_dir(workspace.path(SOURCES));
    command
}

/// Every file below a folder, by its path in it.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let listed = fs::read_dir(&next)
            .map_err(|error| Failure::io(format!("cannot read {}", next.display()), &error))?;
        for path in listed.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
                found.insert(name, read(&path)?);
            }
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::io(format!("cannot read {}", path.display()), &error))
}

fn drift(path: &str) -> Failure {
    Failure::new(format!(
        "{path} is not what the sources give now; run `cargo xtask web` and commit the result"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_below_a_folder_is_found() {
        let found = files(&Workspace::here().path("xtask")).unwrap();
        assert!(found.contains_key("Cargo.toml") && found.contains_key("src/web.rs"));
    }

    #[test]
    fn no_lock_file_names_where_packages_come_from() {
        for lock in ["web/package-lock.json", "tests/npm/package-lock.json"] {
            let text = fs::read_to_string(Workspace::here().path(lock)).unwrap();
            assert!(!text.contains("\"resolved\""), "{lock}");
        }
    }
}

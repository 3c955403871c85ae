//! `cargo xtask deps`: which third-party crates we may use, and that each comes only once.
//!
//! Promises: every crate of the resolved graph on the CI platform has a licence we may pass on and comes from
//! crates.io; in what ships none is banned, and two incompatible versions of one crate are found unless the
//! doubling has a reason. Security advisories are looked up by `advisories`, which needs the network and a
//! database of its own.

mod doubles;
mod licences;
mod spdx;

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::metadata::{self, PLATFORM, Package};
use crate::workspace::Workspace;

/// What `cargo xtask deps --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask deps

Checks every third-party crate: its licence, its origin, that it is not banned, and that it is not there twice.";

/// Crates we decided against, with the reason and the way out.
const BANNED: &[(&str, &str)] = &[
    ("openssl-sys", "links a system library, so the binary is no longer one file; use rustls"),
    ("native-tls", "brings openssl back on Linux; use rustls"),
    ("aws-lc-sys", "a second TLS provider that needs cmake; rustls runs on ring here"),
    ("sqlx", "a pool and a macro layer above what rusqlite and tokio-postgres do directly"),
    ("libsql", "a fork of SQLite with its own file rules; use rusqlite with the bundled SQLite"),
    ("async-std", "a second async runtime, no longer maintained; use tokio"),
];

/// Where every third-party crate comes from.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Runs the check.
pub(crate) fn run(workspace: &Workspace, arguments: Arguments) -> Outcome {
    arguments.finish()?;
    check(workspace)
}

/// Checks the resolved graph and prints what it found.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    let packages = metadata::graph(workspace)?;
    let compiled = metadata::shipped(workspace)?;
    let is_compiled =
        |package: &&Package| compiled.contains(&(package.name.clone(), package.version.clone()));
    let shipped: Vec<&Package> = packages.iter().filter(is_compiled).collect();
    let mut findings = licences::check(&packages);
    findings.extend(origins(&packages));
    findings.extend(banned(&shipped));
    findings.extend(doubles::check(&shipped));
    for finding in &findings {
        println!("Cargo.lock:1: {finding}");
    }
    for known in doubles::stale(&shipped) {
        println!("xtask/src/deps/doubles.rs:1: warning: `{known}` is no longer doubled (remove its line)");
    }
    let third_party = packages.iter().filter(|package| package.source.is_some()).count();
    println!(
        "deps: {third_party} third-party crates on {PLATFORM}, {} in what ships, {} errors",
        shipped.iter().filter(|package| package.source.is_some()).count(),
        findings.len()
    );
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("deps found {} errors", findings.len())))
    }
}

fn banned(packages: &[&Package]) -> Vec<String> {
    let why = |name: &str| BANNED.iter().find(|(banned, _)| *banned == name).map(|(_, reason)| *reason);
    packages
        .iter()
        .filter_map(|package| Some((package, why(&package.name)?)))
        .map(|(package, reason)| {
            let via = users(packages, &package.id);
            format!("`{}` is banned: {reason} (it comes through {via})", package.name)
        })
        .collect()
}

fn users(packages: &[&Package], id: &str) -> String {
    let uses = |package: &&&Package| package.edges.iter().any(|target| target == id);
    let names: Vec<&str> = packages.iter().filter(uses).map(|package| package.name.as_str()).collect();
    if names.is_empty() { "no crate".to_owned() } else { names.join(", ") }
}

fn origins(packages: &[Package]) -> Vec<String> {
    packages
        .iter()
        .filter(|package| package.source.as_deref().is_some_and(|source| source != CRATES_IO))
        .map(|package| {
            format!("`{}` does not come from crates.io (depend on a published version)", package.name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, source: Option<&str>, edges: &[&str]) -> Package {
        let edges = edges.iter().map(|id| (*id).to_owned()).collect();
        Package {
            id: name.to_owned(),
            name: name.to_owned(),
            source: source.map(str::to_owned),
            edges,
            ..Package::default()
        }
    }

    #[test]
    fn a_banned_crate_is_found_with_who_brings_it() {
        let packages = [
            package("fetcher", Some(CRATES_IO), &["native-tls"]),
            package("native-tls", Some(CRATES_IO), &[]),
        ];
        let found = banned(&packages.iter().collect::<Vec<_>>());
        assert_eq!(found.len(), 1);
        assert!(found[0].ends_with("(it comes through fetcher)"), "{found:?}");
    }

    #[test]
    fn a_crate_from_a_git_repository_is_found() {
        let packages = [
            package("ours", None, &[]),
            package("b", Some("git+https://x.example"), &[]),
            package("c", Some(CRATES_IO), &[]),
        ];
        assert_eq!(origins(&packages).len(), 1);
    }
}

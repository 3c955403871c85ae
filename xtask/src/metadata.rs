//! What `cargo metadata` says about the workspace, reduced to what the checks ask for.
//!
//! Promises: packages and edges come in cargo's own order, so findings are stable from run to run. It reads
//! the JSON without serde derives: five fields do not justify them. It does not judge anything; `tidy` and
//! `deps` do.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::failure::Failure;
use crate::workspace::{Workspace, capture};

/// The platform whose dependency graph is judged: the one the binary is built for in CI.
pub(crate) const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// What an edge between two crates is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Needed by the crate itself.
    Normal,
    /// Needed by its build script.
    Build,
    /// Needed by its tests, examples and benches only.
    Dev,
}

impl Purpose {
    fn read(value: &Value) -> Self {
        match value.as_str() {
            Some("dev") => Self::Dev,
            Some("build") => Self::Build,
            _ => Self::Normal,
        }
    }
}

/// One package, ours or a third party's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Package {
    /// Cargo's identity of it, unique in the graph.
    pub(crate) id: String,
    /// The package name.
    pub(crate) name: String,
    /// The version as written.
    pub(crate) version: String,
    /// The licence expression, when it declares one.
    pub(crate) license: Option<String>,
    /// Where it comes from; none for our own.
    pub(crate) source: Option<String>,
    /// The dependencies its manifest names.
    pub(crate) names: Vec<(String, Purpose)>,
    /// The packages it may use, by id; empty when the graph was not asked for.
    pub(crate) edges: Vec<String>,
}

/// The packages of our workspace with what their manifests name; reads no registry.
pub(crate) fn members(workspace: &Workspace) -> Result<Vec<Package>, Failure> {
    read(&capture(&mut workspace.cargo("metadata --format-version 1 --no-deps"))?)
}

/// Every package of the resolved graph on [`PLATFORM`], among them some whose feature is not enabled: cargo
/// resolves generously here, and [`shipped`] is exact.
pub(crate) fn graph(workspace: &Workspace) -> Result<Vec<Package>, Failure> {
    let words = format!("metadata --format-version 1 --filter-platform {PLATFORM}");
    read(&capture(&mut workspace.cargo(&words))?)
}

/// The name and version of every package that is compiled for what ships: no dependency of tests, no unused
/// feature.
pub(crate) fn shipped(workspace: &Workspace) -> Result<BTreeSet<(String, String)>, Failure> {
    let words =
        format!("tree --workspace --edges normal,build --target {PLATFORM} --prefix none --format {{p}}");
    Ok(read_tree(&capture(&mut workspace.cargo(&words))?))
}

/// Reads lines such as `serde v1.0.229 (proc-macro) (*)`.
fn read_tree(text: &str) -> BTreeSet<(String, String)> {
    let package = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        Some((name, words.next()?.strip_prefix('v')?.to_owned()))
    };
    text.lines().filter_map(package).collect()
}

fn read(json: &str) -> Result<Vec<Package>, Failure> {
    let value: Value = serde_json::from_str(json)
        .map_err(|error| Failure::new(format!("`cargo metadata` did not answer in JSON: {error}")))?;
    let mut edges: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for node in items(&value["resolve"]["nodes"]) {
        edges.insert(node["id"].as_str().unwrap_or_default(), read_edges(node));
    }
    let mut packages: Vec<Package> = items(&value["packages"]).iter().map(read_package).collect();
    if value["resolve"].is_object() {
        // Cargo lists the packages of other platforms too; only those in the resolved graph count.
        packages.retain(|package| edges.contains_key(package.id.as_str()));
        for package in &mut packages {
            package.edges = edges.remove(package.id.as_str()).unwrap_or_default();
        }
    }
    Ok(packages)
}

fn read_package(value: &Value) -> Package {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let names = items(&value["dependencies"])
        .iter()
        .map(|edge| (edge["name"].as_str().unwrap_or_default().to_owned(), Purpose::read(&edge["kind"])))
        .collect();
    Package {
        id: text("id"),
        name: text("name"),
        version: text("version"),
        license: value["license"].as_str().map(str::to_owned),
        source: value["source"].as_str().map(str::to_owned),
        names,
        edges: Vec::new(),
    }
}

fn read_edges(node: &Value) -> Vec<String> {
    items(&node["deps"]).iter().filter_map(|edge| Some(edge["pkg"].as_str()?.to_owned())).collect()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_PACKAGES: &str = r#"{
        "packages": [
            {"id": "ours", "name": "agentsite", "version": "0.1.0", "source": null, "manifest_path": "a/Cargo.toml",
             "dependencies": [{"name": "rust-lib", "kind": null}, {"name": "probe", "kind": "dev"}]},
            {"id": "theirs", "name": "rust-lib", "version": "1.2.3", "license": "MIT", "source": "registry",
             "dependencies": []},
            {"id": "elsewhere", "name": "winlib", "version": "1.0.0", "source": "registry", "dependencies": []}
        ],
        "resolve": {"nodes": [
            {"id": "ours", "deps": [{"pkg": "theirs"}]},
            {"id": "theirs", "deps": []}
        ]}
    }"#;

    #[test]
    fn names_edges_and_purposes_are_read() {
        let packages = read(TWO_PACKAGES).unwrap();
        let ours = &packages[0];
        assert_eq!(ours.names, [("rust-lib".into(), Purpose::Normal), ("probe".into(), Purpose::Dev)]);
        assert_eq!(ours.edges, ["theirs"]);
        assert_eq!(packages[1].license.as_deref(), Some("MIT"));
    }

    #[test]
    fn packages_of_other_platforms_are_left_out() {
        assert!(read(TWO_PACKAGES).unwrap().iter().all(|package| package.name != "winlib"));
    }

    #[test]
    fn the_tree_is_read_as_names_and_versions() {
        let tree = read_tree("agentsite v0.1.0 (/somewhere)\nserde v1.0.229 (*)\n\nserde v1.0.229\n");
        let expected =
            [("agentsite", "0.1.0"), ("serde", "1.0.229")].map(|(name, at)| (name.to_owned(), at.to_owned()));
        assert_eq!(tree, BTreeSet::from(expected));
    }

    #[test]
    fn an_answer_that_is_not_json_is_a_sentence() {
        assert!(read("warning: nothing").unwrap_err().to_string().contains("JSON"));
    }
}

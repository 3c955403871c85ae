//! The rule that files, folders and modules are named after domain nouns.
//!
//! Promises: a vague name is found wherever it names a Rust file, a folder above one, or an inline module; so
//! is every `mod.rs`. It does not look at types and functions: a reviewer does.

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;
use crate::tidy::tree::Tree;

/// Names that tell a reader nothing about what is inside.
const VAGUE: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc", "manager", "core", "types"];

const REMEDY: &str = "name it after the thing it is about";

/// Finds vague file and folder names, and `mod.rs`.
pub(crate) fn check_paths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| file.path.ends_with(".rs")) {
        if file.path.ends_with("/mod.rs") {
            findings.push(Finding::error(&file.path, 1, "`mod.rs`", "move it to `foo.rs` next to `foo/`"));
        }
        for part in file.path.trim_end_matches(".rs").split('/').filter(|part| VAGUE.contains(part)) {
            findings.push(Finding::error(&file.path, 1, format!("`{part}` is a vague name"), REMEDY));
        }
    }
    findings
}

/// Finds vague names of inline modules; the names of the others are file names.
pub(crate) fn check_modules(source: &Source) -> Vec<Finding> {
    source
        .inline_modules
        .iter()
        .filter(|(name, _)| VAGUE.contains(&name.as_str()))
        .map(|(name, line)| {
            Finding::error(&source.path, *line, format!("module `{name}` is a vague name"), REMEDY)
        })
        .collect()
}

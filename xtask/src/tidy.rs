//! `cargo xtask tidy`: the house rules that a machine can check, and where they are broken.
//!
//! Promises: every finding is one line `path:line: what (what to do)`, findings come in a stable order, and
//! the closing line counts them. Warnings are printed but do not fail. Each rule lives in its own file below
//! this one and is a pure function from what was read to findings; only `tree` and `metadata` touch the
//! world. Rules that clippy already checks (unwrap, clocks, printing) are deliberately not repeated here.

mod cycles;
mod direction;
mod early_returns;
mod finding;
mod headers;
mod layers;
mod mentions;
mod names;
mod reserved;
mod size;
mod source;
mod tree;
mod type_names;
mod verbs;
mod width;
mod words;

use std::time::Instant;

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::metadata;
use crate::tidy::finding::{Finding, Weight};
use crate::tidy::source::Source;
use crate::tidy::tree::Tree;
use crate::workspace::Workspace;

/// What `cargo xtask tidy --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask tidy

Checks crate direction, module cycles, file and function size, names, headers, comment width, forbidden words,
literary phrases, tests that can return early, layers, reserved type names, unsafe code, the verbs of each handle of
the site and the methods of each read trait. Warns about one type name for several ideas and counts them.
Prints each finding as `path:line: what (what to do)`; exit code 1 when something was found. It builds nothing: whether
generated files are up to date is checked by `cargo xtask generate --check`, which has to build the binary.";

/// Checks everything and prints what it found.
pub(crate) fn run(workspace: &Workspace, arguments: Arguments) -> Outcome {
    arguments.finish()?;
    check(workspace)
}

/// The check itself.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    let begun = Instant::now();
    let tree = Tree::read(workspace)?;
    let (sources, mut findings) = source::parse_all(&tree);
    findings.extend(direction::check(&metadata::members(workspace)?, &tree));
    findings.extend(in_sources(&sources));
    let (repeated, census) = type_names::check(&sources);
    findings.extend(repeated);
    let (large, sizes) = verbs::check(&sources);
    findings.extend(large);
    findings.extend(names::check_paths(&tree));
    findings.extend(headers::check(&tree));
    findings.extend(words::check_text(&tree));
    findings.extend(words::check_phrases(&tree, &sources));
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: public types: {}; the aim is below 5 %", census.line());
    println!("tidy: all types: {}", type_names::count_all(&sources).line());
    sizes.iter().for_each(|line| println!("tidy: {line}"));
    conclude(&findings, tree.files().len(), begun)
}

/// The rules that look at parsed Rust.
fn in_sources(sources: &[Source]) -> Vec<Finding> {
    let mut findings = cycles::check(sources);
    findings.extend(width::check(sources));
    for source in sources {
        findings.extend(size::check(source));
        findings.extend(names::check_modules(source));
        findings.extend(words::check_code(source));
        findings.extend(early_returns::check(source));
        findings.extend(layers::check(source));
        findings.extend(reserved::check(source));
    }
    findings
}

fn conclude(findings: &[Finding], files: usize, begun: Instant) -> Outcome {
    let errors = findings.iter().filter(|finding| finding.weight == Weight::Error).count();
    let warnings = findings.len() - errors;
    let took = begun.elapsed().as_secs_f64();
    println!("tidy: {files} files, {errors} errors, {warnings} warnings ({took:.1} s)");
    if errors == 0 { Ok(()) } else { Err(Failure::new(format!("tidy found {errors} errors"))) }
}

#[cfg(test)]
mod tests;

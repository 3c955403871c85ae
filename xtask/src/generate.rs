//! `cargo xtask generate`: writes the files that the program itself can write best.
//!
//! Promises: each generated file is exactly what the binary prints, so documentation cannot disagree with the
//! types it describes; `--check` names each file that differs and changes nothing. To add a file, add a line
//! to [`FILES`].

use std::fs;

use crate::arguments::Arguments;
use crate::built;
use crate::failure::{Failure, Outcome};
use crate::workspace::{Workspace, capture, run as run_command};

/// What `cargo xtask generate --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask generate [--check]

Writes the generated files under docs/ from what the binary prints, and the vectors of the built-in agents' texts.

  --check   write nothing; name the files that differ, with exit code 1 when there are any";

/// A generated file and the arguments that make the binary print it.
const FILES: &[(&str, &str)] = &[
    ("docs/configuration.md", "config docs"),
    ("docs/config.schema.json", "config schema"),
    ("docs/agent.schema.json", "config agent-schema"),
    ("docs/cli.md", "help-markdown"),
];

/// The vectors of the built-in agents' texts, which an example writes because they are not text.
const VECTORS: &str = "crates/search/model/known.f32";

/// Writes the files, or only compares them.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let compare = arguments.flag("--check");
    arguments.finish()?;
    if compare { check(workspace) } else { write(workspace) }
}

/// Names the files that differ, and changes nothing.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    let drifted = drifted(workspace)?;
    for path in &drifted {
        println!(
            "{path}:1: is not what the program generates now (run `cargo xtask generate` and commit the result)"
        );
    }
    println!("generate: {} files, {} differ", FILES.len(), drifted.len());
    let vectors = vectors(workspace, &["--check"]);
    if drifted.is_empty() {
        vectors
    } else {
        Err(Failure::new("generated files differ; run `cargo xtask generate`"))
    }
}

/// The generated files that are missing or differ from what the binary prints now.
fn drifted(workspace: &Workspace) -> Result<Vec<&'static str>, Failure> {
    let mut drifted = Vec::new();
    for (path, words) in FILES {
        let expected = print(workspace, words)?;
        if fs::read_to_string(workspace.path(path)).ok().as_deref() != Some(expected.as_str()) {
            drifted.push(*path);
        }
    }
    Ok(drifted)
}

/// Writes the vectors, or only compares them.
fn vectors(workspace: &Workspace, more: &[&str]) -> Outcome {
    run_command(built::example(workspace, "known_vectors")?.arg(VECTORS).args(more))
}

fn write(workspace: &Workspace) -> Outcome {
    for (path, words) in FILES {
        let text = print(workspace, words)?;
        let target = workspace.path(path);
        let changed = fs::read_to_string(&target).ok().as_deref() != Some(text.as_str());
        if changed {
            fs::write(&target, text).map_err(|error| Failure::io(format!("cannot write {path}"), &error))?;
        }
        println!("{} {path}", if changed { "wrote    " } else { "unchanged" });
    }
    vectors(workspace, &[])
}

/// What the binary prints for these words, with exactly one newline at the end.
fn print(workspace: &Workspace, words: &str) -> Result<String, Failure> {
    let printed = capture(built::binary(workspace)?.args(words.split(' ')))?;
    Ok(format!("{}\n", printed.trim_end()))
}

//! Where the workspace is, and how a program is started in it.
//!
//! Promises: every program starts in the workspace root with no standard input, so nothing can wait for a
//! keyboard in CI, and a program that fails or is missing becomes a sentence that names the whole command. It
//! does not time out: the stages that need a limit have their own (nextest, libFuzzer).

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Outcome};

/// Longest useful line of a talkative program; the rest is file names and hashes.
const LONGEST_LINE: usize = 110;

/// The root folder of the workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace this crate was built in.
    pub(crate) fn here() -> Self {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is one folder below the root");
        Self { root: root.to_owned() }
    }

    /// A path inside the workspace.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// A program to be started in the root, without standard input.
    pub(crate) fn program(&self, name: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(name);
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// The same cargo that started this chore, with the arguments of one command line.
    pub(crate) fn cargo(&self, words: &str) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        self.builder(cargo, words)
    }

    /// A program that starts cargo or is one, with the arguments of one command line.
    pub(crate) fn builder(&self, program: impl AsRef<OsStr>, words: &str) -> Command {
        let mut command = self.program(program);
        command.args(words.split_whitespace());
        for (name, _) in std::env::vars_os().filter(|(name, _)| describes_a_package(name)) {
            command.env_remove(name);
        }
        command
    }
}

/// Whether cargo sets this variable to describe the package it runs, here this crate.
///
/// Build scripts that ask for such a variable (ring's does) run again when it changes: a cargo that inherited
/// it would rebuild half of the dependencies after each command that a person typed, and the other way round.
fn describes_a_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == "OUT_DIR"
        || ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Runs a program to its end with its output on the terminal.
pub(crate) fn run(command: &mut Command) -> Outcome {
    println!("$ {}", line(command));
    let status =
        command.status().map_err(|error| Failure::io(format!("cannot start `{}`", line(command)), &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{}` failed ({status})", line(command))))
    }
}

/// Runs a program to its end and returns what it wrote to standard output.
pub(crate) fn capture(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| Failure::io(format!("cannot start `{}`", line(command)), &error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(format!(
            "`{}` failed ({})\n{}",
            line(command),
            output.status,
            said.trim_end()
        )));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| Failure::new(format!("`{}` wrote something that is not UTF-8", line(command))))
}

/// Runs a talkative program and shows each of its lines shortened.
pub(crate) fn shortened(command: &mut Command) -> Outcome {
    println!("$ {}", line(command));
    let named = line(command);
    let failed = |error: std::io::Error| Failure::io(format!("cannot run `{named}`"), &error);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let output = child.stdout.take().expect("the output was asked for");
    for text in BufReader::new(output).lines() {
        println!("  {}", shorten(&text.map_err(failed)?));
    }
    let status = child.wait().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{named}` failed ({status})"))) }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST_LINE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The command as one would type it, with the program's folder left out.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut words: Vec<String> = command
        .get_envs()
        .filter_map(|(name, value)| {
            Some(format!("{}={:?}", name.to_string_lossy(), value?.to_string_lossy()))
        })
        .collect();
    words.push(program.to_string_lossy().into_owned());
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_in_the_failure() {
        let failure = run(&mut Workspace::here().program("no-such-program-here")).unwrap_err();
        assert!(failure.to_string().contains("no-such-program-here"), "{failure}");
    }

    #[test]
    fn a_cargo_does_not_inherit_what_describes_this_package() {
        // Cargo has set these for this very test.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let command = Workspace::here().cargo("build");
        let removed: Vec<_> = command
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| name.to_owned())
            .collect();
        assert!(removed.contains(&"CARGO_MANIFEST_DIR".into()), "{removed:?}");
        assert!(removed.contains(&"CARGO_PKG_NAME".into()), "{removed:?}");
        assert!(!describes_a_package(OsStr::new("CARGO_HOME")));
        assert!(!describes_a_package(OsStr::new("CARGO_TARGET_DIR")));
    }

    #[test]
    fn a_command_reads_as_it_would_be_typed() {
        let mut command = Workspace::here().program("/usr/bin/env");
        command.arg("-i").env("RUNS", "3");
        assert_eq!(line(&command), "RUNS=\"3\" env -i");
    }

    #[test]
    fn what_a_failing_program_said_is_kept() {
        let failure =
            capture(Workspace::here().program("sh").args(["-c", "echo sorry >&2; exit 3"])).unwrap_err();
        assert!(failure.to_string().ends_with("sorry"), "{failure}");
    }

    #[test]
    fn long_lines_are_cut_between_letters() {
        assert_eq!(shorten("Collecting typos"), "Collecting typos");
        assert_eq!(shorten(&"ü".repeat(LONGEST_LINE + 5)), format!("{}…", "ü".repeat(LONGEST_LINE)));
    }

    #[test]
    fn a_talkative_program_that_fails_is_named() {
        let failure =
            shortened(Workspace::here().program("sh").args(["-c", "echo line; exit 4"])).unwrap_err();
        assert!(failure.to_string().contains("sh -c"), "{failure}");
    }
}

//! The Python environments of the tests, `target/venv` and, for the SDK of A2A 0.3, `target/venv-0.3`.
//!
//! Promises: each holds exactly the packages pinned in its file in `tests/python`, which is a complete list, and is made
//! again when that file or the interpreter changes, else reused. Progress is shown line by line, shortened. It never touches the system's own
//! packages, except that as root it installs Debian's `python3-venv` where `python3 -m venv` does not work.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::failure::{Failure, Outcome};
use crate::workspace::{Workspace, capture, line, run};

/// One environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Environment {
    /// Where it lives, below the root.
    folder: &'static str,
    /// The pinned packages.
    requirements: &'static str,
}

/// The counterparts of today.
pub(crate) const CURRENT: Environment =
    Environment { folder: "target/venv", requirements: "tests/python/requirements.txt" };

/// The counterparts of A2A 0.3, which have the same names.
pub(crate) const OLD: Environment =
    Environment { folder: "target/venv-0.3", requirements: "tests/python/requirements-0.3.txt" };

/// pip's longest useful line; the rest is file names and hashes.
const LONGEST_LINE: usize = 110;

/// Makes the environments, or finds them ready.
pub(crate) fn set_up(workspace: &Workspace) -> Outcome {
    CURRENT.set_up(workspace)?;
    OLD.set_up(workspace)
}

/// A program of today's environment, such as `python`.
pub(crate) fn program(workspace: &Workspace, name: &str) -> PathBuf {
    CURRENT.program(workspace, name)
}

impl Environment {
    /// A program of the environment, such as `python`.
    pub(crate) fn program(&self, workspace: &Workspace, name: &str) -> PathBuf {
        workspace.path(self.folder).join("bin").join(name)
    }

    /// Makes the environment, or finds it ready.
    pub(crate) fn set_up(&self, workspace: &Workspace) -> Outcome {
        let Self { folder, requirements } = self;
        let wanted = fs::read_to_string(workspace.path(requirements))
            .map_err(|error| Failure::io(format!("cannot read {requirements}"), &error))?;
        let version = capture(workspace.program("python3").arg("--version")).map_err(|failure| {
            Failure::new(format!("the tests need Python 3; install python3\n{failure}"))
        })?;
        let stamp = format!("# {}\n{wanted}", version.trim());
        let stamp_file = workspace.path(folder).join("requirements.stamp");
        if fs::read_to_string(&stamp_file).ok().as_deref() == Some(stamp.as_str()) {
            println!("{folder} is up to date with {requirements}");
            return Ok(());
        }
        self.create(workspace)?;
        let mut pip = workspace.program(self.program(workspace, "python"));
        pip.args(
            "-m pip install --disable-pip-version-check --no-input --progress-bar off --no-deps -r"
                .split(' '),
        );
        shortened(pip.arg(requirements))?;
        fs::write(&stamp_file, stamp)
            .map_err(|error| Failure::io("cannot write the stamp of the environment", &error))
    }

    fn create(&self, workspace: &Workspace) -> Outcome {
        let venv = || {
            let mut command = workspace.program("python3");
            command.args(["-m", "venv", "--clear", self.folder]);
            command
        };
        let Err(first) = run(&mut venv()) else { return Ok(()) };
        let root = capture(workspace.program("id").arg("-u")).is_ok_and(|user| user.trim() == "0");
        if !root {
            return Err(Failure::new(format!("{first}; on Debian install it: apt-get install python3-venv")));
        }
        println!("python3 -m venv does not work yet; installing Debian's python3-venv");
        let apt = |words: &str| {
            let mut command = workspace.program("apt-get");
            command.args(words.split(' ')).env("DEBIAN_FRONTEND", "noninteractive");
            shortened(&mut command)
        };
        apt("update")?;
        apt("install -y --no-install-recommends python3-venv")?;
        run(&mut venv())
    }
}

/// Runs a talkative program and shows each of its lines shortened.
fn shortened(command: &mut Command) -> Outcome {
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

#[cfg(test)]
mod tests {
    use super::*;

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

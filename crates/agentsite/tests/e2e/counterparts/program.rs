//! A Python program next to the site: the official counterparts in `tests/python`.
//!
//! Promises: it listens when `start` returns, and is killed when dropped. It deliberately knows nothing of
//! what the programs do.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tokio::sync::mpsc;

use crate::site::{PATIENCE, repository};

/// Lines that wait to be read; a test reads a few dozen.
const LINES: usize = 10_000;

/// A program that prints lines.
pub(super) struct Program {
    child: Child,
    lines: mpsc::Receiver<String>,
    /// Where it listens.
    pub(super) url: String,
}

impl Program {
    /// Starts a program of `tests/python` that says `listening URL` when it is ready.
    pub(super) async fn start(python: &Path, file: &str) -> Self {
        Self::start_with(python, file, &[]).await
    }

    /// The same with arguments.
    pub(super) async fn start_with(python: &Path, file: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(python);
        command.arg(repository("tests/python").join(file)).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel(LINES);
        std::thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|line| sender.blocking_send(line))
        });
        let mut program = Self { child, lines, url: String::new() };
        let line = program.line().await.unwrap_or_else(|| panic!("{file} ended before it was ready"));
        program.url = line.strip_prefix("listening ").expect("it says where it listens").to_owned();
        program
    }

    /// Closes its stdin, which ends it, and gives what it has printed.
    pub(super) async fn end(mut self) -> Vec<String> {
        drop(self.child.stdin.take());
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            lines.push(line);
        }
        lines
    }

    /// The next line that it prints; `None` when it has ended.
    pub(super) async fn line(&mut self) -> Option<String> {
        tokio::time::timeout(PATIENCE, self.lines.recv()).await.expect("it prints something in time")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The Python agent of `tests/python`, as an agent that the site starts.
pub(super) fn troupe(python: &Path) -> String {
    let file = std::fs::canonicalize(repository("tests/python/a2a_agent.py")).unwrap();
    format!(
        "name = \"troupe\"\ndescription = \"Shouts\"\nvisibility = \"public\"\n\
         [runtime]\nkind = \"a2a\"\ncommand = [{:?}, {:?}]\n",
        python.display().to_string(),
        file.display().to_string()
    )
}

//! What a person at a terminal sees: colours, unless they are not wanted, and questions that can be answered
//! at once.
//!
//! The terminal is made by Python's standard library.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::site::{TestSite, binary};

/// Runs the command line at a terminal, types `typed`, and gives the exit code and what was seen.
pub(crate) fn at_a_terminal(
    site: &TestSite,
    words: &[&str],
    variables: &[(&str, &str)],
    typed: &str,
) -> (i32, String) {
    let script = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let mut command = Command::new("python3");
    command.args(["-c", script, binary()]).args(words).current_dir(site.path());
    command.env("TERM", "xterm").env_remove("NO_COLOR").envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(keyboard);
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn colours_are_for_terminals_and_can_be_turned_off() {
    let site = TestSite::new();
    let words = ["doctor", "--listen", "127.0.0.1:0"];
    let (_, coloured) = at_a_terminal(&site, &words, &[], "");
    assert!(coloured.contains("\x1b["), "{coloured:?}");
    let (_, plain) = at_a_terminal(&site, &words, &[("NO_COLOR", "1")], "");
    assert!(!plain.contains('\x1b') && plain.contains("no problem was found"), "{plain:?}");
    let (_, plain) = at_a_terminal(&site, &[&words[..], &["--no-color"]].concat(), &[], "");
    assert!(!plain.contains('\x1b'), "{plain:?}");
    assert!(!site.run(&words).out().contains('\x1b'), "a pipe is not a terminal");
}

#[test]
fn a_question_is_answered_on_the_next_line() {
    let site = TestSite::started();
    let (code, seen) = at_a_terminal(&site, &["call", "calc", "what is"], &[], "6*7\n");
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("Which expression?") && seen.contains("42"), "{seen}");
}

#[test]
fn an_agent_cannot_steer_the_terminal() {
    let agent = "name = \"rude\"\ndescription = \"d\"\n[runtime]\nkind = \"exec\"\ncommand = [\"printf\", '\\033[2Jgone\\033]0;title\\007']\n";
    let mut site = TestSite::new().agent("rude", agent);
    site.start();
    let (code, seen) = at_a_terminal(&site, &["call", "rude", "x"], &[("NO_COLOR", "1")], "");
    assert_eq!(code, 0, "{seen:?}");
    assert!(seen.contains("gone") && !seen.contains('\x1b') && !seen.contains('\x07'), "{seen:?}");
    assert!(site.run(&["call", "rude", "x"]).ok().out().contains('\x1b'), "a pipe gets it unchanged");
}

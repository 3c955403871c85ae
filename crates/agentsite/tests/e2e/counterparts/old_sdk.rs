//! The client of the official Python A2A SDK 0.3 drives the site, whatever kind of agent it calls.
//!
//! The scenarios, and what A2A 0.3 promises in each, are in `tests/python/a2a_client03.py`. Shapes are held
//! in the tests of `gateway`; here only that those who know nothing newer get along.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::agents::{ASKER, SLOW};
use crate::site::{TestSite, old_python, repository};

/// Answers without a record.
const PARROT: &str = r#"
name = "parrot"
description = "Says it back"
visibility = "public"
answers = "message"
[runtime]
kind = "builtin"
builtin = "echo"
"#;

/// The SDK's client.
struct Caller<'a> {
    python: PathBuf,
    site: &'a TestSite,
}

impl Caller<'_> {
    /// Plays a scenario that must succeed with an agent, or the site itself when its name is empty; gives
    /// what was seen.
    fn plays(&self, agent: &str, scenario: &str, words: &[&str]) -> Value {
        let base = if agent.is_empty() { String::new() } else { format!("/a2a/{agent}") };
        let mut command = Command::new(&self.python);
        command.arg(repository("tests/python/a2a_client03.py"));
        command.arg(format!("{}{base}", self.site.url)).arg(scenario).args(words).stdin(Stdio::null());
        let output = command.output().unwrap();
        let seen = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{agent} {scenario}: {seen} {output:?}");
        serde_json::from_str(&seen).unwrap()
    }
}

fn caller<'a>(python: &Path, site: &'a TestSite) -> Caller<'a> {
    Caller { python: python.to_owned(), site }
}

#[test]
fn the_older_sdk_client_gets_along_with_built_in_agents() {
    let python = old_python();
    let mut site = TestSite::trusting().agent("parrot", PARROT);
    site.start();
    let caller = caller(&python, &site);
    let card = caller.plays("echo", "card", &[]);
    assert_eq!((&card["name"], &card["url"]), (&json!("echo"), &json!(format!("{}/a2a/echo", site.url))));
    assert_eq!(caller.plays("", "card", &[])["url"], format!("{}/a2a", site.url));
    let sent = caller.plays("echo", "send", &["--text", "grüße 🦀"]);
    assert_eq!((&sent["state"], &sent["text"]), (&json!("completed"), &json!("grüße 🦀")));
    let streamed = caller.plays("echo", "stream", &["--text", "at once"]);
    assert_eq!(streamed["text"], "at once");
    assert_eq!(streamed["events"][0], "task:submitted");
    assert_eq!(caller.plays("echo", "get", &[])["state"], "completed");
    let ended = caller.plays("echo", "ended", &[]);
    assert_eq!((&ended["events"], &ended["errors"]), (&json!(["task:completed"]), &json!([-32004, -32002])));
    assert_eq!(
        caller.plays("echo", "missing", &[])["errors"],
        json!([-32001, -32001, -32001, -32001, -32001])
    );
    let asked = caller.plays("calc", "input", &["--text", "what is", "--answer", "6 * 7"]);
    assert_eq!((&asked["question"], &asked["text"]), (&json!("Which expression?"), &json!("42")));
    assert_eq!(caller.plays("parrot", "send", &[])["text"], "hello there");
    assert_eq!(caller.plays("", "send", &["--text", "echo: hello"])["state"], "completed", "the concierge");
}

#[test]
fn the_older_sdk_client_gets_along_with_commands() {
    let python = old_python();
    let mut site = TestSite::trusting().agent("slow", SLOW).agent("asker", ASKER);
    site.start();
    let made = site.run(&["key", "new", "--label", "old", "--scope", "call:asker", "--json"]).ok().json();
    let key = made["secret"].as_str().unwrap();
    let caller = caller(&python, &site);
    let asked = caller.plays("asker", "input", &["--answer", "blue", "--token", key]);
    assert_eq!(asked["question"], "Which colour?");
    assert!(asked["text"].as_str().unwrap().ends_with("it is blue\n"), "{asked}");
    assert_eq!(
        caller.plays("asker", "stream", &["--text", "green", "--token", key])["text"],
        "it is green\n"
    );
    assert_eq!(caller.plays("slow", "cancel", &[])["state"], "canceled");
    let events = &caller.plays("slow", "resubscribe", &[])["events"];
    assert!(events.as_array().unwrap().len() >= 2, "{events}");
}

//! The client of the official Python A2A SDK drives the site, whatever kind of agent it calls.
//!
//! Each story is one agent and every scenario that makes sense for it; the scenarios themselves, and what the
//! protocol promises in each, are in `tests/python/a2a_client.py`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::agents::{ASKER, SLOW};
use super::program::troupe;
use crate::site::{TestSite, python, repository};

/// The same, and may be tried again when the site was stopped under it.
const PATIENT: &str = r#"
name = "patient"
description = "Takes for ever, however often"
visibility = "public"
[runtime]
kind = "exec"
command = ["sh", "-c", "exec sleep 3600"]
[limits]
retry = 9
"#;

/// One agent as the SDK's client sees it.
pub(super) struct Caller<'a> {
    python: PathBuf,
    site: &'a TestSite,
    agent: &'static str,
    binding: &'static str,
    key: Option<String>,
}

/// The bindings that the site serves; every story is the same in each.
pub(super) const BINDINGS: [&str; 3] = ["jsonrpc", "rest", "grpc"];

impl<'a> Caller<'a> {
    pub(super) fn new(python: &Path, site: &'a TestSite, agent: &'static str) -> Self {
        Self { python: python.to_owned(), site, agent, binding: "jsonrpc", key: None }
    }

    pub(super) fn by(self, binding: &'static str) -> Self {
        Self { binding, ..self }
    }

    fn with_key(self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self }
    }

    /// Plays a scenario that must succeed; gives what was seen.
    pub(super) fn plays(&self, scenario: &str, words: &[&str]) -> Value {
        let output = self.output(scenario, words);
        let seen = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{} {scenario}: {seen} {output:?}", self.agent);
        serde_json::from_str(&seen).unwrap()
    }

    /// Plays a scenario that must fail; gives the reason.
    fn fails(&self, scenario: &str) -> String {
        let output = self.output(scenario, &[]);
        assert!(!output.status.success(), "{} {scenario} should fail: {output:?}", self.agent);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn output(&self, scenario: &str, words: &[&str]) -> Output {
        let mut command = Command::new(&self.python);
        command.arg(repository("tests/python/a2a_client.py"));
        command.arg(format!("{}/a2a/{}", self.site.url, self.agent)).arg(scenario);
        command.args(["--binding", self.binding]).args(words).stdin(Stdio::null());
        if let Some(key) = &self.key {
            command.args(["--token", key]);
        }
        command.output().unwrap()
    }
}

#[test]
fn the_sdk_client_gets_along_with_built_in_agents() {
    let python = python();
    let site = TestSite::trusting_started();
    for binding in BINDINGS {
        let echo = Caller::new(&python, &site, "echo").by(binding);
        let sent = echo.plays("send", &["--text", "grüße 🦀"]);
        assert_eq!((&sent["state"], &sent["text"]), (&"completed".into(), &"grüße 🦀".into()));
        let streamed = echo.plays("stream", &["--text", "at once"]);
        // An agent that answers immediately is also reported step by step, for clients that read only the
        // updates.
        assert_eq!(
            (&streamed["state"], &streamed["text"]),
            (&"completed".into(), &"at once".into()),
            "{streamed}"
        );
        assert_eq!(streamed["events"][0], "task:submitted");
        assert_eq!(echo.plays("get", &[])["state"], "completed");
        assert_eq!(echo.plays("list", &["--text", "listed"])["text"], "listed");
        assert_eq!(echo.plays("ended", &[])["errors"].as_array().unwrap().len(), 2);
        assert_eq!(echo.plays("missing", &[])["error"], "TaskNotFoundError");
        let wrong = echo.plays("wrong", &[]);
        assert!(wrong["message"].as_str().unwrap().contains("`message.messageId`"), "{wrong}");
        let calc = Caller::new(&python, &site, "calc").by(binding);
        let asked = calc.plays("input", &["--text", "what is", "--answer", "6 * 7"]);
        assert_eq!((&asked["question"], &asked["text"]), (&"Which expression?".into(), &"42".into()));
    }
}

#[test]
fn the_sdk_client_gets_along_with_commands() {
    let python = python();
    let mut site = TestSite::trusting().agent("slow", SLOW).agent("asker", ASKER);
    site.start();
    for binding in BINDINGS {
        let asker = Caller::new(&python, &site, "asker").by(binding);
        let asked = asker.plays("input", &["--answer", "blue"]);
        assert_eq!(asked["question"], "Which colour?");
        assert!(asked["text"].as_str().unwrap().ends_with("it is blue\n"), "{asked}");
        assert_eq!(asker.plays("stream", &["--text", "green"])["text"], "it is green\n");
        assert_eq!(asker.plays("get", &["--text", "red"])["text"], "it is red\n");
        let slow = Caller::new(&python, &site, "slow").by(binding);
        assert_eq!(slow.plays("cancel", &[])["state"], "canceled");
        assert!(slow.plays("subscribe", &[])["events"].as_array().unwrap().len() >= 2);
    }
}

#[test]
fn the_sdk_client_gets_along_with_an_agent_of_its_own_sdk_behind_the_site() {
    let python = python();
    let mut site = TestSite::trusting().agent("troupe", &troupe(&python));
    site.start();
    let troupe = Caller::new(&python, &site, "troupe");
    assert_eq!(troupe.plays("send", &[])["text"], "HELLO THERE");
    let streamed = troupe.plays("stream", &["--text", "one two three"]);
    assert_eq!(streamed["text"], "ONE TWO THREE");
    // Chunks that arrive together are written together, so their number depends on the machine.
    assert!(streamed["events"].as_array().unwrap().contains(&"artifact".into()), "{streamed}");
    assert_eq!(troupe.plays("get", &[])["state"], "completed");
    assert_eq!(troupe.plays("cancel", &[])["state"], "canceled");
    assert_eq!(troupe.plays("missing", &[])["error"], "TaskNotFoundError");
    let asked = troupe.plays("input", &[]);
    assert_eq!((&asked["question"], &asked["text"]), (&"What shall I shout?".into(), &"HELLO AGAIN".into()));
}

#[test]
fn the_sdk_client_shows_a_key_and_a_wrong_one_is_refused() {
    let python = python();
    let mut site = TestSite::trusting().agent("slow", SLOW).agent("asker", ASKER);
    site.start();
    let made = site.run(&["key", "new", "--label", "sdk", "--scope", "call:asker", "--json"]).ok().json();
    let key = made["secret"].as_str().unwrap();
    for binding in BINDINGS {
        let asker = Caller::new(&python, &site, "asker").by(binding).with_key(key);
        assert_eq!(asker.plays("send", &["--text", "red"])["text"], "it is red\n");
        assert_eq!(asker.plays("stream", &["--text", "red"])["state"], "completed");
        assert_eq!(asker.plays("get", &["--text", "red"])["state"], "completed");
        assert_eq!(asker.plays("missing", &[])["error"], "TaskNotFoundError");
        assert_eq!(asker.plays("input", &["--answer", "blue"])["state"], "completed");
        // The key names one agent; another that is public stays so, but a wrong key is never taken for none.
        let wrong = Caller::new(&python, &site, "asker").by(binding).with_key("ask_000000000000_00");
        assert!(wrong.fails("send").contains("401"), "{}", wrong.fails("send"));
    }
}

#[test]
fn the_sdk_client_finds_its_task_again_after_a_crash() {
    let python = python();
    let mut site = TestSite::trusting().agent("patient", PATIENT);
    site.start();
    let begun = BINDINGS.map(|binding| {
        let begun = Caller::new(&python, &site, "patient").by(binding).plays("begin", &[]);
        begun["task"].as_str().unwrap().to_owned()
    });
    site.kill();
    site.start();
    for (binding, task) in BINDINGS.iter().zip(&begun) {
        let seen = Caller::new(&python, &site, "patient").by(binding).plays("again", &["--task", task]);
        assert!(seen["events"][0].as_str().unwrap().starts_with("task:"), "{seen}");
    }
}

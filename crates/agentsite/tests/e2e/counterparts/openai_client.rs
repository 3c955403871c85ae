//! The official OpenAI client talks to the agents of a site as if they were models.
//!
//! Each scenario, and what it expects, is in `tests/python/openai_client.py`.

use std::process::Command;

use serde_json::Value;

use super::agents::{ASKER, SLOW};
use crate::site::{TestSite, mcp_python, repository};

/// Plays scenarios that must succeed, in one process because its start takes longest; gives what was seen in
/// each.
fn plays(site: &TestSite, scenarios: &str, key: Option<&str>) -> Value {
    let mut command = Command::new(mcp_python());
    command.arg(repository("tests/python/openai_client.py")).arg(scenarios);
    command.args(["--url", &format!("{}/v1", site.url)]);
    command.args(key.into_iter().flat_map(|key| ["--key", key]));
    let output = command.output().unwrap();
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{scenarios}: {seen}{said}\n{}", site.log());
    serde_json::from_str(&seen).unwrap()
}

fn site() -> TestSite {
    let mut site = TestSite::trusting().agent("asker", ASKER).agent("slow", SLOW);
    site.start();
    site
}

#[test]
fn the_official_client_lists_and_asks_agents() {
    let site = site();
    plays(&site, "models,chat,chat_stream,question,file", None);
}

#[test]
fn the_official_client_gets_responses() {
    let site = site();
    let seen = plays(&site, "responses,responses_stream,background,responses_question", None);
    assert_eq!(seen["responses_question"]["answer"], "it is red");
}

#[test]
fn the_official_client_understands_every_refusal() {
    let site = site();
    plays(&site, "wrong_model,wrong_parameter,failed", None);
    let tasks = site.run(&["task", "ls", "--json"]).ok().json();
    let failed = tasks["tasks"].as_array().unwrap().iter().filter(|task| task["agent"] == "calc").count();
    assert_eq!(failed, 1, "the client does not repeat what failed: {tasks}");
    plays(&site, "bad_key", Some("ask_nobody_00000000"));
    let token = site.token();
    plays(&site, "models", Some(&token));
}

//! The official OpenAI client talks to the agents of a site as if they were models.
//!
//! Each scenario, and what it expects, is in `tests/python/openai_client.py`.

use std::process::Command;

use serde_json::Value;

use super::agents::{ASKER, SLOW};
use crate::site::{TestSite, mcp_python, repository};

/// Plays a scenario that must succeed; gives what was seen. The command line is blocking, so that it runs beside the site's own process only.
fn plays(site: &TestSite, scenario: &str, key: Option<&str>) -> Value {
    let mut command = Command::new(mcp_python().expect("`cargo xtask test` sets it up"));
    command.arg(repository("tests/python/openai_client.py")).arg(scenario);
    command.args(["--url", &format!("{}/v1", site.url)]);
    command.args(key.into_iter().flat_map(|key| ["--key", key]));
    let output = command.output().unwrap();
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{scenario}: {seen}{said}\n{}", site.log());
    serde_json::from_str(&seen).unwrap()
}

fn site() -> TestSite {
    let mut site = TestSite::new().agent("asker", ASKER).agent("slow", SLOW);
    site.start();
    site
}

#[test]
fn the_official_client_lists_and_asks_agents() {
    let site = site();
    for scenario in ["models", "chat", "chat_stream", "question", "file"] {
        plays(&site, scenario, None);
    }
}

#[test]
fn the_official_client_gets_responses() {
    let site = site();
    for scenario in ["responses", "responses_stream", "background"] {
        plays(&site, scenario, None);
    }
    let seen = plays(&site, "responses_question", None);
    assert_eq!(seen["answer"], "it is red");
}

#[test]
fn the_official_client_understands_every_refusal() {
    let site = site();
    for scenario in ["wrong_model", "wrong_parameter"] {
        plays(&site, scenario, None);
    }
    plays(&site, "failed", None);
    let tasks = site.run(&["task", "ls", "--json"]).ok().json();
    let failed = tasks["tasks"].as_array().unwrap().iter().filter(|task| task["agent"] == "calc").count();
    assert_eq!(failed, 1, "the client does not repeat what failed: {tasks}");
    plays(&site, "bad_key", Some("ask_nobody_00000000"));
    let token = site.token();
    plays(&site, "models", Some(&token));
}

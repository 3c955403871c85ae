//! `agentsite mcp` between the official MCP clients and a site, in both eras of the protocol.
//!
//! What each scenario expects is in `tests/python/mcp_stdio.py`. What needs no client is tested here with
//! plain lines.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};

use super::agents::SLOW;
use super::mcp_server::steps;
use crate::site::{TestSite, binary, eventually, mcp_python, repository};

/// Plays scenarios that must succeed, in one process because its start takes longest; gives what was seen in
/// each.
fn plays(site: &TestSite, scenarios: &str, mode: &str, bridge: &[&str]) -> Value {
    let mut command = Command::new(mcp_python());
    command.current_dir(site.path()).arg(repository("tests/python/mcp_stdio.py").canonicalize().unwrap());
    command.args([scenarios, "--mode", mode, "--", binary(), "mcp"]).args(bridge);
    let output = command.output().unwrap();
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{scenarios} {mode}: {seen}{said}\n{}", site.log());
    serde_json::from_str(&seen).unwrap()
}

fn conformance() -> TestSite {
    let mut site = TestSite::trusting().flag("--conformance");
    site.start();
    site
}

#[test]
fn the_official_mcp_client_uses_tools_over_stdio_in_both_eras() {
    let site = conformance();
    let agent = ["--agent", "conformance"];
    plays(&site, "tools,progress,questions,refusals", "legacy", &agent);
    plays(&site, "tools,progress,questions,refusals,headers,fast", "auto", &agent);
    let url = site.url.clone();
    plays(&site, "tools", "auto", &["--agent", "conformance", "--site", &url]);
}

#[test]
fn a_folder_without_a_site_gets_one_for_as_long_as_it_is_needed() {
    let site = TestSite::trusting();
    for mode in ["legacy", "auto"] {
        plays(&site, "listing", mode, &[]);
        assert!(!site.data().join("site.json").exists(), "the site ends with its client");
    }
}

/// A bridge driven line by line.
struct Lines {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl Lines {
    fn begin(site: &TestSite, arguments: &[&str]) -> Self {
        let mut command = site.command(&["mcp"]);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message but {line:?}"))
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.say(&message.to_string());
        self.hear()
    }

    fn end(mut self) {
        drop(self.input.take());
        assert!(self.process.wait().unwrap().success());
    }
}

fn initialize(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    } })
}

fn list(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" })
}

#[test]
fn what_is_no_message_is_refused_and_the_bridge_goes_on() {
    let site = conformance();
    let mut lines = Lines::begin(&site, &["--agent", "conformance"]);
    lines.say("no json");
    assert_eq!(lines.hear()["error"]["code"], -32700);
    lines.say("");
    lines.say(r#"{"jsonrpc":"2.0","id":5}"#);
    let refused = lines.hear();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(5), &json!(-32600)));
    assert!(lines.ask(&initialize(1))["result"]["protocolVersion"].is_string());
    lines.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert!(lines.ask(&list(2))["result"]["tools"].is_array());
    lines.end();
}

#[test]
fn a_session_goes_on_when_the_site_was_restarted() {
    let mut site = conformance();
    let mut lines = Lines::begin(&site, &["--agent", "conformance"]);
    lines.ask(&initialize(1));
    lines.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert!(lines.ask(&list(2))["result"]["tools"].is_array());
    site.stop();
    site.start();
    let answer = lines.ask(&list(3));
    assert!(answer["result"]["tools"].is_array(), "{answer}");
    lines.end();
}

#[test]
fn a_site_that_was_named_and_is_not_there_is_told() {
    let mut site = conformance();
    let mut lines = Lines::begin(&site, &["--site", &site.url]);
    assert!(lines.ask(&initialize(1))["result"].is_object());
    site.stop();
    let answer = lines.ask(&list(2));
    assert_eq!(answer["id"], 2);
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.contains("does not answer"), "{told}");
    lines.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_the_client_cancels_over_stdio_ends_the_task() {
    let mut site = TestSite::trusting().agent("slow", SLOW);
    site.start();
    let bridge = json!([binary(), "mcp", "--site", site.url]).to_string();
    for (turn, mode) in ["legacy", "auto"].into_iter().enumerate() {
        let cancel = json!({"do": "cancel", "tool": "slow", "arguments": {"message": "go"}});
        let seen = steps(&bridge, &["--mode", mode], &[cancel]);
        assert_eq!(seen[0]["cancelled"], true, "{mode}");
        eventually("the task is cancelled", async || {
            let tasks = site.run(&["task", "ls", "--json"]).ok().json()["tasks"].take();
            let states: Vec<&str> =
                tasks.as_array().unwrap().iter().filter_map(|task| task["state"].as_str()).collect();
            (states.len() == turn + 1 && states.iter().all(|state| state.contains("cancel"))).then_some(())
        })
        .await;
    }
}

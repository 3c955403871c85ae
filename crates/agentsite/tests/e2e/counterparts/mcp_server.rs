//! A site as an MCP server: the protocol's own conformance suite, the official clients, and an agent on a
//! second site behind it.
//!
//! `tests/python/mcp_client.py` explains the steps of the Python clients.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::agents::{ASKER, SLOW};
use crate::site::{TestSite, eventually, mcp_python, node_modules, repository};

/// The revisions, and how many scenarios each has in all: those that it requires, and those that it only
/// reports.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 30 + 3), ("2026-07-28", 37 + 13)];

/// How each official client is made to use a revision.
const CLIENTS: [&[&str]; 4] =
    [&["--mode", "auto"], &["--mode", "legacy"], &["--mode", "2026-07-28"], &["--sdk", "fastmcp"]];

#[test]
fn the_site_passes_every_scenario_of_the_suite_of_the_protocol() {
    let mut site = TestSite::trusting().flag("--conformance");
    site.start();
    check_suite(&site.url);
}

/// Runs the suite in each revision against a site.
pub(crate) fn check_suite(url: &str) {
    let (node, modules) = node_modules();
    let suite = modules.join("@modelcontextprotocol/conformance/dist/index.js");
    for (revision, scenarios) in REVISIONS {
        let mut command = Command::new(&node);
        command.arg(&suite).args(["server", "--url", &format!("{url}/mcp/conformance")]);
        let output = command.args(["--requirements", revision]).stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, summary) = told.split_once("=== SUMMARY ===").unwrap_or_else(|| panic!("{told}"));
        assert!(output.status.success(), "{revision}: {summary}");
        let (scored, unscored) = summary.split_once("\nTotal:").unwrap_or((summary, ""));
        assert!(!scored.contains('✗') && !unscored.contains('✗'), "{revision}: {summary}");
        assert_eq!(scored.matches('✓').count(), scenarios, "{revision}: {summary}");
    }
}

/// Lets a Python client take steps; gives a line for each.
pub(super) fn steps(url: &str, more: &[&str], steps: &[Value]) -> Vec<Value> {
    let mut command = Command::new(mcp_python());
    command.arg(repository("tests/python/mcp_client.py")).args(more).arg(url);
    let output = command.args(steps.iter().map(Value::to_string)).stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{more:?}: {told}{said}");
    told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn call(tool: &str, arguments: &Value) -> Value {
    json!({"do": "call", "tool": tool, "arguments": arguments})
}

fn words(step: &Value) -> String {
    let pieces = step["result"]["content"].as_array().unwrap_or_else(|| panic!("{step}"));
    pieces.iter().filter_map(|piece| piece["text"].as_str()).collect()
}

#[test]
fn the_official_clients_find_and_use_the_agents_of_a_site() {
    let mut site = TestSite::trusting();
    site.start();
    for client in CLIENTS {
        let plan = [
            json!({"do": "tools"}),
            call("calc", &json!({"message": "6*7"})),
            call(
                "find_agents",
                &json!({"query": "what time is it in Tokyo", "k": 1, "filter": {"protocols": ["mcp"]}}),
            ),
            call("call_agent", &json!({"agent": "calc", "message": "2+2"})),
            call("list_tasks", &json!({})),
            call("nobody", &json!({})),
            call("calc", &json!({"message": 7})),
            json!({"do": "templates"}),
            json!({"do": "read", "uri": "agentsite://agents/calc/card"}),
            json!({"do": "prompts"}),
            call("find_agents", &json!({"query": "?!"})),
        ];
        let seen = steps(&format!("{}/mcp", site.url), client, &plan);
        let names: Vec<&str> =
            seen[0]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
        for wanted in
            ["calc", "clock", "echo", "find_agents", "call_agent", "get_task", "cancel_task", "list_tasks"]
        {
            assert!(names.contains(&wanted), "{client:?}: {wanted} is not among {names:?}");
        }
        assert!(words(&seen[1]).contains("42"), "{client:?}: {}", seen[1]);
        assert!(words(&seen[2]).starts_with("clock: "), "{client:?}: {}", seen[2]);
        assert!(words(&seen[2]).contains("score"), "{client:?}: {}", seen[2]);
        assert!(
            words(&seen[10]).contains("describe in a sentence what you need"),
            "{client:?}: {}",
            seen[10]
        );
        assert!(words(&seen[3]).contains('4'), "{client:?}: {}", seen[3]);
        assert!(words(&seen[4]).contains("calc"), "{client:?}: {}", seen[4]);
        assert!(seen[5].to_string().contains("nobody"), "{client:?}: {}", seen[5]);
        assert!(
            seen[6].get("error").is_some() || seen[6]["result"]["isError"] == true,
            "{client:?}: {}",
            seen[6]
        );
        assert!(seen[7].to_string().contains("agentsite://tasks/"), "{client:?}: {}", seen[7]);
        assert!(seen[8].to_string().contains("calc"), "{client:?}: {}", seen[8]);
    }
}

#[test]
fn the_inspector_uses_a_tool() {
    let (node, modules) = node_modules();
    let site = TestSite::trusting_started();
    let inspector = modules.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let inspect = |words: &[&str]| {
        let mut command = Command::new(&node);
        command.env("HOME", site.path()).arg(&inspector).args(["--cli", &format!("{}/mcp/calc", site.url)]);
        let output = command.args(["--transport", "http"]).args(words).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(inspect(&["--method", "tools/list", "--strict"]).contains("\"calc\""));
    let told = inspect(&["--method", "tools/call", "--tool-name", "calc", "--tool-arg", "message=6*7"]);
    assert!(told.contains("42"), "{told}");
}

/// A site whose agents live on another one.
fn two_sites() -> (TestSite, TestSite) {
    let mut far = TestSite::trusting().agent("asker", &ASKER.replace("peers", "public")).agent("slow", SLOW);
    far.start();
    let mut near = TestSite::trusting();
    near.write("agentsite.toml", &format!("[egress]\nallow = [{:?}]\n", far.url.replace("http://", "")));
    for name in ["asker", "slow", "calc"] {
        let card = format!("{}/a2a/{name}", far.url);
        near.write(
            &format!("agents/remote-{name}/agent.toml"),
            &format!("name = \"remote-{name}\"\ndescription = \"Elsewhere\"\nvisibility = \"public\"\n[runtime]\nkind = \"a2a\"\ncard = {card:?}\n"),
        );
    }
    near.start();
    (near, far)
}

#[test]
fn an_agent_on_a_second_site_is_a_tool_that_asks_back() {
    let (near, _far) = two_sites();
    for client in CLIENTS {
        let more = [client, &["--answer", "red"]].concat();
        let ask = call("remote-asker", &json!({"message": "ask me"}));
        let seen = steps(&format!("{}/mcp", near.url), &more, &[ask]);
        assert!(words(&seen[0]).contains("it is red"), "{client:?}: {}", seen[0]);
        assert!(seen[0]["asked"].to_string().contains("Which colour?"), "{client:?}: {}", seen[0]);
        // A client without support for forms gets an explanation how to continue.
        let ask = call("remote-asker", &json!({"message": "ask me"}));
        let seen = steps(&format!("{}/mcp", near.url), client, &[ask]);
        assert!(words(&seen[0]).contains("Which colour?"), "{client:?}: {}", seen[0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_ends_the_work_on_the_second_site() {
    let (near, far) = two_sites();
    for client in &CLIENTS[..2] {
        let cancel = json!({"do": "cancel", "tool": "remote-slow", "arguments": {"message": "go"}});
        let seen = steps(&format!("{}/mcp", near.url), client, &[cancel]);
        assert_eq!(seen[0]["cancelled"], true, "{client:?}");
        eventually("the task to be cancelled", async || {
            let tasks = far.run(&["task", "ls", "--json"]).ok().json();
            let all = tasks["tasks"].as_array().unwrap().clone();
            let ended = |task: &Value| task["state"].as_str().is_some_and(|state| state.contains("cancel"));
            (!all.is_empty() && all.iter().filter(|task| task["agent"] == "slow").all(ended)).then_some(())
        })
        .await;
    }
}

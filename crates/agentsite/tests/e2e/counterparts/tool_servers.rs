//! MCP servers, hosted unchanged and called by A2A: with the official SDK's client, by a model, and in plain
//! language.
//!
//! The servers are `tests/python/mcp_server.py` on the official Python package, and the protocol's own
//! example server.

use std::path::Path;

use serde_json::{Value, json};

use super::scripted_model::{Line, ScriptedModel};
use super::sdk_client::{BINDINGS, Caller};
use crate::site::{TestSite, answer, counterpart, eventually, message, python, repository};

/// The manifest of an agent with this command.
fn hosting(name: &str, command: &[&Path], more: &str) -> String {
    format!(
        "name = \"{name}\"\ndescription = \"Some tools\"\nvisibility = \"public\"\n[runtime]\nkind = \"mcp\"\ncommand = {command:?}\n{more}\n"
    )
}

fn python_server(more: &str) -> String {
    let script = repository("tests/python/mcp_server.py");
    hosting("tools", &[&counterpart("AGENTSITE_TEST_PYTHON_MCP"), &script], more)
}

fn example_server() -> String {
    let script =
        counterpart("AGENTSITE_TEST_NPM").join("@modelcontextprotocol/server-everything/dist/index.js");
    hosting("everything", &[&counterpart("AGENTSITE_TEST_NODE"), &script, Path::new("stdio")], "")
}

async fn ready(site: &TestSite, agent: &str) {
    eventually("the tool server is ready", async || {
        (site.get(&format!("/api/agents/{agent}")).await["health"] == "ready").then_some(())
    })
    .await;
}

/// Calls a tool and gives the task.
async fn call(site: &TestSite, tool: &str, arguments: Value) -> Value {
    let mut message = message("");
    message["parts"] = json!([{ "data": { "tool": tool, "arguments": arguments } }]);
    site.rpc("tools", "SendMessage", json!({ "message": message })).await["result"]["task"].take()
}

fn words(task: &Value) -> String {
    task["status"]["message"]["parts"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sdk_client_calls_tools_of_a_python_server() {
    let python = python();
    let mut site = TestSite::trusting().agent("tools", &python_server(""));
    site.start();
    ready(&site, "tools").await;
    let add = json!({ "tool": "add", "arguments": { "a": 2, "b": 3 } }).to_string();
    let slow = json!({ "tool": "slow", "arguments": { "steps": 3 } }).to_string();
    for binding in BINDINGS {
        let caller = Caller::new(&python, &site, "tools").by(binding);
        let sum = caller.plays("send", &["--data", &add]);
        assert_eq!(sum["state"], "completed", "{sum}");
        let streamed = caller.plays("stream", &["--data", &slow]);
        let told = streamed["events"].as_array().unwrap().iter().filter(|event| **event == "status:working");
        assert!(told.count() >= 2 && streamed["text"] == "done", "{streamed}");
    }
    let caller = Caller::new(&python, &site, "tools");
    let greeted = caller.plays("input", &["--text", "ask", "--answer", "Ada"]);
    assert!(greeted["question"].as_str().unwrap().contains("Who are you?"), "{greeted}");
    assert_eq!(greeted["text"], "Hello Ada");
    assert_eq!(caller.plays("send", &["--text", "echo in plain words"])["text"], "IN PLAIN WORDS");
    let mark = site.path().join("agents/tools/waiting");
    assert_eq!(caller.plays("cancel", &["--text", "wait"])["state"], "canceled");
    eventually("the server has stopped waiting", async || (!mark.exists()).then_some(())).await;

    let died = call(&site, "die", json!({})).await;
    assert!(words(&died).contains("ended in the middle of the call"), "{died}");
    eventually("the server is back", async || {
        let task = call(&site, "echo", json!({ "text": "back" })).await;
        (task["status"]["state"] == "TASK_STATE_COMPLETED").then_some(())
    })
    .await;
    let log = site.run(&["agent", "logs", "tools"]).ok().out();
    assert!(log.contains("told to die") && log.contains("exit status: 3"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sdk_client_calls_the_example_server() {
    let python = python();
    let mut site = TestSite::trusting().agent("everything", &example_server());
    site.start();
    ready(&site, "everything").await;
    let caller = Caller::new(&python, &site, "everything");
    let sum = caller.plays("send", &["--text", "get-sum {\"a\": 2, \"b\": 40}"]);
    assert!(sum["text"].as_str().unwrap().contains("42"), "{sum}");
    let long = "trigger-long-running-operation {\"duration\": 2, \"steps\": 4}";
    let streamed = caller.plays("stream", &["--text", long]);
    assert_eq!(streamed["state"], "completed", "{streamed}");
    assert!(
        streamed["events"].as_array().unwrap().iter().filter(|one| **one == "status:working").count() >= 2
    );
    let asked = caller.plays("input", &["--text", "trigger-elicitation-request", "--answer", "decline"]);
    assert_eq!(asked["state"], "completed", "{asked}");
    let card = site.get("/a2a/everything/.well-known/agent-card.json").await;
    assert!(card["skills"].as_array().unwrap().iter().any(|skill| skill["id"] == "get-sum"), "{card}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_tools_are_flagged_and_approved_on_the_command_line() {
    let mut site = TestSite::trusting().agent("tools", &python_server("approve = \"changed\""));
    site.start();
    ready(&site, "tools").await;
    assert!(site.path().join("agents/tools/tools.lock").is_file());
    let before = site.run(&["agent", "tools", "tools"]).ok();
    assert!(before.out().contains("same") && !before.out().contains("changed "), "{before:?}");
    call(&site, "change", json!({})).await;
    eventually("the change is flagged", async || {
        site.get("/api/agents/tools").await["notice"].as_str().map(ToOwned::to_owned)
    })
    .await;

    let listed = site.run(&["agent", "tools", "tools", "--json"]).ok().json();
    let state = |name: &str| {
        let tools = listed["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        (tool["state"].as_str().unwrap().to_owned(), tool["usable"].as_bool().unwrap())
    };
    assert_eq!(state("echo"), ("changed".into(), false));
    assert_eq!(state("shout"), ("new".into(), false));
    assert_eq!(state("add"), ("same".into(), true));
    assert!(site.run(&["agent", "ls"]).ok().err().contains("1 changed (echo) and 1 new (shout)"));
    assert!(site.run(&["doctor"]).out().contains("tools differ from what was approved"));
    assert!(words(&call(&site, "echo", json!({ "text": "a" })).await).contains("agentsite agent approve"));

    let wrong = site.run(&["agent", "approve", "tools", "nothing"]);
    assert!(wrong.code() != 0 && wrong.err().contains("there is no tool `nothing`"), "{wrong:?}");
    let approved = site.run(&["agent", "approve", "tools", "echo"]).ok();
    assert_eq!(approved.out().trim(), "approved: echo");
    let task = call(&site, "echo", json!({ "text": "a" })).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    site.run(&["agent", "approve", "tools"]).ok();
    assert!(site.get("/api/agents/tools").await["notice"].is_null());
}

/// A site with the Python server and this script as its model.
async fn with_model(more: &str, script: Vec<Line>) -> (TestSite, ScriptedModel) {
    let model = ScriptedModel::start(script).await;
    let mut site = TestSite::trusting().agent("tools", &python_server(more)).agent("adviser", ADVISER);
    site.write("agentsite.toml", &format!("[models.script]\nbase_url = \"{}\"\n", model.url));
    site.start();
    ready(&site, "tools").await;
    (site, model)
}

const ADVISER: &str = r#"
name = "adviser"
description = "Answers with the help of tools"
[runtime]
kind = "llm"
tools = ["mcp:tools"]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn plain_words_are_understood_with_a_model() {
    let script = vec![
        Line::Uses { tool: "add", arguments: json!({ "a": 2, "b": 3 }) },
        Line::Says(vec!["It is ", "five."]),
    ];
    let (site, model) = with_model("", script).await;
    assert_eq!(answer(&site.send("tools", "what are two and three together?").await), "It is five.");
    let heard = model.heard();
    let offered = heard[0]["tools"].as_array().unwrap();
    assert!(offered.iter().any(|tool| tool["function"]["name"] == "echo"), "{}", heard[0]);
    let told = heard[1]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told.contains('5'), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_uses_the_tools_of_a_server_and_passes_its_questions_on() {
    let script =
        vec![Line::Uses { tool: "tools_ask", arguments: json!({}) }, Line::Says(vec!["It said hello."])];
    let (site, model) = with_model("", script).await;
    let asked = site.send("adviser", "greet me").await["result"]["task"].take();
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{asked}");
    assert!(words(&asked).contains("Who are you?"), "{asked}");
    let mut reply = message("Ada");
    (reply["taskId"], reply["contextId"]) = (asked["id"].clone(), asked["contextId"].clone());
    let done = site.rpc("adviser", "SendMessage", json!({ "message": reply })).await;
    assert_eq!(answer(&done), "It said hello.", "{done}");
    let told = model.heard()[1]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told.contains("Hello Ada"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_ask_the_model_of_the_site_where_it_is_allowed() {
    let (site, _model) = with_model("sampling = true", vec![Line::Says(vec!["Nothing ", "much."])]).await;
    let thought = site.send("tools", "think").await;
    assert_eq!(answer(&thought), "The model thinks: Nothing much.", "{thought}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_a_tool_server_keeps_notes() {
    let mut site = TestSite::trusting();
    for file in ["agent.toml", "server.py"] {
        let text = std::fs::read_to_string(repository("examples/mcp-server").join(file)).unwrap();
        let python = counterpart("AGENTSITE_TEST_PYTHON_MCP");
        site.write(&format!("agents/notes/{file}"), &text.replace("\"python3\"", &format!("{python:?}")));
    }
    site.start();
    ready(&site, "notes").await;
    site.run(&["call", "notes", "write {\"name\": \"milk\", \"text\": \"buy two\"}"]).ok();
    assert_eq!(site.run(&["call", "notes", "read {\"name\": \"milk\"}"]).ok().out().trim(), "buy two");
    assert_eq!(std::fs::read_to_string(site.path().join("agents/notes/notes/milk.txt")).unwrap(), "buy two");
}

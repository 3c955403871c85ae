//! The site is killed while an MCP client waits for a tool; what the client then receives is true.
//!
//! The agents wait at a gate, so that the kill meets them at work whatever the machine is doing.

use std::io::Write;

use serde_json::{Value, json};

use crate::site::{TestSite, eventually, exec_agent, gate};

/// Waits at its gate, then repeats its message.
const TURNSTILE: [&str; 3] = ["sh", "-c", "read x; echo begun >> begun; read go < gate; echo $x"];

fn turnstile(retry: u32) -> (TestSite, std::fs::File) {
    let manifest = exec_agent("turnstile", &TURNSTILE, &format!("[limits]\nretry = {retry}"));
    let mut site = TestSite::trusting().agent("turnstile", &manifest);
    let gate = gate(&site.path().join("agents/turnstile/gate"));
    site.start();
    (site, gate)
}

/// Waits until the agent has begun so often.
async fn begun(site: &TestSite, times: usize) {
    let mark = site.path().join("agents/turnstile/begun");
    eventually("the agent is at work", async || {
        let lines = std::fs::read_to_string(&mark).unwrap_or_default().lines().count();
        (lines == times).then_some(())
    })
    .await;
}

/// Asks in the stateless revision, as a client that follows tasks.
async fn ask(site: &TestSite, method: &str, name: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
    });
    let request = site.http.post(format!("{}/mcp", site.url));
    let request = request.header("accept", "application/json, text/event-stream").header("mcp-name", name);
    let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    request.json(&body).send().await.unwrap().json().await.unwrap()
}

async fn ended(site: &TestSite, task: &str) -> Value {
    eventually("the task has ended", async || {
        let read = ask(site, "tasks/get", task, json!({ "taskId": task })).await["result"].take();
        (read["status"] != "working").then_some(read)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_follows_its_task_is_told_the_truth_after_a_kill() {
    for retry in [0, 1] {
        let (mut site, mut gate) = turnstile(retry);
        let call = json!({ "name": "turnstile", "arguments": { "message": "hello" } });
        let handle = ask(&site, "tools/call", "turnstile", call).await["result"].take();
        assert_eq!(handle["resultType"], "task", "{handle}");
        let task = handle["taskId"].as_str().unwrap().to_owned();
        begun(&site, 1).await;
        site.kill();
        site.start();
        if retry == 1 {
            begun(&site, 2).await;
            gate.write_all(b"go\n").unwrap();
        }
        let told = ended(&site, &task).await;
        if retry == 1 {
            assert_eq!(told["status"], "completed", "{told}");
            assert_eq!(told["result"]["content"][0]["text"].as_str().unwrap().trim(), "hello", "{told}");
        } else {
            assert!(told.to_string().contains("limits.retry = 0"), "it says why: {told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_cut_finds_the_end_of_its_call_among_the_tasks() {
    let (mut site, _gate) = turnstile(0);
    let url = format!("{}/mcp", site.url);
    let open = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    } });
    let accept = ("accept", "application/json, text/event-stream");
    let opened = site.http.post(&url).header(accept.0, accept.1).json(&open).send().await.unwrap();
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "turnstile", "arguments": { "message": "hello" },
    } });
    let request =
        site.http.post(&url).header(accept.0, accept.1).header("mcp-session-id", &session).json(&call);
    let waiting = tokio::spawn(async move { request.send().await?.text().await });
    begun(&site, 1).await;
    site.kill();
    let cut = waiting.await.unwrap();
    assert!(!cut.is_ok_and(|text| text.contains("\"result\"")), "no answer was invented");

    site.start();
    let url = format!("{}/mcp", site.url);
    let lost = site.http.post(&url).header(accept.0, accept.1).header("mcp-session-id", &session).json(&call);
    assert_eq!(lost.send().await.unwrap().status(), 404, "a client then opens another session");
    let list = ask(&site, "tools/call", "list_tasks", json!({ "name": "list_tasks", "arguments": {} })).await;
    assert!(list.to_string().contains("failed"), "{list}");
}

//! Stories with real servers (the official Python package, the protocol's own example server), and with
//! hostile ones that the test plays.
//!
//! The conformance suite of the protocol tests the protocol itself; these tests cover what callers of the
//! client rely on.

mod hostile;
mod http;
mod starting;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use agentsite_egress::Egress;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::*;

/// Counts, so that a run can be repeated.
#[derive(Debug, Default)]
struct Counting(std::sync::atomic::AtomicU8);

impl agentsite_protocol::Rng for Counting {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    }
}

fn options() -> Options {
    Options::new(Arc::new(Counting::default()))
}

/// A counterpart by the variable that names it; without it the test fails and says what to run.
fn counterpart(variable: &str) -> PathBuf {
    let named = std::env::var_os(variable);
    named.unwrap_or_else(|| panic!("{variable} is not set: run `cargo xtask test`, which sets it up")).into()
}

fn python(arguments: &[&str]) -> Child {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/mcp/tests/server.py");
    let python = counterpart("AGENTSITE_TEST_PYTHON_MCP");
    spawn(Command::new(python).arg(script).args(arguments))
}

fn everything() -> Child {
    let (node, modules) = (counterpart("AGENTSITE_TEST_NODE"), counterpart("AGENTSITE_TEST_NPM"));
    let script = modules.join("@modelcontextprotocol/server-everything/dist/index.js");
    spawn(Command::new(node).arg(script).arg("stdio"))
}

fn spawn(command: &mut Command) -> Child {
    let command =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    command.spawn().expect("the server starts")
}

async fn by_pipes(child: &mut Child) -> McpClient {
    let (read, write) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    McpClient::connect(Address::pipes(read, write), options()).await.expect("it says who it is")
}

fn tool(name: &str, arguments: serde_json::Value) -> ToolCall {
    let serde_json::Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    ToolCall { name: name.into(), arguments, ..ToolCall::default() }
}

fn done<T: std::fmt::Debug>(reply: Reply<T>) -> T {
    match reply {
        Reply::Done(value) => value,
        Reply::Input(needed) => panic!("it asks back: {needed:?}"),
    }
}

async fn use_python(client: &McpClient) {
    assert_eq!((client.about().name.as_str(), client.about().version.as_str()), ("py", "1.2.3"));
    assert_eq!(client.revision(), "2026-07-28");
    let tools = client.tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["add", "steps", "greet", "sleep"]);
    let sum = done(client.call(tool("add", json!({ "a": 1, "b": 2 })), |_| {}).await.unwrap());
    assert_eq!((sum.plain_text().as_str(), sum.is_error), ("3", false));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = heard.clone();
    let hear = move |notice| ears.lock().unwrap().push(notice);
    done(client.call(tool("steps", json!({ "count": 3 })), hear).await.unwrap());
    let steps: Vec<Option<String>> = heard
        .lock()
        .unwrap()
        .iter()
        .map(|notice| match notice {
            Notice::Progress { message, .. } => message.clone(),
            Notice::Log { .. } | Notice::Detach => None,
        })
        .collect();
    assert_eq!(steps, [Some("step 1".into()), Some("step 2".into()), Some("step 3".into())]);
    let notes = client.resources().await.unwrap();
    assert_eq!(notes[0].uri, "note://one");
    let read = done(client.read(Reading { uri: "note://one".into(), ..Reading::default() }).await.unwrap());
    assert_eq!(read[0].text.as_deref(), Some("the first note"));
    let prompts = client.prompts().await.unwrap();
    assert_eq!(prompts[0].arguments[0].name, "code");
    let call = PromptCall {
        name: "review".into(),
        arguments: [("code".into(), "x".into())].into(),
        ..PromptCall::default()
    };
    let text = done(client.prompt(call).await.unwrap());
    assert_eq!(text.messages[0].content.text.as_deref(), Some("Please review x"));
}

#[tokio::test]
async fn a_python_server_is_used_by_pipes() {
    let mut child = python(&[]);
    let client = by_pipes(&mut child).await;
    use_python(&client).await;
    client.close().await;
    assert!(client.closed().await.is_down());
}

#[tokio::test]
async fn a_python_server_is_used_by_http() {
    let mut child = python(&["http"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = lines.next_line().await.unwrap().expect("it tells its port");
    let url = url::Url::parse(&format!("http://127.0.0.1:{port}/mcp")).unwrap();
    let egress = Egress::default().trusting(&url);
    let client = McpClient::connect(Address::url(url, egress), options()).await.unwrap();
    use_python(&client).await;
    client.close().await;
}

#[tokio::test]
async fn a_server_of_the_older_revision_asks_in_the_middle_of_a_call_and_gets_its_answer() {
    let mut child = everything();
    let client = by_pipes(&mut child).await;
    assert_eq!(client.revision(), "2025-11-25");
    let tools = client.tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "trigger-elicitation-request"), "{tools:?}");
    let mut call = tool("trigger-elicitation-request", json!({}));
    let Reply::Input(needed) = client.call(call.clone(), |_| {}).await.unwrap() else { panic!("it asks") };
    let (name, asked) = needed.requests.iter().next().unwrap();
    assert_eq!(asked.method, "elicitation/create");
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    call.round = Round { answers: [(name.clone(), answer)].into(), state: needed.state };
    let result = done(client.call(call.clone(), |_| {}).await.unwrap());
    assert!(result.plain_text().contains("Ada"), "{result:?}");
    assert_eq!(client.call(call, |_| {}).await.unwrap_err(), McpError::CallGone);
    let mut call = tool("trigger-sampling-request", json!({ "prompt": "a haiku" }));
    let Reply::Input(needed) = client.call(call.clone(), |_| {}).await.unwrap() else { panic!("it asks") };
    let (name, asked) = needed.requests.iter().next().unwrap();
    assert_eq!(asked.method, "sampling/createMessage");
    let said =
        json!({ "role": "assistant", "content": { "type": "text", "text": "an old pond" }, "model": "m" });
    call.round = Round { answers: [(name.clone(), said)].into(), state: needed.state };
    let result = done(client.call(call, |_| {}).await.unwrap());
    assert!(result.plain_text().contains("an old pond"), "{result:?}");
}

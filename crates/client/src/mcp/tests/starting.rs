//! Stories of the first words and of what older servers ask for: a slow start, tools that answer as tasks,
//! folders asked for at any time.
//!
//! The servers are the official Python package and the protocol's own example server; one is scripted,
//! because it must ask at a moment that a real one cannot be made to choose.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};

use super::*;

/// Capacity of a pipe; as much as the system gives a real one.
const PIPE: usize = 64 << 10;

/// Both ends of a server that is not there yet.
fn pipes() -> (Address, BufReader<DuplexStream>, DuplexStream) {
    let (read, to_client) = duplex(PIPE);
    let (from_client, write) = duplex(PIPE);
    (Address::pipes(read, write), BufReader::new(from_client), to_client)
}

/// Waits far longer than any probe before it starts the server, then lets it read what is in the pipe.
async fn started_late(
    mut child: Child,
    address: (Address, BufReader<DuplexStream>, DuplexStream),
) -> McpClient {
    let (address, mut from_client, mut to_client) = address;
    let connecting = tokio::spawn(async move { McpClient::connect(address, options()).await });
    let mut first = String::new();
    from_client.read_line(&mut first).await.unwrap();
    assert!(first.contains("server/discover"), "{first}");
    tokio::time::advance(Duration::from_secs(45)).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(from_client.buffer().is_empty(), "a second request would confuse a server that starts slowly");
    tokio::time::resume();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    stdin.write_all(first.as_bytes()).await.unwrap();
    tokio::spawn(async move {
        let _server_lives_as_long = child;
        let _ = tokio::join!(
            tokio::io::copy_buf(&mut from_client, &mut stdin),
            tokio::io::copy(&mut stdout, &mut to_client)
        );
    });
    connecting.await.unwrap().expect("it says who it is")
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_slowly_gets_one_greeting_and_is_used() {
    let client = started_late(python(&[]), pipes()).await;
    use_python(&client).await;
}

#[tokio::test(start_paused = true)]
async fn an_older_server_that_starts_slowly_is_used() {
    let client = started_late(everything(), pipes()).await;
    assert_eq!(client.revision(), "2025-11-25");
    let said = done(client.call(tool("echo", json!({ "message": "late" })), |_| {}).await.unwrap());
    assert!(said.plain_text().contains("late"), "{said:?}");
}

#[tokio::test]
async fn a_tool_that_answers_only_as_a_task_is_called() {
    let mut child = everything();
    let client = by_pipes(&mut child).await;
    let mut call = tool("simulate-research-query", json!({ "topic": "bees" }));
    let mut reply = client.call(call.clone(), |_| {}).await.unwrap();
    // The server asks for the folders once, whenever it gets to it.
    if let Reply::Input(needed) = reply {
        let answers = needed.requests.keys().map(|name| (name.clone(), json!({ "roots": [] })));
        call.round = Round { answers: answers.collect(), state: needed.state };
        reply = client.call(call, |_| {}).await.unwrap();
    }
    let report = done(reply);
    assert!(!report.is_error && report.plain_text().contains("Research Report: bees"), "{report:?}");
    // The same tool asks back in the middle of its task.
    let mut call = tool("simulate-research-query", json!({ "topic": "python", "ambiguous": true }));
    let Reply::Input(needed) = client.call(call.clone(), |_| {}).await.unwrap() else { panic!("it asks") };
    let (name, asked) = needed.requests.iter().next().unwrap();
    assert_eq!(asked.method, "elicitation/create");
    let answer = json!({ "action": "accept", "content": { "interpretation": "snake" } });
    call.round = Round { answers: [(name.clone(), answer)].into(), state: needed.state };
    let report = done(client.call(call, |_| {}).await.unwrap());
    assert!(report.plain_text().contains("python (snake)"), "{report:?}");
}

#[tokio::test]
async fn folders_are_told_when_no_call_is_under_way() {
    let (address, mut from_client, mut to_client) = pipes();
    let roots = json!({ "roots": [{ "uri": "file:///agents/a", "name": "agent" }] });
    let options = Options { roots: roots.clone(), ..options() };
    let connecting = tokio::spawn(async move { McpClient::connect(address, options).await });
    let mut hear = async || {
        let mut line = String::new();
        from_client.read_line(&mut line).await.unwrap();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()
    };
    let mut say = async |value: serde_json::Value| {
        to_client.write_all(format!("{value}\n").as_bytes()).await.unwrap();
    };
    let discover = hear().await;
    say(json!({"jsonrpc": "2.0", "id": discover["id"], "error": {"code": -32601, "message": "unknown"}}))
        .await;
    let initialize = hear().await;
    assert_eq!(initialize["params"]["capabilities"]["roots"], json!({}));
    let about = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
    say(json!({"jsonrpc": "2.0", "id": initialize["id"], "result": about})).await;
    assert_eq!(hear().await["method"], "notifications/initialized");
    let _client = connecting.await.unwrap().unwrap();
    say(json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"})).await;
    let answer = hear().await;
    assert_eq!((&answer["id"], &answer["result"]), (&json!("q"), &roots));
}

//! Every form of MCP on the wire, held against `tests/golden/mcp_*.json`: what is answered, with its status.
//!
//! `UPDATE_GOLDEN=1` writes the files anew; ids and times that differ from run to run are masked.

use serde_json::{Value, json};

use super::{Events, Session, begin, modern};
use crate::golden::hold;
use crate::story::body;

/// Requests that both eras know.
fn shared() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("tools", "tools/list", json!({})),
        ("call", "tools/call", json!({ "name": "echo", "arguments": { "a": 1 } })),
        ("call_failed", "tools/call", json!({ "name": "fail" })),
        ("no_such_tool", "tools/call", json!({ "name": "nobody" })),
        ("no_name", "tools/call", json!({})),
        ("templates", "resources/templates/list", json!({})),
        ("read", "resources/read", json!({ "uri": "kit://1" })),
        ("no_such_resource", "resources/read", json!({ "uri": "kit://x" })),
        ("prompts", "prompts/list", json!({})),
        ("prompt", "prompts/get", json!({ "name": "hello", "arguments": { "who": "Ada" } })),
        (
            "complete",
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "hello" }, "argument": { "name": "who", "value": "A" } }),
        ),
        ("bad_cursor", "tools/list", json!({ "cursor": "x" })),
        ("no_such_method", "tools/nothing", json!({})),
    ]
}

async fn seen(response: reqwest::Response) -> Value {
    json!({ "status": response.status().as_u16(), "body": body(response).await })
}

#[tokio::test]
async fn the_shapes_of_the_stateless_revision_are_those_in_the_files() {
    let (story, _) = begin().await;
    let mut all = shared();
    all.push(("discover", "server/discover", json!({})));
    all.push(("ping", "ping", json!({})));
    let mut shapes = serde_json::Map::new();
    for (name, method, params) in all {
        let response = modern(&story, method, params, json!({})).send().await.unwrap();
        shapes.insert(name.into(), seen(response).await);
    }
    let can = json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let asked = modern(&story, "tools/call", json!({ "name": "greet" }), can.clone()).send().await.unwrap();
    let mut asked = seen(asked).await;
    asked["body"]["result"]["requestState"] = json!("…");
    shapes.insert("input_required".into(), asked);
    let handle = modern(&story, "tools/call", json!({ "name": "long" }), can).send().await.unwrap();
    let mut handle = seen(handle).await;
    handle["body"]["result"]["ttlMs"] = json!("…");
    shapes.insert("task".into(), handle);
    let meta = json!({ "progressToken": 1, "io.modelcontextprotocol/logLevel": "info" });
    let report = json!({ "name": "report", "_meta": meta });
    let stream = modern(&story, "tools/call", report, json!({})).send().await.unwrap();
    let events: Vec<Value> = Events::of(stream).all().await.into_iter().map(|(_, data)| data).collect();
    shapes.insert("stream".into(), events.into());
    hold(&story, "mcp_stateless", shapes.into());
}

#[tokio::test]
async fn the_refusals_of_the_stateless_revision_are_those_in_the_file() {
    let (story, _) = begin().await;
    let mut shapes = serde_json::Map::new();
    for (name, header, value) in [
        ("header_mismatch", "mcp-method", "tools/call"),
        ("version_mismatch", "mcp-protocol-version", "2025-11-25"),
        ("foreign_origin", "origin", "http://evil.example.com"),
    ] {
        let mut request = modern(&story, "tools/list", json!({}), json!({})).build().unwrap();
        request.headers_mut().insert(header, value.parse().unwrap());
        let client = if header == "origin" { story.guest().http } else { story.http.clone() };
        shapes.insert(name.into(), seen(client.execute(request).await.unwrap()).await);
    }
    let bare = |version: &'static str, body: Value| {
        let request = story.post("/mcp/kit").header("mcp-protocol-version", version);
        request.header("mcp-method", "tools/list").json(&body)
    };
    let list = |meta: Value| json!({ "jsonrpc": "2.0", "id": "r", "method": "tools/list", "params": { "_meta": meta } });
    let key = "io.modelcontextprotocol/protocolVersion";
    let cases = [
        ("unsupported_version", bare("v9", list(json!({ key: "v9" })))),
        ("no_meta", bare("2026-07-28", json!({ "jsonrpc": "2.0", "id": "r", "method": "tools/list" }))),
        ("no_capabilities", bare("2026-07-28", list(json!({ key: "2026-07-28" })))),
        ("batch", bare("2026-07-28", json!([]))),
        ("no_message", bare("2026-07-28", json!({ "jsonrpc": "2.0", "id": "r" }))),
        ("needs_ability", modern(&story, "tools/call", json!({ "name": "greet" }), json!({}))),
        ("needs_tasks", modern(&story, "tools/call", json!({ "name": "long" }), json!({}))),
    ];
    for (name, request) in cases {
        shapes.insert(name.into(), seen(request.send().await.unwrap()).await);
    }
    hold(&story, "mcp_stateless_refused", shapes.into());
}

#[tokio::test]
async fn the_shapes_of_sessions_are_those_in_the_file() {
    let (story, _) = begin().await;
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    let request = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let mut shapes = serde_json::Map::new();
    shapes
        .insert("initialize".into(), seen(story.post("/mcp/kit").json(&request).send().await.unwrap()).await);
    let session = Session::open(&story, "2025-11-25", json!({})).await;
    let mut all = shared();
    all.push(("ping", "ping", json!({})));
    all.push(("set_level", "logging/setLevel", json!({ "level": "info" })));
    all.push(("discover", "server/discover", json!({})));
    for (name, method, params) in all {
        shapes.insert(name.into(), seen(session.start(method, params).await).await);
    }
    let report = json!({ "name": "report", "_meta": { "progressToken": "p" } });
    let events = Events::of(session.start("tools/call", report).await).all().await;
    shapes.insert("stream".into(), json!(events));
    let ping = json!({ "jsonrpc": "2.0", "id": "r", "method": "ping" });
    shapes.insert("no_session".into(), seen(story.post("/mcp/kit").json(&ping).send().await.unwrap()).await);
    let foreign = story.post("/mcp/kit").header("mcp-session-id", "x").json(&ping).send().await.unwrap();
    shapes.insert("no_such_session".into(), seen(foreign).await);
    hold(&story, "mcp_sessions", shapes.into());
}

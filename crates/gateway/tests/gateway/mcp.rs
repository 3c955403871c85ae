//! The MCP face over real sockets, in both eras, with a set of tools that does what its names say.
//!
//! `stateless` and `sessions` tell what clients of each era rely on, `shapes` holds every form on the wire
//! against its file.

mod kit;
mod sessions;
mod shapes;
mod stateless;

use std::sync::Arc;

use agentsite_host::{Manifest, ToolboxRunner};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use crate::events;
use crate::story::Story;
use kit::Kit;

const MANIFEST: &str = r#"
name = "kit"
description = "A set of tools"
version = "1.2.3"
visibility = "public"
[runtime]
kind = "builtin"
builtin = "echo"
"#;

/// A site whose agent `kit` is a set of tools.
async fn begin() -> (Story, Arc<Kit>) {
    let (story, kit) = (Story::begin().await, Arc::new(Kit::default()));
    story
        .site
        .agents()
        .install_runner(Manifest::read(MANIFEST).unwrap(), Arc::new(ToolboxRunner::new(kit.clone())));
    (story, kit)
}

/// A request of the stateless revision with these capabilities of the client.
fn modern(story: &Story, method: &str, mut params: Value, capabilities: Value) -> RequestBuilder {
    let mut meta = params["_meta"].take();
    if meta.is_null() {
        meta = json!({});
    }
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    params["_meta"] = meta;
    let name = ["name", "uri", "taskId"].into_iter().find_map(|key| params[key].as_str());
    let mut request = story.post("/mcp/kit").header("accept", "application/json, text/event-stream");
    if let Some(name) = name {
        request = request.header("mcp-name", name);
    }
    request
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
}

/// The answer to such a request.
async fn ask(story: &Story, method: &str, params: Value) -> Value {
    crate::story::body(modern(story, method, params, json!({})).send().await.unwrap()).await
}

/// A session of the older revisions.
struct Session<'a> {
    story: &'a Story,
    id: String,
}

impl<'a> Session<'a> {
    async fn open(story: &'a Story, revision: &str, capabilities: Value) -> Self {
        let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": { "name": "test", "version": "1" } });
        let request = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = story.post("/mcp/kit").json(&request).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let session = Self { story, id };
        let accepted =
            session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        assert_eq!(accepted.status(), 202);
        session
    }

    fn post(&self) -> RequestBuilder {
        self.story
            .post("/mcp/kit")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-session-id", &self.id)
    }

    async fn send(&self, message: &Value) -> Response {
        self.post().json(message).send().await.unwrap()
    }

    async fn start(&self, method: &str, params: Value) -> Response {
        self.send(&json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })).await
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        crate::story::body(self.start(method, params).await).await
    }

    async fn call(&self, tool: &str, arguments: Value) -> Response {
        self.start("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    fn stream(&self, last: Option<&str>) -> RequestBuilder {
        let request = self
            .story
            .get("/mcp/kit")
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &self.id);
        match last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        }
    }
}

/// One event of a stream: its id and its data.
type Event = (Option<String>, Value);

/// Reads the events of a stream one by one.
struct Events(events::Events);

impl Events {
    fn of(response: Response) -> Self {
        Self(events::Events::of(response))
    }

    /// The next event that is no comment; `None` at the end.
    async fn next(&mut self) -> Option<Event> {
        let event = self.0.next().await?;
        let data = serde_json::from_str(&event.data).unwrap_or(Value::Null);
        Some((event.id, data))
    }

    async fn all(mut self) -> Vec<Event> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }
}

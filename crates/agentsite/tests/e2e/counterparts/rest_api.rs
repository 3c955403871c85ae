//! A REST API that is an agent of the site by its OpenAPI document alone: called by A2A with a data part, and
//! by MCP as a tool.
//!
//! The API is a small server inside the test that answers with what it was asked.

use axum::extract::Path;
use axum::http::HeaderMap;
use axum::{Json, Router, routing};
use serde_json::{Value, json};

use crate::site::{TestSite, http, message, state};

const AGENT: &str = r#"
name = "shop"
description = "A shop of pets"
visibility = "public"
[runtime]
kind = "openapi"
document = "shop.yaml"
token_env = "SHOP_TOKEN"
"#;

const DOCUMENT: &str = r#"
openapi: 3.1.0
info: { title: Pets, version: "1" }
servers: [{ url: "http://PLACE" }]
paths:
  /pets/{id}:
    get:
      operationId: getPet
      summary: Get a pet
      parameters: [{ name: id, in: path, required: true, schema: { type: integer } }]
      responses: { "200": { description: ok } }
"#;

/// A site with the API as its agent `shop`.
async fn hosting() -> TestSite {
    let pet = async |Path(id): Path<u64>, headers: HeaderMap| {
        let by = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
        Json(json!({"id": id, "name": "Rex", "by": by}))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    tokio::spawn(
        async move { axum::serve(listener, Router::new().route("/pets/{id}", routing::get(pet))).await },
    );
    let mut site = TestSite::trusting().agent("shop", AGENT).variable("SHOP_TOKEN", "t0ken");
    site.write("agents/shop/shop.yaml", &DOCUMENT.replace("PLACE", &place));
    site.write("agentsite.toml", &format!("[egress]\nallow = [\"{place}\"]\n"));
    site.start();
    site
}

#[tokio::test]
async fn an_api_is_called_by_a2a_with_a_data_part() {
    let site = hosting().await;
    let call = async |arguments: Value| {
        let mut said = message("");
        said["parts"] = json!([{"data": {"tool": "getPet", "arguments": arguments}}]);
        site.rpc("shop", "SendMessage", json!({"message": said})).await
    };
    let found = call(json!({"id": 7})).await;
    assert_eq!(state(&found["result"]["task"]), "completed", "{found}");
    let told = found["result"]["task"]["artifacts"].to_string();
    assert!(told.contains("Rex") && told.contains("Bearer t0ken"), "{told}");
    let wrong = call(json!({"id": "seven"})).await;
    assert!(wrong.to_string().contains("must be of the kind integer"), "{wrong}");
    let card = site.get("/a2a/shop/.well-known/agent-card.json").await;
    assert_eq!(card["skills"][0]["id"], "getPet", "{card}");
}

#[tokio::test]
async fn an_api_is_a_set_of_tools_for_mcp() {
    let site = hosting().await;
    let ask = async |id: u64, method: &str, name: Option<&str>, mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}
        });
        let request = http()
            .post(format!("{}/mcp/shop", site.url))
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        let request = match name {
            Some(name) => request.header("mcp-name", name),
            None => request,
        };
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let text = request.json(&body).send().await.unwrap().text().await.unwrap();
        let line = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap_or(&text);
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let listed = ask(1, "tools/list", None, json!({})).await;
    assert!(listed["result"]["tools"].to_string().contains("getPet"), "{listed}");
    let called =
        ask(2, "tools/call", Some("getPet"), json!({"name": "getPet", "arguments": {"id": 7}})).await;
    assert_eq!(called["result"]["structuredContent"]["name"], "Rex", "{called}");
}

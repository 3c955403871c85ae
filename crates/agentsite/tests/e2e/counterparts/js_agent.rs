//! An agent on the official JavaScript SDK, hosted unchanged: its answer comes in appended chunks that name a
//! media type.
//!
//! The agent is `tests/npm/streaming_agent.mjs`; it repeats a message word by word. Every protocol has to
//! return the same text, and a second artifact of another kind separately.

use reqwest::Method;
use serde_json::{Value, json};

use super::mcp_server::{call, steps};
use crate::site::{TestSite, message, node_modules, repository};

/// Spaces and line breaks that no face may change.
const TEXT: &str = "one two  three\nfour\n\nfive six";

fn hosting() -> TestSite {
    let (node, modules) = node_modules();
    let command = json!([node, repository("tests/npm/streaming_agent.mjs"), modules]);
    let manifest = format!(
        "name = \"streamer\"\ndescription = \"Repeats\"\nvisibility = \"public\"\n[runtime]\nkind = \"a2a\"\ncommand = {command}\n[sandbox]\nread = [{modules:?}]\n"
    );
    let mut site = TestSite::new().agent("streamer", &manifest);
    site.start();
    site
}

async fn sent(site: &TestSite, method: Method, path: &str, body: &Value) -> String {
    let request = site.http.request(method, format!("{}{path}", site.url)).bearer_auth(site.token());
    let request = if body.is_null() { request } else { request.json(body) };
    request.send().await.unwrap().text().await.unwrap()
}

async fn asked(site: &TestSite, method: Method, path: &str, body: Value) -> Value {
    let text = sent(site, method, path, &body).await;
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path}: {text}"))
}

/// The texts in the events of a stream of `/v1`, joined.
fn joined(stream: &str, text: impl Fn(&Value) -> Option<&str>) -> String {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.filter_map(|data| serde_json::from_str(data).ok()).collect();
    events.iter().filter_map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_with_a_media_type_are_one_text_on_every_face() {
    let site = hosting();
    let reply = site.rpc("streamer", "SendMessage", json!({"message": message(TEXT)})).await;
    let parts = &reply["result"]["task"]["artifacts"][0]["parts"];
    assert_eq!(parts, &json!([{"text": TEXT, "mediaType": "text/plain"}]), "{reply}");
    let task = reply["result"]["task"]["id"].as_str().unwrap();

    let chat = json!({"model": "streamer", "messages": [{"role": "user", "content": TEXT}]});
    let told = asked(&site, Method::POST, "/v1/chat/completions", chat.clone()).await;
    assert_eq!(told["choices"][0]["message"]["content"], TEXT, "{told}");
    let mut streamed = chat;
    streamed["stream"] = true.into();
    let stream = sent(&site, Method::POST, "/v1/chat/completions", &streamed).await;
    assert_eq!(joined(&stream, |event| event["choices"][0]["delta"]["content"].as_str()), TEXT, "{stream}");
    let response =
        asked(&site, Method::POST, "/v1/responses", json!({"model": "streamer", "input": TEXT})).await;
    assert!(response["output"].to_string().contains(&json!(TEXT).to_string()), "{response}");

    let seen = steps(&format!("{}/mcp", site.url), &[], &[call("streamer", &json!({"message": TEXT}))]);
    assert_eq!(seen[0]["result"]["content"], json!([{"type": "text", "text": TEXT}]), "{}", seen[0]);

    let shown = site.run(&["task", "show", task]).ok().out();
    assert!(shown.contains(&format!("made     {TEXT}\n")), "{shown}");
    assert_eq!(site.run(&["call", "streamer", TEXT]).ok().out(), format!("{TEXT}\n"));

    let begun = json!({"agent": "streamer", "message": TEXT});
    let begun = asked(&site, Method::POST, "/api/conversations", begun).await;
    let (id, turn) = (&begun["conversation"]["id"], &begun["turn"]["id"]);
    let (id, turn) = (id.as_str().unwrap(), turn.as_str().unwrap());
    sent(&site, Method::GET, &format!("/api/tasks/{turn}/events"), &Value::Null).await;
    crate::site::eventually("the turn is complete", async || {
        let turns = asked(&site, Method::GET, &format!("/api/conversations/{id}/turns"), Value::Null).await;
        (turns["turns"][0]["answer"] == TEXT).then_some(())
    })
    .await;
    let exported = sent(&site, Method::GET, &format!("/api/conversations/{id}/export"), &Value::Null).await;
    assert!(exported.contains(TEXT), "{exported}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_artifact_of_another_kind_stays_apart_from_the_chunks() {
    let site = hosting();
    let reply = site.rpc("streamer", "SendMessage", json!({"message": message("files one two")})).await;
    let artifacts = reply["result"]["task"]["artifacts"].as_array().unwrap();
    assert_eq!(artifacts.len(), 2, "{reply}");
    let chat = json!({"model": "streamer", "messages": [{"role": "user", "content": "files one two"}]});
    let told = asked(&site, Method::POST, "/v1/chat/completions", chat).await;
    assert_eq!(told["choices"][0]["message"]["content"], "files one two\n\na,b\n", "{told}");
}

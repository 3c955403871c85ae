//! What clients of revision 2026-07-28 rely on.
//!
//! What the conformance suite checks is not told again, except where it matters who asks.

use agentsite_host::Change;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{Events, ask, begin, modern};
use crate::story::body;

#[tokio::test]
async fn a_tool_is_called_and_answers_with_json() {
    let (story, _) = begin().await;
    let answer = ask(&story, "tools/call", json!({ "name": "echo", "arguments": { "a": [1, "x"] } })).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"a":[1,"x"]}"#);
}

#[tokio::test]
async fn every_address_of_a_set_of_tools_is_taken_with_and_without_a_slash() {
    let (story, _) = begin().await;
    for path in ["/mcp", "/mcp/", "/mcp/kit", "/mcp/kit/"] {
        let request = modern(&story, "server/discover", json!({}), json!({})).build().unwrap();
        let mut request = request;
        *request.url_mut() = story.url(path).parse().unwrap();
        let answer = body(story.http.execute(request).await.unwrap()).await;
        assert_eq!(answer["result"]["supportedVersions"], json!(["2026-07-28"]), "{path}");
        assert!(answer["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object());
    }
    let nobody = story.post("/mcp/nobody").json(&json!({})).send().await.unwrap();
    assert_eq!(nobody.status(), StatusCode::NOT_FOUND);
    let get = story.get("/mcp/kit").send().await.unwrap();
    assert_eq!(get.status(), StatusCode::METHOD_NOT_ALLOWED, "there is no stream without a session");
}

#[tokio::test]
async fn what_is_told_on_the_way_comes_as_a_stream_before_the_result() {
    let (story, _) = begin().await;
    let params = |meta: Value| json!({ "name": "report", "_meta": meta });
    let silent = modern(&story, "tools/call", params(json!({})), json!({})).send().await.unwrap();
    assert_eq!(silent.headers()["content-type"], "application/json");
    let meta = json!({ "progressToken": "p", "io.modelcontextprotocol/logLevel": "debug" });
    let stream = modern(&story, "tools/call", params(meta), json!({})).send().await.unwrap();
    let methods: Vec<Value> =
        Events::of(stream).all().await.into_iter().map(|(_, data)| data["method"].clone()).collect();
    assert_eq!(methods, [json!("notifications/progress"), json!("notifications/message"), Value::Null]);
    let only_errors = json!({ "io.modelcontextprotocol/logLevel": "error" });
    let quiet = modern(&story, "tools/call", params(only_errors), json!({})).send().await.unwrap();
    assert_eq!(quiet.headers()["content-type"], "application/json");
}

#[tokio::test]
async fn hanging_up_ends_a_call() {
    let (story, kit) = begin().await;
    let params = json!({ "name": "wait", "_meta": { "progressToken": 1 } });
    let mut stream = Events::of(modern(&story, "tools/call", params, json!({})).send().await.unwrap());
    assert_eq!(stream.next().await.unwrap().1["method"], "notifications/progress");
    drop(stream);
    kit.ended.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn a_question_goes_back_with_a_sealed_state_that_only_its_own_request_opens() {
    let (story, _) = begin().await;
    let can = json!({ "elicitation": {} });
    let ask = async |params: Value| {
        body(modern(&story, "tools/call", params, can.clone()).send().await.unwrap()).await
    };
    let asked = ask(json!({ "name": "greet", "arguments": { "a": 1, "b": 2 } })).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["inputRequests"]["name"]["method"], "elicitation/create");
    let state = asked["requestState"].as_str().unwrap();
    let answers = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
    let again = |arguments: Value, state: String| json!({ "name": "greet", "arguments": arguments, "inputResponses": answers, "requestState": state });
    let done = ask(again(json!({ "b": 2, "a": 1 }), state.to_owned())).await;
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("Ada"), "{done}");
    for (arguments, state) in [
        (json!({}), state.to_owned()),
        (json!({ "a": 1, "b": 2 }), format!("{state}x")),
        (json!({}), String::new()),
    ] {
        let refused = ask(again(arguments, state)).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
}

#[tokio::test]
async fn a_client_is_asked_only_what_it_can_answer() {
    let (story, _) = begin().await;
    let response = modern(&story, "tools/call", json!({ "name": "greet" }), json!({ "sampling": {} }))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let answer = body(response).await;
    assert_eq!(answer["error"]["code"], -32021);
    assert_eq!(answer["error"]["data"]["requiredCapabilities"], json!({ "elicitation": {} }));
}

#[tokio::test]
async fn head_and_body_must_say_the_same() {
    let (story, _) = begin().await;
    let call = json!({ "name": "route", "arguments": { "region": "eu" } });
    let with = async |name: &'static str, value: &str| {
        let mut request = modern(&story, "tools/call", call.clone(), json!({})).build().unwrap();
        request.headers_mut().insert("mcp-param-region", "eu".parse().unwrap());
        request.headers_mut().insert(name, value.parse().unwrap());
        let response = story.http.execute(request).await.unwrap();
        (response.status().as_u16(), body(response).await["error"]["code"].clone())
    };
    assert_eq!(with("x-other", "1").await, (200, Value::Null));
    for (name, value) in [
        ("mcp-method", "tools/list"),
        ("mcp-name", "echo"),
        ("mcp-param-region", "us"),
        ("mcp-param-region", "=?base64?ZXU?="),
        ("mcp-protocol-version", "2025-11-25"),
    ] {
        assert_eq!(with(name, value).await, (400, json!(-32020)), "{name}: {value}");
    }
    assert_eq!(with("mcp-param-region", "=?base64?ZXU=?=").await, (200, Value::Null));
}

#[tokio::test]
async fn a_client_that_cannot_follow_tasks_is_not_given_one() {
    let (story, _) = begin().await;
    let refused = ask(&story, "tools/call", json!({ "name": "long" })).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let refused = ask(&story, "tasks/get", json!({ "taskId": "x" })).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let can = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let ask = async |method: &str, params: Value| {
        body(modern(&story, method, params, can.clone()).send().await.unwrap()).await
    };
    let handle = ask("tools/call", json!({ "name": "long" })).await["result"].clone();
    assert_eq!(handle["resultType"], "task", "{handle}");
    let id = handle["taskId"].clone();
    let listen = json!({ "notifications": { "taskIds": [id] } });
    let stream = modern(&story, "subscriptions/listen", listen, can.clone()).send().await.unwrap();
    let mut events = Events::of(stream);
    assert_eq!(events.next().await.unwrap().1["params"]["notifications"]["taskIds"], json!([id]));
    loop {
        let told = events.next().await.unwrap().1;
        assert_eq!(told["method"], "notifications/tasks");
        if told["params"]["status"] == "completed" {
            assert_eq!(told["params"]["result"]["content"][0]["text"], "long");
            break;
        }
    }
    let read = ask("tasks/get", json!({ "taskId": id })).await;
    assert_eq!(read["result"]["status"], "completed");
    assert_eq!(
        ask("tasks/cancel", json!({ "taskId": id })).await["result"],
        json!({ "resultType": "complete" })
    );
    assert_eq!(ask("tasks/get", json!({ "taskId": "x" })).await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_listener_hears_what_it_asked_for_and_nothing_else() {
    let (story, kit) = begin().await;
    let wanted =
        json!({ "notifications": { "promptsListChanged": true, "resourceSubscriptions": ["kit://1"] } });
    let stream = modern(&story, "subscriptions/listen", wanted.clone(), json!({})).send().await.unwrap();
    let mut events = Events::of(stream);
    let first = events.next().await.unwrap().1;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], wanted["notifications"]);
    for change in [
        Change::Tools,
        Change::Resource("kit://2".into()),
        Change::Resource("kit://1".into()),
        Change::Prompts,
    ] {
        kit.change(change);
    }
    let updated = events.next().await.unwrap().1;
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert_eq!(events.next().await.unwrap().1["method"], "notifications/prompts/list_changed");
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let (story, _) = begin().await;
    let first = ask(&story, "resources/list", json!({})).await["result"].clone();
    assert_eq!(first["resources"].as_array().unwrap().len(), 100);
    let rest =
        ask(&story, "resources/list", json!({ "cursor": first["nextCursor"] })).await["result"].clone();
    assert_eq!(rest["resources"][0]["uri"], "kit://100");
    assert!(rest.get("nextCursor").is_none());
    assert_eq!(ask(&story, "resources/list", json!({ "cursor": "x" })).await["error"]["code"], -32602);
}

#[tokio::test]
async fn foreign_pages_and_strange_media_are_turned_away() {
    let (story, _) = begin().await;
    let discover = || modern(&story, "server/discover", json!({}), json!({}));
    let evil = discover().header("origin", "http://evil.example.com").build().unwrap();
    let evil = story.guest().http.execute(evil).await.unwrap();
    assert_eq!(evil.status(), StatusCode::FORBIDDEN);
    assert!(body(evil).await.get("id").is_none());
    let picky = story.post("/mcp/kit").header("accept", "text/html").json(&json!({})).send().await.unwrap();
    assert_eq!(picky.status(), StatusCode::NOT_ACCEPTABLE);
    let plain = story.post("/mcp/kit").header("content-type", "text/plain").body("{}").send().await.unwrap();
    assert_eq!(plain.status(), StatusCode::BAD_REQUEST);
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/x" });
    let note = story.post("/mcp/kit").json(&note).send().await.unwrap();
    assert_eq!(note.status(), StatusCode::ACCEPTED);
    let private = story.guest().post("/mcp/hidden").json(&json!({})).send().await.unwrap();
    assert_eq!(private.status(), StatusCode::NOT_FOUND, "a private agent does not exist for strangers");
}

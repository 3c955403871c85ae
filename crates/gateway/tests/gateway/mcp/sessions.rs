//! What clients of revision 2025-11-25 and before rely on.
//!
//! What the conformance suite checks is not told again, except where it matters who asks.

use agentsite_host::Change;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{Events, Session, begin};
use crate::story::body;

#[tokio::test]
async fn a_session_is_agreed_on_and_ended() {
    let (story, _) = begin().await;
    for (wanted, agreed) in
        [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")]
    {
        let params = json!({ "protocolVersion": wanted, "capabilities": {} });
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let answer = body(story.post("/mcp/kit").json(&request).send().await.unwrap()).await;
        assert_eq!(answer["result"]["protocolVersion"], agreed);
    }
    let session = Session::open(&story, "2025-11-25", json!({})).await;
    assert_eq!(session.ask("ping", json!({})).await["result"], json!({}));
    let delete = story.http.delete(story.url("/mcp/kit")).header("mcp-session-id", &session.id);
    assert_eq!(delete.send().await.unwrap().status(), StatusCode::NO_CONTENT);
    assert_eq!(session.start("ping", json!({})).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_session_of_somebody_else_does_not_exist() {
    let (story, _) = begin().await;
    let session = Session::open(&story, "2025-11-25", json!({})).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let stranger = story.guest().post("/mcp/kit").header("mcp-session-id", &session.id).json(&ping);
    let stranger = stranger.send().await.unwrap();
    assert_eq!(stranger.status(), StatusCode::NOT_FOUND);
    let elsewhere =
        story.post("/mcp").header("mcp-session-id", &session.id).json(&ping).send().await.unwrap();
    assert_eq!(elsewhere.status(), StatusCode::NOT_FOUND);
    let without = story.post("/mcp/kit").json(&ping).send().await.unwrap();
    assert_eq!(without.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn errors_are_read_in_the_body_where_clients_read_them() {
    let (story, _) = begin().await;
    let session = Session::open(&story, "2025-11-25", json!({})).await;
    for (method, params, code) in [
        ("tools/call", json!({ "name": "nobody" }), -32602),
        ("tools/call", json!({ "name": "fail" }), -32603),
        ("resources/read", json!({ "uri": "kit://9" }), -32002),
        ("server/discover", json!({}), -32601),
        ("tools/call", json!({}), -32602),
    ] {
        let response = session.start(method, params).await;
        assert_eq!(response.status(), StatusCode::OK, "{method}");
        assert_eq!(body(response).await["error"]["code"], code, "{method}");
    }
}

#[tokio::test]
async fn a_question_of_a_tool_is_put_to_the_client_and_its_answer_goes_back() {
    let (story, _) = begin().await;
    let session = Session::open(&story, "2025-11-25", json!({ "elicitation": {} })).await;
    let mut events = Events::of(session.call("greet", json!({})).await);
    assert_eq!(events.next().await.unwrap().1, Value::Null, "the first event says where to go on");
    let question = events.next().await.unwrap().1;
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("who?"))
    );
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": { "name": "Ada" } } });
    assert_eq!(session.send(&answer).await.status(), StatusCode::ACCEPTED);
    let done = events.next().await.unwrap().1;
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("Ada"), "{done}");
    assert!(events.next().await.is_none());
    let mute = Session::open(&story, "2025-11-25", json!({})).await;
    assert_eq!(body(mute.call("greet", json!({})).await).await["error"]["code"], -32021);
}

#[tokio::test]
async fn log_lines_come_from_the_level_that_was_set() {
    let (story, _) = begin().await;
    let session = Session::open(&story, "2025-06-18", json!({})).await;
    let events = Events::of(session.call("report", json!({})).await).all().await;
    let methods: Vec<&Value> = events.iter().map(|(_, data)| &data["method"]).collect();
    assert_eq!(
        methods,
        [&json!("notifications/message"), &Value::Null],
        "no token, no progress, no empty event"
    );
    assert_eq!(session.ask("logging/setLevel", json!({ "level": "error" })).await["result"], json!({}));
    assert_eq!(session.call("report", json!({})).await.headers()["content-type"], "application/json");
    assert_eq!(session.ask("logging/setLevel", json!({ "level": "loud" })).await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_client_that_hung_up_comes_back_for_the_result() {
    let (story, kit) = begin().await;
    let session = Session::open(&story, "2025-11-25", json!({})).await;
    let events = Events::of(session.call("detach", json!({})).await).all().await;
    assert_eq!(events.len(), 1, "the stream ends before the result");
    let last = events[0].0.clone().unwrap();
    kit.gate.add_permits(1);
    let mut resumed = Events::of(session.stream(Some(&last)).send().await.unwrap());
    assert_eq!(resumed.next().await.unwrap().1["result"]["content"][0]["text"], "detached");
    assert!(resumed.next().await.is_none());
    for bad in ["x", "99-0"] {
        let refused = session.stream(Some(bad)).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{bad}");
    }
}

#[tokio::test]
async fn a_call_ends_when_its_client_says_so_and_not_when_it_hangs_up() {
    let (story, kit) = begin().await;
    let session = Session::open(&story, "2025-11-25", json!({})).await;
    let call = |id: u32| {
        let params = json!({ "name": "wait", "_meta": { "progressToken": id } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let mut stream = Events::of(session.send(&call(1)).await);
    let primed = stream.next().await.unwrap().0.unwrap();
    stream.next().await.unwrap();
    drop(stream);
    kit.gate.add_permits(1);
    let mut resumed = Events::of(session.stream(Some(&primed)).send().await.unwrap());
    assert_eq!(resumed.next().await.unwrap().1["method"], "notifications/progress");
    assert_eq!(resumed.next().await.unwrap().1["result"]["content"][0]["text"], "waited");
    assert_eq!(kit.ended.available_permits(), 0);

    let mut stream = Events::of(session.send(&call(2)).await);
    stream.next().await.unwrap();
    stream.next().await.unwrap();
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    session.send(&cancel).await;
    assert!(stream.next().await.is_none(), "no answer is sent");
    kit.ended.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn changes_are_told_on_the_stream_of_the_session() {
    let (story, kit) = begin().await;
    let session = Session::open(&story, "2025-11-25", json!({})).await;
    assert_eq!(session.ask("resources/subscribe", json!({ "uri": "kit://1" })).await["result"], json!({}));
    let mut events = Events::of(session.stream(None).send().await.unwrap());
    events.next().await.unwrap();
    for change in [Change::Resource("kit://2".into()), Change::Resource("kit://1".into()), Change::Tools] {
        kit.change(change);
    }
    let (id, updated) = events.next().await.unwrap();
    assert_eq!(updated["params"]["uri"], "kit://1");
    assert_eq!(events.next().await.unwrap().1["method"], "notifications/tools/list_changed");
    let mut newer = Events::of(session.stream(id.as_deref()).send().await.unwrap());
    assert_eq!(
        newer.next().await.unwrap().1["method"],
        "notifications/tools/list_changed",
        "what came after it"
    );
    assert!(events.next().await.is_none(), "a newer stream took over");
    assert_eq!(session.ask("resources/unsubscribe", json!({ "uri": "kit://1" })).await["result"], json!({}));
}

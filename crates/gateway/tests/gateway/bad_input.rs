//! Wrong, hostile and oversized input: each gets a clear error, and the gateway goes on.
//!
//! The decoder itself has more cases in its own tests and in the fuzz target.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::story::{Story, body, says};

async fn post_raw(story: &Story, bytes: impl Into<reqwest::Body>) -> (StatusCode, Value) {
    let request = story.post("/a2a/echo").header("content-type", "application/json").body(bytes);
    let response = request.send().await.unwrap();
    (response.status(), body(response).await)
}

async fn still_serves(story: &Story) {
    let answer = story.call("echo", "SendMessage", says("still here")).await;
    assert_eq!(answer["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn every_wrong_body_gets_its_code_by_status_200() {
    let story = Story::begin().await;
    let cases: Vec<(Vec<u8>, i32)> = vec![
        (b"{not json".to_vec(), -32700),
        (b"".to_vec(), -32700),
        (b"\xff\xff".to_vec(), -32700),
        ("[".repeat(100_000).into_bytes(), -32600),
        (b"[]".to_vec(), -32600),
        (br#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":true,"method":"GetTask"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"Nope"}"#.to_vec(), -32601),
        (br#"{"jsonrpc":"2.0","id":1,"method":"message/sing","params":{}}"#.to_vec(), -32601),
        (br#"{"jsonrpc":"2.0","id":1,"method":"SendMessage"}"#.to_vec(), -32602),
        (br#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":7}}"#.to_vec(), -32602),
        (br#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":[1]}"#.to_vec(), -32602),
        (br#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}"#.to_vec(), -32602),
        (br#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":7}}"#.to_vec(), -32602),
        (br#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}"#.to_vec(), -32001),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"GetTaskPushNotificationConfig","params":{}}"#.to_vec(),
            -32602,
        ),
    ];
    for (bytes, code) in cases {
        let name = String::from_utf8_lossy(&bytes[..bytes.len().min(70)]).into_owned();
        let (status, answer) = post_raw(&story, bytes).await;
        assert_eq!(status, StatusCode::OK, "{name}");
        assert_eq!(answer["error"]["code"], code, "{name}: {answer}");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    }
    still_serves(&story).await;
}

#[tokio::test]
async fn an_unknown_method_is_told_which_there_are() {
    let story = Story::begin().await;
    let answer = story.call("echo", "Nope", json!({})).await;
    let sentence = answer["error"]["message"].as_str().unwrap();
    assert!(sentence.contains("Nope") && sentence.contains("SendStreamingMessage"), "{sentence}");
}

#[tokio::test]
async fn missing_fields_are_named_one_by_one() {
    let story = Story::begin().await;
    let answer = story.call("echo", "SendMessage", json!({ "message": { "role": "ROLE_USER" } })).await;
    let fields: Vec<&str> = answer["error"]["data"][1]["fieldViolations"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"))
        .iter()
        .map(|violation| violation["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, ["message.messageId", "message.parts"]);
}

#[tokio::test]
async fn an_oversized_body_is_refused_by_length_and_by_count() {
    let story = Story::begin().await;
    let (status, answer) = post_raw(&story, vec![b' '; 3 << 20]).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(answer["error"]["message"].as_str().unwrap().contains("1048576 bytes"), "{answer}");
    let chunks = (0..3).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 20]));
    let (status, _) = post_raw(&story, reqwest::Body::wrap_stream(futures::stream::iter(chunks))).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    still_serves(&story).await;
}

#[tokio::test]
async fn an_oversized_head_is_refused() {
    let story = Story::begin().await;
    let response = story.get("/healthz").header("x-long", "x".repeat(60_000)).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    still_serves(&story).await;
}

#[tokio::test]
async fn only_json_is_taken() {
    let story = Story::begin().await;
    for media in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let request = story.post("/a2a/echo").header("content-type", media).body("{}");
        let answer = body(request.send().await.unwrap()).await;
        assert_eq!(answer["error"]["code"], -32005, "{media}");
    }
}

#[tokio::test]
async fn a_version_that_is_not_spoken_is_refused() {
    let story = Story::begin().await;
    for (version, taken) in
        [("1.0", true), ("1.0.3", true), ("1", true), ("", true), ("0.2", false), ("2.0", false)]
    {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "x" } });
        let asked = story.post("/a2a/echo").header("a2a-version", version).json(&request);
        let answer = body(asked.send().await.unwrap()).await;
        let expected = if taken { -32001 } else { -32009 };
        assert_eq!(answer["error"]["code"], expected, "{version}: {answer}");
        if !taken {
            assert_eq!(answer["error"]["data"][0]["metadata"]["supportedVersions"], "1.0");
        }
    }
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "x" } });
    let asked = story.post("/a2a/echo?A2A-Version=9.9").json(&request);
    assert_eq!(body(asked.send().await.unwrap()).await["error"]["code"], -32009);
}

#[tokio::test]
async fn an_unknown_agent_is_404_with_a_sentence() {
    let story = Story::begin().await;
    for agent in ["nobody", "UPPER", "..%2f..%2fetc", "%ff"] {
        let response = story.rpc(agent, "SendMessage", says("hi")).send().await.unwrap();
        assert!(response.status().is_client_error(), "{agent}");
    }
    let response = story.rpc("nobody", "SendMessage", says("hi")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let answer = body(response).await;
    assert_eq!(answer["id"], "r1");
    assert!(answer["error"]["message"].as_str().unwrap().contains("list the agents"), "{answer}");
}

#[tokio::test]
async fn the_rest_face_refuses_what_it_cannot_read() {
    let story = Story::begin().await;
    let cases = [
        ("/api/tasks?limit=many", StatusCode::BAD_REQUEST, "bad_params"),
        ("/api/tasks?state=happy", StatusCode::BAD_REQUEST, "bad_params"),
        ("/api/tasks?agent=NOT", StatusCode::BAD_REQUEST, "bad_params"),
        ("/api/tasks?cursor=x", StatusCode::BAD_REQUEST, "bad_params"),
        ("/api/journal?task=x", StatusCode::BAD_REQUEST, "bad_params"),
        ("/api/tasks/not-an-id", StatusCode::NOT_FOUND, "no_such_task"),
        ("/api/agents/nobody", StatusCode::NOT_FOUND, "no_such_agent"),
        ("/api/nothing", StatusCode::NOT_FOUND, "no_such_path"),
    ];
    for (path, status, word) in cases {
        let response = story.get(path).send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        assert_eq!(body(response).await["error"]["code"], word, "{path}");
    }
    let wrong = story.post("/api/keys").json(&json!({ "scopes": ["root"] })).send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
    assert!(body(wrong).await["error"]["message"].as_str().unwrap().contains("root"));
    let unknown =
        story.post("/api/keys").json(&json!({ "scopes": ["call"], "lable": "x" })).send().await.unwrap();
    assert_eq!(unknown.status(), StatusCode::BAD_REQUEST);
    let deep = story.post("/api/keys").header("content-type", "application/json").body("[".repeat(100_000));
    assert_eq!(deep.send().await.unwrap().status(), StatusCode::BAD_REQUEST);
    let method = story.post("/api/status").send().await.unwrap();
    assert_eq!(method.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(method.headers()["allow"], "GET,HEAD");
}

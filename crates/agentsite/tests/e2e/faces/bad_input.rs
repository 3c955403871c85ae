//! Requests that are wrong: each gets the code that the specification names and a sentence, and the site
//! keeps serving.
//!
//! Promises that are tested: nothing foreign, however malformed, deep or large, ends in silence or in a
//! broken site.

use serde_json::{Value, json};

use crate::site::{TestSite, answer, message};

/// Posts raw bytes to the echo agent.
async fn post(site: &TestSite, path: &str, media: &str, body: impl Into<reqwest::Body>) -> (u16, Value) {
    let request = site.http.post(format!("{}{path}", site.url)).header("content-type", media).body(body);
    let reply = request.send().await.unwrap();
    let status = reply.status().as_u16();
    let text = reply.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}")))
}

async fn refused(site: &TestSite, body: impl Into<reqwest::Body>, code: i64, words: &str) {
    let (_, reply) = post(site, "/a2a/echo", "application/json", body).await;
    assert_eq!(reply["error"]["code"], code, "{reply}");
    let sentence = reply["error"]["message"].as_str().unwrap();
    assert!(sentence.contains(words), "{words:?} in {sentence:?}");
    assert_eq!(answer(&site.send("echo", "still here").await), "still here");
}

#[tokio::test]
async fn what_is_no_json_is_a_parse_error() {
    let site = TestSite::started();
    refused(&site, "{\"jsonrpc\":", -32700, "JSON-RPC").await;
    refused(&site, "", -32700, "empty").await;
    refused(&site, b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\"}".to_vec(), -32700, "UTF-8").await;
    refused(&site, vec![0_u8; 1000], -32700, "").await;
}

#[tokio::test]
async fn what_is_no_request_is_an_invalid_request() {
    let site = TestSite::started();
    refused(&site, "[]", -32600, "batch").await;
    refused(&site, "7", -32600, "object").await;
    refused(&site, "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"GetTask\"}", -32600, "2.0").await;
    refused(&site, "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"GetTask\"}", -32600, "id").await;
    refused(&site, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600, "method").await;
}

#[tokio::test]
async fn a_hundred_thousand_brackets_are_refused_wherever_they_stand() {
    let site = TestSite::started();
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    refused(&site, deep.clone(), -32600, "deep").await;
    let inside =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SendMessage\",\"params\":{{\"x\":{deep}}}}}");
    refused(&site, inside, -32600, "deep").await;
    refused(&site, "[".repeat(100_000), -32600, "deep").await;
    refused(&site, "{\"a\":".repeat(100_000), -32600, "deep").await;
    let (status, reply) = post(&site, "/api/keys", "application/json", deep).await;
    assert_eq!(status, 400, "{reply}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_by_length_and_by_count() {
    let site = TestSite::started();
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message(&"x".repeat(2 << 20))}});
    let (status, reply) = post(&site, "/a2a/echo", "application/json", large.to_string()).await;
    assert_eq!((status, &reply["error"]["data"][0]["reason"]), (413, &json!("REQUEST_TOO_LARGE")), "{reply}");
    let pieces = futures::stream::iter((0..32).map(|_| Ok::<_, std::io::Error>(vec![b' '; 64 << 10])));
    let (status, reply) =
        post(&site, "/a2a/echo", "application/json", reqwest::Body::wrap_stream(pieces)).await;
    assert_eq!(status, 413, "{reply}");
    let most = message(&"x".repeat(900 << 10));
    let reply = site.rpc("echo", "SendMessage", json!({"message": most})).await;
    assert_eq!(answer(&reply).len(), 900 << 10, "what is not too large goes through");
}

#[tokio::test]
async fn another_media_type_is_refused() {
    let site = TestSite::started();
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("hi")}});
    for media in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let (_, reply) = post(&site, "/a2a/echo", media, body.to_string()).await;
        assert_eq!(reply["error"]["code"], -32005, "{reply}");
    }
    let (_, reply) = post(&site, "/a2a/echo", "application/json; charset=utf-8", body.to_string()).await;
    assert_eq!(answer(&reply), "hi");
}

#[tokio::test]
async fn unknown_methods_agents_tasks_versions_and_paths_are_named() {
    let site = TestSite::started();
    let method = site.rpc("echo", "Fly", json!({})).await;
    assert_eq!(method["error"]["code"], -32601);
    assert!(method["error"]["message"].as_str().unwrap().contains("SendMessage"), "{method}");

    for name in ["nobody", "No Such Agent", "..%2F..", "concierge-x"] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}).to_string();
        let (status, reply) =
            post(&site, &format!("/a2a/{}", name.replace(' ', "%20")), "application/json", body).await;
        assert!(status == 404 || reply["error"]["code"] == -32001, "{name}: {status} {reply}");
    }
    let agent = site.send("nobody", "hello").await;
    assert_eq!(agent["error"]["data"][0]["reason"], "AGENT_NOT_FOUND", "{agent}");

    for id in ["01a1e139-3992-7f60-9cb4-c930aa5461ba", "nonsense", ""] {
        let task = site.rpc("echo", "GetTask", json!({"id": id})).await;
        let code = task["error"]["code"].as_i64();
        assert!(code == Some(-32001) || (id.is_empty() && code == Some(-32602)), "{id:?}: {task}");
    }

    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}});
    let request = site.http.post(format!("{}/a2a/echo", site.url)).header("a2a-version", "9.9").json(&body);
    let version: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(version["error"]["code"], -32009, "{version}");

    let path = site.get("/no/such/path").await;
    assert_eq!(path["error"]["code"], "no_such_path", "{path}");
}

#[tokio::test]
async fn parameters_that_are_wrong_are_named_field_by_field() {
    let site = TestSite::started();
    let cases = [
        (json!({}), "message"),
        (json!({"message": {}}), "message.messageId"),
        (json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": []}}), "message.parts"),
        (
            json!({"message": {"messageId": "1", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}}),
            "message.role",
        ),
    ];
    for (params, field) in cases {
        let reply = site.rpc("echo", "SendMessage", params).await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains(field), "{field} in {reply}");
    }
    assert!(site.get("/api/tasks").await["tasks"].as_array().unwrap().is_empty(), "nothing was begun");
}

#[tokio::test]
async fn a_connection_that_speaks_no_http_harms_nobody() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let site = TestSite::started();
    let address = site.url.trim_start_matches("http://");
    for words in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET /\r\n\r\n",
    ] {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(words).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said).await;
        assert!(!said.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&said));
    }
    assert_eq!(answer(&site.send("echo", "still here").await), "still here");
}

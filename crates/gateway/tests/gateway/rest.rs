//! The HTTP+JSON binding of A2A: every operation at its own address, the same as by JSON-RPC.
//!
//! Shapes as a whole are in `golden`; here is what callers rely on.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::story::{Story, body, says};
use crate::streams::events;

/// A request as the official clients send it.
async fn ask(story: &Story, method: Method, path: &str, sent: Option<Value>) -> (StatusCode, Value) {
    let request = story.http.request(method, story.url(path)).header("a2a-version", "1.0");
    let request = match sent {
        Some(sent) => request.json(&sent),
        None => request,
    };
    let response = request.send().await.unwrap();
    (response.status(), body(response).await)
}

async fn get(story: &Story, path: &str) -> (StatusCode, Value) {
    ask(story, Method::GET, path, None).await
}

async fn post(story: &Story, path: &str, sent: Value) -> (StatusCode, Value) {
    ask(story, Method::POST, path, Some(sent)).await
}

#[tokio::test]
async fn a_message_becomes_a_task_that_is_read_at_its_address() {
    let story = Story::begin().await;
    let (status, sent) = post(&story, "/a2a/echo/message:send", says("hello")).await;
    assert_eq!(status, StatusCode::OK, "{sent}");
    let task = &sent["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    let path = format!("/a2a/echo/tasks/{}", task["id"].as_str().unwrap());
    let (_, read) = get(&story, &path).await;
    assert_eq!(&read, task);
    let by_rpc = story.call("echo", "GetTask", json!({ "id": task["id"] })).await;
    assert_eq!(by_rpc["result"], read, "both bindings tell the same");
    let (_, short) = get(&story, &format!("{path}/?historyLength=0")).await;
    assert!(short.get("history").is_none(), "{short}");
    let (_, told) = post(&story, "/a2a/parrot/message:send/", says("hi")).await;
    assert_eq!(told["message"]["parts"][0]["text"], "hi");
}

#[tokio::test]
async fn the_site_itself_has_the_same_addresses() {
    let story = Story::begin().await;
    let (status, sent) = post(&story, "/a2a/message:send", says("echo: hello")).await;
    assert_eq!(status, StatusCode::OK, "{sent}");
    story.call("echo", "SendMessage", says("hello")).await;
    let (_, list) = get(&story, "/a2a/tasks").await;
    let id = list["tasks"][0]["id"].as_str().unwrap();
    let (_, read) = get(&story, &format!("/a2a/tasks/{id}")).await;
    assert_eq!(read["id"], id, "every task of the caller is found: {read}");
    let encoded = post(&story, "/a2a/message%3Asend", says("echo: hello")).await;
    assert_eq!(encoded.0, StatusCode::OK, "a colon may be encoded: {}", encoded.1);
}

#[tokio::test]
async fn a_task_at_work_is_followed_and_canceled() {
    let story = Story::begin().await;
    let id = story.long_task().await;
    let address = |verb: &str| story.url(&format!("/a2a/long/tasks/{id}:{verb}"));
    let one = story.http.get(address("subscribe")).send().await.unwrap();
    let two = story.http.post(address("subscribe")).send().await.unwrap();
    assert_eq!(one.headers()["content-type"], "text/event-stream");
    let canceled = body(story.http.post(address("cancel")).send().await.unwrap()).await;
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED", "{canceled}");
    for stream in [one, two] {
        let events = events(&stream.text().await.unwrap());
        assert_eq!(events[0].2["task"]["id"], id.as_str());
        let last = &events.last().unwrap().2;
        assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED");
    }
    let (status, again) = post(&story, &format!("/a2a/long/tasks/{id}:cancel"), json!({})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(again["error"]["status"], "FAILED_PRECONDITION");
    assert_eq!(again["error"]["details"][0]["reason"], "TASK_NOT_CANCELABLE");
    let (status, ended) = get(&story, &format!("/a2a/long/tasks/{id}:subscribe")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(ended["error"]["details"][0]["reason"], "UNSUPPORTED_OPERATION");
}

#[tokio::test]
async fn a_stream_has_bare_events_with_their_numbers() {
    let story = Story::begin().await;
    let response = story.post("/a2a/steps/message:stream").json(&says("go")).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let events = events(&response.text().await.unwrap());
    assert_eq!(events[0].2["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
    assert!(events.windows(2).all(|pair| pair[0].0 < pair[1].0), "{events:?}");
    assert!(events.iter().any(|(.., data)| data["artifactUpdate"]["artifact"].is_object()), "{events:?}");
    let last = &events.last().unwrap().2["statusUpdate"];
    assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED", "{last}");
    let one = story.post("/a2a/parrot/message:stream").json(&says("hi")).send().await.unwrap();
    assert!(one.text().await.unwrap().starts_with("data: {\"message\":{"));
}

#[tokio::test]
async fn tasks_are_listed_by_query() {
    let story = Story::begin().await;
    let mut params = says("one");
    params["message"]["contextId"] = json!("c 1");
    story.call("echo", "SendMessage", params).await;
    for text in ["two", "three"] {
        story.call("echo", "SendMessage", says(text)).await;
    }
    let (_, first) = get(&story, "/a2a/echo/tasks?pageSize=2").await;
    assert_eq!(first["tasks"].as_array().unwrap().len(), 2, "{first}");
    assert_eq!((&first["pageSize"], &first["totalSize"]), (&json!(2), &json!(3)));
    let token = first["nextPageToken"].as_str().unwrap();
    let (_, rest) = get(&story, &format!("/a2a/echo/tasks/?pageSize=2&pageToken={token}")).await;
    assert_eq!(rest["tasks"].as_array().unwrap().len(), 1);
    let (_, found) =
        get(&story, "/a2a/echo/tasks?contextId=c%201&includeArtifacts=true&historyLength=0").await;
    assert_eq!(found["totalSize"], 1);
    assert_eq!(found["tasks"][0]["artifacts"][0]["parts"][0]["text"], "one", "{found}");
    assert!(found["tasks"][0].get("history").is_none());
    for (query, count) in [
        ("status=TASK_STATE_COMPLETED", 3),
        ("status=TASK_STATE_FAILED", 0),
        ("statusTimestampAfter=2001-01-01T00:00:00Z", 3),
        ("statusTimestampAfter=2999-01-01T00:00:00Z", 0),
        ("status=&contextId=&pageToken=", 3),
    ] {
        let (_, list) = get(&story, &format!("/a2a/echo/tasks?{query}")).await;
        assert_eq!(list["tasks"].as_array().unwrap().len(), count, "{query} {list}");
    }
    for (query, field) in [
        ("pageSize=0", "pageSize"),
        ("pageSize=many", "pageSize"),
        ("pageToken=x", "pageToken"),
        ("status=happy", "status"),
        ("historyLength=-1", "historyLength"),
        ("includeArtifacts=maybe", "includeArtifacts"),
        ("statusTimestampAfter=now", "statusTimestampAfter"),
    ] {
        let (status, refused) = get(&story, &format!("/a2a/echo/tasks?{query}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(refused["error"]["status"], "INVALID_ARGUMENT");
        assert_eq!(refused["error"]["details"][1]["fieldViolations"][0]["field"], field, "{refused}");
    }
}

#[tokio::test]
async fn the_answer_comes_in_the_media_type_that_was_asked() {
    let story = Story::begin().await;
    let send = |media: &'static str| {
        let request = story.post("/a2a/echo/message:send").header("content-type", media);
        request.body(says("hi").to_string()).send()
    };
    let list = |accept: &'static str| story.get("/a2a/echo/tasks").header("accept", accept).send();
    let miss = |accept: &'static str| story.get("/a2a/echo/tasks/x").header("accept", accept).send();
    let of = |response: reqwest::Response| response.headers()["content-type"].to_str().unwrap().to_owned();
    assert_eq!(of(send("application/json").await.unwrap()), "application/json");
    assert_eq!(of(send("application/a2a+json; charset=utf-8").await.unwrap()), "application/a2a+json");
    assert_eq!(of(list("*/*").await.unwrap()), "application/a2a+json");
    assert_eq!(of(list("application/json").await.unwrap()), "application/json");
    assert_eq!(of(miss("*/*").await.unwrap()), "application/json", "errors unless the type of A2A is named");
    assert_eq!(of(miss("application/a2a+json").await.unwrap()), "application/a2a+json");
    let wrong = send("text/plain").await.unwrap();
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
    let wrong = body(wrong).await;
    assert_eq!(wrong["error"]["details"][0]["reason"], "CONTENT_TYPE_NOT_SUPPORTED");
}

#[tokio::test]
async fn only_version_one_is_spoken() {
    let story = Story::begin().await;
    for (version, taken) in [("1.0", true), ("", true), ("0.3", false), ("2.0", false)] {
        let asked = story.get("/a2a/echo/tasks").header("a2a-version", version).send().await.unwrap();
        assert_eq!(asked.status().is_success(), taken, "{version}");
    }
    let old = story.get("/a2a/echo/tasks").header("a2a-version", "0.3").send().await.unwrap();
    let told = body(old).await;
    assert!(told["error"]["message"].as_str().unwrap().contains("or use JSON-RPC"), "{told}");
    let (status, refused) = post(&story, "/a2a/echo/message:send", says("hi")).await;
    assert_eq!(status, StatusCode::OK, "{refused}");
    let asked = story.post("/a2a/echo/message:send?A2A-Version=9.9").json(&says("hi")).send().await.unwrap();
    assert_eq!(asked.status(), StatusCode::BAD_REQUEST);
    let refused = body(asked).await;
    assert_eq!(refused["error"]["details"][0]["reason"], "VERSION_NOT_SUPPORTED");
    assert_eq!(refused["error"]["details"][0]["metadata"]["supportedVersions"], "1.0");
}

#[tokio::test]
async fn what_is_wrong_gets_its_status_and_the_gateway_goes_on() {
    let story = Story::begin().await;
    let raw = async |path: &str, bytes: &'static [u8]| {
        let request = story.post(path).header("content-type", "application/json").body(bytes);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), body(response).await)
    };
    let deep = "[".repeat(100_000).leak().as_bytes();
    for (path, bytes, status, word) in [
        ("/a2a/echo/message:send", &b""[..], 400, "INVALID_ARGUMENT"),
        ("/a2a/echo/message:send", b"{not json", 400, "INVALID_ARGUMENT"),
        ("/a2a/echo/message:send", b"\xff", 400, "INVALID_ARGUMENT"),
        ("/a2a/echo/message:send", b"[]", 400, "INVALID_ARGUMENT"),
        ("/a2a/echo/message:send", deep, 400, "INVALID_ARGUMENT"),
        ("/a2a/echo/message:send", b"{}", 400, "INVALID_ARGUMENT"),
        ("/a2a/echo/message:stream", br#"{"message":7}"#, 400, "INVALID_ARGUMENT"),
        ("/a2a/echo/tasks/x:cancel", b"{not json", 400, "INVALID_ARGUMENT"),
        ("/a2a/echo/tasks/x:cancel", b"{}", 404, "NOT_FOUND"),
        ("/a2a/echo/tasks/x:sing", b"{}", 404, "NOT_FOUND"),
        ("/a2a/echo/nothing", b"{}", 404, "NOT_FOUND"),
        ("/a2a/echo/tasks", b"{}", 405, "INVALID_ARGUMENT"),
    ] {
        let (found, answer) = raw(path, bytes).await;
        let name = String::from_utf8_lossy(&bytes[..bytes.len().min(30)]);
        assert_eq!(found, status, "{path} {name}: {answer}");
        assert_eq!(answer["error"]["status"], word, "{path} {name}: {answer}");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    }
    let missing = says("hi");
    assert_eq!(post(&story, "/a2a/nobody/message:send", missing).await.0, StatusCode::NOT_FOUND);
    let wrong = story.http.delete(story.url("/a2a/echo/tasks/x:subscribe")).send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(wrong.headers()["allow"], "GET,POST");
    let large = story.post("/a2a/echo/message:send").header("content-type", "application/json");
    let large = large.body(vec![b' '; 3 << 20]).send().await.unwrap();
    assert_eq!(large.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(post(&story, "/a2a/echo/message:send", says("still here")).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_task_is_found_only_by_its_owner_and_under_its_agent() {
    let story = Story::begin().await;
    let (mine, other) = (story.key(&["call"]).await, story.key(&["call"]).await);
    let sent = story.post("/a2a/echo/message:send").bearer_auth(&mine).json(&says("hi"));
    let sent = body(sent.send().await.unwrap()).await;
    let id = sent["task"]["id"].as_str().unwrap();
    for (key, agent, found) in [
        (&mine, "echo/", true),
        (&mine, "", true),
        (&mine, "steps/", false),
        (&other, "echo/", false),
        (&other, "", false),
    ] {
        for (method, verb) in [(Method::GET, ""), (Method::GET, ":subscribe"), (Method::POST, ":cancel")] {
            let url = story.url(&format!("/a2a/{agent}tasks/{id}{verb}"));
            let response = story.http.request(method, url).bearer_auth(key).send().await.unwrap();
            assert_eq!(response.status() != StatusCode::NOT_FOUND, found, "{agent} {verb}");
        }
    }
    let list = story.get("/a2a/tasks").bearer_auth(&other).send().await.unwrap();
    assert_eq!(body(list).await["tasks"], json!([]));
    let hidden = story.guest().post("/a2a/hidden/message:send").json(&says("hi"));
    assert_eq!(hidden.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let wrong = story.get("/a2a/tasks").bearer_auth("ask_000000000000_00").send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(body(wrong).await["error"]["status"], "UNAUTHENTICATED");
}

#[tokio::test]
async fn another_web_page_cannot_do_anything_though_some_requests_need_no_body() {
    let story = Story::begin().await;
    let id = story.long_task().await;
    for (name, value) in
        [("origin", "https://evil.example"), ("host", "evil.example"), ("sec-fetch-site", "cross-site")]
    {
        let request = story.guest().post(&format!("/a2a/long/tasks/{id}:cancel")).header(name, value);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{name}: {value}");
        assert_eq!(body(response).await["error"]["status"], "PERMISSION_DENIED");
    }
    let (_, task) = get(&story, &format!("/a2a/long/tasks/{id}")).await;
    assert_ne!(task["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn a_tenant_beside_the_path_names_the_agent_or_contradicts_it() {
    let story = Story::begin().await;
    let mut sent = says("hello");
    sent["tenant"] = json!("parrot");
    let (_, told) = post(&story, "/a2a/message:send", sent.clone()).await;
    assert_eq!(told["message"]["parts"][0]["text"], "hello", "{told}");
    assert_eq!(post(&story, "/a2a/parrot/message:send", sent.clone()).await.0, StatusCode::OK);
    let (status, refused) = post(&story, "/a2a/echo/message:send", sent).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(refused["error"]["details"][0]["reason"], "AGENT_NOT_FOUND");
    story.call("echo", "SendMessage", says("hi")).await;
    assert_eq!(get(&story, "/a2a/tasks?tenant=echo").await.1["totalSize"], 1);
    assert_eq!(get(&story, "/a2a/tasks?tenant=steps").await.1["totalSize"], 0);
    assert_eq!(get(&story, "/a2a/echo/tasks?tenant=steps").await.0, StatusCode::NOT_FOUND);
}

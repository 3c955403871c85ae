//! Conversations by REST: the stories of a page that talks with agents, and what is refused on the way.
//!
//! What a conversation does is told in the stories of `site`; here are routes, shapes and codes.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::events::Events;
use crate::golden::hold;
use crate::story::{Story, body};

async fn send(story: &Story, method: Method, path: &str, sent: Option<Value>) -> (StatusCode, Value) {
    let request = story.http.request(method, story.url(path));
    let request = match sent {
        Some(sent) => request.json(&sent),
        None => request,
    };
    let response = request.send().await.unwrap();
    let status = response.status();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

async fn post(story: &Story, path: &str, sent: Value) -> Value {
    let (status, found) = send(story, Method::POST, path, Some(sent)).await;
    assert_eq!(status, StatusCode::CREATED, "{path}: {found}");
    found
}

async fn get(story: &Story, path: &str) -> Value {
    let (status, found) = send(story, Method::GET, path, None).await;
    assert_eq!(status, StatusCode::OK, "{path}: {found}");
    found
}

/// Begins a conversation with `echo`; gives its path and its first turn, which has ended.
async fn begin(story: &Story, text: &str) -> (String, String) {
    let begun = post(story, "/api/conversations", json!({ "agent": "echo", "message": text })).await;
    let turn = begun["turn"]["id"].as_str().unwrap().to_owned();
    settled(story, &turn).await;
    (format!("/api/conversations/{}", begun["conversation"]["id"].as_str().unwrap()), turn)
}

/// Reads the stream of a task to its end.
async fn settled(story: &Story, turn: &str) {
    let stream = story.get(&format!("/api/tasks/{turn}/events")).header("accept", "text/event-stream");
    assert!(stream.send().await.unwrap().text().await.unwrap().contains("event: settled"));
}

#[tokio::test]
async fn a_page_talks_with_an_agent() {
    let story = Story::begin().await;
    let (path, first) = begin(&story, "hello").await;
    let parts =
        json!([{ "text": "see" }, { "raw": "aGVsbG8h", "filename": "a.txt", "mediaType": "text/plain" }]);
    let said = json!({ "message": parts, "messageId": "m-2" });
    let second = post(&story, &format!("{path}/turns"), said.clone()).await;
    assert_eq!(second["parent"], first);
    assert_eq!(post(&story, &format!("{path}/turns"), said).await["id"], second["id"], "a repeat");
    settled(&story, second["id"].as_str().unwrap()).await;
    let turns = get(&story, &format!("{path}/turns")).await;
    assert_eq!(turns["turns"].as_array().unwrap().len(), 2);
    assert_eq!(turns["turns"][1]["question"][1]["filename"], "a.txt");
    assert!(turns["turns"][1]["question"][1].get("raw").is_none(), "files are named, not carried");
    let last = get(&story, &format!("{path}/turns?limit=1")).await;
    assert_eq!(last["before"], second["id"]);
    let before = get(&story, &format!("{path}/turns?before={}", last["before"].as_str().unwrap())).await;
    assert_eq!((&before["turns"][0]["id"], before.get("before")), (&json!(first), None));

    let edited = post(&story, &format!("{path}/turns"), json!({ "instead": first, "message": "hi" })).await;
    assert_eq!(edited["siblings"], json!([first, edited["id"]]));
    let chosen = send(&story, Method::PATCH, &path, Some(json!({ "head": first }))).await.1;
    assert_eq!(chosen["head"], second["id"]);
    let named = json!({ "title": "Plans", "pinned": true, "revision": chosen["revision"] });
    let named = send(&story, Method::PATCH, &path, Some(named)).await.1;
    assert_eq!(
        (&named["title"], &named["pinned"], &named["named"]),
        (&json!("Plans"), &json!(true), &json!(true))
    );

    begin(&story, "another").await;
    let list = get(&story, "/api/conversations?limit=1").await;
    assert_eq!(list["conversations"][0]["title"], "Plans");
    let rest = get(&story, &format!("/api/conversations?cursor={}", list["next"].as_str().unwrap())).await;
    assert_eq!((&rest["conversations"][0]["title"], &rest["next"]), (&json!("another"), &Value::Null));
    let found = get(&story, "/api/conversations?text=hell").await;
    assert_eq!(
        found["conversations"][0]["passage"],
        json!({ "of": "answer", "turn": first, "text": "hello" })
    );
    assert_eq!(send(&story, Method::DELETE, &path, None).await.0, StatusCode::NO_CONTENT);
    assert_eq!(send(&story, Method::GET, &path, None).await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        send(&story, Method::GET, &format!("/api/tasks/{first}"), None).await.0,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn what_is_wrong_is_refused_with_its_code() {
    let story = Story::begin().await;
    let (path, turn) = begin(&story, "hello").await;
    let turns = format!("{path}/turns");
    let nowhere = "0198c0de-0000-7000-8000-000000000001";
    let patch = |sent: Value| (Method::PATCH, path.clone(), Some(sent));
    let say = |sent: Value| (Method::POST, turns.clone(), Some(sent));
    let cases = [
        (404, "no_such_resource", (Method::GET, format!("/api/conversations/{nowhere}"), None)),
        (404, "no_such_resource", (Method::GET, "/api/conversations/x".into(), None)),
        (404, "no_such_resource", say(json!({ "message": "x", "parent": nowhere }))),
        (404, "no_such_resource", say(json!({ "instead": nowhere }))),
        (404, "no_such_resource", patch(json!({ "head": nowhere }))),
        (404, "no_such_resource", (Method::GET, format!("{turns}?before={nowhere}"), None)),
        (404, "no_such_agent", say(json!({ "message": "x", "agent": "gone" }))),
        (404, "no_such_agent", (Method::POST, "/api/conversations".into(), Some(json!({ "agent": "gone" })))),
        (409, "moved", patch(json!({ "title": "x", "revision": 1 }))),
        (409, "moved", (Method::DELETE, format!("{path}?revision=1"), None)),
        (400, "bad_params", patch(json!({ "title": "x".repeat(201) }))),
        (400, "bad_params", patch(json!({ "title": " " }))),
        (400, "bad_params", patch(json!({ "colour": "red" }))),
        (400, "bad_params", say(json!({}))),
        (400, "bad_params", say(json!({ "message": [] }))),
        (400, "bad_params", say(json!({ "message": "x", "parent": turn, "instead": turn }))),
        (400, "bad_params", say(json!({ "message": "x", "parent": "no id" }))),
        (400, "task_ended", say(json!({ "message": "x", "answers": turn }))),
        (400, "bad_params", (Method::GET, "/api/conversations?cursor=x".into(), None)),
        (400, "bad_params", (Method::GET, format!("/api/conversations?text={}", "x".repeat(600)), None)),
        (400, "bad_params", (Method::GET, format!("{path}/export?format=pdf"), None)),
    ];
    for (status, code, (method, at, sent)) in cases {
        let told = format!("{method} {at} {sent:?}");
        let (found, refused) = send(&story, method, &at, sent).await;
        assert_eq!((found.as_u16(), &refused["error"]["code"]), (status, &json!(code)), "{told}: {refused}");
    }
    let key = story.key(&["call"]).await;
    let theirs = json!({ "agent": "echo", "message": "hello" });
    let theirs = story.post("/api/conversations").bearer_auth(&key).json(&theirs).send().await.unwrap();
    let theirs = format!("/api/conversations/{}", body(theirs).await["conversation"]["id"].as_str().unwrap());
    assert_eq!(story.get(&theirs).bearer_auth(&key).send().await.unwrap().status(), StatusCode::OK);
    let foreign = story.get(&theirs).send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::NOT_FOUND, "also for the people who run the site");
    let guest = story.guest().get("/api/conversations").send().await.unwrap();
    assert_eq!(guest.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn two_browsers_hear_the_same() {
    let story = Story::begin().await;
    let (path, _) = begin(&story, "hello").await;
    let mut one = story.get(&format!("{path}/events")).send().await.unwrap();
    let mut all = story.get("/api/conversations/events").send().await.unwrap();
    assert_eq!(one.headers()["content-type"], "text/event-stream");
    let first = String::from_utf8(one.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    assert!(first.contains("\"kind\":\"changed\"") && first.starts_with("id: "), "{first}");
    assert!(all.chunk().await.unwrap().unwrap().starts_with(b": listening"));
    let said = post(&story, &format!("{path}/turns"), json!({ "message": "more" })).await;
    for stream in [&mut one, &mut all] {
        let mut heard = String::new();
        while !heard.contains("\"state\":\"completed\"") {
            heard.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
        }
        assert!(heard.contains(said["id"].as_str().unwrap()), "{heard}");
    }
    send(&story, Method::DELETE, &path, None).await;
    assert!(one.text().await.unwrap().contains("\"kind\":\"removed\""), "and then the stream ends");
}

#[tokio::test]
async fn a_conversation_is_written_out() {
    let story = Story::begin().await;
    let (path, _) = begin(&story, "hello").await;
    let text = story.get(&format!("{path}/export")).send().await.unwrap();
    assert_eq!(text.headers()["content-type"], "text/markdown; charset=utf-8");
    assert!(text.headers()["content-disposition"].to_str().unwrap().starts_with("attachment; filename="));
    let text = text.text().await.unwrap();
    assert!(text.starts_with("# hello\n") && text.contains("## echo\n\nhello\n"), "{text}");
    let whole = get(&story, &format!("{path}/export?format=json")).await;
    assert_eq!(whole["turns"][0]["answer"], "hello");
}

#[tokio::test]
async fn the_twin_of_the_chat_tells_a_caller_its_own_conversations() {
    let story = Story::begin().await;
    let (path, _) = begin(&story, "hello\n# <b>[there](javascript:x)").await;
    let id = path.rsplit('/').next().unwrap();
    let read = async |path: &str| story.get(path).send().await.unwrap().text().await.unwrap();
    let list = read("/chat.md").await;
    assert!(list.contains(&format!("/chat/{id}.md) | echo | 1 |")) && !list.contains("<b>"), "{list}");
    let one = read(&format!("/chat/{id}.md")).await;
    assert!(one.contains("> hello\n> # &lt;b>\\[there](javascript:x)") && one.contains("completed"), "{one}");
    let key = story.key(&["call"]).await;
    let other = story.get("/chat.md").bearer_auth(&key).send().await.unwrap().text().await.unwrap();
    assert!(other.contains("None yet."), "{other}");
    let refused = story.get(&format!("/chat/{id}.md")).bearer_auth(&key).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::NOT_FOUND);
    let guest = story.guest().get("/chat.md").send().await.unwrap().text().await.unwrap();
    assert!(guest.contains("kept for callers that are known") && !guest.contains(id), "{guest}");
    let refused = story.guest().get(&format!("/chat/{id}.md")).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_shapes_of_conversations_are_those_in_the_files() {
    let story = Story::begin().await;
    let (path, turn) = begin(&story, "hello").await;
    let steady = |mut found: Value| {
        found["turns"][0]["durationMs"] = json!(0);
        found
    };
    hold(&story, "api_conversation", get(&story, &path).await);
    hold(&story, "api_turns", steady(get(&story, &format!("{path}/turns")).await));
    hold(&story, "api_conversations", get(&story, "/api/conversations?text=hello").await);
    let mut events = Events::of(story.get(&format!("{path}/events")).send().await.unwrap());
    hold(&story, "api_conversation_event", events.next().await.unwrap().value());
    assert_eq!(body(story.get(&format!("/api/tasks/{turn}")).send().await.unwrap()).await["agent"], "echo");
}

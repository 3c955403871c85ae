//! Going on after a cut: `Last-Event-ID` on streams of A2A, the same in both bindings.
//!
//! A stream that was read to its end is the measure; every resumed one must give exactly the rest of it.

use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::story::{Story, body, says};
use crate::streams::events;

/// The numbers and the content of a stream, without what belongs to the binding.
async fn read(request: RequestBuilder) -> Vec<(u64, Value)> {
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let events = events(&response.text().await.unwrap());
    let bare = |data: Value| data.get("result").cloned().unwrap_or(data);
    events.into_iter().map(|(seq, _, data)| (seq.unwrap(), bare(data))).collect()
}

fn after(request: RequestBuilder, seen: u64) -> RequestBuilder {
    request.header("last-event-id", seen.to_string())
}

#[tokio::test]
async fn the_rest_of_a_task_that_has_ended_comes_without_gap_or_repeat() {
    let story = Story::begin().await;
    let message = says("go");
    let all = read(story.rpc("steps", "SendStreamingMessage", message.clone())).await;
    let id = all[0].1["task"]["id"].as_str().unwrap().to_owned();
    for (at, (seen, _)) in all.iter().enumerate() {
        let rest = &all[at + 1..];
        let subscribed = story.rpc("steps", "SubscribeToTask", json!({ "id": id }));
        assert_eq!(read(after(subscribed, *seen)).await, rest, "after {seen}");
        let subscribed = story.get(&format!("/a2a/steps/tasks/{id}:subscribe"));
        assert_eq!(read(after(subscribed, *seen)).await, rest, "after {seen}");
        let again = story.rpc("steps", "SendStreamingMessage", message.clone());
        assert_eq!(read(after(again, *seen)).await, rest, "after {seen}");
        let again = story.post("/a2a/steps/message:stream").json(&message);
        assert_eq!(read(after(again, *seen)).await, rest, "after {seen}");
    }
    let tasks = story.call("steps", "ListTasks", json!({})).await;
    assert_eq!(tasks["result"]["totalSize"], 1, "the same message never makes two tasks");
}

#[tokio::test]
async fn a_task_at_work_goes_on_after_the_last_event_seen() {
    let story = Story::begin().await;
    let id = story.long_task().await;
    let path = format!("/a2a/long/tasks/{id}:subscribe");
    let response = after(story.get(&path), 1).send().await.unwrap();
    let rpc = after(story.rpc("long", "SubscribeToTask", json!({ "id": id })), 1).send().await.unwrap();
    story.call("long", "CancelTask", json!({ "id": id })).await;
    for text in [response.text().await.unwrap(), rpc.text().await.unwrap()] {
        let events = events(&text);
        assert!(events.windows(2).all(|pair| pair[0].0 < pair[1].0), "{text}");
        assert!(!text.contains("\"task\":{"), "the task was seen already: {text}");
        assert!(events.last().unwrap().2.to_string().contains("TASK_STATE_CANCELED"), "{text}");
    }
    // Who has seen everything gets nothing more.
    let last = read(after(story.get(&path), 1)).await.last().unwrap().0;
    assert_eq!(read(after(story.get(&path), last)).await, []);
}

#[tokio::test]
async fn a_number_that_cannot_be_is_refused() {
    let story = Story::begin().await;
    let id = story.long_task().await;
    let path = format!("/a2a/long/tasks/{id}:subscribe");
    for wrong in ["999999", "-1", "x"] {
        let refused = story.get(&path).header("last-event-id", wrong).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{wrong}");
        let refused = body(refused).await;
        assert_eq!(refused["error"]["details"][1]["fieldViolations"][0]["field"], "Last-Event-ID");
    }
    // A new message has no past: whatever was seen before, its stream begins with the task.
    let new = story.post("/a2a/steps/message:stream").json(&says("go"));
    assert!(read(after(new, 999_999)).await[0].1["task"].is_object());
    let strange = story.rpc("steps", "SendStreamingMessage", says("go")).header("last-event-id", "x");
    assert_eq!(body(strange.send().await.unwrap()).await["error"]["code"], -32602);
}

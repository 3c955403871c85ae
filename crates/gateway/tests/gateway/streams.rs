//! Streams: order, numbers, ends, and going on after a cut.
//!
//! Streams are read to their end, so that nothing depends on timing.

use serde_json::{Value, json};

use crate::events::{Event, read};
use crate::story::{Story, says};

/// The events of a stream: number, name, data.
pub(crate) fn events(text: &str) -> Vec<(Option<u64>, Option<String>, Value)> {
    let numbered =
        |event: Event| (event.id.as_ref().map(|id| id.parse().unwrap()), event.value(), event.name);
    read(text).into_iter().map(numbered).map(|(id, data, name)| (id, name, data)).collect()
}

#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_when_it_is_settled() {
    let story = Story::begin().await;
    let response = story.rpc("steps", "SendStreamingMessage", says("go")).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["cache-control"], "no-cache, no-store");
    let events = events(&response.text().await.unwrap());
    let first = &events[0].2;
    assert_eq!(first["jsonrpc"], "2.0");
    assert_eq!(first["id"], "r1");
    assert!(first["result"]["task"]["id"].is_string(), "{first}");
    let numbers: Vec<u64> = events.iter().map(|(seq, ..)| seq.unwrap()).collect();
    assert!(numbers.is_sorted() && numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    let last = events.last().unwrap();
    let state = last.2["result"]
        .pointer("/statusUpdate/status/state")
        .or(last.2["result"].pointer("/task/status/state"));
    assert_eq!(state.unwrap(), "TASK_STATE_COMPLETED");
    let id = &first["result"]["task"]["id"];
    let task = story.call("steps", "GetTask", json!({ "id": id })).await;
    let text = task["result"]["artifacts"][0]["parts"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("one") && text.contains("three"), "{task}");
}

#[tokio::test]
async fn an_agent_without_a_record_streams_exactly_one_message() {
    let story = Story::begin().await;
    let response = story.rpc("parrot", "SendStreamingMessage", says("hi")).send().await.unwrap();
    let events = events(&response.text().await.unwrap());
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].2["result"]["message"]["parts"][0]["text"], "hi");
}

#[tokio::test]
async fn what_is_wrong_before_the_stream_is_a_plain_answer() {
    let story = Story::begin().await;
    let response = story.rpc("echo", "SendStreamingMessage", json!({})).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(crate::story::body(response).await["error"]["code"], -32602);
}

#[tokio::test]
async fn every_subscriber_sees_the_end_and_silence_is_broken() {
    let mut settings = agentsite_gateway::GatewaySettings::default();
    settings.limits.keep_alive = std::time::Duration::from_millis(20);
    let story = Story::with(settings).await;
    let id = story.long_task().await;
    let params = json!({ "id": id });
    let mut one = story.rpc("long", "SubscribeToTask", params.clone()).send().await.unwrap();
    let mut first = Vec::new();
    while !String::from_utf8_lossy(&first).contains(": keep-alive") {
        first.extend_from_slice(&one.chunk().await.unwrap().expect("the stream is open"));
    }
    let two = story.rpc("long", "SubscribeToTask", params.clone()).send().await.unwrap();
    story.call("long", "CancelTask", params).await;
    let mut rest = String::from_utf8(first).unwrap();
    rest.push_str(&one.text().await.unwrap());
    for text in [rest, two.text().await.unwrap()] {
        let events = events(&text);
        assert_eq!(events[0].2["result"]["task"]["id"], id.as_str());
        let last = &events.last().unwrap().2["result"]["statusUpdate"]["status"]["state"];
        assert_eq!(last, "TASK_STATE_CANCELED", "{text}");
    }
}

#[tokio::test]
async fn following_resumes_after_the_last_event_seen() {
    let story = Story::begin().await;
    let answer = story.call("steps", "SendMessage", says("go")).await;
    let path = format!("/api/tasks/{}/events", answer["result"]["task"]["id"].as_str().unwrap());
    let stream = |request: reqwest::RequestBuilder| async move {
        let response = request.header("accept", "text/event-stream").send().await.unwrap();
        events(&response.text().await.unwrap())
    };
    let all = stream(story.get(&path)).await;
    let numbers: Vec<_> = all.iter().filter_map(|(seq, ..)| *seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "dense from 1");
    assert_eq!(all.last().unwrap().1.as_deref(), Some("settled"));
    assert_eq!(all[0].2["kind"], "opened");

    let resumed = stream(story.get(&path).header("last-event-id", "2")).await;
    assert_eq!(resumed[0].0, Some(3));
    assert_eq!(resumed.len(), all.len() - 2);
    let asked = stream(story.get(&format!("{path}?after=1"))).await;
    assert_eq!(asked[0].0, Some(2));

    let list = crate::story::body(story.get(&format!("{path}?after=1")).send().await.unwrap()).await;
    let listed: Vec<u64> =
        list["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(listed, (2..=numbers.len() as u64).collect::<Vec<_>>());
}

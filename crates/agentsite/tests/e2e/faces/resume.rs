//! A stream that a crash cut off resumes after the last event received, in both bindings.
//!
//! The measure is the whole story as the site tells it afterwards: what was seen before and what came after
//! must make it up without gap or repeat.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::site::{TestSite, exec_agent, message};

/// The whole events in a piece of a stream, with their numbers and without what belongs to the binding.
pub(crate) fn events(text: &str) -> Vec<(u64, Value)> {
    let whole = text.rfind("\n\n").map_or("", |end| &text[..end]);
    let read = |event: &str| {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        let data: Value = serde_json::from_str(field("data: ")?).unwrap();
        let number = field("id: ")?.parse().unwrap();
        Some((number, data.get("result").cloned().unwrap_or(data)))
    };
    whole.split("\n\n").filter_map(read).collect()
}

async fn after(request: RequestBuilder, seen: u64) -> Vec<(u64, Value)> {
    let reply = request.header("last-event-id", seen.to_string()).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    events(&reply.text().await.unwrap())
}

#[tokio::test]
async fn a_stream_goes_on_after_a_crash_of_the_site() {
    let words = ["sh", "-c", "echo one; echo two; exec sleep 1000"];
    let mut site = TestSite::new().agent("steps", &exec_agent("steps", &words, ""));
    site.start();
    let sent = json!({"message": message("go")});
    let url = format!("{}/a2a/steps/message:stream", site.url);
    let mut reply = site.http.post(url).json(&sent).send().await.unwrap();
    let mut text = String::new();
    while !text.contains("two") {
        text.push_str(std::str::from_utf8(&reply.chunk().await.unwrap().unwrap()).unwrap());
    }
    let before = events(&text);
    let id = before[0].1["task"]["id"].as_str().unwrap().to_owned();
    let last = before.last().unwrap().0;
    site.kill();
    site.start();
    // Whether it is tried again or has failed by now, this is its end.
    site.rpc("steps", "CancelTask", json!({"id": id})).await;

    let path = format!("{}/a2a/steps/tasks/{id}:subscribe", site.url);
    let rest = after(site.http.get(&path), last).await;
    assert!(rest.iter().all(|(number, _)| *number > last), "{rest:?}");
    let end = rest.last().unwrap().1["statusUpdate"]["status"]["state"].as_str().unwrap();
    assert!(["TASK_STATE_CANCELED", "TASK_STATE_FAILED"].contains(&end), "{rest:?}");
    let whole = after(site.http.get(&path), before[0].0).await;
    assert_eq!(whole, [&before[1..], &rest].concat(), "without gap or repeat");

    let again = site.http.post(format!("{}/a2a/steps/message:stream", site.url)).json(&sent);
    assert_eq!(after(again, last).await, rest, "the same message again is the same stream");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": id}});
    let by_rpc = site.http.post(format!("{}/a2a/steps", site.url)).json(&body);
    assert_eq!(after(by_rpc, last).await, rest, "both bindings tell the same");
}

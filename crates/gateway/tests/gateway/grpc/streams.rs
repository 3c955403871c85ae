//! Streams by gRPC: the same events in the same order as by server-sent events, and going on after a cut.
//!
//! What by JSON is the measure of what by protobuf.

use agentsite_protocol::Role;
use agentsite_protocol::extension::{RESUME, RESUME_AFTER, RESUME_SEQUENCE};
use agentsite_protocol::proto::{self, StreamItem, to_json};
use serde_json::{Value, json};
use tonic::{Code, Streaming};

use super::{Grpc, message};
use crate::story::{Story, says};
use crate::streams::events;

/// All items of a stream that ends well, as JSON.
async fn read(mut stream: Streaming<proto::StreamResponse>) -> Vec<Value> {
    let mut items = Vec::new();
    while let Some(item) = stream.message().await.unwrap() {
        items.push(to_json(&item).unwrap());
    }
    items
}

fn subscribe(agent: &str, id: &str) -> proto::SubscribeToTaskRequest {
    proto::SubscribeToTaskRequest { tenant: agent.into(), id: id.into() }
}

#[tokio::test]
async fn a_stream_tells_the_same_as_by_json_and_goes_on_after_any_event() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let request = message("steps", "go");
    let all = read(grpc.follow("SendStreamingMessage", request.clone()).await.unwrap()).await;
    assert_eq!(all[0]["task"]["status"]["state"], "TASK_STATE_SUBMITTED", "{all:?}");
    let id = all[0]["task"]["id"].as_str().unwrap();
    // The same message gives the same task, so that what is told again by JSON from its first event is the
    // measure.
    let path = format!("/a2a/steps/tasks/{id}:subscribe");
    let by_json = story.get(&path).header("last-event-id", "1").send().await.unwrap();
    let by_json = events(&by_json.text().await.unwrap());
    assert_eq!(by_json.iter().map(|(.., data)| data.clone()).collect::<Vec<_>>(), all[1..]);
    for (at, (seq, ..)) in by_json.iter().enumerate() {
        let again = grpc.saying("last-event-id", seq.unwrap().to_string());
        let rest = read(again.follow("SubscribeToTask", subscribe("steps", id)).await.unwrap()).await;
        assert_eq!(rest, all[at + 2..], "after {seq:?}");
        let rest = read(again.follow("SendStreamingMessage", request.clone()).await.unwrap()).await;
        assert_eq!(rest, all[at + 2..], "after {seq:?}");
    }
    let tasks = story.call("steps", "ListTasks", json!({})).await;
    assert_eq!(tasks["result"]["totalSize"], 1, "the same message never makes two tasks");
}

#[tokio::test]
async fn whoever_asks_for_it_is_told_the_number_of_each_event_and_goes_on_by_it() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await.saying("a2a-extensions", RESUME);
    let mut request = message("steps", "go");
    let all = read(grpc.follow("SendStreamingMessage", request.clone()).await.unwrap()).await;
    let number = |item: &Value| {
        let inner = item.as_object().unwrap().values().next().unwrap();
        inner["metadata"][RESUME_SEQUENCE].as_u64().unwrap_or_else(|| panic!("{item}"))
    };
    let numbers: Vec<u64> = all.iter().map(number).collect();
    assert!(numbers.is_sorted_by(|one, two| one < two), "{numbers:?}");
    let after = Value::from(numbers[1]);
    let metadata: proto::Message = {
        let mut noun = agentsite_protocol::Message::text("m".parse().unwrap(), Role::User, "x");
        noun.extra.insert("metadata".into(), json!({ RESUME_AFTER: after }));
        (&noun).try_into().unwrap()
    };
    request.metadata = metadata.metadata;
    let rest = read(grpc.follow("SendStreamingMessage", request).await.unwrap()).await;
    assert_eq!(rest, all[2..]);
}

#[tokio::test]
async fn a_message_instead_of_a_task_is_the_only_item() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let items = read(grpc.follow("SendStreamingMessage", message("parrot", "hi")).await.unwrap()).await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["message"]["parts"][0]["text"], "hi");
}

#[tokio::test]
async fn everybody_who_follows_a_task_sees_the_same() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let id = grpc.long_task().await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut stream = grpc.follow("SubscribeToTask", subscribe("long", &id)).await.unwrap();
        let first = stream.message().await.unwrap().unwrap().payload.unwrap();
        assert!(matches!(&first, StreamItem::Task(task) if task.id == id), "first the task: {first:?}");
        streams.push(stream);
    }
    story.call("long", "CancelTask", json!({ "id": id })).await;
    let mut seen = Vec::new();
    for stream in streams {
        seen.push(read(stream).await);
    }
    assert_eq!(seen[0].last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED");
    assert_eq!(seen[0].last(), seen[1].last());
    let ended = grpc.follow("SubscribeToTask", subscribe("long", &id)).await.unwrap_err();
    assert_eq!(ended.code(), Code::FailedPrecondition, "{ended:?}");
}

#[tokio::test]
async fn a_number_that_cannot_be_is_refused() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let id = grpc.long_task().await;
    for wrong in ["999999", "-1", "x"] {
        let asked = grpc.saying("last-event-id", wrong);
        let refused = asked.follow("SubscribeToTask", subscribe("long", &id)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{wrong}");
        assert!(refused.message().contains("Last-Event-ID"), "{refused:?}");
    }
}

#[tokio::test]
async fn a_site_that_stops_says_so_and_does_not_pretend_the_end() {
    let mut story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let id = grpc.long_task().await;
    let mut stream = grpc.follow("SubscribeToTask", subscribe("long", &id)).await.unwrap();
    assert!(stream.message().await.unwrap().is_some());
    story.stop();
    let cut = loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            other => break other.unwrap_err(),
        }
    };
    assert_eq!(cut.code(), Code::Unavailable, "{cut:?}");
    assert!(cut.message().contains("follow it again"), "{cut:?}");
    story.stopped().await;
}

#[tokio::test]
async fn what_protobuf_cannot_tell_is_said_with_its_field() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let mut deep = says("deep");
    let data = (0..40).fold(json!(1), |inner, _| json!([inner]));
    deep["message"]["parts"] = json!([{ "text": "hi" }, { "data": data }]);
    let sent = story.call("echo", "SendMessage", deep).await;
    let id = sent["result"]["task"]["id"].as_str().unwrap();
    let refused = grpc.ask::<_, proto::Task>("GetTask", super::get_task("echo", id)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("`artifacts[0].parts[1].data` nests deeper"), "{refused:?}");
}

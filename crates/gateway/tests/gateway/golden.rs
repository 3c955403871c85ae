//! Wire shapes held against files in `tests/golden`.
//!
//! Run with `UPDATE_GOLDEN=1` when a change is meant, and read the difference before it is kept.

use serde_json::{Value, json};

use crate::old_version;
use crate::story::{Story, body, says};

/// Replaces what differs from run to run: ids made by the site, times, the port.
fn steady(value: &mut Value, port: &str) {
    match value {
        Value::String(text) => {
            let is_id = text.parse::<agentsite_protocol::TaskId>().is_ok();
            let is_time = agentsite_protocol::Timestamp::parse(text).is_ok();
            if is_id {
                *text = "ID".into();
            } else if is_time {
                *text = "TIME".into();
            } else {
                *text = text.replace(port, "PORT");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| steady(item, port)),
        Value::Object(members) => members.values_mut().for_each(|member| steady(member, port)),
        _ => {}
    }
}

pub(crate) fn hold(story: &Story, name: &str, mut found: Value) {
    steady(&mut found, &story.address.port().to_string());
    let file = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let found = format!("{}\n", serde_json::to_string_pretty(&found).unwrap());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &found).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(found, kept, "{name}: run with UPDATE_GOLDEN=1 when the change is meant");
}

fn message(text: &str) -> Value {
    let mut params = says(text);
    params["message"]["messageId"] = json!("golden-1");
    params
}

#[tokio::test]
async fn the_shapes_of_a2a_are_those_in_the_files() {
    let story = Story::begin().await;
    let sent = story.call("echo", "SendMessage", message("hello")).await;
    let id = sent["result"]["task"]["id"].clone();
    hold(&story, "send_message_task", sent);
    hold(&story, "send_message_message", story.call("parrot", "SendMessage", message("hello")).await);
    hold(&story, "get_task", story.call("echo", "GetTask", json!({ "id": id })).await);
    hold(&story, "list_tasks", story.call("echo", "ListTasks", json!({ "includeArtifacts": true })).await);
    let long = story.long_task().await;
    hold(&story, "cancel_task", {
        let mut canceled = story.call("long", "CancelTask", json!({ "id": long })).await;
        canceled["result"]["history"] = json!("…");
        canceled["result"]["status"]["message"] = json!("…");
        canceled
    });
    for (name, path) in [("agent_card", "/a2a/echo"), ("site_card", "/.well-known/agent-card.json")] {
        let mut card = body(story.get(path).send().await.unwrap()).await;
        // Keys differ from site to site; a card signed with known keys is held in the golden files of
        // `client`.
        for signature in card["signatures"].as_array_mut().unwrap() {
            *signature = json!({ "protected": "…", "signature": "…" });
        }
        hold(&story, name, card);
    }
    let config = json!({
        "taskId": id, "id": "c1", "url": "https://example.org/hook", "token": "t",
        "authentication": { "scheme": "Bearer", "credentials": "c" }
    });
    hold(&story, "push_config", story.call("echo", "CreateTaskPushNotificationConfig", config).await);
    let listed = story.call("echo", "ListTaskPushNotificationConfigs", json!({ "taskId": id })).await;
    hold(&story, "push_configs", listed);
    let one = json!({ "taskId": id, "id": "c1" });
    hold(&story, "push_deleted", story.call("echo", "DeleteTaskPushNotificationConfig", one.clone()).await);
    hold(&story, "no_such_push_config", story.call("echo", "GetTaskPushNotificationConfig", one).await);
    let bad = json!({ "taskId": id, "url": "http://10.0.0.1/" });
    hold(&story, "bad_push_config", story.call("echo", "CreateTaskPushNotificationConfig", bad).await);
    hold(&story, "bad_params", story.call("echo", "SendMessage", json!({ "message": {} })).await);
    hold(&story, "no_such_task", story.call("echo", "GetTask", json!({ "id": "x" })).await);
}

#[tokio::test]
async fn the_shapes_of_http_json_are_those_in_the_files() {
    let story = Story::begin().await;
    let post = async |path: &str, sent: Value| body(story.post(path).json(&sent).send().await.unwrap()).await;
    let get = async |path: &str| body(story.get(path).send().await.unwrap()).await;
    let sent = post("/a2a/echo/message:send", message("hello")).await;
    let task = format!("/a2a/echo/tasks/{}", sent["task"]["id"].as_str().unwrap());
    hold(&story, "rest_send_task", sent);
    hold(&story, "rest_send_message", post("/a2a/parrot/message:send", message("hello")).await);
    hold(&story, "rest_task", get(&task).await);
    hold(&story, "rest_tasks", get("/a2a/echo/tasks?includeArtifacts=true").await);
    hold(&story, "rest_bad_params", post("/a2a/echo/message:send", json!({ "message": {} })).await);
    hold(&story, "rest_no_such_task", get("/a2a/echo/tasks/x").await);
    hold(&story, "rest_task_ended", get(&format!("{task}:subscribe")).await);
    let mut again = message("hello");
    again["message"]["messageId"] = json!("golden-2");
    let stream = story.post("/a2a/echo/message:stream").json(&again).send().await.unwrap();
    let events = crate::streams::events(&stream.text().await.unwrap());
    let events = events.into_iter().map(|(seq, _, data)| json!({ "id": seq, "data": data })).collect();
    hold(&story, "rest_stream", events);
}

#[tokio::test]
async fn the_shapes_of_a2a_0_3_are_those_in_the_files() {
    let story = Story::begin().await;
    let message = |id: &str| {
        let mut params = old_version::says("hello");
        params["message"]["messageId"] = json!(id);
        params
    };
    let call =
        async |agent: &str, method: &str, params| old_version::call(&story, agent, method, params).await;
    let sent = call("echo", "message/send", message("golden-1")).await;
    let id = sent["result"]["id"].clone();
    hold(&story, "old_send_task", sent);
    hold(&story, "old_send_message", call("parrot", "message/send", message("golden-1")).await);
    hold(&story, "old_get_task", call("echo", "tasks/get", json!({ "id": id })).await);
    hold(&story, "old_cancel_task", {
        let long = old_version::long_task(&story).await;
        let mut canceled = call("long", "tasks/cancel", json!({ "id": long })).await;
        canceled["result"]["history"] = json!("…");
        canceled["result"]["status"]["message"] = json!("…");
        canceled
    });
    for (name, method, params) in [
        ("old_stream", "message/stream", message("golden-2")),
        ("old_resubscribe", "tasks/resubscribe", json!({ "id": id })),
    ] {
        let stream = old_version::rpc(&story, "echo", method, params).send().await.unwrap();
        let events = crate::streams::events(&stream.text().await.unwrap());
        let events = events.into_iter().map(|(seq, _, data)| json!({ "id": seq, "data": data })).collect();
        hold(&story, name, events);
    }
    hold(&story, "old_bad_params", call("echo", "message/send", json!({ "message": {} })).await);
    hold(&story, "old_no_such_task", call("echo", "tasks/get", json!({ "id": "x" })).await);
    hold(&story, "old_no_such_method", call("echo", "tasks/list", json!({})).await);
    hold(
        &story,
        "old_push_no_task",
        call("echo", "tasks/pushNotificationConfig/get", json!({ "id": "x" })).await,
    );
    hold(&story, "old_not_cancelable", call("echo", "tasks/cancel", json!({ "id": id })).await);
}

#[tokio::test]
async fn the_shapes_of_the_rest_face_are_those_in_the_files() {
    let story = Story::begin().await;
    let sent = story.call("echo", "SendMessage", message("hello")).await;
    let id = sent["result"]["task"]["id"].as_str().unwrap().to_owned();
    for (name, path) in [
        ("api_agent", "/api/agents/echo".to_owned()),
        ("api_tasks", "/api/tasks".to_owned()),
        ("api_task", format!("/api/tasks/{id}")),
        ("api_events", format!("/api/tasks/{id}/events")),
        ("api_error", "/api/tasks/x".to_owned()),
    ] {
        hold(&story, name, body(story.get(&path).send().await.unwrap()).await);
    }
}

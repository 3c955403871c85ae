//! A2A by JSON-RPC: cards, sending, streaming, reading and canceling tasks, and the concierge.
//!
//! Promises that are tested: the wire form of each answer, the order and the numbers of a stream, and that
//! the same message is the same task.

use serde_json::{Value, json};

use crate::site::{TestSite, answer, eventually, exec_agent, message, state, status_text};

/// The events of a stream with their ids.
async fn stream(site: &TestSite, agent: &str, text: &str) -> Vec<(u64, Value)> {
    let params = json!({"message": message(text)});
    let body = json!({"jsonrpc": "2.0", "id": "s", "method": "SendStreamingMessage", "params": params});
    let reply = site.http.post(format!("{}/a2a/{agent}", site.url)).json(&body).send().await.unwrap();
    assert_eq!(reply.headers()["content-type"], "text/event-stream");
    let text = reply.text().await.unwrap();
    let events = text.split("\n\n").filter(|event| event.starts_with("id:"));
    let read = |event: &str| {
        let (id, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.trim_start_matches("data:")).unwrap();
        assert_eq!((&data["jsonrpc"], &data["id"]), (&json!("2.0"), &json!("s")));
        (id.trim_start_matches("id:").trim().parse().unwrap(), data["result"].clone())
    };
    events.map(read).collect()
}

/// A site with an agent that never ends, and a task of it.
async fn endless() -> (TestSite, String) {
    let mut site = TestSite::new().agent("endless", &exec_agent("endless", &["sleep", "1000"], ""));
    site.start();
    let params = json!({"message": message("go"), "configuration": {"returnImmediately": true}});
    let reply = site.rpc("endless", "SendMessage", params).await;
    let id = reply["result"]["task"]["id"].as_str().unwrap().to_owned();
    (site, id)
}

#[tokio::test]
async fn every_agent_and_the_site_have_a_card() {
    let site = TestSite::started();
    for (path, name, address) in [
        ("/.well-known/agent-card.json", "agentsite", "/a2a"),
        ("/a2a/.well-known/agent-card.json", "agentsite", "/a2a"),
        ("/a2a/calc/.well-known/agent-card.json", "calc", "/a2a/calc"),
        ("/a2a/calc", "calc", "/a2a/calc"),
    ] {
        let card = site.get(path).await;
        assert_eq!(card["name"], name, "{path}");
        for (at, binding) in ["JSONRPC", "HTTP+JSON"].into_iter().enumerate() {
            let interface = &card["supportedInterfaces"][at];
            assert_eq!(interface["url"], format!("{}{address}", site.url), "{path}");
            assert_eq!(
                (&interface["protocolBinding"], &interface["protocolVersion"]),
                (&json!(binding), &json!("1.0"))
            );
        }
        assert_eq!(card["supportedInterfaces"][2]["protocolBinding"], "GRPC", "{path}");
        assert_eq!(card["capabilities"]["streaming"], true);
        for key in ["description", "version"] {
            assert!(card[key].as_str().is_some_and(|text| !text.is_empty()), "{path} {key}");
        }
        for list in ["skills", "defaultInputModes", "defaultOutputModes"] {
            assert!(card[list].as_array().is_some_and(|list| !list.is_empty()), "{path} {list}");
        }
    }
}

#[tokio::test]
async fn an_unchanged_card_costs_no_transfer() {
    let site = TestSite::started();
    let url = format!("{}/a2a/calc/.well-known/agent-card.json", site.url);
    let first = site.http.get(&url).send().await.unwrap();
    let tag = first.headers()["etag"].clone();
    let again = site.http.get(&url).header("if-none-match", tag).send().await.unwrap();
    assert_eq!(again.status(), 304);
    assert!(again.bytes().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_message_becomes_a_task_that_can_be_read_again() {
    let site = TestSite::started();
    let reply = site.send("calc", "6 * 7").await;
    assert_eq!((state(&reply).as_str(), answer(&reply).as_str()), ("completed", "42"));
    let task = &reply["result"]["task"];
    let again = site.rpc("calc", "GetTask", json!({"id": task["id"]})).await;
    assert_eq!(again["result"], *task);
    let listed = site.rpc("calc", "ListTasks", json!({})).await;
    assert_eq!(listed["result"]["tasks"][0]["id"], task["id"], "{listed}");
    let elsewhere = site.rpc("echo", "GetTask", json!({"id": task["id"]})).await;
    assert_eq!(elsewhere["error"]["code"], -32001, "a task is found under its own agent only");
}

#[tokio::test]
async fn the_same_message_is_the_same_task_and_another_text_is_refused() {
    let site = TestSite::started();
    let said = message("once");
    let first = site.rpc("echo", "SendMessage", json!({"message": said})).await;
    let second = site.rpc("echo", "SendMessage", json!({"message": said})).await;
    assert_eq!(first["result"]["task"], second["result"]["task"]);
    let mut other = said.clone();
    other["parts"][0]["text"] = json!("twice");
    let refused = site.rpc("echo", "SendMessage", json!({"message": other})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(site.get("/api/tasks").await["tasks"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_its_end() {
    let script = "read x; for i in 1 2 3; do echo $x $i; done";
    let mut site = TestSite::new().agent("thrice", &exec_agent("thrice", &["sh", "-c", script], ""));
    site.start();
    for agent in ["thrice", "echo"] {
        let events = stream(&site, agent, "again").await;
        assert!(events[0].1["task"]["id"].is_string(), "{events:?}");
        let ends: Vec<bool> = events.iter().map(|(_, event)| is_end(event)).collect();
        assert!(ends.ends_with(&[true]), "the last event is the end: {events:?}");
        assert_eq!(ends.iter().filter(|end| **end).count(), 1, "it ends once: {events:?}");
        let numbers: Vec<u64> = events.iter().map(|(number, _)| *number).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");

        let task =
            site.rpc(agent, "GetTask", json!({"id": events[0].1["task"]["id"]})).await["result"].clone();
        assert_eq!(streamed_text(&events), whole_text(&task), "the stream shows all and nothing twice");
    }
}

/// Whether an event shows the task as ended; a task that was quick enough is so from the first event on.
fn is_end(event: &Value) -> bool {
    let status = event["statusUpdate"].get("status").unwrap_or(&event["task"]["status"]);
    status["state"] == "TASK_STATE_COMPLETED"
}

fn streamed_text(events: &[(u64, Value)]) -> String {
    let parts = events.iter().flat_map(|(_, event)| {
        let first = event["task"]["artifacts"][0]["parts"].as_array();
        first.or(event["artifactUpdate"]["artifact"]["parts"].as_array()).cloned().unwrap_or_default()
    });
    parts.filter_map(|part| part["text"].as_str().map(ToOwned::to_owned)).collect()
}

fn whole_text(task: &Value) -> String {
    let parts = task["artifacts"][0]["parts"].as_array().unwrap();
    parts.iter().filter_map(|part| part["text"].as_str()).collect()
}

#[tokio::test]
async fn a_running_task_is_canceled_and_an_ended_one_is_not() {
    let (site, id) = endless().await;
    let canceled = site.rpc("endless", "CancelTask", json!({"id": id})).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{canceled}");
    let again = site.rpc("endless", "CancelTask", json!({"id": id})).await;
    assert_eq!(again["error"]["code"], -32002, "{again}");
    let read = site.rpc("endless", "GetTask", json!({"id": id})).await;
    assert_eq!(read["result"]["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn a_subscription_sees_the_end_of_a_running_task() {
    let (site, id) = endless().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": id}});
    let request = site.http.post(format!("{}/a2a/endless", site.url)).json(&body);
    let stream = request.send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    site.rpc("endless", "CancelTask", json!({"id": id})).await;
    let text = stream.text().await.unwrap();
    assert!(text.contains("TASK_STATE_CANCELED"), "{text}");
    let ended = site.rpc("endless", "SubscribeToTask", json!({"id": id})).await;
    assert_eq!(ended["error"]["code"], -32004, "{ended}");
}

#[tokio::test]
async fn a_question_is_answered_in_the_same_task() {
    let script = "read x; [ $AGENTSITE_ATTEMPT = 1 ] && echo which one? && exit 10; echo you said $x";
    let mut site = TestSite::new().agent("curious", &exec_agent("curious", &["sh", "-c", script], ""));
    site.start();
    let asked = site.send("curious", "one of them").await;
    assert_eq!(state(&asked), "input_required", "{asked}");
    assert_eq!(status_text(&asked).trim(), "which one?");
    let mut said = message("the red one");
    said["taskId"] = asked["result"]["task"]["id"].clone();
    let reply = site.rpc("curious", "SendMessage", json!({"message": said})).await;
    assert_eq!(state(&reply), "completed", "{reply}");
    assert!(answer(&reply).ends_with("you said the red one\n"), "{reply}");
    assert_eq!(reply["result"]["task"]["id"], asked["result"]["task"]["id"]);
}

#[tokio::test]
async fn the_concierge_finds_an_agent_and_says_whom_it_asked() {
    let site = TestSite::started();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("what is 17 * 23?")}});
    let reply: Value =
        site.http.post(format!("{}/a2a", site.url)).json(&body).send().await.unwrap().json().await.unwrap();
    assert_eq!((state(&reply).as_str(), answer(&reply).as_str()), ("completed", "391"), "{reply}");
    assert!(status_text(&reply).contains("calc"), "{reply}");
}

#[tokio::test]
async fn a_caller_that_hangs_up_does_not_stop_the_task() {
    let mut site = TestSite::new()
        .agent("gated", &exec_agent("gated", &["sh", "-c", "read x; read go < gate; echo $x"], ""));
    let mut gate = crate::site::gate(&site.path().join("agents/gated/gate"));
    site.start();
    let calling = site.send("gated", "alone");
    let began = eventually("the task runs", async || {
        let tasks = site.get("/api/tasks?state=working").await;
        tasks["tasks"][0]["id"].as_str().map(ToOwned::to_owned)
    });
    let id = tokio::select! {
        reply = calling => panic!("the agent waits, and yet: {reply}"),
        id = began => id,
    };
    std::io::Write::write_all(&mut gate, b"go\n").unwrap();
    let task = eventually("the task ends", async || {
        let task = site.get(&format!("/api/tasks/{id}")).await;
        (state(&task) == "completed").then_some(task)
    })
    .await;
    assert_eq!(whole_text(&task), "alone\n");
}

//! The A2A face: sending, reading and ending tasks, and the cards.
//!
//! Shapes as a whole are in `golden`; here is what callers rely on.

use reqwest::StatusCode;
use serde_json::json;

use crate::story::{Story, body, says};

#[tokio::test]
async fn a_message_becomes_a_finished_task() {
    let story = Story::begin().await;
    let answer = story.call("echo", "SendMessage", says("hello")).await;
    assert_eq!(answer["jsonrpc"], "2.0");
    assert_eq!(answer["id"], "r1");
    let task = &answer["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{answer}");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "hello");
    assert_eq!(task["history"][0]["parts"][0]["text"], "hello");

    let read = story.call("echo", "GetTask", json!({ "id": task["id"] })).await;
    assert_eq!(read["result"]["id"], task["id"]);
    let short = story.call("echo", "GetTask", json!({ "id": task["id"], "historyLength": 0 })).await;
    assert!(short["result"].get("history").is_none(), "{short}");
}

#[tokio::test]
async fn the_history_of_an_answer_is_as_long_as_asked() {
    let story = Story::begin().await;
    let mut params = says("hello");
    params["configuration"] = json!({ "historyLength": 0 });
    let answer = story.call("echo", "SendMessage", params).await;
    assert!(answer["result"]["task"].get("history").is_none(), "{answer}");
}

#[tokio::test]
async fn an_agent_without_a_record_answers_with_a_message() {
    let story = Story::begin().await;
    let answer = story.call("parrot", "SendMessage", says("hello")).await;
    assert_eq!(answer["result"]["message"]["parts"][0]["text"], "hello", "{answer}");
    assert_eq!(answer["result"]["message"]["role"], "ROLE_AGENT");
    assert!(answer["result"].get("task").is_none());
}

#[tokio::test]
async fn a_task_at_work_is_returned_at_once_and_can_be_canceled() {
    let story = Story::begin().await;
    let id = story.long_task().await;
    let canceled = story.call("long", "CancelTask", json!({ "id": id })).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{canceled}");
    let again = story.call("long", "CancelTask", json!({ "id": id })).await;
    assert_eq!(again["error"]["code"], -32002);
    assert_eq!(again["error"]["data"][0]["reason"], "TASK_NOT_CANCELABLE");
    let mut more = says("more");
    more["message"]["taskId"] = json!(id);
    assert_eq!(story.call("long", "SendMessage", more).await["error"]["code"], -32004);
    assert_eq!(story.call("long", "SubscribeToTask", json!({ "id": id })).await["error"]["code"], -32004);
}

#[tokio::test]
async fn a_trailing_slash_and_the_other_media_type_are_taken() {
    let story = Story::begin().await;
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": says("hi") });
    let response = story
        .post("/a2a/echo/")
        .header("content-type", "application/a2a+json; charset=utf-8")
        .body(request.to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(body(response).await["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn the_site_itself_is_called_through_its_concierge() {
    let story = Story::begin().await;
    for path in ["/a2a", "/a2a/"] {
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": says("echo: hello") });
        let answer = body(story.post(path).json(&request).send().await.unwrap()).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
}

#[tokio::test]
async fn a_task_is_found_only_under_its_own_agent() {
    let story = Story::begin().await;
    let answer = story.call("echo", "SendMessage", says("hello")).await;
    let id = &answer["result"]["task"]["id"];
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        let other = story.call("steps", method, json!({ "id": id })).await;
        assert_eq!(other["error"]["code"], -32001, "{method} {other}");
    }
}

#[tokio::test]
async fn tasks_are_listed_page_by_page() {
    let story = Story::begin().await;
    let mut params = says("one");
    params["message"]["contextId"] = json!("c1");
    story.call("echo", "SendMessage", params).await;
    for text in ["two", "three"] {
        story.call("echo", "SendMessage", says(text)).await;
    }
    let first = story.call("echo", "ListTasks", json!({ "pageSize": 2 })).await;
    assert_eq!(first["result"]["tasks"].as_array().unwrap().len(), 2, "{first}");
    assert_eq!(first["result"]["totalSize"], 3);
    assert!(first["result"]["tasks"][0].get("artifacts").is_none());
    let token = &first["result"]["nextPageToken"];
    let rest = story.call("echo", "ListTasks", json!({ "pageSize": 2, "pageToken": token })).await;
    assert_eq!(rest["result"]["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(rest["result"]["nextPageToken"], "");
    let of_context =
        story.call("echo", "ListTasks", json!({ "contextId": "c1", "includeArtifacts": true })).await;
    assert_eq!(of_context["result"]["tasks"][0]["artifacts"][0]["parts"][0]["text"], "one", "{of_context}");
    let none = story.call("echo", "ListTasks", json!({ "status": "TASK_STATE_FAILED" })).await;
    assert_eq!(none["result"]["tasks"], json!([]));
    for bad in [json!({ "pageSize": 0 }), json!({ "pageSize": 101 }), json!({ "pageToken": "x" })] {
        assert_eq!(story.call("echo", "ListTasks", bad).await["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn cards_are_served_where_clients_look_for_them() {
    let story = Story::begin().await;
    for path in ["/a2a/echo/.well-known/agent-card.json", "/a2a/echo", "/a2a/echo/"] {
        let card = body(story.get(path).send().await.unwrap()).await;
        assert_eq!(card["name"], "echo", "{path}");
        for (at, binding) in ["JSONRPC", "HTTP+JSON"].into_iter().enumerate() {
            let interface = &card["supportedInterfaces"][at];
            assert_eq!(interface["url"], story.url("/a2a/echo"));
            assert_eq!(interface["protocolBinding"], binding, "the preferred one first");
        }
        let grpc = json!({ "url": story.address.to_string(), "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "echo" });
        assert_eq!(card["supportedInterfaces"][2], grpc);
    }
    for path in ["/.well-known/agent-card.json", "/a2a"] {
        let card = body(story.get(path).send().await.unwrap()).await;
        assert_eq!(card["supportedInterfaces"][0]["url"], story.url("/a2a"), "{path}");
        assert!(card["supportedInterfaces"][2].get("tenant").is_none(), "the site itself has no tenant");
    }
    let missing = story.get("/a2a/nobody/.well-known/agent-card.json").send().await.unwrap();
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_unchanged_card_costs_no_transfer() {
    let story = Story::begin().await;
    let path = "/a2a/echo/.well-known/agent-card.json";
    let first = story.get(path).send().await.unwrap();
    let tag = first.headers()["etag"].to_str().unwrap().to_owned();
    assert!(tag.starts_with('"') && tag.len() == 34, "{tag}");
    assert_eq!(first.headers()["cache-control"], "private, max-age=60");
    let changed = first.headers()["last-modified"].to_str().unwrap().to_owned();
    assert!(changed.ends_with(" GMT") && changed.len() == 29, "{changed}");
    let again = story.get(path).header("if-none-match", &tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(again.headers()["last-modified"], changed);
    assert_eq!(again.text().await.unwrap(), "");
    let other = story.get(path).header("if-none-match", "\"0\", W/\"1\"").send().await.unwrap();
    assert_eq!(other.status(), StatusCode::OK);
    let stranger = story.guest().get(path).send().await.unwrap();
    assert_eq!(stranger.headers()["cache-control"], "public, max-age=60");
}

#[tokio::test]
async fn a_tenant_names_the_agent_where_the_path_does_not() {
    let story = Story::begin().await;
    let ask = async |agent: &str, tenant: &str| {
        let mut params = says("hello");
        params["tenant"] = json!(tenant);
        story.call(agent, "SendMessage", params).await
    };
    let sent = ask("", "parrot").await;
    assert_eq!(sent["result"]["message"]["parts"][0]["text"], "hello", "{sent}");
    assert!(ask("parrot", "parrot").await["result"]["message"].is_object());
    assert!(ask("parrot", "").await["result"]["message"].is_object(), "an empty tenant is none");
    let nobody = ask("", "nobody").await["error"].clone();
    let other = ask("parrot", "nobody").await["error"].clone();
    assert_eq!(nobody["data"][0]["reason"], "AGENT_NOT_FOUND");
    assert_eq!(other, nobody, "a contradiction looks like an agent that is not there");
    assert_eq!(ask("parrot", "echo").await["error"]["data"][0]["reason"], "AGENT_NOT_FOUND");
    let task = story.call("echo", "SendMessage", says("hi")).await["result"]["task"]["id"].clone();
    let read = story.call("", "GetTask", json!({ "id": task, "tenant": "echo" })).await;
    assert_eq!(read["result"]["id"], task);
    let read = story.call("", "GetTask", json!({ "id": task, "tenant": "steps" })).await;
    assert_eq!(read["error"]["code"], -32001, "a task is found only under its own agent");
    assert_eq!(story.call("", "GetTask", json!({ "id": task, "tenant": 7 })).await["error"]["code"], -32602);
}

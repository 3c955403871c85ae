//! The REST face: agents, tasks, keys, and running the site.
//!
//! What each route refuses is in `bad_input` and `callers`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentsite_gateway::GatewaySettings;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::story::{Story, body, says};

async fn get(story: &Story, path: &str) -> Value {
    let response = story.get(path).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    assert_eq!(response.headers()["cache-control"], "no-store");
    body(response).await
}

#[tokio::test]
async fn agents_are_listed_for_whom_they_are() {
    let story = Story::begin().await;
    let names = |list: &Value| -> Vec<String> {
        let agents = list["agents"].as_array().unwrap();
        agents.iter().map(|agent| agent["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = get(&story, "/api/agents").await;
    assert!(names(&all).contains(&"hidden".to_owned()), "{all}");
    assert_eq!(all["broken"], json!([]));
    let key = story.key(&["call"]).await;
    let some = body(story.get("/api/agents").bearer_auth(&key).send().await.unwrap()).await;
    assert!(!names(&some).contains(&"hidden".to_owned()));
    let echo = get(&story, "/api/agents/echo").await;
    assert_eq!(echo["visibility"], "public");
    assert_eq!(echo["health"], "ready");
    assert!(get(&story, "/api/agents/echo/logs?lines=5").await["lines"].is_array());
    let logs = story.get("/api/agents/echo/logs").bearer_auth(&key).send().await.unwrap();
    assert_eq!(logs.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn tasks_are_listed_read_and_ended() {
    let story = Story::begin().await;
    let long = story.long_task().await;
    for text in ["one", "two"] {
        story.call("echo", "SendMessage", says(text)).await;
    }
    let first = get(&story, "/api/tasks?limit=2").await;
    assert_eq!(first["tasks"].as_array().unwrap().len(), 2);
    let next = first["next"].as_str().unwrap();
    let rest = get(&story, &format!("/api/tasks?limit=2&cursor={next}")).await;
    assert_eq!(rest["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(rest["next"], Value::Null);
    let of_echo = get(&story, "/api/tasks?agent=echo&state=completed,failed").await;
    assert_eq!(of_echo["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(of_echo["tasks"][0]["state"], "completed");

    let task = get(&story, &format!("/api/tasks/{long}")).await;
    assert_eq!(task["agent"], "long");
    assert_eq!(task["owner"], "admin");
    assert!(task["seq"].as_u64().unwrap() >= 1);
    let ended = story.post(&format!("/api/tasks/{long}/cancel")).send().await.unwrap();
    assert_eq!(body(ended).await["status"]["state"], "TASK_STATE_CANCELED");
    let again = story.post(&format!("/api/tasks/{long}/cancel")).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::BAD_REQUEST);
    assert_eq!(body(again).await["error"]["code"], "not_cancelable");
}

#[tokio::test]
async fn an_ended_task_is_asked_again_and_tells_what_it_started() {
    let story = Story::begin().await;
    let sent = story.call("echo", "SendMessage", says("once more")).await;
    let id = sent["result"]["task"]["id"].as_str().unwrap().to_owned();
    let again = story.post(&format!("/api/tasks/{id}/retry")).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::CREATED);
    let again = body(again).await;
    assert_eq!(
        (&again["agent"], &again["history"][0]["parts"][0]["text"]),
        (&json!("echo"), &json!("once more"))
    );
    assert_ne!(again["id"], id);
    let graph = get(&story, &format!("/api/tasks/{id}/graph")).await;
    assert_eq!((&graph["tasks"][0]["id"], &graph["cut"]), (&json!(id), &json!(false)));
    let long = story.long_task().await;
    let busy = story.post(&format!("/api/tasks/{long}/retry")).send().await.unwrap();
    assert_eq!(body(busy).await["error"]["code"], "task_busy");
    let key = story.key(&["call"]).await;
    for path in [format!("/api/tasks/{id}/graph"), format!("/api/tasks/{id}/retry")] {
        let method = if path.ends_with("graph") { reqwest::Method::GET } else { reqwest::Method::POST };
        let foreign = story.http.request(method, story.url(&path)).bearer_auth(&key).send().await.unwrap();
        assert_eq!(foreign.status(), StatusCode::NOT_FOUND, "{path}");
    }
    let theirs = story.rpc("echo", "SendMessage", says("mine")).bearer_auth(&key).send().await.unwrap();
    let theirs = body(theirs).await["result"]["task"]["id"].as_str().unwrap().to_owned();
    let other = story.post(&format!("/api/tasks/{theirs}/retry")).send().await.unwrap();
    assert_eq!(other.status(), StatusCode::FORBIDDEN, "only the one who asked asks again");
}

#[tokio::test]
async fn a_key_is_made_shown_once_and_revoked() {
    let story = Story::begin().await;
    let given = json!({ "label": "laptop", "scopes": ["call", "call:hidden"], "expiresIn": "30d" });
    let made = story.post("/api/keys").json(&given).send().await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    let made = body(made).await;
    let (secret, id) = (made["secret"].as_str().unwrap(), made["key"]["id"].as_str().unwrap());
    assert!(made["key"]["expiresAt"].is_string());
    let list = get(&story, "/api/keys").await;
    assert_eq!(list["keys"].as_array().unwrap().last().unwrap()["label"], "laptop");
    assert!(!list.to_string().contains(secret));

    let called = story.rpc("hidden", "SendMessage", says("hi")).bearer_auth(secret).send().await.unwrap();
    assert_eq!(called.status(), StatusCode::OK);
    let more = story
        .post("/api/keys")
        .bearer_auth(secret)
        .json(&json!({ "scopes": ["admin"] }))
        .send()
        .await
        .unwrap();
    assert_eq!(more.status(), StatusCode::FORBIDDEN);

    let gone = story.http.delete(story.url(&format!("/api/keys/{id}"))).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    let called = story.rpc("hidden", "SendMessage", says("hi")).bearer_auth(secret).send().await.unwrap();
    assert_eq!(called.status(), StatusCode::UNAUTHORIZED);
    let again = story.http.delete(story.url(&format!("/api/keys/{id}"))).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_people_who_run_the_site_see_how_it_fares() {
    let story = Story::begin().await;
    story.call("echo", "SendMessage", says("for the journal")).await;
    let status = get(&story, "/api/status").await;
    assert_eq!(status["name"], "agentsite");
    assert!(status["workers"].as_array().unwrap().iter().any(|worker| worker["name"] == "retention"));
    let journal = get(&story, "/api/journal?agent=echo&limit=1").await;
    assert_eq!(journal["lines"].as_array().unwrap().len(), 1, "{journal}");
    let before = journal["lines"][0]["seq"].as_u64().unwrap();
    let earlier = get(&story, &format!("/api/journal?before={before}")).await;
    assert!(earlier["lines"].as_array().unwrap().iter().all(|line| line["seq"].as_u64().unwrap() < before));
}

#[tokio::test]
async fn a_backup_needs_a_whole_path() {
    let story = Story::begin().await;
    let response = story.post("/api/backup").json(&json!({ "file": "copy.db" })).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert!(body(response).await["error"]["message"].as_str().unwrap().contains("whole path"));
    let key = story.key(&["call"]).await;
    let given = json!({ "file": "/nowhere/copy.db" });
    let response = story.post("/api/backup").bearer_auth(key).json(&given).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_reload_calls_the_hook_for_admins_only() {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let reload: agentsite_gateway::ReloadHook = Arc::new(move || {
        seen.fetch_add(1, Ordering::Relaxed);
    });
    let story = Story::with(GatewaySettings { reload: Some(reload), ..GatewaySettings::default() }).await;
    let key = story.key(&["call"]).await;
    let refused = story.post("/api/reload").bearer_auth(key).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    assert_eq!(count.load(Ordering::Relaxed), 0);
    assert_eq!(story.post("/api/reload").send().await.unwrap().status(), StatusCode::ACCEPTED);
    assert_eq!(count.load(Ordering::Relaxed), 1);
    let plain = Story::begin().await;
    assert_eq!(plain.post("/api/reload").send().await.unwrap().status(), StatusCode::BAD_REQUEST);
}

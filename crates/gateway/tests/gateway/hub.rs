//! Agents from elsewhere over HTTP: what `/api/hub` answers, held against files.
//!
//! Who may do what, and what proves an entry, is told in the stories of `site`.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::golden::hold;
use crate::story::{Story, body};

fn card() -> Value {
    json!({
        "name": "weather", "description": "Tells the weather.", "version": "1",
        "supportedInterfaces": [{"url": "https://w.example.org/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "f", "name": "Forecast", "description": "Tomorrow's weather.", "tags": ["weather"], "examples": ["Will it rain?"]}],
    })
}

async fn ask(
    story: &Story,
    method: Method,
    path: &str,
    key: &str,
    sent: Option<Value>,
) -> (StatusCode, Value) {
    let mut request = story.http.request(method, story.url(path)).bearer_auth(key);
    if let Some(sent) = &sent {
        request = request.json(sent);
    }
    let response = request.send().await.unwrap();
    let status = response.status();
    (status, if status == StatusCode::NO_CONTENT { Value::Null } else { body(response).await })
}

/// Owners and words differ from run to run.
fn steady(mut told: Value) -> Value {
    let word = told["challenge"]["word"].as_str().unwrap_or("no word").to_owned();
    let owner = told["owner"].as_str().unwrap_or("no owner").to_owned();
    told = serde_json::from_str(&told.to_string().replace(&word, "WORD").replace(&owner, "OWNER")).unwrap();
    told
}

#[tokio::test]
async fn answers_about_entries_have_the_shapes_in_the_files() {
    let story = Story::begin().await;
    let (user, admin) = (story.key(&["call"]).await, story.key(&["admin"]).await);
    let posted = json!({ "card": card() });
    let (status, entry) = ask(&story, Method::POST, "/api/hub", &user, Some(posted)).await;
    assert_eq!(status, StatusCode::CREATED);
    hold(&story, "api_hub_pending", steady(entry.clone()));
    let path = format!("/api/hub/{}", entry["id"].as_str().unwrap());
    let (status, refused) = ask(
        &story,
        Method::POST,
        &format!("{path}/verify"),
        &user,
        Some(json!({ "answer": { "protected": "e30", "signature": "AA" } })),
    )
    .await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{refused}");
    hold(&story, "api_hub_refused", refused);

    ask(&story, Method::POST, &format!("{path}/suspend"), &admin, None).await;
    let (status, active) = ask(&story, Method::POST, &format!("{path}/resume"), &admin, None).await;
    assert_eq!((status, &active["standing"]), (StatusCode::OK, &json!("active")));
    let edit = json!({ "region": "eu", "price": 2.5 });
    let (_, edited) = ask(&story, Method::PATCH, &path, &user, Some(edit)).await;
    let mut edited = steady(edited);
    // It was looked at meanwhile, or not.
    for looked in ["live", "failures", "checkedAt", "nextLook", "seenAt", "leaseUntil"] {
        edited.as_object_mut().unwrap().remove(looked);
    }
    hold(&story, "api_hub_entry", edited);
    let (_, page) = ask(&story, Method::GET, "/api/hub?format=catalog&limit=1", &user, None).await;
    hold(&story, "api_hub_catalog", page);
    let lines = format!("{}\nno json\n", card());
    let request = story.http.post(story.url("/api/hub/import")).bearer_auth(&admin);
    let imported = request.header("content-type", "application/x-ndjson").body(lines).send().await.unwrap();
    hold(&story, "api_hub_imported", body(imported).await);
    assert_eq!(ask(&story, Method::DELETE, &path, &user, None).await.0, StatusCode::NO_CONTENT);
    let (status, gone) = ask(&story, Method::GET, &path, &user, None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    hold(&story, "api_hub_missing", gone);
}

//! What is refused, in the form that the official clients read.
//!
//! The codes themselves stand in the one table of failures.

use agentsite_gateway::{AnonymousAccess, GatewaySettings, Rate};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{content, says};
use crate::story::{Story, body};

async fn refusal(story: &Story, path: &str, asked: Value) -> (StatusCode, Value) {
    let response = story.post(path).json(&asked).send().await.unwrap();
    let status = response.status();
    let mut body = body(response).await;
    (status, body["error"].take())
}

#[tokio::test]
async fn a_wrong_request_is_told_what_is_wrong() {
    let story = Story::begin().await;
    let chat = "/v1/chat/completions";
    let (status, error) = refusal(&story, chat, says("nobody", "hi")).await;
    assert_eq!((status.as_u16(), error["code"].as_str()), (404, Some("model_not_found")));
    assert_eq!(error["type"], "invalid_request_error");
    let mut more = says("echo", "hi");
    more["n"] = json!(2);
    let (status, error) = refusal(&story, chat, more).await;
    assert_eq!((status.as_u16(), error["param"].as_str()), (400, Some("n")));
    assert_eq!(error["code"], "unsupported_parameter");
    let (status, error) = refusal(&story, chat, json!({ "model": "echo" })).await;
    assert_eq!((status.as_u16(), error["param"].as_str()), (400, Some("messages")));
    let (_, error) = refusal(&story, chat, json!({ "messages": [] })).await;
    assert!(error["message"].as_str().unwrap().contains("model"), "{error}");
    let mut bad = says("echo", "hi");
    bad["metadata"] = json!({ "task_id": "x" });
    let (_, error) = refusal(&story, chat, bad).await;
    assert_eq!(error["param"], "metadata.task_id");
}

#[tokio::test]
async fn a_wrong_response_is_told_what_is_wrong() {
    let story = Story::begin().await;
    for (asked, status, param) in [
        (
            json!({ "model": "echo", "input": "hi", "previous_response_id": "resp_x" }),
            404,
            "previous_response_id",
        ),
        (json!({ "model": "echo", "input": "hi", "background": true, "store": false }), 400, "store"),
        (json!({ "model": "echo", "input": "hi", "conversation": "" }), 400, "conversation"),
        (json!({ "model": "echo" }), 400, "input"),
        (json!({ "model": "echo", "input": "hi", "tool_choice": "required" }), 400, "tool_choice"),
        (
            json!({ "model": "echo", "input": "hi", "text": { "format": { "type": "x" } } }),
            400,
            "text.format.type",
        ),
    ] {
        let (found, error) = refusal(&story, "/v1/responses", asked).await;
        assert_eq!((found.as_u16(), error["param"].as_str()), (status, Some(param)), "{error}");
    }
    for id in ["x", "resp_0198c0de-0000-7000-8000-000000000001_1"] {
        assert_eq!(story.get(&format!("/v1/responses/{id}")).send().await.unwrap().status(), 404);
        assert_eq!(story.post(&format!("/v1/responses/{id}/cancel")).send().await.unwrap().status(), 404);
    }
    let response = story.response(json!({ "model": "echo", "input": "hi" })).await;
    let other = response["id"].as_str().unwrap().replace("_1", "_2");
    assert_eq!(story.get(&format!("/v1/responses/{other}")).send().await.unwrap().status(), 404);
    let method = story.http.put(story.url("/v1/responses")).send().await.unwrap();
    assert_eq!(method.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(body(method).await["error"]["type"], "invalid_request_error");
}

#[tokio::test]
async fn what_is_too_large_too_deep_or_no_json_is_refused() {
    let mut settings = GatewaySettings::default();
    settings.limits.body = 10_000;
    let story = Story::with(settings).await;
    let post = |body: String| {
        story.post("/v1/chat/completions").header("content-type", "application/json").body(body)
    };
    for (sent, status) in [
        (says("echo", &"x".repeat(20_000)).to_string(), 413),
        ("[".repeat(200), 400),
        ("{".into(), 400),
        ("7".into(), 400),
    ] {
        let response = post(sent).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        assert!(body(response).await["error"]["message"].is_string());
    }
    let plain = story.post("/v1/chat/completions").body("{}").send().await.unwrap();
    assert_eq!(plain.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn any_word_is_a_key_at_this_machine_and_a_wrong_key_is_none_anywhere() {
    let story = Story::begin().await;
    let ask = async |key: &str| {
        let request = story.post("/v1/chat/completions").bearer_auth(key).json(&says("echo", "hi"));
        request.send().await.unwrap()
    };
    assert_eq!(content(&body(ask("anything").await).await), "hi");
    let wrong = ask("ask_nobody_0000").await;
    assert_eq!(wrong.status(), StatusCode::UNAUTHORIZED);
    let error = body(wrong).await["error"].take();
    assert_eq!(
        (error["code"].as_str(), error["type"].as_str()),
        (Some("invalid_api_key"), Some("invalid_request_error"))
    );
    let key = story.key(&["call:echo"]).await;
    let models = story.get("/v1/models").bearer_auth(&key).send().await.unwrap();
    let models = body(models).await;
    let ids: Vec<_> =
        models["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["echo"]);
    let placeholder = body(story.get("/v1/models").bearer_auth("anything").send().await.unwrap()).await;
    assert!(!placeholder.to_string().contains("hidden"), "a placeholder grants nothing: {placeholder}");
}

#[tokio::test]
async fn another_callers_response_is_none() {
    let story = Story::begin().await;
    let (one, two) = (story.key(&["call"]).await, story.key(&["call"]).await);
    let asked = json!({ "model": "echo", "input": "hi" });
    let response =
        body(story.post("/v1/responses").bearer_auth(&one).json(&asked).send().await.unwrap()).await;
    let path = format!("/v1/responses/{}", response["id"].as_str().unwrap());
    assert_eq!(story.get(&path).bearer_auth(&one).send().await.unwrap().status(), 200);
    assert_eq!(story.get(&path).bearer_auth(&two).send().await.unwrap().status(), 404);
    let delete = story.http.delete(story.url(&path)).bearer_auth(&two).send().await.unwrap();
    assert_eq!(delete.status(), 404);
    let next = json!({ "model": "echo", "input": "ho", "previous_response_id": response["id"] });
    let stolen = story.post("/v1/responses").bearer_auth(&two).json(&next).send().await.unwrap();
    assert_eq!(stolen.status(), 404);
}

#[tokio::test]
async fn a_caller_that_comes_too_often_is_told_when_to_come_back() {
    let mut settings = GatewaySettings { anonymous: AnonymousAccess::Public, ..GatewaySettings::default() };
    settings.rates.key = Rate { per_second: 1, burst: 1 };
    let story = Story::with(settings).await;
    let key = story.key(&["call"]).await;
    let ask = async || story.get("/v1/models").bearer_auth(&key).send().await.unwrap();
    assert_eq!(ask().await.status(), 200);
    let late = ask().await;
    assert_eq!(late.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(late.headers().contains_key("retry-after"));
    assert_eq!(body(late).await["error"]["code"], "rate_limit_exceeded");
}

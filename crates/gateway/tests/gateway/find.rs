//! Agents are found over HTTP: `POST /api/find`, and the hub by JSON-RPC at `/rpc`.
//!
//! Who finds what, and in which order, is told in the stories of `site`; here is what it looks like.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::events::Events;
use crate::golden::hold;
use crate::story::{Story, body};

/// What differs with the model is replaced by a word.
fn without_figures(mut found: Value) -> Value {
    for one in found["matches"].as_array_mut().unwrap() {
        assert!(one["score"].as_f64().unwrap() > 0.0 && one["reason"]["meaning"].is_f64(), "{one}");
        one["score"] = json!("SCORE");
        one["reason"] = json!("REASON");
    }
    found
}

fn names(found: &Value) -> Vec<&str> {
    found["matches"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect()
}

async fn find(story: &Story, query: Value) -> Value {
    let response = story.post("/api/find").json(&query).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    body(response).await
}

async fn rpc(story: &Story, method: &str, params: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    body(story.post("/rpc").json(&request).send().await.unwrap()).await
}

#[tokio::test]
async fn matches_have_the_shape_in_the_file() {
    let story = Story::begin().await;
    let found = find(&story, json!({ "text": "Says it back: repeats the message", "limit": 1 })).await;
    hold(&story, "api_find", without_figures(found));
    let empty = story.post("/api/find").json(&json!({ "text": " " })).send().await.unwrap();
    assert_eq!(empty.status(), StatusCode::BAD_REQUEST);
    hold(&story, "api_find_empty", body(empty).await);
}

#[tokio::test]
async fn a_key_finds_only_what_it_may_call() {
    let story = Story::begin().await;
    let query = json!({ "text": "For the people who run the site" });
    assert_eq!(names(&find(&story, query.clone()).await)[0], "hidden");
    let key = story.key(&["call"]).await;
    let theirs = body(story.post("/api/find").bearer_auth(&key).json(&query).send().await.unwrap()).await;
    assert!(!names(&theirs).contains(&"hidden"), "{theirs}");
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_with_what_to_do() {
    let story = Story::begin().await;
    for query in [
        json!({ "text": "x".repeat(100_000) }),
        json!({ "text": "x", "filter": { "colour": ["red"] } }),
        json!({ "text": "x", "filter": { "minTrust": 2 } }),
        json!({ "text": "x", "limit": -1 }),
        json!({ "text": "x", "offset": 1_000_000 }),
        json!({ "text": 7 }),
        json!({}),
    ] {
        let response = story.post("/api/find").json(&query).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(body(response).await["error"]["code"], "bad_params", "{query}");
        let answer = rpc(&story, "agents.find", query).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32602)), "{answer}");
    }
}

#[tokio::test]
async fn the_hub_is_read_by_json_rpc() {
    let story = Story::begin().await;
    let found = rpc(&story, "agents.find", json!({ "text": "Writes three lines", "limit": 1 })).await;
    assert_eq!(names(&found["result"]), ["steps"], "{found}");
    let id = found["result"]["matches"][0]["id"].clone();
    let one = rpc(&story, "agents.get", json!({ "id": id })).await;
    assert_eq!((&one["result"]["name"], &one["result"]["local"]), (&json!("steps"), &json!(true)), "{one}");
    let (mut after, mut seen) = (Value::Null, Vec::new());
    loop {
        let mut params = json!({ "limit": 2 });
        if after.is_string() {
            params["after"] = after;
        }
        let page = rpc(&story, "agents.list", params).await["result"].take();
        seen.extend(page["agents"].as_array().unwrap().iter().map(|one| one["name"].to_string()));
        after = page["next"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}

#[tokio::test]
async fn json_rpc_refuses_what_it_does_not_know() {
    let story = Story::begin().await;
    for (method, params, code) in [
        ("agents.buy", json!({}), -32601),
        ("agents.get", json!({}), -32602),
        ("agents.get", json!({ "id": "urn:air:nowhere:agents:x" }), -32000),
        ("agents.list", json!({ "limit": "all" }), -32602),
    ] {
        let answer = rpc(&story, method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    let batch = story.post("/rpc").json(&json!([{}, {}])).send().await.unwrap();
    assert_eq!(body(batch).await["error"]["code"], -32600);
    let broken = story.post("/rpc").body("{").send().await.unwrap();
    assert_eq!(body(broken).await["error"]["code"], -32700);
}

#[tokio::test]
async fn a_query_is_kept_followed_and_forgotten() {
    let story = Story::begin().await;
    let given = json!({ "query": { "text": "sings old songs" }, "minScore": 0.3 });
    let made = story.post("/api/queries").json(&given).send().await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    let made = body(made).await;
    let id = made["id"].as_str().unwrap().to_owned();
    let mut shown = made.clone();
    shown["id"] = json!("ID");
    hold(&story, "api_query", shown);
    let path = format!("/api/queries/{id}/events");
    let stream = story.get(&path).header("accept", "text/event-stream").send().await.unwrap();
    let singer = "name = \"singer\"\ndescription = \"Sings old songs\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";
    story.site.agents().install(agentsite_host::Manifest::read(singer).unwrap(), None).await.unwrap();
    let first = Events::of(stream).next().await.unwrap().value();
    assert_eq!((&first["seq"], &first["match"]["name"]), (&json!(1), &json!("singer")), "{first}");
    let told = body(story.get(&path).send().await.unwrap()).await;
    assert_eq!(told["matches"].as_array().unwrap().len(), 1, "{told}");
    let rest = body(story.get(&format!("{path}?after=1")).send().await.unwrap()).await;
    assert_eq!(rest["matches"], json!([]));
    let key = story.key(&["call"]).await;
    let theirs = story.get(&format!("/api/queries/{id}")).bearer_auth(&key).send().await.unwrap();
    assert_eq!(theirs.status(), StatusCode::NOT_FOUND);
    let all = body(story.get("/api/queries").send().await.unwrap()).await;
    assert_eq!(all["queries"].as_array().unwrap().len(), 1);
    let gone = story.http.delete(story.url(&format!("/api/queries/{id}"))).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    let again = story.http.delete(story.url(&format!("/api/queries/{id}"))).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_FOUND);
}

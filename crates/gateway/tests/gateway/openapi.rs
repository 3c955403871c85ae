//! `/openapi.json` held against the routes and its golden file, the page about it, and the routes that came
//! with it. Whether answers fit the shapes is looked at by the Python client in the stories of the binary.

use agentsite_gateway::{GatewaySettings, Rate};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::golden::hold;
use crate::story::{Story, body};

async fn document(story: &Story) -> Value {
    body(story.get("/openapi.json").send().await.unwrap()).await
}

#[tokio::test]
async fn the_document_is_the_one_in_the_golden_file() {
    let story = Story::begin().await;
    hold(&story, "openapi", document(&story).await);
}

#[tokio::test]
async fn each_route_takes_the_methods_that_the_document_names_and_no_others() {
    let rates = agentsite_gateway::Rates { anonymous: Rate::UNLIMITED, ..Default::default() };
    let story = Story::with(GatewaySettings { rates, ..GatewaySettings::default() }).await;
    let told = document(&story).await;
    for (path, item) in told["paths"].as_object().unwrap() {
        let address = ["name", "id", "identifier", "version", "agent"]
            .iter()
            .fold(path.clone(), |path, name| path.replace(&format!("{{{name}}}"), "x"));
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            let named = item.get(method.as_str().to_lowercase()).is_some();
            // As a stranger, so that nothing happens.
            let request = story.guest().http.request(method.clone(), story.url(&address));
            let status = request.send().await.unwrap().status();
            assert_eq!(status != StatusCode::METHOD_NOT_ALLOWED, named, "{method} {path}: {status}");
            let for_known = path.starts_with("/api/") && path != "/api/session";
            let strange = for_known && named && status != StatusCode::UNAUTHORIZED;
            assert!(!strange, "{method} {path}: {status}");
        }
    }
}

#[tokio::test]
async fn people_read_the_same_on_a_page_without_scripts() {
    let story = Story::begin().await;
    let response = story.get("/docs/api").send().await.unwrap();
    let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    let page = response.text().await.unwrap();
    for told in ["POST /search", "GET /api/agents", "GET /v0.1/servers", "SearchRequest", "/openapi.json"] {
        assert!(page.contains(told), "{told}");
    }
    assert!(!page.contains("<script") && !page.contains("http://cdn") && !page.contains("style="));
}

#[tokio::test]
async fn agents_are_found_by_rest() {
    let story = Story::begin().await;
    let find = async |sent: Value| story.post("/api/find").json(&sent).send().await.unwrap();
    let found = body(find(json!({ "text": "repeats the message", "limit": 1 })).await).await;
    assert_eq!(found["matches"][0]["name"], "echo");
    for wrong in [json!({ "text": "" }), json!({ "text": "x", "filter": { "colour": ["red"] } }), json!({})] {
        assert_eq!(find(wrong.clone()).await.status(), StatusCode::BAD_REQUEST, "{wrong}");
    }
    let key = story.key(&["call"]).await;
    let other =
        story.post("/api/find").bearer_auth(key).json(&json!({ "text": "for the people who run the site" }));
    assert!(!body(other.send().await.unwrap()).await.to_string().contains("hidden"));
}

#[tokio::test]
async fn models_read_what_is_there_and_how_to_call_it() {
    let story = Story::begin().await;
    let read = async |path: &str, stranger: bool| {
        let request = if stranger { story.guest().get(path) } else { story.get(path) };
        request.send().await.unwrap().text().await.unwrap()
    };
    let short = read("/llms.txt", false).await;
    assert!(short.contains("/a2a/echo/.well-known/agent-card.json") && short.contains("/search"), "{short}");
    assert!(short.contains("hidden") && !read("/llms.txt", true).await.contains("hidden"));
    let full = read("/llms-full.txt", true).await;
    assert!(
        full.contains("### echo") && full.contains("such as: it's <me>") && full.contains("/mcp/echo"),
        "{full}"
    );
    assert!(!full.contains("hidden"));
}

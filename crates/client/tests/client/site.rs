//! Stories of talking to a running site: values, sentences of refusal, and its agents.
//!
//! The site is a small stand-in on a free port.

use agentsite_client::{ClientError, Egress, SiteClient, Token};
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

async fn site() -> SiteClient {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = Url::parse(&format!("http://{}/below", listener.local_addr().unwrap())).unwrap();
    let whoami =
        get(|headers: HeaderMap| async move { headers["authorization"].to_str().unwrap().to_owned() });
    let refusal = json!({"error": {"code": "unknown_agent", "message": "there is no agent `x` here"}});
    let card = |Path(agent): Path<String>| async move {
        let interface = json!({"url": "https://public.example/a2a/x", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
        Json(json!({"name": agent, "description": "d", "version": "1", "supportedInterfaces": [interface]}))
    };
    let task = json!({"result": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}});
    let below = Router::new()
        .route("/api/whoami", whoami)
        .route("/api/double", post(|Json(n): Json<i64>| async move { Json(n * 2) }))
        .route("/api/nothing", post(|| async { StatusCode::NO_CONTENT }))
        .route("/api/agents/x", get(|| async move { (StatusCode::NOT_FOUND, Json(refusal)).into_response() }))
        .route("/api/agents/y", delete(|| async { StatusCode::NO_CONTENT }))
        .route("/a2a/{agent}/.well-known/agent-card.json", get(card))
        .route("/a2a/{agent}", post(|| async move { Json(task) }));
    let router = Router::new().nest("/below", below);
    tokio::spawn(async move { axum::serve(listener, router).await });
    SiteClient::new(&Egress::default(), base, Some(Token::new("as_key\n")))
}

#[tokio::test]
async fn values_and_texts_are_had_with_the_token() {
    let site = site().await;
    assert_eq!(site.get_text("/api/whoami").await.unwrap(), "Bearer as_key");
    assert_eq!(site.post::<_, i64>("api/double", &21).await.unwrap(), 42);
    site.post::<_, ()>("api/nothing", &Value::Null).await.unwrap();
    site.delete("api/agents/y").await.unwrap();
}

#[tokio::test]
async fn a_refusal_is_told_in_the_sites_own_words() {
    let error = site().await.get::<Value>("api/agents/x").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no agent `x` here");
    assert!(
        matches!(error, ClientError::Status { status: 404, code: Some(code), .. } if code == "unknown_agent")
    );
}

#[tokio::test]
async fn an_agent_is_called_at_the_sites_own_address() {
    let client = site().await.a2a(&"echo".parse().unwrap(), None).await.unwrap();
    assert!(client.endpoints()[0].url.as_str().ends_with("/below/a2a/echo"));
    assert_eq!(client.get_task("t", None).await.unwrap().id, "t");
}

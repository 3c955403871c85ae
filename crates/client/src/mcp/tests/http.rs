//! HTTP servers that answer too much, break the connection, or require a token.
//!
//! Each is a small server of the test on a free port; well-behaved ones are tested elsewhere.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use url::Url;

use super::*;

/// What a played server does with a call.
#[derive(Debug, Clone, Copy)]
enum Play {
    LargeAnswer,
    LargeEvent,
    CutStream,
    WantsToken,
    Page,
}

async fn serve(play: Play) -> Url {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
    let app = Router::new().fallback(move |request: Request| answer(play, request));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

async fn answer(play: Play, request: Request) -> Response {
    let token = request.headers().get(header::AUTHORIZATION).cloned();
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let say = |result: Value| {
        axum::Json(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).into_response()
    };
    if matches!(play, Play::WantsToken) && token.is_none_or(|token| token != "Bearer secret") {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")]).into_response();
    }
    if matches!(play, Play::Page) {
        return axum::response::Html("<h1>Hello</h1>").into_response();
    }
    let events = |body: Body| ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response();
    match (asked["method"].as_str(), play) {
        (Some("server/discover"), _) => say(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
            "serverInfo": { "name": "played", "version": "1" }, "ttlMs": 0, "cacheScope": "private",
        })),
        (Some("tools/call"), Play::LargeAnswer) => {
            say(json!({ "content": [{ "type": "text", "text": "a".repeat(200_000) }] }))
        }
        (Some("tools/call"), Play::LargeEvent) => {
            events(Body::from(format!("data: {}\n\n", "a".repeat(200_000))))
        }
        (Some("tools/call"), Play::CutStream) => events(Body::from(": hello\n\n")),
        (Some("tools/call"), _) => say(json!({ "content": [{ "type": "text", "text": "fine" }] })),
        (Some(method), _) if method.starts_with("notifications/") => StatusCode::ACCEPTED.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn connect(play: Play, authorization: Authorization) -> Result<McpClient, McpError> {
    let url = serve(play).await;
    let egress = Egress::default().trusting(&url);
    let limits = Limits { message: 100_000, ..Limits::default() };
    McpClient::connect(Address::url(url, egress).authorized(authorization), Options { limits, ..options() })
        .await
}

async fn call(play: Play) -> Result<Reply<ToolResult>, McpError> {
    let client = connect(play, Authorization::None).await.unwrap();
    client.call(tool("t", json!({})), |_| {}).await
}

#[tokio::test]
async fn an_answer_or_an_event_that_is_too_large_fails_its_call() {
    let answer = call(Play::LargeAnswer).await;
    assert!(matches!(answer, Err(McpError::TooLarge(_))), "{answer:?}");
    let event = call(Play::LargeEvent).await;
    assert!(matches!(event, Err(McpError::TooLarge(_))), "{event:?}");
}

#[tokio::test]
async fn a_stream_that_is_cut_before_the_answer_fails_its_call() {
    let cut = call(Play::CutStream).await;
    assert!(matches!(cut, Err(McpError::Down(_) | McpError::BadAnswer(_))), "{cut:?}");
}

#[tokio::test]
async fn a_token_is_sent_along_and_its_lack_is_told() {
    let refused = connect(Play::WantsToken, Authorization::None).await.unwrap_err();
    assert!(matches!(refused, McpError::Unauthorized(_)), "{refused:?}");
    let wrong =
        connect(Play::WantsToken, Authorization::Bearer(crate::Token::new("wrong"))).await.unwrap_err();
    assert!(matches!(&wrong, McpError::Unauthorized(_)) && !wrong.to_string().contains("wrong"), "{wrong:?}");
    let client = connect(Play::WantsToken, Authorization::Bearer(crate::Token::new("secret"))).await.unwrap();
    assert_eq!(done(client.call(tool("t", json!({})), |_| {}).await.unwrap()).plain_text(), "fine");
}

#[tokio::test]
async fn an_address_that_is_no_server_or_may_not_be_asked_says_so() {
    let page = connect(Play::Page, Authorization::None).await.unwrap_err();
    assert!(matches!(page, McpError::BadAnswer(_)), "{page:?}");
    let inside = Address::url("http://127.0.0.1:1/mcp".parse().unwrap(), Egress::default());
    let refused = McpClient::connect(inside, options()).await.unwrap_err();
    assert!(matches!(refused, McpError::Egress(_)), "{refused:?}");
}

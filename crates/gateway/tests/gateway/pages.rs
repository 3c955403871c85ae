//! Pages, health and metrics.
//!
//! Looks are not judged here; that pages hold no script and escape foreign text is.

use agentsite_gateway::GatewaySettings;
use reqwest::StatusCode;

use crate::story::{Story, body, says};

#[tokio::test]
async fn the_front_page_shows_the_agents_and_how_to_call_them() {
    let story = Story::begin().await;
    let response = story.get("/").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    assert_eq!(response.headers()["referrer-policy"], "no-referrer");
    let page = response.text().await.unwrap();
    assert!(page.contains("agentsite call echo"), "{page}");
    assert!(page.contains(&format!("http://{}/a2a/echo", story.address)));
    assert!(page.contains("it&#39;s &lt;me&gt; &amp; &quot;you&quot;"));
    assert!(page.contains("&lt;b&gt;only&lt;/b&gt;"));
    assert!(!page.contains("<script") && !page.contains("<b>"));

    let stranger = story.get("/").header("via", "1.1 proxy").send().await.unwrap().text().await.unwrap();
    assert!(stranger.contains("agentsite call echo") && !stranger.contains("hidden"));
    assert!(stranger.contains("agentsite signin"));
}

#[tokio::test]
async fn a_page_has_a_head_and_a_style() {
    let story = Story::begin().await;
    let head = story.http.head(story.url("/")).send().await.unwrap();
    assert_eq!(head.status(), StatusCode::OK);
    assert_eq!(head.text().await.unwrap(), "");
    let style = story.get("/style.css").send().await.unwrap();
    assert_eq!(style.headers()["content-type"], "text/css; charset=utf-8");
    assert!(style.text().await.unwrap().contains("prefers-color-scheme: dark"));
    let text = story.get("/llms.txt").send().await.unwrap().text().await.unwrap();
    assert!(text.starts_with("# agentsite\n") && text.contains("/a2a/echo): Says it back"), "{text}");
}

#[tokio::test]
async fn where_nothing_is_people_get_a_page_and_programs_json() {
    let story = Story::begin().await;
    let page = story.get("/nothing").header("accept", "text/html,*/*").send().await.unwrap();
    assert_eq!(page.status(), StatusCode::NOT_FOUND);
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    assert!(page.headers().contains_key("content-security-policy"));
    let json = story.get("/nothing").send().await.unwrap();
    assert_eq!(json.status(), StatusCode::NOT_FOUND);
    assert_eq!(body(json).await["error"]["code"], "no_such_path");
}

#[tokio::test]
async fn the_site_is_healthy_and_ready_until_it_stops() {
    let story = Story::begin().await;
    let health = story.get("/healthz").send().await.unwrap();
    assert_eq!(health.text().await.unwrap(), "ok\n");
    assert_eq!(story.get("/readyz").send().await.unwrap().status(), StatusCode::OK);
    story.site.stop().await;
    let ready = story.get("/readyz").send().await.unwrap();
    assert_eq!(ready.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ready.text().await.unwrap(), "stopping\n");
    let refused = story.rpc("echo", "SendMessage", says("too late")).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
}

#[tokio::test]
async fn metrics_count_requests_and_are_for_admins() {
    let story = Story::begin().await;
    story.call("echo", "SendMessage", says("count me")).await;
    story.call("echo", "Nope", serde_json::json!({})).await;
    let text = story.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(text.contains(r#"http_requests_total{face="a2a",outcome="ok"} 1"#), "{text}");
    assert!(text.contains(r#"http_requests_total{face="a2a",outcome="refused"} 1"#), "{text}");
    assert!(text.contains("process_resident_memory_bytes"));
    assert!(text.trim_end().ends_with("# EOF"));
    let key = story.key(&["call"]).await;
    assert_eq!(story.get("/metrics").bearer_auth(key).send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let stranger = story.get("/metrics").header("via", "x").send().await.unwrap();
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    let open = Story::with(GatewaySettings { metrics_public: true, ..GatewaySettings::default() }).await;
    assert_eq!(open.get("/metrics").header("via", "x").send().await.unwrap().status(), StatusCode::OK);
}

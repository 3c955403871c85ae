//! Pages, health and metrics.
//!
//! Looks are not judged here, and the interface itself is tried in a browser; what is served, to whom and
//! with which headers is.

use agentsite_gateway::GatewaySettings;
use reqwest::StatusCode;

use crate::story::{Story, body, says};

/// What a browser says that it takes.
const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

#[tokio::test]
async fn who_wants_no_html_gets_the_twin_of_a_page() {
    let story = Story::begin().await;
    let response = story.get("/").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "text/markdown; charset=utf-8");
    assert_eq!(response.headers()["referrer-policy"], "no-referrer");
    let page = response.text().await.unwrap();
    assert!(page.contains("agentsite call echo"), "{page}");
    assert!(page.contains(&format!("http://{}/a2a/echo", story.address)));
    assert!(!page.contains("<b>"), "{page}");

    let stranger = story.guest().get("/").send().await.unwrap().text().await.unwrap();
    assert!(stranger.contains("agentsite call echo") && !stranger.contains("hidden"));
    assert!(stranger.contains("agentsite open"));
}

#[tokio::test]
async fn every_page_has_a_twin_that_shows_what_its_reader_may_see() {
    let story = Story::begin().await;
    let task = story.long_task().await;
    let pages = [
        ("/index.md", "# agentsite"),
        ("/hub.md", "| [echo]("),
        ("/hub/echo.md", "# echo"),
        ("/new.md", "/api/workshop/draft"),
        ("/register.md", "/api/hub"),
        ("/chat.md", "SendStreamingMessage"),
        ("/tasks.md", task.as_str()),
        ("/network.md", "not in the mesh"),
        ("/ops.md", "# Operations"),
    ];
    for (path, says) in pages {
        let text = story.get(path).header("accept", BROWSER).send().await.unwrap().text().await.unwrap();
        assert!(text.contains(says), "{path}: {text}");
    }
    let one = story.get(&format!("/tasks/{task}.md")).send().await.unwrap().text().await.unwrap();
    assert!(one.contains("- agent: long") && one.contains("## Artifacts"), "{one}");
    assert!(one.contains("/graph; POST …/cancel, …/retry"), "{one}");
    for path in ["/hub/nobody.md", "/tasks/nothing.md", "/hub/urn:air:example.org:agents:nobody.md"] {
        assert_eq!(story.get(path).send().await.unwrap().status(), StatusCode::NOT_FOUND, "{path}");
    }
    let hub = story.guest().get("/hub.md").send().await.unwrap().text().await.unwrap();
    assert!(hub.contains("[echo](") && !hub.contains("hidden"), "{hub}");
    for path in ["/tasks.md", "/ops.md", "/network.md", "/new.md"] {
        let refused = story.guest().get(path).send().await.unwrap();
        assert!([401, 403].contains(&refused.status().as_u16()), "{path}: {}", refused.status());
    }
}

#[tokio::test]
async fn a_browser_gets_the_interface_with_nothing_inline_and_keeps_what_it_has() {
    let story = Story::begin().await;
    for path in [
        "/",
        "/hub",
        "/hub/echo",
        "/new",
        "/register",
        "/chat",
        "/chat/c",
        "/tasks",
        "/tasks/t",
        "/ops",
        "/ops/keys",
        "/signin",
    ] {
        let page = story.get(path).header("accept", BROWSER).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK, "{path}");
        assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8", "{path}");
        let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(page.headers()["x-content-type-options"], "nosniff");
        let twin = page.headers()["link"].to_str().unwrap().split(['<', '>']).nth(1).unwrap().to_owned();
        let told = story.get(&twin).send().await.unwrap().status();
        let missing = ["/tasks/t", "/chat/c"].contains(&path);
        assert_eq!(told, if missing { StatusCode::NOT_FOUND } else { StatusCode::OK }, "{twin}");
    }
    let page = story.get("/hub").header("accept", BROWSER).send().await.unwrap();
    let tag = page.headers()["etag"].to_str().unwrap().to_owned();
    let text = page.text().await.unwrap();
    let again =
        story.get("/hub").header("accept", BROWSER).header("if-none-match", tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);

    let script = text.split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    for (accepted, encoding) in
        [("gzip, deflate, br", Some("br")), ("gzip", Some("gzip")), ("identity", None)]
    {
        let file = story.get(script).header("accept-encoding", accepted).send().await.unwrap();
        assert_eq!(file.headers()["content-type"], "text/javascript; charset=utf-8");
        assert_eq!(file.headers()["cache-control"], "public, max-age=31536000, immutable");
        assert_eq!(file.headers().get("content-encoding").map(|value| value.to_str().unwrap()), encoding);
        assert!(!file.bytes().await.unwrap().is_empty());
    }
    let gone = story.get("/assets/index-older.js").header("accept", BROWSER).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
    for path in
        ["/api/nothing", "/a2a/nobody", "/agents/urn:air:example.org:agents:nobody", "/huba", "/hub/a/b"]
    {
        let answer = story.get(path).header("accept", BROWSER).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn a_browser_signs_in_with_a_key_and_is_who_the_key_is() {
    let story = Story::begin().await;
    let guest = story.guest();
    let who = async |cookie: &str| {
        body(guest.get("/api/session").header("cookie", cookie).send().await.unwrap()).await
    };
    assert_eq!(body(guest.get("/api/session").send().await.unwrap()).await["role"], "guest");
    let key = story.key(&["call"]).await;
    let sign_in = async |key: &str| {
        let given = serde_json::json!({ "key": key });
        guest.post("/api/session").json(&given).send().await.unwrap()
    };
    assert_eq!(sign_in("ask_k_wrong").await.status(), StatusCode::UNAUTHORIZED);
    let begun = sign_in(&key).await;
    let set = begun.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(set.contains("HttpOnly; SameSite=Strict; Path=/"), "{set}");
    let cookie = set.split(';').next().unwrap();
    let known = who(cookie).await;
    assert_eq!((&known["role"], &known["signedIn"]), (&"user".into(), &true.into()));
    let by_key = body(guest.get("/api/session").bearer_auth(&key).send().await.unwrap()).await;
    assert_eq!(known["owner"], by_key["owner"]);

    let admin = story.key(&["admin"]).await;
    let set = sign_in(&admin).await.headers()["set-cookie"].to_str().unwrap().to_owned();
    let cookie = set.split(';').next().unwrap();
    assert!(!cookie.contains(&admin), "an admin's browser has a secret of its own");
    assert_eq!(who(cookie).await["role"], "admin");
    let leave = |origin: &str| {
        let request = guest.http.delete(story.url("/api/session"));
        request.header("cookie", cookie).header("origin", origin.to_owned()).send()
    };
    assert_eq!(leave("https://evil.example").await.unwrap().status(), StatusCode::FORBIDDEN);
    let left = leave(&format!("http://{}", story.address)).await.unwrap();
    assert_eq!(left.status(), StatusCode::NO_CONTENT);
    assert!(left.headers()["set-cookie"].to_str().unwrap().ends_with("Max-Age=0"));
    assert_eq!(who(cookie).await["role"], "guest");
}

#[tokio::test]
async fn a_page_has_a_head_and_the_plain_pages_a_style() {
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
    let stranger = story.guest().get("/metrics").send().await.unwrap();
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    let open = Story::with(GatewaySettings { metrics_public: true, ..GatewaySettings::default() }).await;
    assert_eq!(open.guest().get("/metrics").send().await.unwrap().status(), StatusCode::OK);
}

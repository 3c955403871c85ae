//! Who is let in, who is not, and that neither a foreign id nor an address opens anything.
//! Requests go through the whole router; how sites prove themselves to each other is not tried here.

use agentsite_gateway::{AnonymousAccess, GatewaySettings, Rate, api_paths};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::story::{Story, body, says};

#[tokio::test]
async fn another_web_page_or_a_rebound_name_gets_nothing() {
    let story = Story::begin().await;
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("host", "evil.example"),
        ("sec-fetch-site", "cross-site"),
    ] {
        let request = story.guest().rpc("echo", "SendMessage", says("hi")).header(name, value);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{name}: {value}");
        let answer = body(response).await;
        assert_eq!(answer["error"]["data"][0]["reason"], "PERMISSION_DENIED");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    }
    let own = format!("http://{}", story.address);
    let request = story.guest().rpc("echo", "SendMessage", says("hi")).header("origin", own);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_wrong_key_is_refused_even_from_this_machine() {
    let story = Story::begin().await;
    for key in ["wrong", "ask_k_wrong", ""] {
        let response = story.rpc("echo", "SendMessage", says("hi")).bearer_auth(key).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{key}");
        assert_eq!(response.headers()["www-authenticate"], r#"Bearer realm="agentsite""#);
    }
    let response = story.guest().get("/api/agents").header("x-api-key", "wrong").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    let response = story.get("/api/agents").header("authorization", "Basic eA==").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_key_works_from_a_foreign_page_and_reaches_what_it_may() {
    let story = Story::begin().await;
    let key = story.key(&["call"]).await;
    let request = story.rpc("echo", "SendMessage", says("hi")).bearer_auth(&key);
    let response = request.header("origin", "https://partner.example").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let hidden = story
        .guest()
        .rpc("hidden", "SendMessage", says("hi"))
        .header("x-api-key", &key)
        .send()
        .await
        .unwrap();
    assert_eq!(hidden.status(), StatusCode::NOT_FOUND);
    let status = story.get("/api/status").bearer_auth(&key).send().await.unwrap();
    assert_eq!(status.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_foreign_id_answers_like_one_that_does_not_exist() {
    let story = Story::begin().await;
    let id = story.long_task().await;
    let other = story.key(&["call"]).await;
    let never = "01234567-89ab-7def-8123-456789abcdef";
    let hide = |answer: Value, id: &str| answer.to_string().replace(id, "ID");
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        let ask = async |id: &str| {
            let request = story.rpc("long", method, json!({ "id": id })).bearer_auth(&other);
            hide(body(request.send().await.unwrap()).await, id)
        };
        assert_eq!(ask(&id).await, ask(never).await, "{method}");
    }
    let continue_it = async |id: &str| {
        let mut params = says("more");
        params["message"]["taskId"] = json!(id);
        let request = story.rpc("long", "SendMessage", params).bearer_auth(&other);
        hide(body(request.send().await.unwrap()).await, id)
    };
    assert_eq!(continue_it(&id).await, continue_it(never).await);
    for (http_method, path) in [(Method::GET, ""), (Method::GET, "/events"), (Method::POST, "/cancel")] {
        let ask = async |id: &str| {
            let url = story.url(&format!("/api/tasks/{id}{path}"));
            let response =
                story.http.request(http_method.clone(), url).bearer_auth(&other).send().await.unwrap();
            (response.status(), hide(body(response).await, id))
        };
        let foreign = ask(&id).await;
        assert_eq!(foreign.0, StatusCode::NOT_FOUND);
        assert_eq!(foreign, ask(never).await, "{path}");
    }
    let list = body(story.get("/api/tasks").bearer_auth(&other).send().await.unwrap()).await;
    assert_eq!(list["tasks"], json!([]));
}

#[tokio::test]
async fn every_route_of_the_rest_face_refuses_callers_without_a_name() {
    // More requests than a stranger has at once.
    let rates = agentsite_gateway::Rates { anonymous: Rate::UNLIMITED, ..Default::default() };
    let story = Story::with(GatewaySettings { rates, ..GatewaySettings::default() }).await;
    let paths = api_paths();
    assert!(paths.len() >= 14);
    // Only who is not known signs in.
    for path in paths.into_iter().filter(|path| *path != "/api/session") {
        let path = path.replace("{name}", "echo").replace("{id}", "01234567-89ab-7def-8123-456789abcdef");
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let request = story.guest().http.request(method.clone(), story.url(&path));
            let response = request.json(&json!({})).send().await.unwrap();
            let refused =
                [StatusCode::UNAUTHORIZED, StatusCode::METHOD_NOT_ALLOWED].contains(&response.status());
            assert!(refused, "{method} {path}: {}", response.status());
        }
    }
}

#[tokio::test]
async fn strangers_reach_public_agents_only_and_nothing_where_the_door_is_shut() {
    let story = Story::begin().await;
    let public = story.guest().rpc("echo", "SendMessage", says("hi")).send().await.unwrap();
    assert_eq!(public.status(), StatusCode::OK);
    let hidden = story.guest().rpc("hidden", "SendMessage", says("hi")).send().await.unwrap();
    assert_eq!(hidden.status(), StatusCode::NOT_FOUND);

    let shut =
        Story::with(GatewaySettings { anonymous: AnonymousAccess::None, ..GatewaySettings::default() }).await;
    for path in ["/", "/.well-known/agent-card.json", "/a2a/echo", "/llms.txt", "/metrics"] {
        let response = shut.guest().get(path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    assert_eq!(shut.guest().get("/healthz").send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let mut settings = GatewaySettings::default();
    settings.rates.anonymous = Rate { per_second: 1, burst: 3 };
    settings.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let story = Story::with(settings).await;
    let guest = story.guest();
    let ask = async |from: &str| guest.get("/a2a/echo").header("x-forwarded-for", from).send().await.unwrap();
    for _ in 0..3 {
        assert_eq!(ask("203.0.113.5").await.status(), StatusCode::OK);
    }
    // On a slow machine a second may pass, and with it one more is let in.
    let mut refused = ask("203.0.113.5").await;
    for _ in 0..50 {
        if refused.status() == StatusCode::TOO_MANY_REQUESTS {
            break;
        }
        refused = ask("203.0.113.5").await;
    }
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(body(refused).await["error"]["code"], "too_many_requests");
    assert_eq!(ask("203.0.113.6").await.status(), StatusCode::OK);
    for _ in 0..50 {
        assert_eq!(story.get("/a2a/echo").send().await.unwrap().status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn who_tries_keys_out_is_slowed_down_by_address() {
    let mut settings = GatewaySettings::default();
    settings.rates.anonymous = Rate { per_second: 1, burst: 2 };
    let story = Story::with(settings).await;
    let good = story.key(&["call"]).await;
    let ask = async |key: &str| story.get("/api/agents").bearer_auth(key).send().await.unwrap().status();
    let mut seen = Vec::new();
    for guess in 0..30 {
        seen.push(ask(&format!("ask_{guess}_x")).await);
    }
    assert_eq!(seen[..2], [StatusCode::UNAUTHORIZED; 2]);
    assert!(seen[2..].contains(&StatusCode::TOO_MANY_REQUESTS), "{seen:?}");
    assert_eq!(ask(&good).await, StatusCode::OK, "who knows the key is not held up");
}

#[tokio::test]
async fn signing_in_takes_a_link_once() {
    let story = Story::begin().await;
    let link =
        body(story.post("/api/signin-links").send().await.unwrap()).await["url"].as_str().unwrap().to_owned();
    assert!(link.starts_with(&story.url("/signin?token=")), "{link}");
    assert_eq!(story.http.head(&link).send().await.unwrap().status(), StatusCode::OK);
    let signed = story.http.get(&link).send().await.unwrap();
    assert_eq!(signed.status(), StatusCode::SEE_OTHER);
    assert_eq!(signed.headers()["location"], "/");
    let cookie = signed.headers()["set-cookie"].to_str().unwrap().to_owned();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert!(!cookie.contains("Secure"));
    let pair = cookie.split(';').next().unwrap().to_owned();

    let guest = story.guest();
    let browser = |request: reqwest::RequestBuilder| request.header("cookie", pair.clone());
    assert_eq!(browser(guest.get("/api/status")).send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(
        browser(guest.post("/api/signin-links")).send().await.unwrap().status(),
        StatusCode::FORBIDDEN
    );
    let own = format!("http://{}", story.address);
    let from_page = browser(guest.post("/api/signin-links")).header("origin", own);
    assert_eq!(from_page.send().await.unwrap().status(), StatusCode::CREATED);

    let again = story.http.get(&link).header("accept", "text/html").send().await.unwrap();
    assert_eq!(again.status(), StatusCode::UNAUTHORIZED);
    assert!(again.text().await.unwrap().contains("agentsite open"));
    let stale = story.guest().get("/api/status").header("cookie", "agentsite_session=old");
    assert_eq!(stale.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
}

//! Who calls: keys, browsers, web pages of others, and anonymous callers.
//!
//! Promises that are tested: a task of another caller answers like one that does not exist; a revoked key is
//! worth nothing; a page of another origin and a foreign Host get nowhere; a sign-in link works once.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::site::{TestSite, answer, exec_agent, http, message};

async fn new_key(site: &TestSite, scopes: &[&str]) -> (String, String) {
    let request =
        site.http.post(format!("{}/api/keys", site.url)).json(&json!({"label": "a", "scopes": scopes}));
    let reply = request.send().await.unwrap();
    assert_eq!(reply.status(), 201);
    let made: Value = reply.json().await.unwrap();
    (made["key"]["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
}

/// A call without a credential.
fn call(site: &TestSite, agent: &str, method: &str, params: &Value) -> RequestBuilder {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    http().post(format!("{}/a2a/{agent}", site.url)).json(&body)
}

async fn read(request: RequestBuilder) -> (u16, Value) {
    let reply = request.send().await.unwrap();
    (reply.status().as_u16(), reply.json().await.unwrap_or_default())
}

#[tokio::test]
async fn a_task_of_another_key_answers_as_one_that_does_not_exist() {
    let site = TestSite::started();
    let (_, mine) = new_key(&site, &["call"]).await;
    let (_, other) = new_key(&site, &["call"]).await;
    let said = json!({"message": message("secret")});
    let (status, reply) = read(call(&site, "echo", "SendMessage", &said).bearer_auth(&mine)).await;
    assert_eq!((status, answer(&reply).as_str()), (200, "secret"));
    let id = reply["result"]["task"]["id"].as_str().unwrap();
    let nobody = "01a1e139-3992-7f60-9cb4-c930aa5461ba";
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        let (status, foreign) =
            read(call(&site, "echo", method, &json!({"id": id})).bearer_auth(&other)).await;
        let missing = read(call(&site, "echo", method, &json!({"id": nobody})).bearer_auth(&other)).await;
        let foreign: Value = serde_json::from_str(&foreign.to_string().replace(id, nobody)).unwrap();
        assert_eq!((status, foreign), missing, "{method}");
        assert_eq!(missing.1["error"]["code"], -32001, "{method}");
    }
    for path in ["", "/events"] {
        let url = |id: &str| format!("{}/api/tasks/{id}{path}", site.url);
        let (status, _) = read(site.http.get(url(id)).bearer_auth(&other)).await;
        assert_eq!(status, 404, "{path}");
        let (status, _) = read(site.http.get(url(id)).bearer_auth(&mine)).await;
        assert_eq!(status, 200, "{path}");
    }
    let (_, listed) = read(site.http.get(format!("{}/api/tasks", site.url)).bearer_auth(&other)).await;
    assert_eq!(listed["tasks"], json!([]));
    let mut more = message("more");
    more["taskId"] = json!(id);
    let (_, joined) =
        read(call(&site, "echo", "SendMessage", &json!({"message": more})).bearer_auth(&other)).await;
    assert_eq!(joined["error"]["code"], -32001, "{joined}");
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once() {
    let site = TestSite::started();
    let (id, secret) = new_key(&site, &["call"]).await;
    let said = || json!({"message": message("hi")});
    assert_eq!(read(call(&site, "echo", "SendMessage", &said()).bearer_auth(&secret)).await.0, 200);
    let revoked = site.http.delete(format!("{}/api/keys/{id}", site.url)).send().await.unwrap();
    assert_eq!(revoked.status(), 204);
    let (status, reply) = read(call(&site, "echo", "SendMessage", &said()).bearer_auth(&secret)).await;
    assert_eq!(status, 401, "a wrong key never falls back to being anonymous: {reply}");
    let (status, _) = read(call(&site, "echo", "SendMessage", &said()).header("x-api-key", "nonsense")).await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn a_key_may_do_what_its_scope_says_and_no_more() {
    let hidden = exec_agent("hidden", &["cat"], "").replace("\"public\"", "\"private\"");
    let mut site = TestSite::new().agent("hidden", &hidden);
    site.start();
    let (_, caller) = new_key(&site, &["call"]).await;
    let (_, invited) = new_key(&site, &["call:hidden"]).await;
    let said = || json!({"message": message("hi")});
    assert_eq!(read(call(&site, "hidden", "SendMessage", &said()).bearer_auth(&caller)).await.0, 404);
    let (status, reply) = read(call(&site, "hidden", "SendMessage", &said()).bearer_auth(&invited)).await;
    assert_eq!((status, answer(&reply).as_str()), (200, "hi"));
    for path in ["/api/status", "/api/keys", "/api/journal", "/metrics"] {
        let (status, reply) = read(site.http.get(format!("{}{path}", site.url)).bearer_auth(&caller)).await;
        assert_eq!(status, 403, "{path}: {reply}");
        let (status, _) = read(site.http.get(format!("{}{path}", site.url)).bearer_auth(site.token())).await;
        assert_eq!(status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_page_of_another_origin_and_a_foreign_host_are_refused() {
    let site = TestSite::started();
    let said = || json!({"message": message("hi")});
    let port = site.url.rsplit(':').next().unwrap();
    for (name, value) in [
        ("origin", "https://evil.example".to_owned()),
        ("origin", "null".to_owned()),
        ("host", format!("evil.example:{port}")),
        ("sec-fetch-site", "cross-site".to_owned()),
    ] {
        let (status, reply) = read(call(&site, "echo", "SendMessage", &said()).header(name, &value)).await;
        assert_eq!(status, 403, "{name}: {value}: {reply}");
    }
    for (name, value) in [("origin", "https://evil.example"), ("host", "evil.example")] {
        let (status, _) = read(http().get(format!("{}/api/status", site.url)).header(name, value)).await;
        assert_eq!(status, 403, "{name}: {value}");
    }
    let own = call(&site, "echo", "SendMessage", &said()).header("origin", &site.url);
    assert_eq!(read(own).await.0, 200, "a page of this site may call");
    assert_eq!(
        site.get("/api/tasks").await["tasks"].as_array().unwrap().len(),
        1,
        "the others began nothing"
    );
}

#[tokio::test]
async fn strangers_get_public_agents_and_nothing_else() {
    let hidden = exec_agent("hidden", &["cat"], "").replace("\"public\"", "\"private\"");
    let mut site = TestSite::new().agent("hidden", &hidden);
    site.start();
    let said = || json!({"message": message("hi")});
    assert_eq!(read(call(&site, "echo", "SendMessage", &said())).await.0, 200);
    assert_eq!(read(call(&site, "hidden", "SendMessage", &said())).await.0, 404);
    for path in ["/api/status", "/api/tasks", "/api/agents", "/metrics"] {
        let (status, reply) = read(http().get(format!("{}{path}", site.url))).await;
        assert_eq!(status, 401, "{path}: {reply}");
    }
}

#[tokio::test]
async fn a_sign_in_link_sets_a_cookie_once() {
    let site = TestSite::started();
    let link = site.sign_in.clone().expect("each start prints a link");
    assert_eq!(site.http.head(&link).send().await.unwrap().status(), 200, "a preview does not use it up");
    let first = site.http.get(&link).send().await.unwrap();
    assert_eq!(first.status(), 303);
    let cookie = first.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let second = site.http.get(&link).send().await.unwrap();
    assert_eq!(second.status(), 401);
    assert!(second.headers().get("set-cookie").is_none());

    let session = cookie.split(';').next().unwrap();
    let status = http().get(format!("{}/api/status", site.url));
    assert_eq!(read(status.header("cookie", session)).await.0, 200, "the browser is signed in");
    let forged = http().post(format!("{}/api/signin-links", site.url)).header("cookie", session);
    assert_eq!(
        read(forged.header("origin", "https://evil.example")).await.0,
        403,
        "another page cannot use it"
    );
}

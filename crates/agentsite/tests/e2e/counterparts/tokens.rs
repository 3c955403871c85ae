//! Callers with tokens of an authorization server, which another implementation signs.
//!
//! The tests of `protocol` cover every claim; here that a site finds the server's keys, follows their
//! rotation, and tells a client without a valid token where to get one.

use reqwest::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use serde_json::{Value, json};

use super::program::Program;
use crate::site::{TestSite, python};

struct Story {
    issuer: Program,
    site: TestSite,
}

impl Story {
    async fn begin(more: &str) -> Self {
        let issuer = Program::start(&python(), "token_issuer.py").await;
        let mut site = TestSite::new().flag("--anonymous").flag("none");
        let config = format!("[oauth]\nissuer = {:?}\n{more}", issuer.url);
        site.write("agentsite.toml", &config);
        site.write("agents/near/agent.toml", "name = \"near\"\ndescription = \"d\"\nvisibility = \"peers\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n");
        site.start();
        Self { issuer, site }
    }

    async fn token(&self, claims: Value) -> String {
        let request = self.site.http.post(format!("{}/token", self.issuer.url)).json(&claims);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        answer["token"].as_str().unwrap().to_owned()
    }

    /// Asks for the agents with a token and gives the answer.
    async fn agents(&self, token: &str) -> reqwest::Response {
        let request = self.site.http.get(format!("{}/api/agents", self.site.url));
        request.header(AUTHORIZATION, format!("Bearer {token}")).send().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_made_for_the_site_opens_what_its_scopes_name() {
    let story = Story::begin("").await;
    for alg in ["RS256", "PS256", "ES256", "ES384", "EdDSA"] {
        let token = story.token(json!({"alg": alg, "aud": story.site.url, "scope": "openid call"})).await;
        let answer = story.agents(&token).await;
        assert_eq!(answer.status(), 200, "{alg}: {}", answer.text().await.unwrap());
        let body = answer.text().await.unwrap();
        assert!(body.contains("\"near\""), "{alg}: {body}");
    }
    // Status is for admins; the scope admin counts only where the operator says so.
    let token = story.token(json!({"aud": story.site.url, "scope": "call admin"})).await;
    let request = story.site.http.get(format!("{}/api/status", story.site.url)).bearer_auth(&token);
    assert_eq!(request.send().await.unwrap().status(), 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_another_resource_is_refused_with_the_way_to_a_good_one() {
    let story = Story::begin("").await;
    let elsewhere = story.token(json!({"aud": "https://other.example/mcp", "scope": "call"})).await;
    let none = story.token(json!({"aud": story.site.url, "scope": "openid"})).await;
    for (token, status, error) in [(elsewhere, 401, "invalid_token"), (none, 403, "insufficient_scope")] {
        let answer = story.agents(&token).await;
        assert_eq!(answer.status(), status);
        let challenge = answer.headers()[WWW_AUTHENTICATE].to_str().unwrap().to_owned();
        assert!(challenge.contains(&format!("error=\"{error}\"")), "{challenge}");
        let metadata = challenge.split("resource_metadata=\"").nth(1).unwrap().split('"').next().unwrap();
        let document: Value = story.site.http.get(metadata).send().await.unwrap().json().await.unwrap();
        assert_eq!(document["authorization_servers"][0], story.issuer.url.as_str());
        assert_eq!(document["resource"], format!("{}/api/agents", story.site.url));
    }
    // A caller that names another host cannot make its token fit.
    let foreign = story.token(json!({"aud": "http://other.example", "scope": "call"})).await;
    let request = story.site.http.get(format!("{}/api/agents", story.site.url));
    let request = request.header("host", "other.example").bearer_auth(&foreign);
    assert_eq!(request.send().await.unwrap().status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_name_audiences_and_what_everybody_may() {
    let story = Story::begin("audience = [\"agents\"]\ngrant = [\"call:near\"]\nadmin = true\n").await;
    let body = story.agents(&story.token(json!({"aud": "agents"})).await).await.text().await.unwrap();
    assert!(body.contains("\"near\"") && !body.contains("\"calc\""), "{body}");
    let token = story.token(json!({"aud": "agents", "scope": "admin"})).await;
    let request = story.site.http.get(format!("{}/api/status", story.site.url)).bearer_auth(&token);
    assert_eq!(request.send().await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn invented_key_names_do_not_make_the_site_a_burden() {
    let story = Story::begin("").await;
    let good = story.token(json!({"aud": story.site.url, "scope": "call"})).await;
    assert_eq!(story.agents(&good).await.status(), 200);
    story.site.http.post(format!("{}/rotate", story.issuer.url)).body("").send().await.unwrap();
    let newer = story.token(json!({"aud": story.site.url, "scope": "call"})).await;
    for _ in 0..5 {
        // The keys were fetched a moment ago and are not asked for again at once.
        assert_eq!(story.agents(&newer).await.status(), 401);
    }
    let fetched: Value = story
        .site
        .http
        .get(format!("{}/fetched", story.issuer.url))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(fetched["keys"], 1);
    assert_eq!(story.agents(&good).await.status(), 200, "the known keys still count");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_concierge_reaches_for_a_holder_of_a_token_what_the_token_reaches() {
    let story = Story::begin("").await;
    let token = story.token(json!({"aud": story.site.url, "scope": "call"})).await;
    let message =
        json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "near: is anybody there"}]});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let request = story.site.http.post(format!("{}/a2a", story.site.url)).header("a2a-version", "1.0");
    let answer = request.bearer_auth(&token).json(&call).send().await.unwrap().text().await.unwrap();
    assert!(answer.contains("COMPLETED") && answer.contains("anybody there"), "{answer}");
}

//! Two sites in the mesh, each with a gateway in front, on a network in memory: rows for admins, calls
//! through streams and with tokens, and what a calling site may not do.

use std::sync::Arc;
use std::time::Duration;

use agentsite_gateway::GatewaySettings;
use agentsite_host::Manifest;
use agentsite_mesh::overlay::OverlayEvents;
use agentsite_mesh::{MemoryNetwork, Overlay, OverlayError, SiteId};
use agentsite_protocol::{Algorithm, Clock as _, SigningKey, SiteToken};
use agentsite_site::{MeshParts, MeshSettings, OverlayPlan, SiteSettings, SystemClock, Transport};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::story::{Story, body, says, site_with};

/// Longest wait for something that comes by itself.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
struct InMemory(MemoryNetwork);

#[async_trait::async_trait]
impl Transport for InMemory {
    async fn start(&self, plan: OverlayPlan) -> Result<(Arc<dyn Overlay>, OverlayEvents), OverlayError> {
        let site = SiteId::of(&plan.key.public()).unwrap();
        let (overlay, events) = self.0.join(site);
        Ok((overlay, events))
    }
}

async fn in_mesh(network: &MemoryNetwork, title: &str) -> Story {
    let mut settings = SiteSettings::default();
    settings.site.name = title.into();
    settings.mesh = MeshParts {
        settings: MeshSettings { enabled: true, ..MeshSettings::default() },
        transport: Some(Arc::new(InMemory(network.clone()))),
        ..MeshParts::default()
    };
    let site = site_with(settings, agentsite_egress::Egress::default()).await;
    let story = Story::of(GatewaySettings::default(), site).await;
    until("the mesh runs", async || mesh(&story).await["running"] == true).await;
    story
}

async fn mesh(story: &Story) -> Value {
    body(story.get("/api/mesh").send().await.unwrap()).await
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !holds().await {
            // tidy: waits because records come by themselves, without a signal to the caller
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("in vain: {what}"));
}

async fn post(story: &Story, path: &str, sent: Value) -> (StatusCode, Value) {
    let response = story.post(path).json(&sent).send().await.unwrap();
    (response.status(), body(response).await)
}

/// Two sites that know each other.
pub(crate) async fn pair() -> (Story, Story, String) {
    let network = MemoryNetwork::new(Arc::new(SystemClock));
    let (here, there) = (in_mesh(&network, "Mill").await, in_mesh(&network, "Bakery").await);
    let (status, invite) = post(&there, "/api/mesh/invite", json!({})).await;
    assert_eq!(status, StatusCode::OK, "{invite}");
    let (status, joined) = post(&here, "/api/mesh/join", json!({ "link": invite["link"] })).await;
    assert_eq!(status, StatusCode::OK, "{joined}");
    until("the agents come", async || mesh(&here).await["listed"].as_i64() >= Some(4)).await;
    let did = joined["site"].as_str().unwrap().to_owned();
    (here, there, did)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_another_site_is_listed_opened_and_called_through_a_stream() {
    let (here, there, did) = pair().await;
    let hub: Value = body(here.get("/api/hub").send().await.unwrap()).await;
    let entry = hub["items"].as_array().unwrap().iter().find(|one| one["name"] == "echo").unwrap().clone();
    assert_eq!(entry["owner"], format!("site:{did}"));
    assert!(!hub.to_string().contains("\"hidden\""), "private agents stay at home: {hub}");

    let (status, opened) = post(&here, "/api/mesh/open", json!({ "agent": "echo", "site": "Bakery" })).await;
    assert_eq!(status, StatusCode::OK, "{opened}");
    let answer = here.call(opened["agent"].as_str().unwrap(), "SendMessage", says("good morning")).await;
    assert!(answer.to_string().contains("good morning"), "{answer}");
    let tasks: Value = body(there.get("/api/tasks").send().await.unwrap()).await;
    let own = mesh(&here).await["site"].as_str().unwrap().to_owned();
    assert!(tasks.to_string().contains(&format!("site:{own}")), "the caller is the site: {tasks}");

    let (status, _) = post(&here, "/api/mesh/open", json!({ "agent": "hidden", "site": "Bakery" })).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _) = post(&here, &format!("/api/mesh/peers/{did}/ban"), json!({})).await;
    assert_eq!(status, StatusCode::OK);
    until("its agents go", async || {
        let hub: Value = body(here.get("/api/hub").send().await.unwrap()).await;
        hub["items"].as_array().is_some_and(Vec::is_empty)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_the_mesh_are_for_admins_and_never_for_other_sites() {
    let (here, _there, did) = pair().await;
    let key = here.key(&["call"]).await;
    let stranger = SigningKey::from_seed(Algorithm::EdDsa, &[5; 32]).unwrap();
    let own = mesh(&here).await["site"].as_str().unwrap().to_owned();
    for (path, sent) in [
        ("/api/mesh/peers".to_owned(), json!({ "target": "192.0.2.1:4101" })),
        (format!("/api/mesh/peers/{did}/ban"), json!({})),
        ("/api/mesh/invite".to_owned(), json!({})),
        ("/api/mesh/join".to_owned(), json!({ "link": "agentsite://join/x" })),
    ] {
        let request = here.guest().post(&path).bearer_auth(&key).json(&sent);
        assert_eq!(request.send().await.unwrap().status(), StatusCode::FORBIDDEN, "{path}");
        let mut word = [0; 16];
        word[0] = u8::try_from(path.len()).unwrap();
        let token = SiteToken::sign(&stranger, &own, &word, SystemClock.now());
        let request = here.guest().post(&path).bearer_auth(token).json(&sent);
        assert_eq!(request.send().await.unwrap().status(), StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_site_opens_public_agents_once_and_nothing_else() {
    let (here, ..) = pair().await;
    let stranger = SigningKey::from_seed(Algorithm::EdDsa, &[5; 32]).unwrap();
    let own = mesh(&here).await["site"].as_str().unwrap().to_owned();
    let now = SystemClock.now();
    let call = async |agent: &str, token: &str| {
        here.guest().rpc(agent, "SendMessage", says("hello")).bearer_auth(token).send().await.unwrap()
    };
    let token = SiteToken::sign(&stranger, &own, &[1; 16], now);
    assert_eq!(call("echo", &token).await.status(), StatusCode::OK);
    assert_eq!(call("echo", &token).await.status(), StatusCode::UNAUTHORIZED, "replayed");
    let other = SiteToken::sign(&stranger, &stranger.public().did_key(), &[2; 16], now);
    assert_eq!(call("echo", &other).await.status(), StatusCode::UNAUTHORIZED, "for another site");
    let private = call("hidden", &SiteToken::sign(&stranger, &own, &[3; 16], now)).await;
    let unknown = call("nobody", &SiteToken::sign(&stranger, &own, &[4; 16], now)).await;
    assert_eq!(private.status(), unknown.status());
    let (private, unknown) = (body(private).await.to_string(), body(unknown).await.to_string());
    assert_eq!(private.replace("hidden", "nobody"), unknown, "a private agent is like none");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_names_a_site_is_called_by_it_and_by_no_other() {
    let (here, ..) = pair().await;
    let (friend, other) = (
        SigningKey::from_seed(Algorithm::EdDsa, &[5; 32]).unwrap(),
        SigningKey::from_seed(Algorithm::EdDsa, &[6; 32]).unwrap(),
    );
    let manifest = format!(
        "name = \"team\"\ndescription = \"For friends\"\nvisibility = \"peers\"\ncallers = [\"{}\"]\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n",
        friend.public().did_key()
    );
    here.site.agents().install(Manifest::read(&manifest).unwrap(), None).await.unwrap();
    let own = mesh(&here).await["site"].as_str().unwrap().to_owned();
    let now = SystemClock.now();
    for (key, answers) in [(&friend, true), (&other, false)] {
        let token = SiteToken::sign(key, &own, &[9; 16], now);
        let answer = here.guest().rpc("team", "SendMessage", says("hello")).bearer_auth(token).send().await;
        assert_eq!(body(answer.unwrap()).await["result"].is_object(), answers);
    }
}

#[tokio::test]
async fn a_site_that_is_not_in_the_mesh_says_so() {
    let story = Story::begin().await;
    assert_eq!(mesh(&story).await["enabled"], false);
    let document = story.guest().get("/.well-known/agentsite.json").send().await.unwrap();
    assert_eq!(document.status(), StatusCode::NOT_FOUND);
    let (status, refused) = post(&story, "/api/mesh/peers", json!({ "target": "192.0.2.1:4101" })).await;
    assert!(status == StatusCode::BAD_REQUEST && refused.to_string().contains("--mesh"), "{refused}");
}

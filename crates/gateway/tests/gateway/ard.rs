//! The discovery face: the catalogue, searching, facets, listing, and who sees what.
//!
//! Answers are validated against the schemas of ARD by `tests/python/ard_client.py`, run by the end-to-end
//! tests.

use agentsite_gateway::{AnonymousAccess, GatewaySettings};
use agentsite_protocol::{PublicKey, verify_detached};
use agentsite_site::{Site, SiteSettings};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::golden::hold;
use crate::story::{Story, body, site_with};

const A2A: &str = "application/a2a-agent-card+json";
const MCP: &str = "application/mcp-server-card+json";

async fn get(story: &Story, path: &str) -> Value {
    let response = story.get(path).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    body(response).await
}

async fn post(story: &Story, path: &str, sent: Value) -> Value {
    let response = story.post(path).json(&sent).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{path} {sent}");
    body(response).await
}

/// The code and the sentence of a refusal.
async fn refused(story: &Story, path: &str, sent: Value) -> (u16, String, String) {
    let response = story.post(path).json(&sent).send().await.unwrap();
    let status = response.status().as_u16();
    let told = body(response).await;
    let text = |name: &str| told[name].as_str().unwrap_or_else(|| panic!("{told}")).to_owned();
    (status, text("errorCode"), text("message"))
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["displayName"].as_str().unwrap()).collect()
}

/// Signatures differ from site to site.
fn without_signatures(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(signature) = members.get_mut("signature") {
                *signature = json!("…");
            }
            members.values_mut().for_each(without_signatures);
        }
        Value::Array(items) => items.iter_mut().for_each(without_signatures),
        _ => {}
    }
}

#[tokio::test]
async fn the_catalogue_tells_everybody_the_public_agents_in_both_their_forms() {
    let story = Story::begin().await;
    for path in ["/.well-known/ai-catalog.json", "/.well-known/ard.json"] {
        let response = story.get(path).send().await.unwrap();
        assert_eq!(response.headers()["access-control-allow-origin"], "*");
        assert_eq!(response.headers()["cache-control"], "public, max-age=60");
        let tag = response.headers()["etag"].clone();
        let catalog = body(response).await;
        let entries = &catalog["entries"];
        assert_eq!(entries[0]["type"], "application/ai-registry+json");
        assert_eq!(entries[0]["url"], format!("http://{}", story.address));
        // Even for the people who run the site: what they fetch they may publish.
        assert!(!names(entries).contains(&"hidden"), "{catalog}");
        let types =
            |wanted: &str| entries.as_array().unwrap().iter().filter(|one| one["type"] == wanted).count();
        assert_eq!((types(A2A), types(MCP)), (4, 4));
        let again = story.get(path).header("if-none-match", tag).send().await.unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    }
    let mut catalog = get(&story, "/.well-known/ai-catalog.json").await;
    without_signatures(&mut catalog);
    hold(&story, "ard_catalog", catalog);
    hold(&story, "mcp_catalog", get(&story, "/.well-known/mcp/catalog.json").await);
    let robots = story.get("/robots.txt").send().await.unwrap().text().await.unwrap();
    assert!(robots.contains(&format!("Agentmap: http://{}/.well-known/ai-catalog.json", story.address)));
    let page = story.get("/").header("accept", "text/html").send().await.unwrap().text().await.unwrap();
    assert!(page.contains(r#"<link rel="ard" href="/.well-known/ard.json">"#));
    assert!(page.contains(r#"<link rel="ai-catalog" href="/.well-known/ai-catalog.json">"#));
}

#[tokio::test]
async fn a_trust_manifest_is_signed_by_the_site_for_its_entry_alone() {
    let story = Story::begin().await;
    let catalog = get(&story, "/.well-known/ai-catalog.json").await;
    let keys = get(&story, "/.well-known/jwks.json").await;
    let key = PublicKey::from_jwk(&keys["keys"][0]).unwrap();
    for entry in catalog["entries"].as_array().unwrap() {
        let mut manifest = entry["trustManifest"].clone();
        assert_eq!(manifest["identity"], catalog["host"]["identifier"]);
        assert_eq!(manifest["provenance"][0]["sourceId"], entry["identifier"]);
        let signature = manifest.as_object_mut().unwrap().remove("signature").unwrap();
        let signature = signature.as_str().unwrap();
        verify_detached(&manifest, signature, &key, "trust-manifest+jose").unwrap();
        manifest["provenance"][0]["sourceId"] = json!("urn:air:evil.example:agents:echo");
        assert!(verify_detached(&manifest, signature, &key, "trust-manifest+jose").is_err());
    }
    // Under an address that is only the caller's word nothing is signed.
    let key = story.key(&["call"]).await;
    let foreign = story.get("/.well-known/ai-catalog.json").bearer_auth(key).header("host", "evil.example");
    let foreign = body(foreign.send().await.unwrap()).await;
    assert_eq!(foreign["host"]["identifier"], "did:web:evil.example");
    assert!(!foreign.to_string().contains("\"signature\""), "{foreign}");
}

#[tokio::test]
async fn a_search_finds_each_agent_once_in_the_form_that_was_asked_for() {
    let story = Story::begin().await;
    let told = post(&story, "/search", json!({ "query": { "text": "repeats the message" } })).await;
    assert_eq!(told["results"][0]["displayName"], "echo");
    assert_eq!(told["results"][0]["type"], A2A);
    assert_eq!(told["results"][0]["source"], format!("http://{}", story.address));
    let score = told["results"][0]["score"].as_u64().unwrap();
    assert!((1..=100).contains(&score));
    let mut found = names(&told["results"]);
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), told["results"].as_array().unwrap().len(), "each stands once: {told}");
    let filter = json!({ "type": [MCP], "tags": "ECHO" });
    let told =
        post(&story, "/search", json!({ "query": { "text": "repeats the message", "filter": filter } }))
            .await;
    assert_eq!(names(&told["results"]), ["echo"]);
    assert_eq!(told["results"][0]["type"], MCP);
    let filter = json!({ "publisher": "nobody.example" });
    let told = post(&story, "/search", json!({ "query": { "text": "echo", "filter": filter } })).await;
    assert_eq!(told, json!({ "results": [] }));
    let mut shape =
        post(&story, "/search", json!({ "query": { "text": "repeats the message" }, "pageSize": 1 })).await;
    without_signatures(&mut shape);
    shape["pageToken"] = json!("…");
    shape["results"][0]["score"] = json!(0);
    hold(&story, "ard_search", shape);
}

#[tokio::test]
async fn pages_of_a_search_and_of_a_list_hold_each_entry_once() {
    let story = Story::begin().await;
    let mut found = Vec::new();
    let mut token = Value::Null;
    loop {
        let mut asked = json!({ "query": { "text": "says back writes works hello echo it canceled lines" }, "pageSize": 1 });
        if !token.is_null() {
            asked["pageToken"] = token.clone();
        }
        let told = post(&story, "/search", asked).await;
        found.extend(names(&told["results"]).into_iter().map(str::to_owned));
        token = told["pageToken"].clone();
        if token.is_null() {
            break;
        }
    }
    let whole = post(
        &story,
        "/search",
        json!({ "query": { "text": "says back writes works hello echo it canceled lines" } }),
    )
    .await;
    assert_eq!(found, names(&whole["results"]));
    assert!(found.len() >= 3, "{found:?}");

    let mut seen = Vec::new();
    let mut path = "/agents?pageSize=3&orderBy=displayName%20DESC".to_owned();
    loop {
        let told = get(&story, &path).await;
        assert_eq!(told["total"], 10);
        seen.extend(
            told["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["identifier"].as_str().unwrap().to_owned()),
        );
        let Some(token) = told["pageToken"].as_str() else { break };
        path = format!("/agents?pageSize=3&orderBy=displayName%20DESC&pageToken={token}");
    }
    let distinct: std::collections::BTreeSet<&String> = seen.iter().collect();
    assert_eq!((seen.len(), distinct.len()), (10, 10));
    assert!(seen[0].ends_with(":steps"), "{seen:?}");
}

#[tokio::test]
async fn facets_count_what_matches() {
    let story = Story::begin().await;
    let facets = json!({ "facets": [{ "field": "type" }, { "field": "tags" }, { "field": "metadata.live", "limit": 1 }] });
    let told = post(&story, "/explore", json!({ "resultType": facets })).await;
    assert_eq!(
        told["facets"]["type"]["buckets"],
        json!([{ "value": A2A, "count": 5 }, { "value": MCP, "count": 5 }])
    );
    hold(&story, "ard_explore", told);
    let narrow = json!({ "query": { "text": "repeats the message", "filter": { "tags": ["echo"] } }, "resultType": { "facets": [{ "field": "publisher" }] } });
    let told = post(&story, "/explore", narrow).await;
    assert_eq!(told["facets"]["publisher"]["buckets"], json!([{ "value": "127.0.0.1", "count": 2 }]));
}

#[tokio::test]
async fn a_list_is_narrowed_by_an_expression() {
    let story = Story::begin().await;
    let list = async |filter: &str| {
        let url = story.url("/agents");
        let response = story.http.get(url).query(&[("filter", filter)]).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{filter}");
        body(response).await
    };
    let told = list(&format!("type = '{MCP}' AND displayName : 'par'")).await;
    assert_eq!(names(&told["items"]), ["parrot"]);
    assert_eq!(list("createdAfter > '2000-01-01' AND tags = echo").await["total"], 2);
    assert_eq!(list("updatedAfter > '2999-01-01'").await["total"], 0);
    let mut shape = list("tags = echo").await;
    without_signatures(&mut shape);
    hold(&story, "ard_list", shape);
}

#[tokio::test]
async fn one_entry_is_read_by_its_identifier() {
    let story = Story::begin().await;
    for id in ["urn:air:127.0.0.1:agents:echo", "urn:air:127.0.0.1:mcp:echo"] {
        let entry = get(&story, &format!("/agents/{}", id.replace(':', "%3A"))).await;
        assert_eq!(entry["identifier"], id);
        assert!(entry.get("score").is_none() && entry.get("source").is_none());
    }
    let stranger = story.guest().get("/agents/urn%3Aair%3A127.0.0.1%3Aagents%3Ahidden");
    for (request, status, code) in [
        (stranger, 404, "NOT_FOUND"),
        (story.get("/agents/urn%3Aair%3A127.0.0.1%3Aagents%3ANobody"), 404, "NOT_FOUND"),
        (story.get("/agents/not-a-urn"), 400, "INVALID_ARGUMENT"),
        (story.get("/agents/%FF%FE"), 400, "INVALID_ARGUMENT"),
    ] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(body(response).await["errorCode"], code);
    }
}

#[tokio::test]
async fn what_is_wrong_is_refused_in_the_words_of_ard() {
    let story = Story::begin().await;
    for (path, sent, said) in [
        ("/search", json!({}), "query"),
        ("/search", json!({ "query": {} }), "query.text"),
        ("/search", json!({ "query": { "text": "   " } }), "empty"),
        ("/search", json!({ "query": { "text": "x", "colour": 1 } }), "unknown field"),
        ("/search", json!({ "query": { "text": "x" }, "pagesize": 1 }), "unknown field"),
        ("/search", json!({ "query": { "text": "x" }, "pageSize": 0 }), "pageSize"),
        ("/search", json!({ "query": { "text": "x" }, "pageSize": 101 }), "pageSize"),
        ("/search", json!({ "query": { "text": "x" }, "federation": "all" }), "unknown variant"),
        ("/search", json!({ "query": { "text": "x" }, "pageToken": "eyJwYWdlIjogMn0=" }), "pageToken"),
        ("/search", json!({ "query": { "text": "x", "filter": { "colour": "red" } } }), "no field"),
        ("/explore", json!({}), "resultType"),
        ("/explore", json!({ "resultType": { "facets": [] } }), "1 to 16"),
        ("/explore", json!({ "resultType": { "counts": true } }), "unknown field"),
        ("/explore", json!({ "resultType": { "facets": [{ "field": "type", "limit": 0 }] } }), "limit"),
    ] {
        let (status, code, message) = refused(&story, path, sent.clone()).await;
        assert_eq!((status, code.as_str()), (400, "INVALID_ARGUMENT"), "{sent}");
        assert!(message.contains(said), "{sent}: {message}");
    }
    let (status, code, _) =
        refused(&story, "/search", json!({ "query": { "text": "x".repeat(70_000) } })).await;
    assert_eq!((status, code.as_str()), (413, "INVALID_ARGUMENT"));
    for path in [
        "/agents?filter=colour%3Dred",
        "/agents?orderBy=colour",
        "/agents?pageSize=many",
        "/agents?pageToken=x",
    ] {
        let response = story.get(path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{path}");
        assert_eq!(body(response).await["errorCode"], "INVALID_ARGUMENT", "{path}");
    }
    hold(&story, "ard_error", body(story.get("/agents?filter=colour%3Dred").send().await.unwrap()).await);
    let wrong = story.get("/search").send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(body(wrong).await["errorCode"], "INVALID_ARGUMENT");
    let shut = GatewaySettings { anonymous: AnonymousAccess::None, ..GatewaySettings::default() };
    let shut = Story::with(shut).await;
    let stranger = shut.guest().post("/search").json(&json!({ "query": { "text": "x" } }));
    let stranger = stranger.send().await.unwrap();
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(body(stranger).await["errorCode"], "UNAUTHENTICATED");
}

#[tokio::test]
async fn strangers_find_and_list_public_agents_only() {
    let story = Story::begin().await;
    let asked = json!({ "query": { "text": "for the people who run the site" } });
    let own = post(&story, "/search", asked.clone()).await;
    assert_eq!(own["results"][0]["displayName"], "hidden");
    let stranger = story.guest().post("/search").json(&asked).send().await.unwrap();
    assert!(!names(&body(stranger).await["results"]).contains(&"hidden"));
    let stranger = story.guest().get("/agents").send().await.unwrap();
    let stranger = body(stranger).await;
    assert_eq!(stranger["total"], 8);
    assert!(!stranger.to_string().contains("hidden"));
}

/// A site that knows another registry.
async fn with_upstream(url: String, egress: agentsite_egress::Egress) -> Site {
    let mut settings = SiteSettings::default();
    settings.site.upstreams.push(url);
    site_with(settings, egress).await
}

#[tokio::test]
async fn other_registries_are_named_where_the_caller_asks_for_referrals() {
    let site =
        with_upstream("https://finder.example/search".into(), agentsite_egress::Egress::default()).await;
    let story = Story::of(GatewaySettings::default(), site).await;
    let ask = async |federation: &str| {
        post(
            &story,
            "/search",
            json!({ "query": { "text": "nothing of the kind" }, "federation": federation }),
        )
        .await
    };
    hold(&story, "ard_referrals", ask("referrals").await["referrals"].clone());
    for federation in ["auto", "none"] {
        assert!(ask(federation).await.get("referrals").is_none(), "{federation}");
    }
}

/// An agent that only the other site has.
const SMITH: &str = "name = \"smith\"\ndescription = \"Forges horseshoes and tools of iron\"\nvisibility = \"public\"\n\
    [[skills]]\nid = \"forge\"\nname = \"Forge\"\ndescription = \"Forges iron\"\ntags = [\"iron\"]\nexamples = [\"forge a horseshoe\", \"make me tools of iron\"]\n\
    [runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";

#[tokio::test]
async fn registries_elsewhere_are_asked_unless_the_caller_says_otherwise() {
    let egress = agentsite_egress::Egress::unguarded();
    let far = site_with(SiteSettings::default(), egress.clone()).await;
    far.agents().install(agentsite_site::Manifest::read(SMITH).unwrap(), None).await.unwrap();
    let far = Story::of(GatewaySettings::default(), far).await;
    let near = with_upstream(format!("http://{}/search", far.address), egress).await;
    let near = Story::of(GatewaySettings::default(), near).await;
    let ask = async |more: Value| {
        let mut asked = json!({ "query": { "text": "forge horseshoes and tools of iron" } });
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        post(&near, "/search", asked).await
    };
    for federation in ["none", "referrals"] {
        let own = ask(json!({ "federation": federation })).await;
        assert!(!names(&own["results"]).contains(&"smith"), "{federation}");
    }
    let mut all = ask(json!({})).await;
    let smith = all["results"][0].take();
    assert_eq!(smith["source"], format!("http://{}", far.address));
    assert!(all.get("referrals").is_none());
    hold(&far, "ard_foreign", {
        let mut smith = smith.clone();
        assert!(smith["score"].as_u64().unwrap() > 20, "{smith}");
        smith["score"] = json!("SCORE");
        smith
    });
    // Pages lead through both, and a filter holds for both.
    let (mut seen, mut token) = (Vec::new(), None);
    for _ in 0..30 {
        let mut more = json!({ "pageSize": 1 });
        if let Some(token) = &token {
            more["pageToken"] = Value::clone(token);
        }
        let page = ask(more).await;
        seen.extend(names(&page["results"]).into_iter().map(str::to_owned));
        token = page.get("pageToken").cloned();
        if token.is_none() {
            break;
        }
    }
    assert_eq!(seen[0], "smith");
    assert!(token.is_none() && seen.iter().filter(|name| *name == "smith").count() == 1, "{seen:?}");
    let query =
        json!({ "text": "forge horseshoes and tools of iron", "filter": { "type": MCP, "tags": ["iron"] } });
    let tools = post(&near, "/search", json!({ "query": query })).await;
    assert_eq!(tools["results"][0]["identifier"], "urn:air:127.0.0.1:mcp:smith");
    assert_eq!(names(&tools["results"]), ["smith"]);
}

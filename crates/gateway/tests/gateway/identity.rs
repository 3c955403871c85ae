//! What the site publishes of its keys, and that its cards are signed with them.
//!
//! Everything is read as a stranger would: from the published addresses.

use agentsite_gateway::GatewaySettings;
use agentsite_protocol::{CardSignature, PublicKey, RotationRecord, follow_rotations};
use serde_json::{Value, json};

use crate::golden::hold;
use crate::story::{Story, body};

async fn get(story: &Story, path: &str) -> Value {
    body(story.get(path).send().await.unwrap()).await
}

fn key_of(keys: &Value, kid: &str) -> PublicKey {
    let key = keys["keys"].as_array().unwrap().iter().find(|key| key["kid"] == kid).unwrap();
    PublicKey::from_jwk(key).unwrap()
}

fn signatures(card: &Value) -> Vec<CardSignature> {
    serde_json::from_value(card["signatures"].clone()).unwrap()
}

#[tokio::test]
async fn cards_verify_with_the_published_keys() {
    let story = Story::begin().await;
    let keys = get(&story, "/.well-known/jwks.json").await;
    for path in ["/.well-known/agent-card.json", "/a2a/echo", "/a2a/steps/.well-known/agent-card.json"] {
        let card = get(&story, path).await;
        assert_eq!(signatures(&card).len(), 4, "with each key as it stands and as the card of 1.0");
        for signature in signatures(&card) {
            let header = signature.header().unwrap();
            assert_eq!(header.jku.unwrap(), story.url("/.well-known/jwks.json"));
            signature.verify_card(&card, &key_of(&keys, &header.kid.unwrap())).unwrap();
        }
    }
}

#[tokio::test]
async fn an_unchanged_card_has_an_unchanged_tag() {
    let story = Story::begin().await;
    let tag = async || story.get("/a2a/echo").send().await.unwrap().headers()["etag"].clone();
    assert_eq!(tag().await, tag().await);
}

#[tokio::test]
async fn nothing_is_signed_under_an_address_that_only_the_caller_names() {
    let story = Story::begin().await;
    let key = story.key(&["admin"]).await;
    let asked = story.get("/a2a/echo").header("host", "evil.example").bearer_auth(&key);
    let card = body(asked.send().await.unwrap()).await;
    assert_eq!(card["supportedInterfaces"][0]["url"], "http://evil.example/a2a/echo");
    assert_eq!(card["signatures"], Value::Null);
    let public_url = Some("https://site.example/".to_owned());
    let story = Story::with(GatewaySettings { public_url, ..GatewaySettings::default() }).await;
    let key = story.key(&["admin"]).await;
    let asked = story.get("/a2a/echo").header("host", "evil.example").bearer_auth(&key);
    let card = body(asked.send().await.unwrap()).await;
    assert_eq!(card["supportedInterfaces"][0]["url"], "https://site.example/a2a/echo");
    let header = signatures(&card)[0].header().unwrap();
    assert_eq!(header.jku.unwrap(), "https://site.example/.well-known/jwks.json");
}

#[tokio::test]
async fn the_did_document_names_the_present_keys() {
    let story = Story::begin().await;
    let identity = get(&story, "/api/identity").await;
    let document = get(&story, "/.well-known/did.json").await;
    let did = format!("did:web:127.0.0.1%3A{}", story.address.port());
    assert_eq!(document["id"], did);
    assert_eq!(document["alsoKnownAs"], identity["kids"]);
    let methods = document["verificationMethod"].as_array().unwrap();
    assert_eq!(methods.len(), 2);
    for method in methods {
        let key = PublicKey::from_jwk(&method["publicKeyJwk"]).unwrap();
        let name = key.did_key().replace("did:key:", "");
        assert_eq!(method["id"], format!("{did}#{name}"));
    }
    assert_eq!(document["assertionMethod"], json!([methods[0]["id"], methods[1]["id"]]));
}

#[tokio::test]
async fn after_a_rotation_the_old_keys_lead_to_the_new_ones() {
    let story = Story::begin().await;
    let before = get(&story, "/api/identity").await;
    let old_card = get(&story, "/a2a/echo").await;
    let after = body(story.post("/api/identity/rotate").send().await.unwrap()).await;
    assert_ne!(after["didKey"], before["didKey"]);
    let keys = get(&story, "/.well-known/jwks.json").await;
    assert_eq!(keys["keys"].as_array().unwrap().len(), 4);
    let records: Vec<RotationRecord> = serde_json::from_value(keys["rotations"].clone()).unwrap();
    let old = key_of(&keys, before["didKey"].as_str().unwrap());
    assert_eq!(follow_rotations(&old, &records).unwrap().did_key(), after["didKey"].as_str().unwrap());
    for (card, kids) in [(old_card, before), (get(&story, "/a2a/echo").await, after)] {
        for (signature, kid) in signatures(&card).iter().zip(kids["kids"].as_array().unwrap()) {
            signature.verify_card(&card, &key_of(&keys, kid.as_str().unwrap())).unwrap();
        }
    }
}

#[tokio::test]
async fn only_admins_rotate_and_everybody_reads_the_keys() {
    let story = Story::begin().await;
    let key = story.key(&["call"]).await;
    let refused = story.post("/api/identity/rotate").bearer_auth(&key).send().await.unwrap();
    assert_eq!(refused.status(), 403);
    let stranger = story.guest().get("/.well-known/jwks.json");
    let answer = stranger.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/jwk-set+json");
    assert!(!answer.text().await.unwrap().contains("\"d\""));
}

#[tokio::test]
async fn a_challenge_is_served_to_everybody_when_an_operator_added_it() {
    let story = Story::begin().await;
    let path = "/.well-known/agentsite-challenge/word-1";
    assert_eq!(story.get(path).send().await.unwrap().status(), 404);
    let user = story.key(&["call"]).await;
    let add = async |key: &str| {
        let asked =
            story.post("/api/identity/challenges").bearer_auth(key).json(&json!({ "word": "word-1" }));
        asked.send().await.unwrap()
    };
    assert_eq!(add(&user).await.status(), 403);
    let admin = story.key(&["admin"]).await;
    let added = add(&admin).await;
    assert_eq!(added.status(), 201);
    hold(&story, "api_challenge", body(added).await);
    let served = story.guest().get(path).send().await.unwrap();
    assert_eq!(served.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(served.headers()["cache-control"], "no-store");
    assert_eq!(served.text().await.unwrap(), "word-1");
    let listed = body(story.get("/api/identity/challenges").bearer_auth(&admin).send().await.unwrap()).await;
    assert_eq!(listed["challenges"][0]["word"], "word-1");
    let entry = "urn:air:hub.example:agents:echo";
    let asked = json!({ "word": "word-1", "entry": entry });
    let answer =
        body(story.post("/api/identity/answer").bearer_auth(&admin).json(&asked).send().await.unwrap()).await;
    let answer: CardSignature = serde_json::from_value(answer).unwrap();
    let kid = answer.header().unwrap().kid.unwrap();
    let keys = get(&story, "/.well-known/jwks.json").await;
    agentsite_protocol::verify_challenge(&answer, &key_of(&keys, &kid), entry, "word-1").unwrap();
}

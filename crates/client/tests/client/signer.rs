//! Stories of cards from elsewhere: who signed them, and all the ways in which a signature is invalid.
//!
//! The golden file is a card signed with known keys; it holds what every later version must still verify.

use agentsite_client::{CardRefusal, Egress, KnownBy, KnownKeys, SignedCard, verify_card, verify_card_at};
use agentsite_protocol::{Algorithm, RotationRecord, SigningKey, Timestamp, sign_card};
use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

fn key(algorithm: Algorithm, seed: u8) -> SigningKey {
    SigningKey::from_seed(algorithm, &[seed; 32]).unwrap()
}

fn keys() -> [SigningKey; 2] {
    [key(Algorithm::EdDsa, 1), key(Algorithm::Es256, 2)]
}

fn signed(keys: &[SigningKey], jku: Option<&str>) -> Value {
    let mut card = json!({
        "name": "echo", "description": "Says it back", "version": "1.0.0",
        "supportedInterfaces": [{ "url": "https://site.example/a2a/echo", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": { "streaming": true, "pushNotifications": false },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "echo", "name": "Echo", "description": "d", "tags": ["echo"], "price": 0.5 }],
        "newer": { "empty": "" },
    });
    card["signatures"] = json!(sign_card(&card, keys, jku).unwrap());
    card
}

fn key_set(keys: &[SigningKey]) -> Value {
    json!({ "keys": keys.iter().map(|key| key.public().jwk()).collect::<Vec<_>>() })
}

fn verify(card: &Value, keys: &KnownKeys) -> Result<SignedCard, CardRefusal> {
    verify_card(card.to_string().as_bytes(), keys)
}

/// Serves a card, and keys, on a free port.
async fn serve(make: impl FnOnce(&str) -> (Value, Router)) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (card, router) = make(&base);
    let router = router.route("/.well-known/agent-card.json", get(|| async move { card.to_string() }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Url::parse(&base).unwrap()
}

fn publishing(path: &str, set: &Value) -> Router {
    let text = set.to_string();
    Router::new().route(path, get(|| async move { text }))
}

async fn verify_at(url: &Url) -> Result<SignedCard, CardRefusal> {
    verify_card_at(&Egress::unguarded(), url, None, &[]).await
}

#[test]
fn the_signed_card_of_the_golden_file_is_made_and_verified() {
    let file = format!("{}/tests/golden/signed_card.json", env!("CARGO_MANIFEST_DIR"));
    let card = signed(&keys(), Some("https://site.example/.well-known/jwks.json"));
    let made = format!("{}\n", serde_json::to_string_pretty(&card).unwrap());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read(&file).unwrap_or_default();
    assert_eq!(made.as_bytes(), kept, "run with UPDATE_GOLDEN=1 when the change is meant");
    let who = verify_card(&kept, &KnownKeys::default()).unwrap();
    let found: Vec<_> = who.signers.iter().map(|signer| (signer.algorithm, &signer.known)).collect();
    assert_eq!(found, [("EdDSA", &KnownBy::Itself), ("ES256", &KnownBy::Itself)]);
    assert_eq!(who.name, "echo");
}

#[test]
fn a_card_with_any_byte_flipped_is_refused() {
    for key in keys() {
        let bytes =
            signed(&[key], Some("https://site.example/.well-known/jwks.json")).to_string().into_bytes();
        for place in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[place] ^= 1;
            assert!(verify_card(&flipped, &KnownKeys::default()).is_err(), "byte {place}");
        }
    }
}

#[tokio::test]
async fn keys_of_the_cards_own_origin_prove_whose_it_is() {
    let url = serve(|base| {
        let card = signed(&keys(), Some(&format!("{base}/keys.json")));
        (card, publishing("/keys.json", &key_set(&keys())))
    })
    .await;
    let who = verify_at(&url).await.unwrap();
    let origin = KnownBy::Origin(url.origin().ascii_serialization());
    assert!(who.signers.len() == 2 && who.signers.iter().all(|signer| signer.known == origin), "{who:?}");
    assert_eq!(who.signers[0].key, keys()[0].public().did_key());
}

#[tokio::test]
async fn keys_from_elsewhere_prove_nothing() {
    let elsewhere = serve(|_| (json!({}), publishing("/keys.json", &key_set(&keys())))).await;
    let foreign = elsewhere.join("/keys.json").unwrap();
    let url = serve(|_| (signed(&keys(), Some(foreign.as_str())), Router::new())).await;
    let why = verify_at(&url).await.unwrap_err().to_string();
    assert!(why.contains("published elsewhere"), "{why}");
    let url = serve(|base| {
        let router = Router::new().route("/keys.json", get(|| async move { Redirect::to(foreign.as_str()) }));
        (signed(&keys(), Some(&format!("{base}/keys.json"))), router)
    })
    .await;
    let why = verify_at(&url).await.unwrap_err().to_string();
    assert!(why.contains("could not be read"), "{why}");
}

#[tokio::test]
async fn a_key_that_its_origin_withdrew_proves_nothing() {
    let url = serve(|base| {
        let set = key_set(&[key(Algorithm::EdDsa, 9)]);
        (signed(&keys(), Some(&format!("{base}/keys.json"))), publishing("/keys.json", &set))
    })
    .await;
    let why = verify_at(&url).await.unwrap_err().to_string();
    assert!(why.contains("does not publish the key"), "{why}");
}

#[tokio::test]
async fn a_name_that_is_another_key_is_refused() {
    let url = serve(|base| {
        let mut set = key_set(&[key(Algorithm::EdDsa, 9)]);
        set["keys"][0]["kid"] = keys()[0].public().did_key().into();
        (signed(&keys()[..1], Some(&format!("{base}/keys.json"))), publishing("/keys.json", &set))
    })
    .await;
    let why = verify_at(&url).await.unwrap_err().to_string();
    assert!(why.contains("another key under the name"), "{why}");
}

#[test]
fn a_pinned_key_or_its_successor_must_have_signed() {
    let [old, new] = [key(Algorithm::EdDsa, 5), key(Algorithm::EdDsa, 1)];
    let card = signed(&keys(), None);
    let pinned = |key: &SigningKey| KnownKeys::default().pinned([key.public()]);
    assert_eq!(verify(&card, &pinned(&new)).unwrap().signers[0].known, KnownBy::Pin);
    assert!(matches!(verify(&card, &pinned(&old)), Err(CardRefusal::Stranger(_))));
    let record = RotationRecord::sign(&old, &new.public(), Timestamp::from_millis(1));
    let set = json!({ "keys": [new.public().jwk()], "rotations": [record, { "odd": 1 }] });
    assert_eq!(verify(&card, &pinned(&old).published(&set)).unwrap().signers[0].known, KnownBy::Pin);
    let forged = RotationRecord {
        old_kid: old.public().did_key(),
        ..RotationRecord::sign(&new, &new.public(), Timestamp::from_millis(1))
    };
    let set = json!({ "keys": [new.public().jwk()], "rotations": [forged] });
    assert!(verify(&card, &pinned(&old).published(&set)).is_err());
}

#[test]
fn one_signature_that_holds_is_enough_and_the_others_are_told() {
    let mut card = signed(&keys(), None);
    card["signatures"][0]["signature"] = card["signatures"][1]["signature"].clone();
    let who = verify(&card, &KnownKeys::default()).unwrap();
    assert_eq!(who.signers.len(), 1);
    assert!(who.passed_over[0].starts_with("signature 1: it does not match"), "{:?}", who.passed_over);
}

#[test]
fn what_is_no_signed_card_is_refused_with_the_reason() {
    let told = |card: &[u8]| verify_card(card, &KnownKeys::default()).unwrap_err().to_string();
    assert!(told(b"<html>").contains("not an agent card"));
    assert!(told(b"[]").contains("not a JSON object"));
    assert!(told(br#"{"name":"a","name":"b"}"#).contains("occurs twice"));
    assert_eq!(told(br#"{"name":"a"}"#), "the card is not signed");
    assert_eq!(told(br#"{"name":"a","signatures":[]}"#), "the card is not signed");
    assert!(told(br#"{"name":"a","signatures":[1]}"#).contains("lacks `protected`"));
    // {"alg":"none"}, {"alg":"HS256","kid":"k"} and {"alg":"EdDSA"}.
    for (protected, why) in [
        ("eyJhbGciOiJub25lIn0", "`none` is not supported"),
        ("eyJhbGciOiJIUzI1NiIsImtpZCI6ImsifQ", "`HS256` is not supported"),
        ("eyJhbGciOiJFZERTQSJ9", "names no key"),
    ] {
        let card = json!({ "name": "a", "signatures": [{ "protected": protected, "signature": "" }] });
        let told = told(card.to_string().as_bytes());
        assert!(told.contains(why), "{told}");
    }
}

//! Stories of access tokens: which count, and that nothing of them can be bent.
//!
//! Keys are made from fixed seeds. RSA is proven in the end-to-end tests, where another implementation signs.

use serde_json::json;

use super::*;
use crate::{Algorithm, SigningKey};

const ISSUER: &str = "https://login.example.org";
const SITE: &str = "https://agents.example.org/mcp";
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn key(algorithm: Algorithm) -> SigningKey {
    SigningKey::from_seed(algorithm, &[7; 32]).unwrap()
}

fn keys(keys: &[&SigningKey]) -> TokenKeys {
    let keys: Vec<Value> = keys.iter().map(|key| key.public().jwk()).collect();
    TokenKeys::read(&json!({ "keys": keys }))
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "ada", "aud": [SITE, "https://else.example"], "exp": 1_800_000_300, "scope": "call call:calc",
    })
}

fn token(key: &SigningKey, header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

fn prove(text: &str, keys: &TokenKeys) -> Result<Grant, BadToken> {
    AccessToken::read(text)?.prove(keys, ISSUER, &[SITE.to_owned()], NOW)
}

#[test]
fn a_token_of_the_trusted_issuer_for_this_site_counts() {
    for (algorithm, name) in [(Algorithm::EdDsa, "EdDSA"), (Algorithm::Es256, "ES256")] {
        let key = key(algorithm);
        let text = token(&key, &json!({ "alg": name }), &claims());
        assert!(AccessToken::looks_like(&text));
        let grant = prove(&text, &keys(&[&key])).unwrap();
        assert_eq!(grant.subject, "ada");
        assert_eq!(grant.scopes, ["call", "call:calc"]);
    }
}

#[test]
fn every_claim_is_checked() {
    let key = key(Algorithm::EdDsa);
    let set = keys(&[&key]);
    let with = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        prove(&token(&key, &json!({ "alg": "EdDSA" }), &claims), &set)
    };
    assert_eq!(with("iss", json!("https://evil.example")), Err(BadToken::Issuer));
    assert_eq!(with("aud", json!("https://else.example")), Err(BadToken::Audience));
    assert_eq!(with("aud", json!([])), Err(BadToken::Audience));
    assert_eq!(with("exp", json!(1_799_999_000)), Err(BadToken::Expired));
    assert_eq!(with("nbf", json!(1_800_000_200)), Err(BadToken::Early));
    assert_eq!(with("exp", json!("soon")), Err(BadToken::Form));
    assert_eq!(with("sub", Value::Null), Err(BadToken::Form));
    assert!(with("aud", json!(format!("{SITE}/"))).is_ok());
    assert_eq!(
        with("scp", json!(["admin", "a b"])).unwrap().scopes,
        ["call", "call:calc", "admin", "a", "b"]
    );
    // A clock skew of half a minute is tolerated.
    assert!(with("exp", json!(1_799_999_970)).is_ok());
}

#[test]
fn no_byte_of_a_token_can_be_changed() {
    let key = key(Algorithm::EdDsa);
    let set = keys(&[&key]);
    let text = token(&key, &json!({ "alg": "EdDSA" }), &claims());
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert!(prove(&changed, &set).is_err(), "byte {at}");
    }
}

#[test]
fn a_key_works_with_its_own_kind_of_signature_only() {
    let (edwards, nist) = (key(Algorithm::EdDsa), key(Algorithm::Es256));
    let set = keys(&[&nist]);
    for alg in ["none", "HS256", "RS256", "EdDSA", ""] {
        let text = token(&edwards, &json!({ "alg": alg }), &claims());
        assert_eq!(prove(&text, &set), Err(BadToken::Key), "{alg}");
    }
    let text = token(&edwards, &json!({ "alg": "ES256" }), &claims());
    assert_eq!(prove(&text, &set), Err(BadToken::Signature));
    let text = token(&nist, &json!({ "alg": "ES256", "kid": "another" }), &claims());
    assert_eq!(prove(&text, &set), Err(BadToken::Key));
}

#[test]
fn what_is_no_token_is_refused() {
    let long = format!("eyJ.{}.x", "a".repeat(MAX_TOKEN));
    let critical = token(&key(Algorithm::EdDsa), &json!({ "alg": "EdDSA", "crit": ["x"] }), &claims());
    for text in ["", "a", "a.b", "a.b.c", "eyJ.eyJ.eyJ", "....", &long, &critical] {
        assert_eq!(AccessToken::read(text).map(|_| ()), Err(BadToken::Form), "{text:.40}");
    }
    assert!(!AccessToken::looks_like("ask_abc_def"));
}

#[test]
fn keys_for_other_purposes_are_left_out() {
    let mut jwk = key(Algorithm::EdDsa).public().jwk();
    jwk["use"] = json!("enc");
    let text = token(&key(Algorithm::EdDsa), &json!({ "alg": "EdDSA" }), &claims());
    let set = TokenKeys::read(&json!({ "keys": [jwk, { "kty": "oct", "k": "AAAA" }, 7] }));
    assert_eq!(prove(&text, &set), Err(BadToken::Key));
}

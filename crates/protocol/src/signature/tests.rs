//! Facts about signed cards: published vectors, forgeries, and that nothing of a card can be changed.
//!
//! Keys are seeded, so that every run signs the same bytes.

use serde_json::json;

use super::*;

fn keys() -> [SigningKey; 2] {
    [Algorithm::EdDsa, Algorithm::Es256].map(|algorithm| SigningKey::from_seed(algorithm, &[7; 32]).unwrap())
}

fn card() -> Value {
    json!({
        "name": "echo", "description": "Says it again: grüße €", "version": "1.0.0",
        "supportedInterfaces": [{ "url": "https://example.org/a2a/echo", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": { "streaming": true, "pushNotifications": false, "extendedAgentCard": false, "telepathy": { "range": 1.5 } },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "echo", "name": "echo", "description": "d", "tags": [], "price": 3 }],
        "later": ["unknown", null],
    })
}

/// The card signed with one key.
fn signed(key: &SigningKey) -> Value {
    let mut card = card();
    card["signatures"] =
        json!(sign_card(&card, [key], Some("https://example.org/.well-known/jwks.json")).unwrap());
    card
}

fn verify(card: &Value, key: &PublicKey) -> Result<(), BadSignature> {
    let signature = card["signatures"].get(0).cloned().unwrap_or_default();
    let signature: CardSignature =
        serde_json::from_value(signature).map_err(|_| BadSignature::Header("no signature"))?;
    signature.verify_card(card, key)
}

/// A signature with this header, made by a key that may not match the header.
fn with_header(key: &SigningKey, header: &Value) -> CardSignature {
    let protected = URL_SAFE_NO_PAD.encode(header.to_string());
    let payload = canonical_json(&signed_members(&card())).unwrap();
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signing_input(&protected, &payload).as_bytes()));
    CardSignature { protected, signature, header: None }
}

#[test]
fn the_ed25519_example_of_rfc_8037_is_made_and_verified() {
    let seed = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
    let key = SigningKey::from_seed(Algorithm::EdDsa, &seed.try_into().unwrap()).unwrap();
    assert_eq!(key.public().jwk()["x"], "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
    let protected = "eyJhbGciOiJFZERTQSJ9";
    let input = signing_input(protected, b"Example of Ed25519 signing");
    assert_eq!(input, "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc");
    let wanted = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    assert_eq!(URL_SAFE_NO_PAD.encode(key.sign(input.as_bytes())), wanted);
    let signature = CardSignature { protected: protected.into(), signature: wanted.into(), header: None };
    signature.verify_bytes(b"Example of Ed25519 signing", &key.public()).unwrap();
}

#[test]
fn the_es256_example_of_rfc_7515_is_verified() {
    let jwk = json!({
        "kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    });
    let key = PublicKey::from_jwk(&jwk).unwrap();
    let payload = "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}";
    let signature = CardSignature {
        protected: "eyJhbGciOiJFUzI1NiJ9".into(),
        signature: "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
            .into(),
        header: None,
    };
    signature.verify_bytes(payload.as_bytes(), &key).unwrap();
    assert_eq!(signature.verify_bytes(b"{}", &key).unwrap_err(), BadSignature::Mismatch);
}

#[test]
fn a_card_with_unknown_members_verifies_after_a_round_trip() {
    for key in keys() {
        let text = serde_json::to_string_pretty(&signed(&key)).unwrap();
        let typed: crate::AgentCard = serde_json::from_str(&text).unwrap();
        let back = serde_json::to_value(typed).unwrap();
        verify(&back, &key.public()).unwrap();
        let header: CardSignature = serde_json::from_value(back["signatures"][0].clone()).unwrap();
        let header = header.header().unwrap();
        assert_eq!(header.typ.as_deref(), Some("JOSE"));
        assert_eq!(header.kid.unwrap(), key.public().did_key());
        assert_eq!(header.jku.as_deref(), Some("https://example.org/.well-known/jwks.json"));
    }
}

#[test]
fn a_card_with_any_byte_flipped_is_refused() {
    for key in keys() {
        let bytes = serde_json::to_vec(&signed(&key)).unwrap();
        for place in 0..bytes.len() {
            for bit in [0x01, 0x20, 0x80] {
                let mut flipped = bytes.clone();
                flipped[place] ^= bit;
                let Ok(card) = crate::read_unambiguous(&flipped) else { continue };
                assert!(verify(&card, &key.public()).is_err(), "byte {place} ^ {bit:02x}");
            }
        }
    }
}

#[test]
fn a_card_signed_without_its_empty_members_verifies_too() {
    let [key, _] = keys();
    let mut card = card();
    let payload = canonical_json(&members_that_say_something(&card)).unwrap();
    assert!(!String::from_utf8_lossy(&payload).contains("tags"));
    card["signatures"] = json!([sign_bytes(&payload, &key, JOSE, None)]);
    verify(&card, &key.public()).unwrap();
    card["skills"][0]["tags"] = json!(["new"]);
    assert_eq!(verify(&card, &key.public()).unwrap_err(), BadSignature::Mismatch);
}

#[test]
fn algorithms_that_prove_nothing_are_refused() {
    let [key, other] = keys();
    let public = key.public();
    for alg in ["none", "None", "", "HS256", "HS512", "RS256", "PS256", "ES384", "ES256K", "eddsa"] {
        let made = with_header(&key, &json!({ "alg": alg, "kid": public.did_key() }));
        let error = made.verify_card(&card(), &public).unwrap_err();
        assert_eq!(error, BadSignature::Algorithm(alg.into()));
    }
    let unsigned =
        CardSignature { signature: String::new(), ..with_header(&key, &json!({ "alg": "EdDSA" })) };
    assert_eq!(unsigned.verify_card(&card(), &public).unwrap_err(), BadSignature::Mismatch);
    let confused = with_header(&key, &json!({ "alg": "ES256" }));
    assert!(matches!(confused.verify_card(&card(), &public), Err(BadSignature::OtherAlgorithm { .. })));
    let foreign = with_header(&other, &json!({ "alg": "ES256" }));
    let stranger = SigningKey::from_seed(Algorithm::Es256, &[8; 32]).unwrap().public();
    assert_eq!(foreign.verify_card(&card(), &stranger).unwrap_err(), BadSignature::Mismatch);
}

#[test]
fn headers_that_are_not_understood_are_refused() {
    let [key, _] = keys();
    let demanding = with_header(&key, &json!({ "alg": "EdDSA", "crit": ["b64"], "b64": false }));
    assert!(matches!(demanding.verify_card(&card(), &key.public()), Err(BadSignature::Header(_))));
    let fine = with_header(&key, &json!({ "alg": "EdDSA" }));
    fine.verify_card(&card(), &key.public()).unwrap();
    for protected in ["", "%", "bm8", "eyJhbGciOiJFZERTQSJ9==", &"A".repeat(MAX_HEADER + 1)] {
        let odd = CardSignature { protected: protected.into(), ..fine.clone() };
        assert!(matches!(odd.header(), Err(BadSignature::Header(_))), "{protected}");
    }
    let padded = CardSignature { signature: format!("{}==", fine.signature), ..fine };
    assert_eq!(padded.verify_card(&card(), &key.public()).unwrap_err(), BadSignature::Mismatch);
}

#[test]
fn a_card_for_both_versions_is_signed_for_both_kinds_of_verifiers() {
    let mut modern = card();
    let old = json!({ "url": "https://example.org/a2a/echo", "protocolBinding": "JSONRPC", "protocolVersion": "0.3" });
    modern["supportedInterfaces"].as_array_mut().unwrap().push(old);
    modern["securitySchemes"] = json!({ "key": { "httpAuthSecurityScheme": { "scheme": "Bearer" } } });
    let hybrid = crate::legacy::hybrid_card(modern.clone());
    let [key, _] = keys();
    let made = sign_card(&hybrid, [&key], None).unwrap();
    let holds = |card: &Value| {
        let payload = canonical_json(&signed_members(card)).unwrap();
        made.iter().map(|one| one.verify_bytes(&payload, &key.public()).is_ok()).collect::<Vec<_>>()
    };
    assert_eq!(holds(&modern), [true, false], "for verifiers that drop what 1.0 does not know");
    assert_eq!(holds(&hybrid), [false, true], "for verifiers that keep it");
    assert!(made.iter().all(|one| one.verify_card(&hybrid, &key.public()).is_ok()));
    let mut changed = hybrid.clone();
    changed["url"] = json!("https://other.example");
    assert!(made[1].verify_card(&changed, &key.public()).is_err(), "the second covers the members of 0.3");
    changed["name"] = json!("other");
    assert!(made.iter().all(|one| one.verify_card(&changed, &key.public()).is_err()));
}

#[test]
fn a_detached_signature_holds_for_its_value_its_key_and_its_type_only() {
    let key = SigningKey::from_seed(Algorithm::EdDsa, &[7; 32]).unwrap();
    let value = serde_json::json!({ "b": 1, "a": ["x"] });
    let jws =
        sign_detached(&value, &key, "trust-manifest+jose", Some("https://example.org/jwks.json")).unwrap();
    assert_eq!(jws.split('.').count(), 3);
    let verify = |value: &serde_json::Value, jws: &str, typ| verify_detached(value, jws, &key.public(), typ);
    assert_eq!(verify(&value, &jws, "trust-manifest+jose"), Ok(()));
    assert!(verify(&value, &jws, "JOSE").is_err());
    assert!(verify(&serde_json::json!({ "b": 2, "a": ["x"] }), &jws, "trust-manifest+jose").is_err());
    assert!(verify(&value, "nonsense", "trust-manifest+jose").is_err());
    let other = SigningKey::from_seed(Algorithm::EdDsa, &[8; 32]).unwrap().public();
    assert!(verify_detached(&value, &jws, &other, "trust-manifest+jose").is_err());
}

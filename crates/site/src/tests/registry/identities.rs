//! Who stands behind a card or an entry of a catalogue by the word of a `did:web`: its document is read, and
//! what does not hold becomes a warning.
//!
//! How keys are read from a document is told in the tests of `protocol`.

use agentsite_protocol::{sign_card_as, sign_detached};

use super::*;

const DID: &str = "did:web:w.example.org";
const DOCUMENT: &str = "https://w.example.org/.well-known/did.json";

fn document(did: &str, keys: &[&SigningKey]) -> Value {
    let method = |key: &&SigningKey| json!({ "id": format!("{did}#k"), "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": key.public().jwk() });
    json!({ "id": did, "verificationMethod": keys.iter().map(method).collect::<Vec<_>>() })
}

/// The card, signed under the name of a method of this identity.
fn signed_as(did: &str, by: &SigningKey) -> Value {
    let mut card = card("weather");
    card["signatures"] = json!([sign_card_as(&card, by, &format!("{did}#k")).unwrap()]);
    card
}

/// An entry of a catalogue with a manifest by this identity, about the entry `about`.
fn entry(did: &str, about: &str, by: &SigningKey) -> Value {
    let mut manifest = json!({
        "identity": did, "identityType": "did", "provenance": [{ "relation": "publishedFrom", "sourceId": about }],
        "trustSchema": { "identifier": "urn:agentsite:trust:detached-jws", "version": "1.0" },
    });
    manifest["signature"] = json!(sign_detached(&manifest, by, "trust-manifest+jose", None).unwrap());
    json!({
        "identifier": ID, "displayName": "weather", "type": "application/a2a-agent-card+json", "url": CARD, "trustManifest": manifest,
    })
}

impl Story {
    async fn import_one(&self, caller: &Caller, entry: &Value) -> HubEntry {
        let done = self.site.registry().import(caller, entry.to_string().as_bytes()).await.unwrap();
        assert_eq!(done.refused, []);
        self.entry(ID).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_card_signed_by_a_key_of_its_hosts_did_web_is_proven() {
    let story = Story::begin().await;
    story.scout.publish(DOCUMENT, &document(DID, &[&key(1)]));
    story.scout.publish(CARD, &signed_as(DID, &key(1)));
    let entry = story.register(&holder("one"), CARD).await.unwrap();
    assert_eq!((entry.listing.proof, entry.listing.standing), (Proof::Signature, Standing::Active));
    assert_eq!((entry.key, entry.listing.warnings), (Some(key(1).public().did_key()), Vec::new()));
    // Whoever posts it has the same: the agent's own host signed it.
    let story = Story::begin().await;
    story.scout.publish(DOCUMENT, &document(DID, &[&key(1)]));
    let posted = story.post(&holder("one"), &signed_as(DID, &key(1))).await.unwrap();
    assert_eq!((posted.listing.proof, posted.listing.standing), (Proof::Signature, Standing::Active));
}

#[tokio::test(start_paused = true)]
async fn what_does_not_hold_is_a_warning_that_says_what_to_do() {
    let other = "did:web:other.example";
    let cases: [(Option<Value>, Value, &str); 6] = [
        (None, signed_as(DID, &key(1)), "publish it at https://w.example.org/.well-known/did.json"),
        (Some(document(other, &[&key(1)])), signed_as(DID, &key(1)), "is not that of did:web:w.example.org"),
        (Some(document(DID, &[])), signed_as(DID, &key(1)), "names no Ed25519 or P-256 key"),
        (Some(document(DID, &[&key(2)])), signed_as(DID, &key(1)), "does not match what it signs"),
        (Some(json!(["no document"])), signed_as(DID, &key(1)), "is not that of"),
        (Some(document(DID, &[&key(1)])), signed_as(other, &key(1)), "sign with a key of that host"),
    ];
    for (published, card, said) in cases {
        let story = Story::begin().await;
        if let Some(published) = &published {
            story.scout.publish(DOCUMENT, published);
        }
        story.scout.publish("https://other.example/.well-known/did.json", &document(other, &[&key(1)]));
        story.scout.publish(CARD, &card);
        let entry = story.register(&holder("one"), CARD).await.unwrap();
        assert_eq!(entry.listing.proof, Proof::Domain, "{said}");
        assert!(entry.listing.warnings[0].contains(said), "{said}: {:?}", entry.listing.warnings);
        assert!(story.scout.asked("https://other.example/.well-known/did.json").is_empty(), "{said}");
        let posted = story.post(&holder("one"), &card).await.unwrap();
        assert_eq!(posted.listing.proof, Proof::None, "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_warning_goes_when_the_document_is_there_at_the_next_look() {
    let story = Story::begin().await;
    story.scout.publish(CARD, &signed_as(DID, &key(1)));
    story.register(&holder("one"), CARD).await.unwrap();
    story.scout.publish(DOCUMENT, &document(DID, &[&key(1)]));
    let mut changed = signed_as(DID, &key(1));
    changed["description"] = json!("Tells tomorrow's weather, too.");
    changed["signatures"] = json!([sign_card_as(&changed, &key(1), &format!("{DID}#k")).unwrap()]);
    story.scout.publish(CARD, &changed);
    let entry = story.site.registry().refresh(&holder("one"), &weather()).await.unwrap();
    assert_eq!((entry.listing.proof, entry.listing.warnings), (Proof::Signature, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_trust_manifest_of_an_imported_entry_proves_it_when_its_publisher_signed_it() {
    let story = Story::begin().await;
    story.scout.publish(DOCUMENT, &document(DID, &[&key(1)]));
    let proven = story.import_one(&holder("one"), &entry(DID, ID, &key(1))).await;
    assert_eq!((proven.listing.proof, proven.listing.standing), (Proof::Signature, Standing::Active));
    assert!(proven.listing.warnings.is_empty(), "{:?}", proven.listing.warnings);
}

#[tokio::test(start_paused = true)]
async fn a_trust_manifest_that_does_not_hold_proves_nothing_and_says_why() {
    let mut tampered = entry(DID, ID, &key(1));
    tampered["trustManifest"]["attestations"] = json!([{ "type": "SOC2-Type2" }]);
    let mut moved = entry(DID, ID, &key(1));
    moved["url"] = json!("https://elsewhere.example/card.json");
    for (entry, published, said) in [
        (tampered, true, "no key of did:web:w.example.org signed it"),
        (entry(DID, ID, &key(2)), true, "no key of"),
        (entry(DID, "urn:air:w.example.org:agents:other", &key(1)), true, "provenance"),
        (entry(DID, ID, &key(1)), false, "publish it at"),
        (moved, true, "own host"),
        (entry("did:web:other.example", ID, &key(1)), true, "own host"),
    ] {
        let story = Story::begin().await;
        if published {
            story.scout.publish(DOCUMENT, &document(DID, &[&key(1)]));
        }
        let told = story.import_one(&Caller::admin(), &entry).await;
        assert_eq!(told.listing.proof, Proof::None, "{said}");
        assert!(told.listing.warnings[0].contains(said), "{said}: {:?}", told.listing.warnings);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_many_publishers_asks_a_few_and_each_once() {
    let story = Story::begin().await;
    let mut lines = String::new();
    for number in 0..40 {
        let host = format!("p{}.example", number / 2);
        let id = format!("urn:air:{host}:agents:a{number}");
        let mut one = entry(&format!("did:web:{host}"), &id, &key(1));
        (one["identifier"], one["url"]) = (json!(id), json!(format!("https://{host}/{number}.json")));
        story.scout.publish(
            &format!("https://{host}/.well-known/did.json"),
            &document(&format!("did:web:{host}"), &[&key(1)]),
        );
        lines.push_str(&format!("{one}\n"));
    }
    story.site.registry().import(&Caller::admin(), lines.as_bytes()).await.unwrap();
    let asked = story.scout.asked.lock().unwrap().len();
    assert_eq!(asked, 16);
    let page = story.site.registry().page(&Caller::admin(), Default::default(), None, 100).await.unwrap();
    let proven = page.items.iter().filter(|listing| listing.proof == Proof::Signature).count();
    assert_eq!((proven, page.items.len()), (32, 40));
}

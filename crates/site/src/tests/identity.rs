//! Who the site is: keys that last, cards that are signed, and changes of keys that can be followed.
//!
//! Signatures are verified with the keys that they name; how others find those is the gateway's story.

use agentsite_protocol::{AgentCard, CardSignature, PublicKey, follow_rotations};
use agentsite_store::{Change, KeyReads, RecordChange, RecordReads, SettingChange, Store, Unjournaled};
use serde_json::Value;

use super::*;

const BASE: &str = "https://example.org";

fn signatures(card: &AgentCard) -> Vec<CardSignature> {
    serde_json::from_value(card.extra["signatures"].clone()).unwrap()
}

/// The keys whose signatures on the card hold, each once: with each, the card is signed as it stands and as
/// the card of 1.0.
fn signers(card: &AgentCard) -> Vec<String> {
    let value = serde_json::to_value(card).unwrap();
    let holds = |signature: &CardSignature| {
        let kid = signature.header().unwrap().kid.unwrap();
        signature.verify_card(&value, &PublicKey::from_did_key(&kid).unwrap()).unwrap();
        kid
    };
    let mut signers: Vec<String> = signatures(card).iter().map(holds).collect();
    assert_eq!(signers[..signers.len() / 2], signers[signers.len() / 2..]);
    signers.truncate(signers.len() / 2);
    signers
}

#[tokio::test]
async fn a_site_keeps_its_keys_through_a_crash() {
    let story = Story::begin().await;
    story.site.start().await.unwrap();
    let before = story.site.cards().identity();
    assert!(before.did_key.starts_with("did:key:z6Mk"));
    assert_eq!(before.jwks["keys"].as_array().unwrap().len(), 2);
    assert_eq!(story.crash().await.site.cards().identity(), before);
}

#[tokio::test]
async fn two_sites_have_different_keys() {
    let story = Story::begin().await;
    let other =
        Story::open(SiteSettings::default(), MemStore::new(), story.clock.clone(), story.rng.clone()).await;
    assert_ne!(other.site.cards().identity().did_key, story.site.cards().identity().did_key);
}

#[tokio::test]
async fn cards_are_signed_with_both_keys_and_name_where_they_are_published() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let kids = story.site.cards().identity().kids;
    let card = story.site.cards().get(&Caller::local(), &agent, BASE).unwrap();
    assert_eq!(signers(&card), kids);
    assert_eq!(signers(&story.site.cards().of_site(&Caller::local(), BASE)), kids);
    let headers: Vec<_> = signatures(&card).iter().map(|one| one.header().unwrap()).collect();
    assert_eq!([headers[0].alg.as_str(), headers[1].alg.as_str()], ["EdDSA", "ES256"]);
    assert!(
        headers.iter().all(|one| one.jku.as_deref() == Some("https://example.org/.well-known/jwks.json"))
    );
}

#[tokio::test]
async fn a_card_is_signed_once_for_each_content() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    for _ in 0..5 {
        story.site.cards().get(&Caller::local(), &agent, BASE).unwrap();
    }
    assert_eq!(story.site.cards().signed_cards(), 1);
    story.site.cards().get(&Caller::local(), &agent, "https://other.example").unwrap();
    assert_eq!(story.site.cards().signed_cards(), 2);
    story
        .site
        .agents()
        .install(manifest("echo", "[[skills]]\nid = \"new\"\nname = \"n\"\ndescription = \"d\""), None)
        .await
        .unwrap();
    let changed = story.site.cards().get(&Caller::local(), &agent, BASE).unwrap();
    assert_eq!(signers(&changed), story.site.cards().identity().kids);
    assert_eq!(story.site.cards().signed_cards(), 3);
}

#[tokio::test]
async fn ever_new_addresses_do_not_fill_the_memory() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    for number in 0..1100 {
        story.site.cards().get(&Caller::local(), &agent, &format!("https://h{number}.example")).unwrap();
    }
    assert!(story.site.cards().signed_cards() <= 1024);
}

#[tokio::test]
async fn new_keys_are_vouched_for_by_the_old_ones() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    let first = story.site.cards().identity();
    let old_card = story.site.cards().get(&Caller::local(), &agent, BASE).unwrap();
    story.site.cards().rotate_identity(&Caller::local()).await.unwrap();
    story.clock.advance(1000);
    let last = story.site.cards().rotate_identity(&Caller::local()).await.unwrap();
    assert_eq!(last.rotations.len(), 4);
    for (old, new) in first.kids.iter().zip(&last.kids) {
        let old = PublicKey::from_did_key(old).unwrap();
        assert_eq!(&follow_rotations(&old, &last.rotations).unwrap().did_key(), new);
    }
    let published: Vec<&Value> =
        last.jwks["keys"].as_array().unwrap().iter().map(|key| &key["kid"]).collect();
    assert_eq!(published.len(), 6);
    assert!(first.kids.iter().all(|kid| published.contains(&&Value::from(kid.as_str()))));
    let card = story.site.cards().get(&Caller::local(), &agent, BASE).unwrap();
    assert_eq!(signers(&card), last.kids);
    assert_eq!(signers(&old_card), first.kids);
    let journal = story.site.operations().journal(&Caller::local(), Default::default()).await.unwrap();
    assert!(journal.iter().any(|line| line.line.text.contains(&last.did_key)));
    assert_eq!(story.crash().await.site.cards().identity(), last);
}

#[tokio::test]
async fn only_the_people_who_run_the_site_change_its_keys() {
    let story = Story::begin().await;
    let before = story.site.cards().identity();
    let error = story
        .site
        .cards()
        .rotate_identity(&Caller::anonymous("192.0.2.1".parse().unwrap()))
        .await
        .unwrap_err();
    assert!(matches!(error, SiteError::Forbidden(_)));
    assert_eq!(story.site.cards().identity(), before);
}

#[tokio::test]
async fn secrets_are_not_shown() {
    let story = Story::begin().await;
    let shown = format!("{:?}", story.site);
    assert!(shown.contains("Identity(did:key:z6Mk"), "{shown}");
    // The seeds of the keys; those of the mesh are addresses.
    assert!(!shown.contains("seeds: [["));
}

#[tokio::test]
async fn keys_that_an_earlier_version_kept_in_a_setting_are_taken_over() {
    let story = Story::begin().await;
    story.site.start().await.unwrap();
    let before = story.site.cards().identity();
    let record = story.store.record("identity", "keys").await.unwrap().unwrap();
    let gone = RecordChange::Remove { collection: "identity", key: record.key, revision: record.revision };
    let old = SettingChange { name: "identity".into(), value: Some(record.body), owner: None };
    let change = Change::unjournaled(Unjournaled::Migration).edit(gone).edit(old);
    story.store.commit(change).await.unwrap();
    let story = story.crash().await;
    assert_eq!(story.site.cards().identity(), before);
    assert_eq!(story.store.setting("identity").await.unwrap(), None);
    let rotated = story.site.cards().rotate_identity(&Caller::local()).await.unwrap();
    let story = story.crash().await;
    assert_eq!(story.site.cards().identity(), rotated);
}

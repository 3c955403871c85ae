//! The site proves to other hubs that its agents are its own: it serves their words, or signs them.
//!
//! How a hub checks an answer is told in the stories of the registry.

use agentsite_protocol::{PublicKey, Scope, verify_challenge};

use super::*;
use crate::RegistryError;

const ENTRY: &str = "urn:air:example.org:agents:echo";

#[tokio::test]
async fn a_word_is_served_for_an_hour_and_survives_a_crash() {
    let story = Story::begin().await;
    let served = story.site.challenges().serve(&Caller::admin(), "word-1").await.unwrap();
    assert_eq!(served.until.since(story.clock.now()).as_secs(), 3_600);
    assert!(story.site.challenges().serves("word-1") && !story.site.challenges().serves("word-2"));
    let story = story.crash().await;
    assert!(story.site.challenges().serves("word-1"));
    story.clock.advance(3_599_000);
    assert!(story.site.challenges().serves("word-1"));
    story.clock.advance(1_000);
    assert!(!story.site.challenges().serves("word-1"));
    assert!(story.site.challenges().list(&Caller::admin()).unwrap().is_empty());
}

#[tokio::test]
async fn a_word_is_withdrawn_and_their_number_is_bounded() {
    let story = Story::begin().await;
    let (site, admin) = (&story.site, Caller::admin());
    for number in 0..64 {
        site.challenges().serve(&admin, &format!("w{number}")).await.unwrap();
    }
    assert!(matches!(
        site.challenges().serve(&admin, "one-more").await,
        Err(RegistryError::TooManyChallenges(64))
    ));
    site.challenges().serve(&admin, "w3").await.unwrap();
    assert!(site.challenges().withdraw(&admin, "w3").await.unwrap());
    assert!(!site.challenges().withdraw(&admin, "w3").await.unwrap());
    assert!(!site.challenges().serves("w3"));
    site.challenges().serve(&admin, "one-more").await.unwrap();
    // Those that have run out make space by themselves.
    story.clock.advance(3_600_000);
    site.challenges().serve(&admin, "later").await.unwrap();
    assert_eq!(site.challenges().list(&admin).unwrap().len(), 1);
}

#[tokio::test]
async fn a_word_is_signed_with_the_key_of_the_cards() {
    let story = Story::begin().await;
    let answer = story.site.challenges().answer(&Caller::admin(), ENTRY, "word").unwrap();
    let key = PublicKey::from_did_key(&story.site.cards().identity().did_key).unwrap();
    assert_eq!(verify_challenge(&answer, &key, ENTRY, "word"), Ok(()));
    assert!(verify_challenge(&answer, &key, ENTRY, "other").is_err());
}

#[tokio::test]
async fn only_those_who_run_the_site_do_this_and_only_with_words() {
    let story = Story::begin().await;
    let user = Caller::key(&"k1".parse().unwrap(), [Scope::Call]);
    let site = &story.site;
    assert!(matches!(site.challenges().serve(&user, "word").await, Err(RegistryError::Forbidden(_))));
    assert!(matches!(site.challenges().withdraw(&user, "word").await, Err(RegistryError::Forbidden(_))));
    assert!(matches!(site.challenges().list(&user), Err(RegistryError::Forbidden(_))));
    assert!(matches!(site.challenges().answer(&user, ENTRY, "word"), Err(RegistryError::Forbidden(_))));
    let long = "x".repeat(129);
    for odd in ["", "two words", "a/b", "<script>", "é", long.as_str()] {
        let refused = site.challenges().serve(&Caller::admin(), odd).await;
        assert!(matches!(refused, Err(RegistryError::BadChallenge(_))), "{odd}");
        assert!(site.challenges().answer(&Caller::admin(), ENTRY, odd).is_err(), "{odd}");
    }
    assert!(site.challenges().answer(&Caller::admin(), "", "word").is_err());
}

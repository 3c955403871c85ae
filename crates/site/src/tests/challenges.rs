//! The site proves to other hubs that its agents are its own: it serves their words, or signs them.
//!
//! How a hub checks an answer is told in the stories of the registry.

use agentsite_protocol::{PublicKey, Scope, verify_challenge};

use super::*;

const ENTRY: &str = "urn:air:example.org:agents:echo";

#[tokio::test]
async fn a_word_is_served_for_an_hour_and_survives_a_crash() {
    let story = Story::begin().await;
    let served = story.site.serve_challenge(&Caller::admin(), "word-1").await.unwrap();
    assert_eq!(served.until.since(story.clock.now()).as_secs(), 3_600);
    assert!(story.site.serves_challenge("word-1") && !story.site.serves_challenge("word-2"));
    let story = story.crash().await;
    assert!(story.site.serves_challenge("word-1"));
    story.clock.advance(3_599_000);
    assert!(story.site.serves_challenge("word-1"));
    story.clock.advance(1_000);
    assert!(!story.site.serves_challenge("word-1"));
    assert!(story.site.served_challenges(&Caller::admin()).unwrap().is_empty());
}

#[tokio::test]
async fn a_word_is_withdrawn_and_their_number_is_bounded() {
    let story = Story::begin().await;
    let (site, admin) = (&story.site, Caller::admin());
    for number in 0..64 {
        site.serve_challenge(&admin, &format!("w{number}")).await.unwrap();
    }
    assert!(matches!(site.serve_challenge(&admin, "one-more").await, Err(SiteError::TooManyChallenges(64))));
    site.serve_challenge(&admin, "w3").await.unwrap();
    assert!(site.withdraw_challenge(&admin, "w3").await.unwrap());
    assert!(!site.withdraw_challenge(&admin, "w3").await.unwrap());
    assert!(!site.serves_challenge("w3"));
    site.serve_challenge(&admin, "one-more").await.unwrap();
    // Those that have run out make room by themselves.
    story.clock.advance(3_600_000);
    site.serve_challenge(&admin, "later").await.unwrap();
    assert_eq!(site.served_challenges(&admin).unwrap().len(), 1);
}

#[tokio::test]
async fn a_word_is_signed_with_the_key_of_the_cards() {
    let story = Story::begin().await;
    let answer = story.site.answer_challenge(&Caller::admin(), ENTRY, "word").unwrap();
    let key = PublicKey::from_did_key(&story.site.identity().did_key).unwrap();
    assert_eq!(verify_challenge(&answer, &key, ENTRY, "word"), Ok(()));
    assert!(verify_challenge(&answer, &key, ENTRY, "other").is_err());
}

#[tokio::test]
async fn only_those_who_run_the_site_do_this_and_only_with_words() {
    let story = Story::begin().await;
    let user = Caller::key(&"k1".parse().unwrap(), [Scope::Call]);
    let site = &story.site;
    assert!(matches!(site.serve_challenge(&user, "word").await, Err(SiteError::Forbidden(_))));
    assert!(matches!(site.withdraw_challenge(&user, "word").await, Err(SiteError::Forbidden(_))));
    assert!(matches!(site.served_challenges(&user), Err(SiteError::Forbidden(_))));
    assert!(matches!(site.answer_challenge(&user, ENTRY, "word"), Err(SiteError::Forbidden(_))));
    let long = "x".repeat(129);
    for odd in ["", "two words", "a/b", "<script>", "é", long.as_str()] {
        let refused = site.serve_challenge(&Caller::admin(), odd).await;
        assert!(matches!(refused, Err(SiteError::BadMessage(_))), "{odd}");
        assert!(site.answer_challenge(&Caller::admin(), ENTRY, odd).is_err(), "{odd}");
    }
    assert!(site.answer_challenge(&Caller::admin(), "", "word").is_err());
}

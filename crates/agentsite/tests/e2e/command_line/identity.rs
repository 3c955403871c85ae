//! `agentsite identity` and `agentsite card`: who the site is, and who signed a card.
//!
//! With the real binary; the tests of `client` cover which forgeries are refused.

use crate::site::TestSite;

#[tokio::test]
async fn a_card_is_verified_until_it_is_changed() {
    let site = TestSite::started();
    let shown = site.run(&["identity", "show", "--json"]).ok().json();
    let did = shown["didKey"].as_str().unwrap().to_owned();
    let url = format!("{}/a2a/calc", site.url);
    let said = site.run(&["card", "verify", &url]).ok().out();
    assert!(said.contains(&did) && said.contains(&format!("published by {}", site.url)), "{said}");
    let card = site.get("/a2a/calc/.well-known/agent-card.json").await;
    site.write("card.json", &card.to_string());
    let said = site.run(&["card", "verify", "card.json", "--key", &did]).ok().out();
    assert!(said.contains("the key that you named"), "{said}");
    site.write("card.json", &card.to_string().replace("calc", "cafe"));
    let said = site.run(&["card", "verify", "card.json"]);
    assert_eq!(said.code(), 1);
    assert!(said.err().contains("no signature of the card is valid"), "{said:?}");
    let said = site.run(&["card", "verify", "card.json", "--json"]);
    assert_eq!((said.code(), said.json()["valid"].as_bool()), (1, Some(false)));
    assert_eq!(site.run(&["card", "verify", "nowhere.json"]).code(), 6);
    assert_eq!(site.run(&["card", "verify", &url, "--key", "nonsense"]).code(), 2);
}

#[test]
fn a_rotation_keeps_the_trust_in_the_old_key_and_lasts() {
    let mut site = TestSite::started();
    let key = |site: &TestSite| {
        let shown = site.run(&["identity", "show"]).ok().out();
        shown.lines().next().unwrap().to_owned()
    };
    let old = key(&site);
    site.run(&["identity", "rotate"]).ok();
    let new = key(&site);
    assert_ne!(old, new);
    let url = site.url.clone();
    for pin in [&old, &new] {
        site.run(&["card", "verify", &url, "--key", pin]).ok();
    }
    let stranger = "did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH";
    let said = site.run(&["card", "verify", &url, "--key", stranger]);
    assert_eq!(said.code(), 1);
    assert!(said.err().contains("not with a key that you named"), "{said:?}");
    site.kill();
    site.start();
    assert_eq!(key(&site), new);
}

//! The network of a site for its pages: which sites announced themselves, and the page in Markdown.
//! The network between the sites is in memory; the pages in a browser are tried by the end-to-end stories.

use reqwest::StatusCode;
use serde_json::Value;

use crate::mesh::pair;
use crate::story::body;

#[tokio::test(flavor = "multi_thread")]
async fn sites_that_announced_themselves_are_named_to_callers_with_a_key_and_the_twin_says_the_same() {
    let (here, _there, did) = pair().await;
    let key = here.key(&["call"]).await;
    let asked = here.guest().get("/api/mesh/sites").bearer_auth(&key).send().await.unwrap();
    let sites: Value = body(asked).await;
    let bakery = sites["sites"].as_array().unwrap().iter().find(|site| site["site"] == did).unwrap();
    assert_eq!(bakery["title"], "Bakery");
    assert!(bakery["issuedAt"].is_string(), "{bakery}");
    let refused = here.guest().get("/api/mesh/sites").send().await.unwrap().status();
    assert!([StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&refused), "{refused}");

    let twin = here.get("/network.md").send().await.unwrap().text().await.unwrap();
    for words in [
        "| Bakery | did:key:",
        "| direct |",
        "| echo | public | announced",
        "| hidden | private | not announced",
    ] {
        assert!(twin.contains(words), "{words}: {twin}");
    }
    let refused = here.guest().get("/network.md").bearer_auth(&key).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
}

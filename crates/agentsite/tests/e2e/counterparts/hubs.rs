//! Hubs of several real sites: one asks another for what it does not know itself, and proves its agents to another.
//!
//! What is promised: a search reaches what a named registry knows and says who did not answer. How answers are judged is told in the stories of `site`.

use serde_json::{Value, json};

use crate::site::TestSite;

fn agent(name: &str, does: &str, example: &str) -> String {
    format!(
        "name = \"{name}\"\ndescription = \"{does}\"\nvisibility = \"public\"\n[[skills]]\nid = \"{name}\"\nname = \"{name}\"\n\
         description = \"{does}\"\ntags = [\"{name}\"]\nexamples = [\"{example}\"]\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
    )
}

async fn search(site: &TestSite, federation: &str) -> Vec<Value> {
    let asked = json!({ "query": { "text": "forge a horseshoe of iron" }, "federation": federation });
    let answer = site.http.post(format!("{}/search", site.url)).json(&asked).send().await.unwrap();
    answer.json::<Value>().await.unwrap()["results"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_site_asks_another_for_what_it_does_not_know_itself() {
    let mut far =
        TestSite::new().agent("smith", &agent("smith", "Forges tools of iron", "forge a horseshoe"));
    far.start();
    let mut near = TestSite::new();
    let upstreams =
        format!("[site]\nupstreams = [\"{}/search\"]\n[egress]\nallow = [\"127.0.0.1\"]\n", far.url);
    near.write("agentsite.toml", &upstreams);
    near.start();
    let is_smith = |one: &Value| one["displayName"] == "smith";
    assert!(!search(&near, "none").await.iter().any(is_smith));
    let smith = search(&near, "auto").await.into_iter().find(is_smith).expect("the other site knows it");
    assert_eq!(smith["source"], json!(far.url), "{smith}");

    let here = near.run(&["find", "forge a horseshoe of iron", "--json"]);
    assert!(!here.out().contains("smith"), "{here:?}");
    let wide = near.run(&["find", "forge a horseshoe of iron", "--wide", "--json"]).ok().json();
    assert_eq!(wide["matches"][0]["name"], "smith", "{wide}");
    assert_eq!(wide["coverage"], json!({ "asked": 1, "answered": 1 }));
    let told = near.run(&["find", "forge a horseshoe of iron", "--wide"]).ok();
    assert!(told.out().contains(&format!("found by {}", far.url)), "{told:?}");
    assert!(told.err().contains("1 of 1"), "{told:?}");

    far.kill();
    let wide = near.run(&["find", "forge another horseshoe of iron", "--wide", "--json"]).json();
    assert_eq!((&wide["coverage"]["asked"], &wide["coverage"]["answered"]), (&json!(1), &json!(0)));
    assert_eq!(wide["coverage"]["failed"][0]["registry"], format!("{}/search", far.url));
    assert!(near.log().contains("did not answer"), "{}", near.log());
}

#[tokio::test]
async fn a_registry_inside_the_network_is_not_asked_unless_it_is_allowed() {
    let far = TestSite::started();
    let mut near = TestSite::new();
    near.write("agentsite.toml", &format!("[site]\nupstreams = [\"{}/search\"]\n", far.url));
    near.start();
    let wide = near.run(&["find", "say it back", "--wide", "--json"]).json();
    let why = wide["coverage"]["failed"][0]["why"].as_str().unwrap();
    assert!(why.contains("egress.allow"), "{wide}");
}

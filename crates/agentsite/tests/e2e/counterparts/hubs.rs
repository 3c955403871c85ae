//! Hubs of several real sites: one asks another for what it does not know itself, and proves its agents to
//! another.
//!
//! What is promised: a search reaches what a named registry knows and names those that did not answer. The
//! tests of `site` cover how answers are judged.

use serde_json::{Value, json};

use crate::site::{TestSite, eventually};

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
        TestSite::trusting().agent("smith", &agent("smith", "Forges tools of iron", "forge a horseshoe"));
    far.start();
    let mut near = TestSite::trusting();
    let upstreams =
        format!("[site]\nupstreams = [\"{}/search\"]\n[egress]\nallow = [\"127.0.0.1\"]\n", far.url);
    near.write("agentsite.toml", &upstreams);
    near.start();
    let is_smith = |one: &Value| one["displayName"] == "smith";
    assert!(!search(&near, "none").await.iter().any(is_smith));
    // A registry that answers late is skipped for some seconds, and then asked again.
    let asked = async || search(&near, "auto").await.into_iter().find(is_smith);
    let smith = eventually("what the other site knows", asked).await;
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
    let far = TestSite::trusting_started();
    let mut near = TestSite::trusting();
    near.write("agentsite.toml", &format!("[site]\nupstreams = [\"{}/search\"]\n", far.url));
    near.start();
    let wide = near.run(&["find", "say it back", "--wide", "--json"]).json();
    let why = wide["coverage"]["failed"][0]["why"].as_str().unwrap();
    assert!(why.contains("egress.allow"), "{wide}");
}

/// A site, and a user's key at it under which the card of another site's agent waits for its owner; gives the
/// entry, too.
async fn pending(far: &TestSite) -> (TestSite, String, Value) {
    let mut near = TestSite::trusting();
    near.write("agentsite.toml", "[egress]\nallow = [\"127.0.0.1\"]\n");
    near.start();
    let key = near.run(&["key", "new", "--label", "somebody", "--scope", "call", "--json"]).ok().json();
    let key = key["secret"].as_str().unwrap().to_owned();
    let card = far.get("/a2a/echo/.well-known/agent-card.json").await;
    let entry = ask(&near, "/api/hub", &key, &json!({ "card": card })).await;
    assert_eq!((&entry["standing"], &entry["proof"]), (&json!("pending"), &json!("none")), "{entry}");
    (near, key, entry)
}

async fn ask(site: &TestSite, path: &str, key: &str, body: &Value) -> Value {
    let request = site.http.post(format!("{}{path}", site.url)).bearer_auth(key).json(body);
    request.send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn a_site_signs_the_challenge_of_another_hub() {
    let far = TestSite::trusting_started();
    let (near, key, entry) = pending(&far).await;
    let (id, word) = (entry["id"].as_str().unwrap(), entry["challenge"]["word"].as_str().unwrap());
    let path = format!("/api/hub/{id}/verify");
    let wrong = far.run(&["identity", "answer", "another-word", "--entry", id]).ok().json();
    let refused = ask(&near, &path, &key, &json!({ "answer": wrong })).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("does not hold"), "{refused}");
    let answer = far.run(&["identity", "answer", word, "--entry", id]).ok().json();
    let proven = ask(&near, &path, &key, &json!({ "answer": answer })).await;
    assert_eq!((&proven["standing"], &proven["proof"]), (&json!("active"), &json!("signature")), "{proven}");
}

#[tokio::test]
async fn a_site_serves_the_challenge_of_another_hub_and_keeps_it_through_a_kill() {
    let mut far = TestSite::trusting_started();
    let (near, key, entry) = pending(&far).await;
    let (id, word) = (entry["id"].as_str().unwrap(), entry["challenge"]["word"].as_str().unwrap());
    let path = format!("/api/hub/{id}/verify");
    let refused = ask(&near, &path, &key, &json!({})).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("not found"), "{refused}");
    far.run(&["identity", "serve-challenge", word]).ok();
    let served = far.http.get(entry["challenge"]["serveAt"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(served.text().await.unwrap(), word);
    let proven = ask(&near, &path, &key, &json!({})).await;
    assert_eq!((&proven["standing"], &proven["proof"]), (&json!("active"), &json!("domain")), "{proven}");
    far.kill();
    far.start();
    let listed = far.run(&["identity", "serve-challenge"]).ok();
    assert!(listed.out().contains(word), "{listed:?}");
    far.run(&["identity", "serve-challenge", word, "--rm"]).ok();
    assert_eq!(far.run(&["identity", "serve-challenge", word, "--rm"]).code(), 6);
    assert_eq!(far.run(&["identity", "serve-challenge", "two words"]).code(), 1);
}

#[tokio::test]
async fn the_catalogue_of_another_site_is_proven_by_its_trust_manifests() {
    let far = TestSite::trusting_started();
    let mut near = TestSite::trusting();
    near.write("agentsite.toml", "[egress]\nallow = [\"127.0.0.1\"]\n");
    near.start();
    let key = near.run(&["key", "new", "--label", "somebody", "--scope", "call", "--json"]).ok().json();
    let key = key["secret"].as_str().unwrap();
    let done = ask(&near, "/api/hub/import", key, &json!({ "url": far.url })).await;
    assert!(done["added"].as_u64().unwrap() > 2, "{done}");
    assert_eq!(done["joined"], done["added"], "each agent has two interfaces and one entry: {done}");
    let entries = near.run(&["hub", "ls", "--json", "-n", "500"]).ok().json();
    let named: Vec<&Value> =
        entries["items"].as_array().unwrap().iter().filter(|one| one["name"] == "echo").collect();
    let [echo] = named[..] else { panic!("{entries}") };
    assert_eq!(echo["protocols"], json!(["a2a", "mcp"]), "{echo}");
    assert!(echo["interfaces"][0]["url"].as_str().unwrap().ends_with("/mcp/echo/server-card"), "{echo}");
    assert_eq!((&echo["proof"], &echo["standing"]), (&json!("signature"), &json!("active")), "{echo}");
    assert_eq!(echo.get("warnings"), None, "{echo}");
}

#[tokio::test]
async fn a_large_hub_is_imported_to_its_end_and_every_entry_is_counted() {
    const MADE_UP: usize = 2_600;
    let far = TestSite::started();
    let line = |number: usize| {
        json!({
            "identifier": format!("urn:air:example.org:agents:made-up-{number}"), "displayName": format!("Made up {number}"),
            "type": "application/a2a-agent-card+json", "url": format!("https://a{number}.example.org/card.json"),
            "description": format!("Knows everything about the number {number}."),
        })
    };
    let lines: String = (0..MADE_UP).map(|number| format!("{}\n", line(number))).collect();
    far.write("made-up.jsonl", &lines);
    let filled = far.run(&["hub", "import", "made-up.jsonl", "--json"]).ok().json();
    assert_eq!((&filled["added"], &filled["listed"]), (&json!(MADE_UP), &json!(MADE_UP)), "{filled}");
    let own = far.run(&["agent", "ls", "--json"]).ok().json()["agents"].as_array().unwrap().len();

    let mut near = TestSite::new();
    near.write("agentsite.toml", "[egress]\nallow = [\"127.0.0.1\"]\n");
    near.start();
    let done = near.run(&["hub", "import", &far.url, "--json"]).ok().json();
    let count = |name: &str| usize::try_from(done[name].as_u64().unwrap()).unwrap();
    assert_eq!((count("added"), count("joined")), (MADE_UP + own, own), "{done}");
    assert_eq!((count("listed"), &done["refused"]), (MADE_UP + 2 * own, &json!([])), "{done}");
    let shown = near.run(&["hub", "show", "urn:air:example.org:agents:made-up-7"]).ok();
    assert!(shown.out().contains("not checked") && !shown.out().contains("seenAt"), "{shown:?}");
    let guest = crate::site::http();
    let url = format!("{}/agents/urn:air:example.org:agents:made-up-7", near.url);
    let told: Value = guest.get(url).send().await.unwrap().json().await.unwrap();
    assert_eq!(told["metadata"]["live"], false, "{told}");
    assert_eq!(told["metadata"].get("checkedAt"), None, "{told}");
}

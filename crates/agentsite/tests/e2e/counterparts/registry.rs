//! Agents from elsewhere in the hub of a site: another real site, a server of the Python SDK, keys of two
//! people, and a kill.
//!
//! What is promised: an agent is registered by its address and verified there; no key changes the entry of
//! another; what an import has acknowledged is there after a kill.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::elsewhere::Elsewhere;
use crate::site::{TestSite, eventually, python};

const ALLOW: &str = "[egress]\nallow = [\"127.0.0.1\"]\n";

/// A site that may look at others on this machine.
fn hub() -> TestSite {
    let mut site = TestSite::trusting();
    site.write("agentsite.toml", ALLOW);
    site.start();
    site
}

fn entries(site: &TestSite) -> Vec<Value> {
    site.run(&["hub", "ls", "--json", "-n", "500"]).ok().json()["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn another_site_is_registered_by_address_and_its_signature_is_verified() {
    let (near, far) = (hub(), TestSite::trusting_started());
    let card = format!("{}/a2a/echo", far.url);
    let entry = near.run(&["hub", "add", &card, "--json"]).ok().json();
    assert_eq!((&entry["standing"], &entry["proof"]), (&json!("active"), &json!("signature")), "{entry}");
    let id = entry["id"].as_str().unwrap();
    assert!(id.starts_with("urn:air:127.0.0.1-") && id.ends_with(":agents:echo"), "{id}");
    let shown = near.run(&["hub", "show", id]).ok();
    assert!(shown.out().contains("standing      active"), "{shown:?}");
    assert_eq!(near.run(&["hub", "suspend", id, "--json"]).ok().json()["standing"], "suspended");
    assert_eq!(near.run(&["hub", "resume", id, "--json"]).ok().json()["standing"], "active");
    near.run(&["hub", "refresh", id]).ok();
    near.run(&["hub", "rm", id]).ok();
    assert_eq!(near.run(&["hub", "show", id]).code(), 6);
    // A tool server answers at the same address, by another protocol.
    let tools = near.run(&["hub", "add", &format!("{}/mcp", far.url), "--json"]).ok().json();
    assert_eq!(tools["protocols"], json!(["mcp"]), "{tools}");
}

#[tokio::test]
async fn the_inside_of_the_network_is_not_looked_at_unless_it_is_allowed() {
    let (near, far) = (TestSite::trusting_started(), TestSite::trusting_started());
    let refused = near.run(&["hub", "add", &format!("{}/a2a/echo", far.url)]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.err().contains("egress.allow"), "{refused:?}");
    assert!(entries(&near).is_empty());
}

#[tokio::test]
async fn a_server_of_the_python_sdk_is_registered_by_its_card() {
    let python = python();
    let (near, agent) = (hub(), Elsewhere::start(&python, "JSONRPC").await);
    let entry = near.run(&["hub", "add", &agent.url, "--json"]).ok().json();
    assert_eq!((&entry["standing"], &entry["proof"]), (&json!("active"), &json!("domain")), "{entry}");
    assert!(!entry["skills"].as_array().unwrap().is_empty(), "{entry}");
}

#[tokio::test]
async fn a_key_of_another_cannot_overwrite_or_remove_an_entry() {
    let (near, far) = (hub(), TestSite::trusting_started());
    let key = |label: &str| {
        let made = near.run(&["key", "new", "--label", label, "--scope", "call", "--json"]).ok().json();
        made["secret"].as_str().unwrap().to_owned()
    };
    let (one, two) = (key("one"), key("two"));
    let url = json!({ "url": format!("{}/a2a/echo", far.url) });
    let ask = async |method: reqwest::Method, path: &str, key: &str, body: &Value| {
        let request = near.http.request(method, format!("{}{path}", near.url)).bearer_auth(key).json(body);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap_or_default())
    };
    let (status, entry) = ask(reqwest::Method::POST, "/api/hub", &one, &url).await;
    assert_eq!(status, 201, "{entry}");
    let path = format!("/api/hub/{}", entry["id"].as_str().unwrap());
    assert_eq!(ask(reqwest::Method::POST, "/api/hub", &two, &url).await.0, 403);
    assert_eq!(ask(reqwest::Method::DELETE, &path, &two, &json!({})).await.0, 403);
    assert_eq!(ask(reqwest::Method::PATCH, &path, &two, &json!({"region": "x"})).await.0, 403);
    assert_eq!(ask(reqwest::Method::PATCH, &path, &one, &json!({"visibility": "private"})).await.0, 200);
    assert_eq!(ask(reqwest::Method::DELETE, &path, &two, &json!({})).await.0, 404);
    assert_eq!(ask(reqwest::Method::DELETE, &path, &one, &json!({})).await.0, 204);
}

#[tokio::test]
async fn what_an_import_acknowledged_is_there_after_a_kill() {
    let mut site = hub();
    let mut lines = String::new();
    for number in 0..20_000 {
        let entry = json!({
            "identifier": format!("urn:air:example.org:agents:a{number:05}"), "displayName": format!("agent {number}"),
            "type": "application/a2a-agent-card+json", "url": format!("https://a{number}.example.org/card.json"),
        });
        writeln!(lines, "{entry}").unwrap();
    }
    let file = site.path().join("many.jsonl");
    std::fs::File::create(&file).unwrap().write_all(lines.as_bytes()).unwrap();
    let mut import = site.command(&["hub", "import", "many.jsonl", "--json"]);
    let importing = import.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let count = async |site: &TestSite| {
        let journal = site.get("/api/journal?limit=500").await;
        journal.to_string().matches("imported ").count()
    };
    let before =
        eventually("a few batches", async || Some(count(&site).await).filter(|count| *count >= 3)).await;
    site.kill();
    let _ = importing.wait_with_output();
    site.start();
    let kept = site.run(&["hub", "export", "--format", "jsonl"]).ok().out().lines().count();
    assert!(kept >= before * 1_000 && kept.is_multiple_of(1_000), "{kept} after {before} batches");
    let again = site.run(&["hub", "import", "many.jsonl", "--json"]).ok().json();
    assert_eq!(again["added"].as_u64().unwrap() as usize + kept, 20_000, "{again}");
    let catalogue = site.run(&["hub", "export", "--format", "catalog"]).ok().json();
    assert_eq!(catalogue["entries"].as_array().unwrap().len(), 20_000);
}

#[tokio::test]
async fn bad_lines_are_told_by_their_number_up_to_a_bound() {
    let site = hub();
    let good = json!({ "name": "Weather", "description": "d", "version": "1" });
    site.write("some.jsonl", &format!("{good}\n\nno json\n{{}}\n"));
    let done = site.run(&["hub", "import", "some.jsonl", "--json"]).ok().json();
    let numbers: Vec<u64> =
        done["refused"].as_array().unwrap().iter().map(|one| one["line"].as_u64().unwrap()).collect();
    assert_eq!((done["added"].as_u64(), numbers.as_slice()), (Some(1), &[3, 4][..]), "{done}");
    let bounded = site.run(&["hub", "import", "some.jsonl", "--max-bad", "1"]);
    assert_eq!(bounded.code(), 1, "{bounded:?}");
    assert!(bounded.err().contains("--max-bad"), "{bounded:?}");
    assert_eq!(site.run(&["hub", "import", "missing.jsonl"]).code(), 6);
}

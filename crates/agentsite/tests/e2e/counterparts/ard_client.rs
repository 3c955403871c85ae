//! A client written from the specification of ARD searches, explores and lists the agents of a site, and
//! reads its REST interface.
//!
//! Each scenario, and what it expects, is in `tests/python/ard_client.py`. Answers are validated against the
//! schemas of the specification, which are in `tests/data/ard`.

use std::process::Command;

use serde_json::Value;

use super::agents::{ASKER, SLOW};
use crate::site::{TestSite, python, repository};

/// The schemas of the specification.
const SCHEMAS: &str = "tests/data/ard";

/// Plays scenarios that must succeed, in one process because its start takes longest; gives what was seen in
/// each.
fn plays(site: &TestSite, scenarios: &str, key: Option<&str>) -> Value {
    let mut command = Command::new(python());
    command.arg(repository("tests/python/ard_client.py")).arg(scenarios).args(["--url", &site.url]);
    command.args(key.into_iter().flat_map(|key| ["--key", key]));
    command.arg("--schemas").arg(repository(SCHEMAS));
    let output = command.output().unwrap();
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{scenarios}: {seen}{said}\n{}", site.log());
    serde_json::from_str(&seen).unwrap()
}

fn site() -> TestSite {
    let mut site = TestSite::trusting().agent("asker", ASKER).agent("slow", SLOW);
    site.write("agentsite.toml", "[site]\nupstreams = [\"https://finder.example/search\"]\n");
    site.start();
    site
}

#[test]
fn a_client_of_ard_finds_agents_and_believes_the_catalogue() {
    let site = site();
    let seen = plays(&site, "catalog,search,pages,explore,listing,errors,referrals", None);
    assert_eq!(seen["referrals"]["referrals"], serde_json::json!(["https://finder.example/search"]));
    assert!(seen["validated"].as_u64().unwrap() > 20, "{seen}");
}

#[test]
fn a_client_of_the_registries_and_of_rest_gets_what_the_documents_say() {
    let site = site();
    plays(&site, "servers,rest", None);
    let token = site.token();
    plays(&site, "rest", Some(&token));
}

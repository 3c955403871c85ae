//! The site keeps A2A 1.0.1 in every binding that its card offers, requirement by requirement.
//!
//! The checks are in `tests/python/conformance.py`; the agent that is driven is the one of
//! `serve --conformance`.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::site::{TestSite, python, repository};

/// Bindings that the card offers, and how many checks each must at least pass, so that one that went missing
/// is seen.
const BINDINGS: [(&str, u64); 3] = [("jsonrpc", 30), ("http", 30), ("grpc", 28)];

#[test]
fn no_requirement_of_a2a_is_violated() {
    let mut site = TestSite::trusting().flag("--conformance");
    site.start();
    check(&site.url, &BINDINGS, None);
}

/// Runs the checks against a site, with a token where one is needed; each of the bindings passes at least so
/// many.
pub(crate) fn check(url: &str, bindings: &[(&str, u64)], token: Option<&str>) {
    let names: Vec<&str> = bindings.iter().map(|(name, _)| *name).collect();
    let mut command = Command::new(python());
    command.arg(repository("tests/python/conformance.py")).args([url, "--json"]).stdin(Stdio::null());
    command.args(["--bindings", &names.join(","), "--token", token.unwrap_or_default()]);
    let output = command.output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(told["violations"], serde_json::json!([]), "{told:#}");
    assert!(output.status.success());
    for (binding, least) in bindings {
        assert!(told["passed"][binding].as_u64() >= Some(*least), "{binding}: {told:#}");
    }
    assert!(
        told["validated"].as_u64() >= Some(100 * bindings.len() as u64),
        "every answer is validated: {told:#}"
    );
}

#[test]
fn the_agent_of_the_kits_is_there_only_when_asked_for() {
    let site = TestSite::trusting_started();
    let agents = site.run(&["agent", "ls"]).ok();
    assert!(!agents.out().contains("conformance"), "{agents:?}");
    let mut other = TestSite::trusting().flag("--conformance");
    other.start();
    assert!(other.run(&["agent", "ls"]).ok().out().contains("conformance"));
}

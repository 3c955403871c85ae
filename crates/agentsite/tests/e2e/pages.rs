//! The pages in a browser: the stories of `web/tests`, run by Node against this binary.
//!
//! Promises: each file of stories is one test here; what it printed is shown when it fails. The browser is
//! Debian's, the packages are those that `cargo xtask test` installed.

use std::process::Command;

use crate::site::{binary, counterpart, repository};

#[test]
fn people_get_what_they_come_for() {
    run("journeys.test.ts");
}

#[test]
fn people_talk_with_agents() {
    run("chat.test.ts");
}

#[test]
fn every_page_is_for_everybody_and_foreign_text_never_runs() {
    run("everybody.test.ts");
}

#[test]
fn a_site_is_run_from_its_pages_and_by_nobody_else() {
    run("operations.test.ts");
}

#[test]
fn agents_are_found_made_and_changed_and_their_work_is_followed() {
    run("hub.test.ts");
}

#[test]
fn sites_meet_on_their_pages_and_who_dies_is_gone() {
    run("network.test.ts");
}

fn run(file: &str) {
    let output = Command::new(counterpart("AGENTSITE_TEST_NODE"))
        .args(["--test", "--test-reporter=spec", &format!("tests/{file}")])
        .current_dir(repository("web"))
        .env("AGENTSITE_TEST_BINARY", binary())
        .env("AGENTSITE_TEST_CHROMIUM", counterpart("AGENTSITE_TEST_CHROMIUM"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

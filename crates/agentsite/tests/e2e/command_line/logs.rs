//! `agentsite logs` and `agentsite audit journal`: what the running site says, and what happened on it.
//!
//! The pages follow the same log in `web/tests/operations.test.ts`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::site::TestSite;

#[test]
fn the_log_of_the_site_is_printed_chosen_from_and_followed() {
    let site = TestSite::started();
    let lines = site.run(&["logs", "--json", "--text", "schema"]).ok().out();
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["level"], &first["fields"]["version"]), (&"info".into(), &"1".into()), "{lines}");
    assert!(site.run(&["logs", "-n", "1"]).ok().out().contains(" INFO "));
    assert_eq!(site.run(&["logs", "--level", "error"]).ok().out(), "", "nothing is wrong");
    let wrong = site.run(&["logs", "--level", "loud"]);
    assert!(wrong.code() == 1 && wrong.err().contains("there are error, warn"), "{wrong:?}");

    let arguments = ["logs", "--follow", "--text", "reloaded"];
    let mut following = site.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(following.stdout.take().unwrap());
    site.signal("HUP");
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("INFO") && line.contains("reloaded"), "{line}");
    following.kill().unwrap();
    following.wait().unwrap();
}

#[test]
fn there_is_no_log_without_a_site() {
    let said = TestSite::new().run(&["logs"]);
    assert!(said.code() != 0 && said.err().contains("agentsite"), "{said:?}");
}

#[test]
fn the_journal_is_listed_by_kind_and_by_subject() {
    let site = TestSite::started();
    site.run(&["call", "echo", "hello"]).ok();
    let listed = |words: &[&str]| -> Vec<serde_json::Value> {
        let said = site.run(&[&["audit", "journal", "--json"], words].concat()).ok();
        said.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let completed = listed(&["--kind", "task.completed"]);
    assert_eq!(completed.len(), 1, "{completed:?}");
    assert!(listed(&["--kind", "task."]).len() > 1);
    let subject = completed[0]["subject"].as_str().unwrap();
    let about = listed(&["--subject", subject]);
    assert!(about.len() > 1 && about.iter().all(|line| line["subject"] == subject), "{about:?}");
    assert_eq!(listed(&["--subject", subject, "-n", "1"]), about[..1]);
    assert!(site.run(&["audit", "journal"]).ok().out().contains("task.completed"));
    let wrong = site.run(&["audit", "journal", "--kind", "tasks"]);
    assert!(wrong.code() == 1 && wrong.err().contains("task.completed"), "{wrong:?}");
}

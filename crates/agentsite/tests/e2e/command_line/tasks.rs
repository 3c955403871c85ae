//! `agentsite task`: list, show, watch, cancel, retry and graph.
//!
//! Pages neither lose nor repeat a task, a watch shows every event once and in order, and the end of the task
//! is the end of the program. Other tests cover the tasks themselves.

use serde_json::{Value, json};

use crate::site::{TestSite, message};

const SLOW: &str = r#"
name = "slow"
description = "Takes for ever"
[runtime]
kind = "exec"
command = ["sh", "-c", "echo begun; exec sleep 3600"]
"#;

/// Begins a task that does not end by itself; gives its id.
async fn begun(site: &TestSite) -> String {
    let params = json!({"message": message("x"), "configuration": {"returnImmediately": true}});
    let begun = site.rpc("slow", "SendMessage", params).await;
    begun["result"]["task"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_task_is_asked_again_and_its_graph_is_drawn() {
    let site = TestSite::started();
    let id = site.run(&["call", "concierge", "calc 6 * 7", "--json"]).ok();
    let tasks = site.run(&["task", "ls", "--agent", "concierge", "--json"]).ok().json();
    let root = tasks["tasks"][0]["id"].as_str().unwrap_or_else(|| panic!("{id:?} {tasks}")).to_owned();
    let graph = site.run(&["task", "graph", &root]).ok().out();
    let lines: Vec<&str> = graph.lines().collect();
    assert!(lines[1].starts_with("concierge") && lines[2].starts_with("· calc"), "{graph}");
    let again = site.run(&["task", "retry", &root, "--json"]).ok().json();
    assert_eq!(again["agent"], "concierge");
    assert_ne!(again["id"], root.as_str());
    assert_eq!(site.run(&["task", "retry", "nonsense"]).code(), 6);
}

#[test]
fn tasks_are_listed_by_page_filtered_and_shown() {
    let site = TestSite::started();
    for at in 0..5 {
        site.run(&["call", "echo", &format!("number {at}")]).ok();
    }
    site.run(&["call", "calc", "1/0"]);
    let failed = site.run(&["task", "ls", "--state", "failed", "--json"]).ok().json();
    assert_eq!(failed["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(failed["tasks"][0]["agent"], "calc");
    let mut seen = Vec::new();
    let mut page = site.run(&["task", "ls", "--agent", "echo", "-n", "2", "--json"]).ok().json();
    loop {
        let rows = page["tasks"].as_array().unwrap();
        assert!(rows.len() <= 2);
        seen.extend(rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next"].as_str() else { break };
        let words = ["task", "ls", "--agent", "echo", "-n", "2", "--json", "--cursor", cursor];
        page = site.run(&words).ok().json();
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
    seen.dedup();
    assert_eq!(seen.len(), 5, "no task comes twice");

    let table = site.run(&["task", "ls", "-n", "2"]).ok();
    assert!(table.out().starts_with("ID") && table.err().contains("there is more"), "{table:?}");
    let shown = site.run(&["task", "show", &seen[0]]).ok().out();
    assert!(shown.contains("asked    number 4") && shown.contains("made     number 4"), "{shown}");
    let shown = site.run(&["task", "show", &seen[0], "--json"]).ok().json();
    assert_eq!((&shown["id"], &shown["agent"]), (&seen[0].as_str().into(), &"echo".into()));
    let missing = site.run(&["task", "show", "nonsense"]);
    assert_eq!(missing.code(), 6, "{missing:?}");
    assert_eq!(site.run(&["task", "ls", "--state", "tired"]).code(), 1);
}

#[test]
fn the_events_of_a_task_are_watched_from_the_first_to_the_last() {
    let site = TestSite::started();
    let task = site.run(&["call", "echo", "hello", "--json"]).ok().json();
    let id = task["id"].as_str().unwrap();
    let events = site.run(&["task", "watch", id, "--json"]).ok().out();
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(events[0]["kind"], "opened");
    let lines = site.run(&["task", "watch", id, "--after", "1"]).ok().out();
    assert_eq!(lines.lines().count(), events.len() - 1, "{lines}");
    assert!(lines.contains("made: hello") && lines.lines().last().unwrap().contains("completed"), "{lines}");
    let failed = site.run(&["call", "calc", "1/0", "--json"]).json();
    assert_eq!(site.run(&["task", "watch", failed["id"].as_str().unwrap()]).code(), 4);
    assert_eq!(site.run(&["task", "watch", "nonsense"]).code(), 6);
}

#[tokio::test]
async fn a_task_at_work_is_watched_until_it_is_canceled() {
    let mut site = TestSite::new().agent("slow", SLOW);
    site.start();
    let id = begun(&site).await;
    let mut watching = site.command(&["task", "watch", &id]);
    let watching = watching.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let canceled = site.run(&["task", "cancel", &id]).ok().out();
    assert!(canceled.contains("state    canceled"), "{canceled}");
    let watched = watching.wait_with_output().unwrap();
    assert_eq!(watched.status.code(), Some(4));
    let lines = String::from_utf8(watched.stdout).unwrap();
    assert!(lines.lines().last().unwrap().contains("canceled"), "{lines}");
    let again = site.run(&["task", "cancel", &id]);
    assert_eq!(again.code(), 1, "{again:?}");
    assert!(again.err().contains("cannot be canceled"), "{again:?}");
}

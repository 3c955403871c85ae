//! The agents folder while the site runs: agents come, change, break, are repaired and go, without a restart.
//!
//! Promises that are tested: each change takes effect soon; a broken file is one line in the log with its
//! place, is shown in the status, and leaves its agent and all others as they were; a name belongs to the
//! folder that had it first.

use std::io::Write;

use serde_json::{Value, json};

use crate::site::{TestSite, answer, eventually, exec_agent, gate, message, state};

/// Waits until the agent answers this.
async fn answers(site: &TestSite, agent: &str, expected: &str) {
    eventually(&format!("{agent} answers {expected:?}"), async || {
        (answer(&site.send(agent, "hello").await).trim() == expected).then_some(())
    })
    .await;
}

/// Waits until the agent is gone.
async fn is_gone(site: &TestSite, agent: &str) {
    let gone = eventually("the agent is gone", async || {
        let reply = site.send(agent, "hello").await;
        reply["error"].is_object().then_some(reply)
    })
    .await;
    assert_eq!(gone["error"]["data"][0]["reason"], "AGENT_NOT_FOUND", "{gone}");
}

/// Waits until so many folders are broken.
async fn broken(site: &TestSite, count: usize) -> Vec<Value> {
    eventually("the status tells what is broken", async || {
        let broken = site.get("/api/status").await["broken"].as_array().unwrap().clone();
        (broken.len() == count).then_some(broken)
    })
    .await
}

/// Waits for a line of the log.
async fn logged(site: &TestSite, words: &str) {
    eventually(&format!("the log says {words:?}"), async || site.log().contains(words).then_some(())).await;
}

fn write(site: &TestSite, folder: &str, name: &str, command: &[&str]) {
    site.write(&format!("agents/{folder}/agent.toml"), &exec_agent(name, command, ""));
}

fn remove(site: &TestSite, folder: &str) {
    std::fs::remove_dir_all(site.path().join("agents").join(folder)).unwrap();
}

#[tokio::test]
async fn agents_are_added_changed_and_removed_while_the_site_runs() {
    let site = TestSite::started();
    assert!(!site.path().join("agents").exists(), "a site in an empty folder writes only its data");
    write(&site, "loud", "loud", &["tr", "a-z", "A-Z"]);
    answers(&site, "loud", "HELLO").await;
    write(&site, "loud", "loud", &["tr", "e", "a"]);
    answers(&site, "loud", "hallo").await;
    write(&site, "second", "second", &["rev"]);
    answers(&site, "second", "olleh").await;
    remove(&site, "loud");
    is_gone(&site, "loud").await;
    answers(&site, "second", "olleh").await;
}

#[tokio::test]
async fn a_renamed_agent_leaves_under_its_old_name() {
    let mut site = TestSite::new().agent("one", &exec_agent("before", &["cat"], ""));
    site.start();
    answers(&site, "before", "hello").await;
    write(&site, "one", "after", &["cat"]);
    answers(&site, "after", "hello").await;
    is_gone(&site, "before").await;
}

#[tokio::test]
async fn a_broken_file_is_told_once_and_harms_nobody() {
    let mut site = TestSite::new()
        .agent("good", &exec_agent("good", &["cat"], ""))
        .agent("other", &exec_agent("other", &["rev"], ""));
    site.start();
    answers(&site, "good", "hello").await;

    let sound = exec_agent("good", &["cat"], "");
    site.write("agents/good/agent.toml", &sound.replace("visibility", "visability"));
    let found = broken(&site, 1).await;
    assert!(found[0]["file"].as_str().unwrap().ends_with("agents/good/agent.toml"), "{found:?}");
    let error = found[0]["error"].as_str().unwrap();
    assert!(error.starts_with("3:1: ") && error.contains("visability"), "{error}");
    answers(&site, "good", "hello").await;
    answers(&site, "other", "olleh").await;

    // Looking again does not tell it again.
    site.signal("HUP");
    logged(&site, "reloaded").await;
    write(&site, "third", "third", &["cat"]);
    answers(&site, "third", "hello").await;
    let told = |log: &str| log.lines().filter(|line| line.contains("agents/good/agent.toml:3:1:")).count();
    assert_eq!(told(&site.log()), 1, "{}", site.log());

    write(&site, "good", "good", &["tr", "l", "L"]);
    answers(&site, "good", "heLLo").await;
    broken(&site, 0).await;
}

#[tokio::test]
async fn an_agent_that_was_broken_from_the_start_works_once_repaired() {
    let mut site = TestSite::new()
        .agent("late", "name = \"late\"\ndescription = ")
        .agent("fine", &exec_agent("fine", &["cat"], ""));
    site.start();
    answers(&site, "fine", "hello").await;
    assert_eq!(broken(&site, 1).await.len(), 1);
    is_gone(&site, "late").await;
    write(&site, "late", "late", &["rev"]);
    answers(&site, "late", "olleh").await;
    broken(&site, 0).await;
}

#[tokio::test]
async fn a_name_belongs_to_the_folder_that_had_it_first() {
    let mut site = TestSite::new().agent("first", &exec_agent("twin", &["cat"], ""));
    site.start();
    answers(&site, "twin", "hello").await;
    write(&site, "another", "twin", &["rev"]);
    let found = broken(&site, 1).await;
    assert!(found[0]["file"].as_str().unwrap().ends_with("agents/another/agent.toml"), "{found:?}");
    assert!(found[0]["error"].as_str().unwrap().contains("the name `twin` belongs to"), "{found:?}");
    answers(&site, "twin", "hello").await;
    remove(&site, "first");
    answers(&site, "twin", "olleh").await;
    broken(&site, 0).await;
}

#[tokio::test]
async fn an_agent_may_take_the_place_of_a_demo_and_give_it_back() {
    let site = TestSite::started();
    answers(&site, "echo", "hello").await;
    write(&site, "mine", "echo", &["rev"]);
    answers(&site, "echo", "olleh").await;
    remove(&site, "mine");
    answers(&site, "echo", "hello").await;
}

#[tokio::test]
async fn work_under_way_ends_on_the_version_it_began_with() {
    let before = exec_agent("slow", &["sh", "-c", "read x; read go < gate; echo old $x"], "");
    let mut site = TestSite::new().agent("slow", &before);
    let mut gate = gate(&site.path().join("agents/slow/gate"));
    site.start();
    let params = json!({"message": message("hello"), "configuration": {"returnImmediately": true}});
    let task = site.rpc("slow", "SendMessage", params).await["result"]["task"]["id"].clone();
    let task = task.as_str().unwrap();
    let after = exec_agent("slow", &["sh", "-c", "read x; echo new $x"], "");
    site.write("agents/slow/agent.toml", &after.replace("Answers", "Answers anew"));
    // A call would wait at the gate until the change is seen, so the list is asked.
    eventually("the new version is there", async || {
        (site.get("/api/agents/slow").await["description"] == "Answers anew").then_some(())
    })
    .await;
    answers(&site, "slow", "new hello").await;
    gate.write_all(b"go\n").unwrap();
    let ended = eventually("the first task ends", async || {
        let ended = site.get(&format!("/api/tasks/{task}")).await;
        (state(&ended) != "working").then_some(ended)
    })
    .await;
    assert_eq!(ended["artifacts"][0]["parts"][0]["text"], "old hello\n", "{ended}");
}

#[tokio::test]
async fn a_hangup_reads_the_configuration_again() {
    let site = TestSite::started();
    site.write("agentsite.toml", "[site]\nname = \"another\"\n");
    site.signal("HUP");
    logged(&site, "restart the site for a change of: site.name").await;
    site.write("agentsite.toml", "[site]\nnaem = \"another\"\n");
    site.signal("HUP");
    logged(&site, "only the agents were reloaded").await;
    assert!(site.log().contains("agentsite.toml:2:1"), "{}", site.log());
    answers(&site, "echo", "hello").await;
}

//! An agent written with the official Python A2A SDK, hosted unchanged: by command and by the address of its
//! card.
//!
//! The agent is `tests/python/a2a_agent.py`; the first word of a message picks its part.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::elsewhere::Elsewhere;
use super::program::troupe;
use crate::site::{TestSite, answer, eventually, message, python, repository};

fn state(reply: &Value) -> &str {
    reply["result"]["task"]["status"]["state"].as_str().unwrap_or_else(|| panic!("{reply}"))
}

fn words(reply: &Value) -> &str {
    let parts = &reply["result"]["task"]["status"]["message"]["parts"];
    parts[0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"))
}

/// A running site that hosts the Python agent.
fn hosting() -> TestSite {
    let mut site = TestSite::trusting().agent("troupe", &troupe(&python()));
    site.start();
    site
}

/// The living processes that a process has started; what is killed but not yet taken away does not count.
fn children(parent: u32) -> Vec<u32> {
    let parents: BTreeMap<u32, u32> = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    parents.iter().filter(|(_, its)| **its == parent).map(|(pid, _)| *pid).collect()
}

/// The parent of a living process.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    fields.next()?.parse().ok().filter(|_| state != "Z" && state != "X")
}

#[tokio::test]
async fn a_python_agent_answers_as_a_task_streams_asks_and_fails() {
    let site = hosting();
    let plain = site.send("troupe", "good morning").await;
    assert_eq!((state(&plain), answer(&plain).as_str()), ("TASK_STATE_COMPLETED", "GOOD MORNING"));

    let events = site.stream("troupe", message("one two three")).await;
    let chunks: Vec<&str> = events
        .iter()
        .filter_map(|event| event["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str())
        .collect();
    // Chunks that arrive together are written together, so their number depends on the machine.
    assert_eq!(chunks.concat(), "ONE TWO THREE");

    let asked = site.send("troupe", "ask me").await;
    assert_eq!((state(&asked), words(&asked)), ("TASK_STATE_INPUT_REQUIRED", "What shall I shout?"));
    let mut second = message("this one");
    second["taskId"] = asked["result"]["task"]["id"].clone();
    let told = site.rpc("troupe", "SendMessage", json!({"message": second})).await;
    assert_eq!((state(&told), answer(&told).as_str()), ("TASK_STATE_COMPLETED", "THIS ONE"));
    assert_eq!(told["result"]["task"]["id"], asked["result"]["task"]["id"]);

    let failed = site.send("troupe", "fail now").await;
    assert_eq!((state(&failed), words(&failed)), ("TASK_STATE_FAILED", "I was told to fail."));

    let bare = site.send("troupe", "reply to me").await;
    assert_eq!((state(&bare), answer(&bare).as_str()), ("TASK_STATE_COMPLETED", "REPLY TO ME"));
}

#[tokio::test]
async fn the_card_of_a_hosted_agent_is_shown_under_the_sites_own_address() {
    let site = hosting();
    let card = eventually("the agent's own card", async || {
        let card = site.get("/a2a/troupe/.well-known/agent-card.json").await;
        (card["skills"][0]["id"] == "shout").then_some(card)
    })
    .await;
    let interface = &card["supportedInterfaces"][0];
    assert_eq!(interface["url"], format!("{}/a2a/troupe", site.url), "{card}");
    assert_eq!(card["capabilities"]["streaming"], true);
}

#[tokio::test]
async fn a_slow_python_task_is_cancelled() {
    let site = hosting();
    let params = json!({"message": message("slow"), "configuration": {"returnImmediately": true}});
    let begun = site.rpc("troupe", "SendMessage", params).await;
    let id = begun["result"]["task"]["id"].as_str().unwrap().to_owned();
    eventually("the agent works", async || {
        (site.get(&format!("/api/tasks/{id}")).await["status"]["state"] == "TASK_STATE_WORKING").then_some(())
    })
    .await;
    let canceled = site.rpc("troupe", "CancelTask", json!({"id": id})).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{canceled}");
    let next = site.send("troupe", "still there").await;
    assert_eq!(answer(&next), "STILL THERE");
}

#[tokio::test]
async fn a_python_agent_that_dies_is_started_again_and_its_log_tells() {
    let site = hosting();
    let died = site.send("troupe", "die").await;
    assert_eq!(state(&died), "TASK_STATE_FAILED");
    assert!(words(&died).contains("lost"), "{died}");
    let next = eventually("the next answer", async || {
        let next = site.send("troupe", "back again").await;
        (state(&next) == "TASK_STATE_COMPLETED").then_some(next)
    })
    .await;
    assert_eq!(answer(&next), "BACK AGAIN");
    let log = site.run(&["agent", "logs", "troupe"]).ok().out();
    assert!(log.contains("its server ended by itself (exit status: 3)"), "{log}");
}

#[tokio::test]
async fn what_a_hosted_agent_prints_is_in_its_log() {
    let python = python();
    let file = std::fs::canonicalize(repository("tests/python/a2a_agent.py")).unwrap();
    let script = format!("echo to stdout; echo to stderr >&2; exec {} {}", python.display(), file.display());
    let manifest = format!(
        "name = \"troupe\"\ndescription = \"d\"\n[runtime]\nkind = \"a2a\"\ncommand = [\"sh\", \"-c\", {script:?}]\n"
    );
    let mut site = TestSite::trusting().agent("troupe", &manifest);
    site.start();
    assert_eq!(answer(&site.send("troupe", "hello").await), "HELLO");
    let log = site.run(&["agent", "logs", "troupe", "--json"]).ok().json();
    let lines: Vec<(&str, &str)> = log["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (line["source"].as_str().unwrap(), line["text"].as_str().unwrap()))
        .collect();
    assert!(lines.contains(&("out", "to stdout")) && lines.contains(&("err", "to stderr")), "{log}");
}

#[tokio::test]
async fn a_hosted_agent_goes_with_its_site_when_it_is_stopped_and_when_it_is_killed() {
    let mut site = hosting();
    for ending in ["stopped", "killed"] {
        assert_eq!(answer(&site.send("troupe", "hello").await), "HELLO");
        let hosted = children(site.pid());
        assert_eq!(hosted.len(), 1, "one program is hosted");
        if ending == "stopped" {
            assert!(site.stop().success());
            assert!(hosted.iter().all(|pid| parent_of(*pid).is_none()), "a stop waits for what it started");
            site.start();
        } else {
            site.kill();
            eventually("the program is gone", async || parent_of(hosted[0]).is_none().then_some(())).await;
        }
    }
}

#[tokio::test]
async fn an_agent_elsewhere_is_called_by_its_card() {
    let python = python();
    let elsewhere = Elsewhere::start(&python, "JSONRPC").await;
    let mut site = TestSite::trusting().agent("remote", &elsewhere.manifest("remote", ""));
    site.write("agentsite.toml", "[egress]\nallow = [\"127.0.0.1\"]\n");
    site.start();
    assert_eq!(answer(&site.send("remote", "over there").await), "OVER THERE");
    let asked = site.send("remote", "ask me").await;
    assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED");
    let mut second = message("this one");
    second["taskId"] = asked["result"]["task"]["id"].clone();
    let told = site.rpc("remote", "SendMessage", json!({"message": second})).await;
    assert_eq!(answer(&told), "THIS ONE");
}

#[tokio::test]
async fn an_agent_on_this_machine_is_not_reached_unless_the_operator_says_so() {
    let python = python();
    let elsewhere = Elsewhere::start(&python, "JSONRPC").await;
    let mut site = TestSite::trusting().agent("remote", &elsewhere.manifest("remote", ""));
    site.start();
    let refused = site.send("remote", "over there").await;
    assert_eq!(state(&refused), "TASK_STATE_FAILED");
    assert!(words(&refused).contains("egress"), "{refused}");
}

//! Agents that connect: a Python program with the plain `websockets` package, and commands that the command
//! line attaches.
//!
//! The site is the real binary; the callers are the official Python A2A SDK and the command line. The program
//! is `tests/python/connected_agent.py`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::program::Program;
use super::sdk_client::{BINDINGS, Caller};
use crate::site::{TestSite, answer, eventually, message, python, state, status_text};

/// The file from which the program reads where the site is.
const WHERE: &str = "site.url";

/// Starts the program and waits until it is connected.
async fn connects(python: &Path, site: &TestSite, more: &[&str]) -> Program {
    site.write(WHERE, &site.url);
    let file = site.path().join(WHERE).display().to_string();
    let mut arguments = vec![file.as_str(), "foghorn"];
    arguments.extend(more);
    let mut program = Program::start_with(python, "connected_agent.py", &arguments).await;
    assert_eq!(program.line().await.as_deref(), Some("connected foghorn"));
    program
}

async fn agent(site: &TestSite) -> Value {
    site.get("/api/agents/foghorn").await
}

#[tokio::test]
async fn a_program_that_connects_is_found_called_streamed_and_cancelled() {
    let python = python();
    let site = TestSite::trusting_started();
    let mut program = connects(&python, &site, &[]).await;
    let found = site.run(&["find", "make this text loud", "--json"]).ok().json();
    assert_eq!(found["matches"][0]["name"], "foghorn", "{found}");
    for binding in BINDINGS {
        let caller = Caller::new(&python, &site, "foghorn").by(binding);
        let sent = caller.plays("send", &["--text", "grüße"]);
        assert_eq!((&sent["state"], &sent["text"]), (&json!("completed"), &json!("GRÜSSE")));
        let streamed = caller.plays("stream", &["--text", "count"]);
        assert_eq!(streamed["text"], "one\ntwo\nthree\n", "{streamed}");
        let asked = caller.plays("input", &["--text", "ask", "--answer", "blue"]);
        assert_eq!(asked["text"], "BLUE", "{asked}");
        caller.plays("cancel", &["--text", "wait"]);
    }
    let id = waiting(&site).await;
    site.rpc("foghorn", "CancelTask", json!({ "id": id })).await;
    let told = format!("canceled {}", id.as_str().unwrap());
    while program.line().await.unwrap() != told {}
    let called = site.run(&["call", "foghorn", "hello"]).ok();
    assert_eq!(called.out().trim(), "HELLO");
}

#[tokio::test]
async fn a_program_that_is_killed_is_down_and_goes_on_when_it_is_started_again() {
    let python = python();
    let site = TestSite::trusting_started();
    let mut program = connects(&python, &site, &[]).await;
    let id = waiting(&site).await;
    drop(program);
    let failed = eventually("its task fails", async || {
        let task = site.rpc("foghorn", "GetTask", json!({ "id": id })).await;
        (task["result"]["status"]["state"] == "TASK_STATE_FAILED").then_some(task)
    })
    .await;
    let words = failed["result"]["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(words.contains("was lost while it worked"), "{words}");
    let shown = agent(&site).await;
    assert_eq!(shown["health"], "down", "{shown}");
    let listed = site.run(&["agent", "ls"]).ok();
    assert!(listed.out().contains("connected") && listed.err().contains("start it again"), "{listed:?}");
    program = connects(&python, &site, &[]).await;
    assert_eq!(answer(&site.send("foghorn", "back").await), "BACK");
    assert_eq!(agent(&site).await["health"], "ready");
    drop(program);
    site.run(&["agent", "detach", "foghorn"]).ok();
    assert_eq!(site.run(&["agent", "show", "foghorn"]).code(), 6);
}

/// A task on which the program works until it is asked to stop.
async fn waiting(site: &TestSite) -> Value {
    let mut params = json!({ "message": message("wait") });
    params["configuration"] = json!({ "returnImmediately": true });
    let begun = site.rpc("foghorn", "SendMessage", params).await;
    let id = begun["result"]["task"]["id"].clone();
    at_work(site, &id).await;
    id
}

/// Waits until the program has said that it works on a task.
async fn at_work(site: &TestSite, id: &Value) -> Value {
    eventually("the program works on it", async || {
        let task = site.rpc("foghorn", "GetTask", json!({ "id": id })).await;
        (task["result"]["status"]["message"]["parts"][0]["text"] == "waiting").then_some(task)
    })
    .await
}

#[tokio::test]
async fn a_site_that_is_killed_waits_for_the_program_which_comes_back_and_goes_on() {
    let python = python();
    let mut site = TestSite::trusting_started();
    let mut program = connects(&python, &site, &["--retry", "3"]).await;
    let id = waiting(&site).await;
    site.kill();
    let lost = program.line().await.unwrap();
    assert!(lost.starts_with("lost "), "{lost}");
    site.start();
    // Before the program knows where the site is now, its place is kept.
    let shown = agent(&site).await;
    assert_eq!((&shown["health"], &shown["kind"]), (&json!("down"), &json!("connected")), "{shown}");
    assert!(shown["reason"].as_str().unwrap().contains("waiting for its program"), "{shown}");
    site.write(WHERE, &site.url);
    while program.line().await.unwrap() != "connected foghorn" {}
    assert_eq!(answer(&site.send("foghorn", "again").await), "AGAIN");
    let task = at_work(&site, &id).await;
    assert_eq!(task["result"]["status"]["state"], "TASK_STATE_WORKING", "{task}");
    let canceled = site.rpc("foghorn", "CancelTask", json!({ "id": id })).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{canceled}");
    while !program.line().await.unwrap().starts_with("canceled ") {}
}

/// A command that the command line attaches; killed when dropped.
struct Attached(Child);

impl Attached {
    /// Attaches a command and waits until it is connected.
    fn new(site: &TestSite, arguments: &[&str]) -> Self {
        let mut command = site.command(&["agent", "attach"]);
        let mut child = command.args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("connected as"), "{line}");
        // Read on, so that it never waits for a reader.
        std::thread::spawn(move || said.lines().for_each(drop));
        Self(child)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_command_of_this_machine_is_attached_to_a_site_elsewhere() {
    let site = TestSite::trusting_started();
    let key = site.run(&["key", "new", "--label", "laptop", "--scope", "call", "--json"]).ok().json();
    let secret = key["secret"].as_str().unwrap().to_owned();
    let elsewhere = TestSite::trusting().variable("AGENTSITE_TOKEN", &secret);
    let arguments =
        ["--site", &site.url, "--name", "shouter", "--visibility", "public", "--", "tr", "a-z", "A-Z"];
    let attached = Attached::new(&elsewhere, &arguments);
    assert_eq!(answer(&site.send("shouter", "loud").await), "LOUD");
    let failing = [
        "--site",
        &site.url,
        "--name",
        "failing",
        "--",
        "sh",
        "-c",
        "echo ${AGENTSITE_TOKEN:-none}; echo no >&2; exit 3",
    ];
    let _failing = Attached::new(&elsewhere, &failing);
    let failed = site.send("failing", "x").await;
    assert_eq!(state(&failed), "failed", "{failed}");
    assert!(status_text(&failed).contains("exit code 3: no"), "{failed}");
    assert_eq!(answer(&failed).trim(), "none", "a command does not see the token");
    drop(attached);
    eventually("it is down", async || {
        (site.get("/api/agents/shouter").await["health"] == "down").then_some(())
    })
    .await;
    let taken = elsewhere.run(&["agent", "attach", "--site", &site.url, "--name", "echo", "--", "cat"]);
    assert_eq!(taken.code(), 7, "{taken:?}");
    assert!(taken.err().contains("belongs to an agent of this site"), "{taken:?}");
}

#[tokio::test]
async fn a_folder_with_an_agent_is_attached_as_it_is() {
    let site = TestSite::trusting_started();
    let elsewhere = TestSite::trusting().agent(
        "greeter",
        "name = \"greeter\"\ndescription = \"Greets\"\nvisibility = \"public\"\n[[skills]]\nid = \"greet\"\ndescription = \"Greets people\"\n[runtime]\nkind = \"exec\"\ncommand = [\"sh\", \"-c\", \"echo hello $(cat)\"]\n",
    );
    let _attached = Attached::new(&elsewhere, &["--site", &site.url, "--from", "agents/greeter"]);
    assert_eq!(answer(&site.send("greeter", "you").await).trim(), "hello you");
    assert_eq!(site.get("/api/agents/greeter").await["skills"][0]["id"], "greet");
}

//! One site served by several processes of the real binary on a real PostgreSQL server.
//!
//! Promises that are tested: any process serves any request; the tasks of a process that is killed or frozen
//! continue in the others, and none runs twice that may not; a restart of the database loses nothing that was
//! acknowledged; a key that is revoked in one process is refused in all of them. `crash` has the long story.

mod balanced;
mod crash;
mod database;
mod failover;
mod handed;
mod mesh;
mod moving;
mod server;
mod streams;
mod upgrade;

use serde_json::{Value, json};

use crate::site::{TestSite, answer, eventually, exec_agent, message, state, status_text};
use server::Server;

/// The key that secrets in the database are encrypted with.
const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Long enough that a busy machine costs no process its membership, unless a story wants it.
const LEASE: &str = "5s";

/// A process of the site, not started.
fn process(server: &Server, name: &str) -> TestSite {
    TestSite::new()
        .variable("AGENTSITE_STORE", &server.url())
        .variable("AGENTSITE_DATA_KEY", KEY)
        .variable("AGENTSITE_CLUSTER_NAME", name)
        .variable("AGENTSITE_CLUSTER_LEASE", LEASE)
}

fn started(mut site: TestSite) -> TestSite {
    site.start();
    site
}

fn two(server: &Server) -> (TestSite, TestSite) {
    (started(process(server, "one")), started(process(server, "two")))
}

fn task_id(reply: &Value) -> String {
    reply["result"]["task"]["id"].as_str().unwrap_or_else(|| panic!("no task: {reply}")).to_owned()
}

/// Sends a message and gives the task at once, without waiting for its end.
async fn open(site: &TestSite, agent: &str, text: &str) -> String {
    let params = json!({"message": message(text), "configuration": {"returnImmediately": true}});
    task_id(&site.rpc(agent, "SendMessage", params).await)
}

async fn task(site: &TestSite, agent: &str, id: &str) -> Value {
    site.rpc(agent, "GetTask", json!({"id": id})).await["result"].take()
}

/// Waits until a task is in this state, as a process sees it.
async fn until(site: &TestSite, agent: &str, id: &str, wanted: &str) -> Value {
    eventually(&format!("{id} is {wanted}"), async || {
        Some(task(site, agent, id).await).filter(|task| state(task) == wanted)
    })
    .await
}

/// Checks the chain of the journal and every row, in a backup that is made now.
fn journal_is_whole(site: &TestSite) {
    site.run(&["backup", "audited.backup"]).ok();
    let said = site.run(&["audit", "verify", "audited.backup"]).ok();
    println!("{}", said.out().trim());
}

#[tokio::test]
async fn any_process_serves_any_request() {
    let server = Server::start();
    let (one, two) = two(&server);
    let sent = one.send("echo", "over there").await;
    assert_eq!((state(&sent).as_str(), answer(&sent).as_str()), ("completed", "over there"));
    let seen = task(&two, "echo", &task_id(&sent)).await;
    assert_eq!(seen["artifacts"], sent["result"]["task"]["artifacts"], "the same through the other process");

    let status = two.get("/api/status").await;
    let processes = status["processes"].as_array().unwrap();
    let names: Vec<&str> = processes.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    assert!(processes.iter().all(|one| one.get("differences").is_none()), "{processes:?}");
    let held = processes.iter().flat_map(|one| one["leases"].as_array().unwrap());
    let held: Vec<&str> = held.filter_map(Value::as_str).collect();
    for work in ["worker/push", "worker/retention", "worker/hub"] {
        assert_eq!(held.iter().filter(|name| **name == work).count(), 1, "{work} is done once: {held:?}");
    }
    let shown = two.run(&["status"]).ok().out();
    assert!(shown.contains("PROCESS") && shown.contains("(this one)"), "{shown}");
    let checked = two.run(&["doctor"]).out();
    assert!(checked.contains("PostgreSQL") && checked.contains("database connections"), "{checked}");
}

#[tokio::test]
async fn a_key_is_known_and_refused_in_every_process() {
    let server = Server::start();
    let (one, two) = two(&server);
    let made = one.run(&["key", "new", "--label", "x", "--scope", "call", "--json"]).ok().json();
    let (id, secret) = (made["key"]["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    let status = async |secret: &str| {
        let asked = crate::site::http().get(format!("{}/api/tasks", two.url)).bearer_auth(secret);
        asked.send().await.unwrap().status().as_u16()
    };
    eventually("the key is known", async || (status(secret).await == 200).then_some(())).await;
    one.run(&["key", "revoke", id]).ok();
    eventually("the key is refused", async || (status(secret).await == 401).then_some(())).await;
}

#[tokio::test]
async fn a_task_is_watched_and_cancelled_through_another_process() {
    let server = Server::start();
    let slow = exec_agent("slow", &["sleep", "100000"], "");
    let (one, two) = (
        started(process(&server, "one").agent("slow", &slow)),
        started(process(&server, "two").agent("slow", &slow)),
    );
    let id = open(&one, "slow", "go").await;
    until(&two, "slow", &id, "working").await;
    let watching = {
        let (http, url, id) = (two.http.clone(), two.url.clone(), id.clone());
        tokio::spawn(async move {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": id}});
            let asked = http.post(format!("{url}/a2a/slow")).header("a2a-version", "1.0").json(&body);
            asked.send().await.unwrap().text().await.unwrap()
        })
    };
    let ended = two.rpc("slow", "CancelTask", json!({"id": id})).await;
    assert_eq!(state(&ended["result"]), "canceled", "{ended}");
    assert!(watching.await.unwrap().contains("TASK_STATE_CANCELED"), "the stream saw the end");
    assert_eq!(state(&task(&one, "slow", &id).await), "canceled");
}

#[tokio::test]
async fn the_tasks_of_a_killed_process_continue_in_the_others() {
    let server = Server::start();
    let retry = "[limits]\nretry = 1\ntimeout = \"1h\"";
    let stuck = process(&server, "one")
        .agent("again", &exec_agent("again", &["sleep", "100000"], retry))
        .agent("once", &exec_agent("once", &["sleep", "100000"], ""));
    let quick = process(&server, "two")
        .agent("again", &exec_agent("again", &["echo", "done"], retry))
        .agent("once", &exec_agent("once", &["echo", "twice"], ""));
    let (mut one, two) = (started(stuck), started(quick));
    let (again, once) = (open(&one, "again", "go").await, open(&one, "once", "go").await);
    until(&two, "again", &again, "working").await;
    until(&two, "once", &once, "working").await;
    let differences = two.get("/api/status").await["processes"][1]["differences"].to_string();
    assert!(differences.contains("the files of again are not those of process"), "{differences}");

    one.kill();
    let done = until(&two, "again", &again, "completed").await;
    assert!(done["artifacts"].to_string().contains("done"), "{done}");
    let failed = until(&two, "once", &once, "failed").await;
    assert!(status_text(&failed).contains("limits.retry = 0"), "{failed}");
    let left = two.get("/api/status").await["processes"].as_array().unwrap().len();
    assert_eq!(left, 1);
}

#[tokio::test]
async fn a_frozen_process_loses_its_work_and_joins_again() {
    let server = Server::start();
    let retry = "[limits]\nretry = 1\ntimeout = \"1h\"";
    let one = process(&server, "one").agent("again", &exec_agent("again", &["sleep", "100000"], retry));
    let two = process(&server, "two").agent("again", &exec_agent("again", &["echo", "done"], retry));
    let (one, two) = (started(one), started(two));
    let id = open(&one, "again", "go").await;
    until(&two, "again", &id, "working").await;
    one.signal("STOP");
    until(&two, "again", &id, "completed").await;
    one.signal("CONT");
    eventually("the process joins again", async || {
        let processes = two.get("/api/status").await["processes"].take();
        (processes.as_array().is_some_and(|all| all.len() == 2)).then_some(())
    })
    .await;
    assert!(one.log().contains("joins again"), "{}", one.log());
    assert_eq!(state(&one.send("echo", "still here").await), "completed");
    assert_eq!(state(&task(&one, "again", &id).await), "completed", "nothing was written over it");
}

#[tokio::test]
async fn a_restart_of_the_database_loses_nothing_that_was_acknowledged() {
    let mut server = Server::start();
    let (one, two) = two(&server);
    let mut kept = Vec::new();
    for number in 0..20 {
        kept.push(task_id(&one.send("echo", &format!("before {number}")).await));
    }
    server.restart();
    let after = eventually("the site works again", async || {
        let reply = two.send("echo", "after").await;
        (reply["result"].is_object()).then_some(reply)
    })
    .await;
    kept.push(task_id(&after));
    for id in &kept {
        let seen = eventually("the task is read", async || {
            Some(task(&one, "echo", id).await).filter(Value::is_object)
        })
        .await;
        assert_eq!(state(&seen), "completed");
    }
    let ready = eventually("it is ready", async || {
        let asked = one.http.get(format!("{}/readyz", one.url)).send().await.unwrap();
        asked.status().is_success().then_some(())
    });
    ready.await;
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_named_with_what_to_do() {
    let server = Server::start();
    let missing = server.url().replace("/postgres?", "/nothing?");
    let tried = |site: &TestSite| {
        let tried = site.serve_command().output().unwrap();
        assert!(!tried.status.success());
        String::from_utf8_lossy(&tried.stderr).into_owned()
    };
    let refused =
        tried(&process(&server, "one").without("AGENTSITE_STORE").variable("AGENTSITE_STORE", &missing));
    assert!(refused.contains("nothing") && refused.contains("create"), "{refused}");
    let nowhere = "postgres://postgres:secret@127.0.0.1:1/postgres";
    let refused =
        tried(&process(&server, "one").without("AGENTSITE_STORE").variable("AGENTSITE_STORE", nowhere));
    assert!(refused.contains("does not answer") && !refused.contains("secret"), "{refused}");
    // The first process makes the database its own; another key is refused.
    let _first = started(process(&server, "one"));
    let other = "ff".repeat(32);
    let refused =
        tried(&process(&server, "two").without("AGENTSITE_DATA_KEY").variable("AGENTSITE_DATA_KEY", &other));
    assert!(refused.contains("another key"), "{refused}");
}

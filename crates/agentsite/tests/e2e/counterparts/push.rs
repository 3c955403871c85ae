//! Push notifications end to end: the official SDK registers, a real receiver verifies, the site is killed in
//! between.
//!
//! The receiver is `tests/python/push_receiver.py`, which does what docs/push.md tells receivers to do;
//! loopback is allowed to it by the operator of these sites.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::agents::ASKER;
use super::program::Program;
use crate::site::{TestSite, eventually, message, python, repository};

/// Lets the site tell receivers on this machine.
const ALLOW: &str = "[egress]\nallow = [\"127.0.0.1\"]\n";

fn site() -> TestSite {
    let site = TestSite::trusting().agent("asker", ASKER);
    site.write("agentsite.toml", ALLOW);
    site
}

/// Lets the SDK's client play a scenario; gives the id of the task.
fn registers(
    python: &Path,
    site: &TestSite,
    agent: &str,
    scenario: &str,
    hook: &str,
    binding: &str,
) -> String {
    let mut command = Command::new(python);
    command.arg(repository("tests/python/push_client.py")).arg(format!("{}/a2a/{agent}", site.url));
    let output = command.args([scenario, hook, "--binding", binding]).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{scenario} by {binding}: {}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen["state"], "completed", "{seen}");
    seen["task"].as_str().unwrap().to_owned()
}

/// What a delivery reports, as a word or two.
fn told(seen: &Value) -> String {
    let (kind, content) = seen["body"].as_object().unwrap().iter().next().unwrap();
    let state = content["status"]["state"].as_str().unwrap_or_default();
    format!("{kind} {}", state.trim_start_matches("TASK_STATE_").to_lowercase()).trim().to_owned()
}

async fn deliveries(receiver: &mut Program, number: usize) -> Vec<Value> {
    let mut seen = Vec::new();
    while seen.len() < number {
        let line = receiver.line().await.expect("the receiver continues");
        seen.push(serde_json::from_str(&line).unwrap());
    }
    seen
}

const WHOLE: [&str; 4] =
    ["task submitted", "statusUpdate working", "artifactUpdate", "statusUpdate completed"];

#[tokio::test]
async fn a_receiver_gets_every_event_in_order_with_words_and_proof() {
    let python = python();
    let mut site = site();
    site.start();
    let mut receiver = Program::start_with(&python, "push_receiver.py", &[&site.url]).await;
    let rest = ["statusUpdate submitted", "statusUpdate working", "artifactUpdate", "statusUpdate completed"];
    for binding in ["jsonrpc", "rest", "grpc"] {
        for (agent, scenario, expected) in [("echo", "send", WHOLE), ("asker", "create", rest)] {
            let hook = format!("{}/hook?from={binding}", receiver.url);
            let task = registers(&python, &site, agent, scenario, &hook, binding);
            let seen = deliveries(&mut receiver, 4).await;
            assert_eq!(seen.iter().map(told).collect::<Vec<_>>(), expected, "{scenario} by {binding}");
            for one in &seen {
                assert_eq!(one["verified"], true, "{one}");
                assert_eq!(
                    (&one["token"], &one["authorization"]),
                    (&json!("t0ken"), &json!("Bearer cr3dentials"))
                );
                assert_eq!(
                    (&one["content-type"], &one["a2a-version"]),
                    (&json!("application/a2a+json"), &json!("1.0"))
                );
                assert!(one["body"].to_string().contains(&task), "{one}");
            }
        }
    }
    for secret in ["t0ken", "cr3dentials"] {
        assert!(!site.log().contains(secret), "a secret is in the log");
    }
}

#[tokio::test]
async fn what_a_killed_site_had_to_tell_arrives_after_its_restart() {
    let python = python();
    let mut site = site();
    site.start();
    // A port without a listener, until the receiver comes back.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let hook = json!({ "id": "c", "url": format!("http://127.0.0.1:{port}/hook") });
    let params = json!({ "message": message("hi"), "configuration": { "taskPushNotificationConfig": hook } });
    let sent = site.rpc("echo", "SendMessage", params).await;
    let task = sent["result"]["task"]["id"].as_str().unwrap().to_owned();
    let tried = async || {
        let letters = site.get("/api/outbox").await["letters"].as_array()?.clone();
        letters.first().filter(|first| first["error"].is_string()).map(|_| letters.len())
    };
    assert_eq!(eventually("a try that fails", tried).await, 4);
    site.kill();
    site.start();
    let mut receiver =
        Program::start_with(&python, "push_receiver.py", &[&site.url, &port.to_string()]).await;
    let seen = deliveries(&mut receiver, 4).await;
    assert_eq!(seen.iter().map(told).collect::<Vec<_>>(), WHOLE);
    assert!(
        seen.iter().all(|one| one["verified"] == true && one["body"].to_string().contains(&task)),
        "{seen:?}"
    );
    let empty = async || site.get("/api/outbox").await["letters"].as_array()?.is_empty().then_some(());
    eventually("an empty outbox", empty).await;
}

#[tokio::test]
async fn a_dead_delivery_is_seen_and_sent_again_on_the_command_line() {
    let python = python();
    let mut site = site();
    site.start();
    let mut receiver = Program::start_with(&python, "push_receiver.py", &[&site.url]).await;
    let hook = json!({ "id": "c", "url": format!("{}/once-gone", receiver.url), "token": "t0ken" });
    let params = json!({ "message": message("hi"), "configuration": { "taskPushNotificationConfig": hook } });
    site.rpc("echo", "SendMessage", params).await;
    let first = deliveries(&mut receiver, 4).await;
    let dead = async || {
        let listed = site.run(&["outbox", "ls", "--dead", "--json"]).ok().json()["letters"].clone();
        listed.as_array().filter(|letters| letters.len() == 4).cloned()
    };
    let letters = eventually("four dead letters", dead).await;
    assert!(letters[0]["error"].as_str().unwrap().contains("410"), "{letters:?}");
    assert_eq!(letters[0]["delivery"], first[0]["delivery"]);
    let shown = site.run(&["outbox", "show", &letters[0]["id"].to_string()]).ok().out();
    assert!(shown.contains("dead") && shown.contains(&receiver.url) && !shown.contains("t0ken"), "{shown}");
    assert!(site.run(&["status"]).ok().out().contains("0 waiting, 4 dead"));
    assert!(site.run(&["doctor"]).out().contains("agentsite outbox ls --dead"));

    site.run(&["outbox", "drop", &letters[3]["id"].to_string()]).ok();
    let said = site.run(&["outbox", "retry", "--dead"]).ok().out();
    assert!(said.contains("3 deliveries sent again"), "{said}");
    let again = deliveries(&mut receiver, 3).await;
    let ids = |seen: &[Value]| seen.iter().map(|one| one["delivery"].to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&first[..3]), "in order, under the same ids");
    let metrics = site.http.get(format!("{}/metrics", site.url)).send().await.unwrap().text().await.unwrap();
    for line in [
        r#"agentsite_push_tries_total{outcome="dead"} 4"#,
        r#"agentsite_push_tries_total{outcome="delivered"}"#,
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    assert!(metrics.contains("agentsite_outbox_waiting"));
    assert_eq!(site.run(&["outbox", "show", "999999"]).code(), 6);
}

//! Many at once: all are served, or told when to come back.
//!
//! Promises that are tested: a hundred submissions at the same moment all succeed; a queue that is full
//! refuses with a time to try again and keeps every promise it made; a key that asks too often waits without
//! harm to others.

use std::collections::HashSet;
use std::io::Write;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::site::{TestSite, answer, eventually, exec_agent, gate, message, state};

#[tokio::test]
async fn a_hundred_submissions_at_once_all_succeed() {
    let mut site = TestSite::new().agent("copy", &exec_agent("copy", &["cat"], ""));
    site.start();
    for agent in ["copy", "echo"] {
        let texts: Vec<String> = (0..100).map(|number| format!("{agent} {number}")).collect();
        let replies = join_all(texts.iter().map(|text| site.send(agent, text))).await;
        let mut tasks = HashSet::new();
        for (text, reply) in texts.iter().zip(&replies) {
            assert_eq!((state(reply).as_str(), &answer(reply)), ("completed", text), "{reply}");
            assert!(tasks.insert(reply["result"]["task"]["id"].to_string()));
        }
    }
}

#[tokio::test]
async fn a_full_queue_refuses_with_a_time_and_keeps_what_it_took() {
    let rest = "[limits]\nconcurrency = 1\nqueue = 2";
    let narrow = exec_agent("narrow", &["sh", "-c", "read x; read go < gate; echo $x"], rest);
    let mut site = TestSite::new().agent("narrow", &narrow);
    let mut gate = gate(&site.path().join("agents/narrow/gate"));
    site.start();
    let (mut taken, mut refused) = (Vec::new(), 0);
    for number in 0..10 {
        let params =
            json!({"message": message(&number.to_string()), "configuration": {"returnImmediately": true}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let reply = site.http.post(format!("{}/a2a/narrow", site.url)).json(&body).send().await.unwrap();
        if reply.status() == 200 {
            let reply: Value = reply.json().await.unwrap();
            taken.push((number, reply["result"]["task"]["id"].as_str().unwrap().to_owned()));
            continue;
        }
        assert_eq!(reply.status(), 429);
        let wait: u64 = reply.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        let reply: Value = reply.json().await.unwrap();
        assert_eq!(reply["error"]["data"][0]["reason"], "AGENT_BUSY", "{reply}");
        refused += 1;
        assert_eq!(answer(&site.send("echo", "still here").await), "still here");
    }
    assert_eq!((taken.len(), refused), (3, 7), "one at work and two in the queue");

    gate.write_all(b"go\ngo\ngo\n").unwrap();
    for (number, id) in taken {
        let task = eventually("the task ends", async || {
            let task = site.get(&format!("/api/tasks/{id}")).await;
            (state(&task) == "completed").then_some(task)
        })
        .await;
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], format!("{number}\n"));
    }
}

#[tokio::test]
async fn a_key_that_asks_too_often_is_told_when_to_come_back() {
    let mut site = TestSite::new()
        .variable("AGENTSITE_LIMITS_KEY_RATE", "1")
        .variable("AGENTSITE_LIMITS_KEY_BURST", "3");
    site.start();
    let made = site.http.post(format!("{}/api/keys", site.url)).json(&json!({"scopes": ["call"]}));
    let made: Value = made.send().await.unwrap().json().await.unwrap();
    let secret = made["secret"].as_str().unwrap();
    let ask = || site.http.get(format!("{}/api/agents", site.url)).bearer_auth(secret).send();
    let replies = join_all((0..20).map(|_| ask())).await;
    let (served, refused): (Vec<_>, Vec<_>) =
        replies.into_iter().map(Result::unwrap).partition(|reply| reply.status() == 200);
    assert!(served.len() >= 3 && !refused.is_empty(), "{} served, {} refused", served.len(), refused.len());
    for reply in refused {
        assert_eq!(reply.status(), 429);
        assert!(reply.headers().contains_key("retry-after"));
    }
    assert_eq!(answer(&site.send("echo", "still here").await), "still here");
}

//! A clock that jumps a year ahead and back: expired keys are refused meanwhile, and nothing is deleted.
//!
//! The other time comes from libfaketime, so that the binary is the real one.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{is_full, report};
use crate::site::{TestSite, eventually};

/// The library that shows a program another time; `cargo xtask test` installs it.
fn faketime() -> String {
    let found = Command::new("sh")
        .args([
            "-c",
            "ls /usr/lib/*/faketime/libfaketimeMT.so.1 /usr/lib/faketime/libfaketimeMT.so.1 2>/dev/null",
        ])
        .output()
        .unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    let path = found.lines().next().unwrap_or_default().to_owned();
    assert!(
        Path::new(&path).exists(),
        "libfaketime is missing: run `cargo xtask test`, or apt-get install faketime"
    );
    path
}

/// Everything that retention or a lease could take, counted.
async fn kept(site: &TestSite, key: &str) -> Value {
    let get = async |path: &str| -> Value {
        let request = site.http.get(format!("{}{path}", site.url)).bearer_auth(site.token());
        request.send().await.unwrap().json().await.unwrap()
    };
    let tasks = get("/api/tasks?limit=500").await;
    let keys = get("/api/keys").await;
    let talks = get("/api/conversations").await;
    let journal = get("/api/journal?limit=500").await;
    json!({
        "tasks": tasks["tasks"].as_array().map(Vec::len),
        "key": keys.to_string().contains(key),
        "conversations": talks["conversations"].as_array().map(Vec::len),
        "firstLine": journal.to_string().contains("made the key"),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_a_year_ahead_and_back_deletes_nothing() {
    let tasks = if is_full() { 200 } else { 20 };
    let mut site = TestSite::started();
    let post = async |site: &TestSite, path: &str, body: Value| -> Value {
        let request = site.http.post(format!("{}{path}", site.url)).bearer_auth(site.token()).json(&body);
        request.send().await.unwrap().json().await.unwrap()
    };
    for number in 0..tasks {
        let words = format!("hello {number}");
        assert!(site.run(&["call", "echo", &words]).ok().out().contains(&words));
    }
    post(&site, "/api/conversations", json!({ "agent": "echo", "message": "a talk" })).await;
    let key = site.run(&["key", "new", "--label", "for a month", "--expires", "30d", "--json"]).ok().json();
    let (id, secret) = (
        key["key"]["id"].as_str().unwrap_or_else(|| panic!("{key}")).to_owned(),
        key["secret"].as_str().unwrap_or_else(|| panic!("{key}")).to_owned(),
    );
    let works = async |site: &TestSite| {
        let request = site.http.get(format!("{}/api/tasks", site.url)).bearer_auth(&secret);
        request.send().await.unwrap().status() == 200
    };
    let before = kept(&site, &id).await;
    assert_eq!((before["key"].clone(), works(&site).await), (json!(true), true), "{before}");
    site.stop();

    let site = {
        let mut ahead = site
            .variable("LD_PRELOAD", &faketime())
            .variable("FAKETIME", "+365d")
            .variable("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        ahead.start();
        eventually("retention has looked", async || {
            let status = ahead.run(&["status", "--json"]).ok().json();
            let worker = status["workers"].as_array()?.iter().find(|one| one["name"] == "retention")?.clone();
            (worker["state"] == "idle" && worker["lastRunAt"].is_string()).then_some(())
        })
        .await;
        let year: i64 =
            ahead.run(&["status", "--json"]).ok().json()["startedAt"].as_str().unwrap_or_default()[..4]
                .parse()
                .unwrap_or(0);
        assert!(year >= 2027, "the site sees the other time: {year}");
        assert!(!works(&ahead).await, "an expired key is refused");
        assert_eq!(kept(&ahead, &id).await, before, "while the clock is ahead");
        ahead.stop();
        ahead
    };
    let mut site = site.without("LD_PRELOAD");
    site.start();
    let after = kept(&site, &id).await;
    report(
        "clock",
        "a year ahead and back",
        format!("{tasks} tasks, a conversation, a key: before {before}, after {after}"),
    );
    assert_eq!(after, before);
    assert!(works(&site).await, "the key works again");
    assert!(site.run(&["call", "echo", "still here"]).ok().out().contains("still here"));
}

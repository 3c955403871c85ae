//! Deleted content is gone: the raw bytes of every file of the data folder, and the log, are searched for it.
//!
//! The words are made up, so that finding one means finding what was deleted.

use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};

use super::{is_full, report};
use crate::site::{TestSite, eventually, exec_agent};

/// Files below a folder that hold these bytes.
fn files_with(folder: &Path, wanted: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, wanted));
        } else if std::fs::read(&path)
            .unwrap_or_default()
            .windows(wanted.len())
            .any(|part| part == wanted.as_bytes())
        {
            found.push(path);
        }
    }
    found
}

async fn ask(site: &TestSite, method: Method, path: &str, body: Option<Value>) -> Value {
    let request = site.http.request(method, format!("{}{path}", site.url)).bearer_auth(site.token());
    let request = if let Some(body) = body { request.json(&body) } else { request };
    let text = request.send().await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

async fn settled(site: &TestSite, task: &Value) {
    eventually("the task has ended", async || {
        let task = ask(site, Method::GET, &format!("/api/tasks/{}", task.as_str()?), None).await;
        matches!(
            task["state"].as_str().or(task["status"]["state"].as_str()),
            Some("completed" | "TASK_STATE_COMPLETED")
        )
        .then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_tasks_and_conversations_are_in_no_file() {
    let count = if is_full() { 100 } else { 12 };
    // An agent whose answer, log line and artifact all hold the words.
    let parrot = exec_agent(
        "parrot",
        &["sh", "-c", "read words; echo \"heard $words\" >&2; echo \"$words and again $words\""],
        "",
    );
    let mut site = TestSite::new().agent("parrot", &parrot);
    site.start();
    let word = |kind: &str, number: usize| format!("{kind}{number:04}xylophone");
    let mut gone = Vec::new();
    let mut stays = Vec::new();
    for number in 0..count {
        let long = word("long", number).repeat(if number % 4 == 0 { 3_000 } else { 1 });
        let made =
            ask(&site, Method::POST, "/v1/responses", Some(json!({ "model": "parrot", "input": long })))
                .await;
        let id = made["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        if number % 2 == 0 {
            let deleted = ask(&site, Method::DELETE, &format!("/v1/responses/{id}"), None).await;
            assert_eq!(deleted["deleted"], true, "{deleted}");
            gone.push(word("long", number));
        } else {
            stays.push(word("long", number));
        }
        let talk = json!({ "agent": "parrot", "message": format!("{} opens", word("talk", number)) });
        let begun = ask(&site, Method::POST, "/api/conversations", Some(talk)).await;
        let id = begun["conversation"]["id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
        settled(&site, &begun["turn"]["id"]).await;
        let edited =
            json!({ "instead": begun["turn"]["id"], "message": format!("{} instead", word("edit", number)) });
        let turn = ask(&site, Method::POST, &format!("/api/conversations/{id}/turns"), Some(edited)).await;
        settled(&site, &turn["id"]).await;
        if number % 2 == 0 {
            ask(&site, Method::DELETE, &format!("/api/conversations/{id}"), None).await;
            gone.extend([word("talk", number), word("edit", number)]);
        } else {
            stays.extend([word("talk", number), word("edit", number)]);
        }
    }
    let left = |when: &str| {
        let left: Vec<_> = gone
            .iter()
            .flat_map(|word| {
                files_with(&site.data(), word)
                    .into_iter()
                    .map(move |file| format!("{word} in {}", file.display()))
            })
            .chain(
                gone.iter()
                    .filter(|word| site.log().contains(word.as_str()))
                    .map(|word| format!("{word} in the log")),
            )
            .collect();
        println!("{when}: {left:?}");
        left
    };
    let (running, unknown) =
        (left("running"), stays.iter().filter(|word| files_with(&site.data(), word).is_empty()).count());
    report(
        "deletion",
        "search the raw files for deleted words",
        format!(
            "{} words deleted, {} found; {} of {} others lost",
            gone.len(),
            running.len(),
            unknown,
            stays.len()
        ),
    );
    assert_eq!(running, Vec::<String>::new());
    assert_eq!(unknown, 0);
    site.stop();
    assert!(site.run(&["audit", "verify"]).ok().out().contains("journal lines"), "the journal still fits");
}

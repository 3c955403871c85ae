//! Deleted content is gone: the raw bytes of every file of the data folder, and the log, are searched for it.
//!
//! The words are invented, so that finding one means finding what was deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use memchr::memmem;
use reqwest::Method;
use serde_json::{Value, json};

use super::{is_full, report};
use crate::site::{TestSite, eventually, exec_agent};

/// What every made-up word ends with. No other text of a site has it, so one search for it finds all words.
const MARK: &str = "xylophone";

/// Bytes of a word before the mark: its kind of four letters and its number of four digits.
const HEAD: usize = 8;

fn word(kind: &str, number: usize) -> String {
    let word = format!("{kind}{number:04}{MARK}");
    assert_eq!(word.len(), HEAD + MARK.len(), "{word} has another length than the search expects");
    word
}

/// The made-up words in these bytes.
fn words_in(bytes: &[u8]) -> BTreeSet<String> {
    let whole = |end: usize| bytes.get(end.checked_sub(HEAD)?..end + MARK.len());
    memmem::find_iter(bytes, MARK)
        .filter_map(whole)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// The made-up words in the files below a folder, each with the files that hold it. Reads every file once.
fn words_below(folder: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            for (word, files) in words_below(&path) {
                found.entry(word).or_default().extend(files);
            }
            continue;
        }
        for word in words_in(&std::fs::read(&path).unwrap_or_default()) {
            found.entry(word).or_default().push(path.clone());
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
    let (on_disk, logged) = (words_below(&site.data()), words_in(site.log().as_bytes()));
    let in_files = gone.iter().filter_map(|word| Some((word, on_disk.get(word)?)));
    let mut left: Vec<String> = in_files.map(|(word, files)| format!("{word} in {files:?}")).collect();
    let in_log = gone.iter().filter(|word| logged.contains(*word));
    left.extend(in_log.map(|word| format!("{word} in the log")));
    let lost = stays.iter().filter(|word| !on_disk.contains_key(*word)).count();
    report(
        "deletion",
        "search the raw files for deleted words",
        format!("{} words deleted, {} found; {lost} of {} others lost", gone.len(), left.len(), stays.len()),
    );
    assert_eq!(left, Vec::<String>::new());
    assert_eq!(lost, 0);
    site.stop();
    assert!(site.run(&["audit", "verify"]).ok().out().contains("journal lines"), "the journal still fits");
}

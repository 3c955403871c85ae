//! Schemathesis holds the site against its own OpenAPI document: no server error, no answer, status, header
//! or media type that the document does not have, no valid request refused and no invalid one accepted.
//!
//! It works as admin in a folder of its own, with fixed seed and few examples; `AGENTSITE_CONTRACT_EXAMPLES`
//! names more of them for each operation. What it leaves out and why is written in
//! `tests/python/schemathesis.toml`. Streams are tested here directly.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::site::{TestSite, counterpart, repository};

/// Generated cases of each operation besides those that cover its schema; a few find what the cover does not,
/// and keep the run short.
const EXAMPLES: &str = "3";

/// A rate that a client may have which asks as fast as it can.
const UNHURRIED: &str = "[limits]\nkey_rate = 1000000\nkey_burst = 1000000\nanonymous_rate = 1000000\nanonymous_burst = 1000000\n";

#[test]
fn the_site_and_its_openapi_document_agree() {
    let python = counterpart("AGENTSITE_TEST_PYTHON_CONTRACT");
    let mut site = TestSite::new();
    site.write("agentsite.toml", UNHURRIED);
    site.start();
    let work = tempfile::tempdir().unwrap();
    let examples = std::env::var_os("AGENTSITE_CONTRACT_EXAMPLES").unwrap_or_else(|| EXAMPLES.into());
    let mut command = Command::new(python.with_file_name("st"));
    command.current_dir(work.path()).stdin(Stdio::null()).env("AGENTSITE_CONTRACT_FOLDER", work.path());
    command.env("SCHEMATHESIS_HOOKS", repository("tests/python/openapi_hooks.py")).env("NO_COLOR", "1");
    command.arg("--config-file").arg(repository("tests/python/schemathesis.toml"));
    command.args(["run", &format!("{}/openapi.json", site.url), "--phases", "coverage,fuzzing"]);
    command.arg("--max-examples").arg(&examples).args(["--output-truncate", "false"]);
    command.args(["--header", &format!("Authorization: Bearer {}", site.token())]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!site.log().contains("panicked"), "{}", site.log());
}

#[tokio::test]
async fn a_copy_onto_an_existing_file_is_refused_with_a_word() {
    let site = TestSite::started();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy");
    std::fs::write(&file, "mine").unwrap();
    let send = async |file: &str| {
        let request = site.http.post(format!("{}/api/backup", site.url)).bearer_auth(site.token());
        let answer = request.json(&json!({ "file": file })).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    for place in [file.to_str().unwrap(), folder.path().to_str().unwrap(), "/", "/no/such/folder/copy"] {
        let (status, said) = send(place).await;
        assert!((400..500).contains(&status), "{place}: {status} {said}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

#[tokio::test]
async fn an_event_of_a_stream_has_the_form_that_the_document_says() {
    let site = TestSite::started();
    let ask = |method: reqwest::Method, path: &str| {
        site.http.request(method, format!("{}{path}", site.url)).bearer_auth(site.token())
    };
    let document: Value =
        ask(reqwest::Method::GET, "/openapi.json").send().await.unwrap().json().await.unwrap();
    let begun = ask(reqwest::Method::POST, "/api/conversations").json(&json!({ "agent": "echo" }));
    let begun: Value = begun.send().await.unwrap().json().await.unwrap();
    let path = format!("/api/conversations/{}/events", begun["conversation"]["id"].as_str().unwrap());
    let described = &document["paths"]["/api/conversations/{id}/events"]["get"]["responses"]["200"]["content"]
        ["text/event-stream"]["schema"];
    assert_eq!(described["required"], json!(["data"]), "{described}");
    let shape = described["properties"]["data"]["contentSchema"]["$ref"].as_str().unwrap();
    let required = &document["components"]["schemas"][shape.rsplit('/').next().unwrap()]["required"];

    let mut stream = ask(reqwest::Method::GET, &path).send().await.unwrap();
    let mut text = String::new();
    while !text.contains("\n\n") {
        text.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
    let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or_else(|| panic!("{text}"));
    let event: Value = serde_json::from_str(data).unwrap();
    for name in required.as_array().unwrap() {
        assert!(!event[name.as_str().unwrap()].is_null(), "{name}: {event}");
    }
}

//! `agentsite connect`: the configuration of other programs.
//!
//! The unit tests cover the entry of each program; here the command prints and writes it in a separate home.

use serde_json::Value;

use crate::site::{TestSite, binary};

#[test]
fn the_configuration_is_printed_and_nothing_is_written() {
    let site = TestSite::new();
    let home = site.path().join("home").display().to_string();
    let site = site.variable("HOME", &home);
    let said = site.run(&["connect", "cursor", "--agent", "calc"]).ok();
    let entry = &said.json()["mcpServers"]["agentsite-calc"];
    assert_eq!(entry["command"], binary());
    let folder = site.path().canonicalize().unwrap().display().to_string();
    let words: Vec<&str> = entry["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(words, ["mcp", "--folder", &folder, "--as", "cursor-calc", "--agent", "calc"]);
    assert!(said.err().contains(".cursor/mcp.json"), "{}", said.err());
    assert!(!std::path::Path::new(&home).exists());
    let http = site.run(&["connect", "claude-code", "--http", "--site", "https://a.example"]).ok();
    assert_eq!(http.json()["mcpServers"]["agentsite"]["url"], "https://a.example/mcp");
    assert_eq!(site.run(&["connect", "claude", "--http"]).code(), 1);
    assert_eq!(site.run(&["connect", "cursor", "--key", "k"]).code(), 2);
}

#[test]
fn the_configuration_is_written_once_and_keeps_the_rest() {
    let site = TestSite::new();
    let home = site.path().join("home");
    let site = site.variable("HOME", &home.display().to_string());
    site.write("home/.gemini/settings.json", "{\n  \"theme\": \"dark\"\n}\n");
    let said = site.run(&["connect", "gemini", "--write"]).ok();
    assert!(said.out().contains("now has the entry agentsite"), "{}", said.out());
    let file = home.join(".gemini/settings.json");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(
        (&written["theme"], &written["mcpServers"]["agentsite"]["args"][0]),
        (&"dark".into(), &"mcp".into())
    );
    assert!(home.join(".gemini/settings.json.before-agentsite").exists());
    let again = site.run(&["connect", "gemini", "--write"]).ok();
    assert!(again.out().contains("nothing was changed"), "{}", again.out());
}

#[tokio::test]
async fn over_http_a_program_gets_a_key_of_its_own_for_the_site_of_this_folder() {
    let mut site = TestSite::new();
    let home = site.path().join("home");
    site = site.variable("HOME", &home.display().to_string());
    assert_eq!(site.run(&["connect", "gemini", "--http", "--write"]).code(), 5, "no site runs here");
    site.start();
    let printed = site.run(&["connect", "gemini", "--http"]).ok();
    assert!(printed.out().contains("${AGENTSITE_KEY}"), "no key is printed: {}", printed.out());
    site.run(&["connect", "gemini", "--http", "--write"]).ok();
    let file = home.join(".gemini/settings.json");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let entry = &written["mcpServers"]["agentsite"];
    let bearer = entry["headers"]["Authorization"].as_str().unwrap();
    let ask = async |path: &str, body: Value| {
        let request = crate::site::http().post(format!("{}{path}", site.url)).header("authorization", bearer);
        request.json(&body).send().await.unwrap().status().as_u16()
    };
    let message = serde_json::json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "hi" }] } });
    assert_eq!(ask("/a2a/echo/message:send", message).await, 200);
    assert_eq!(ask("/api/keys", serde_json::json!({ "label": "x", "scopes": ["admin"] })).await, 403);
    let again = site.run(&["connect", "gemini", "--http", "--write"]).ok();
    assert!(again.out().contains("nothing was changed"), "{}", again.out());
}

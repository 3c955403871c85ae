//! Tool servers that require a login: a person consents, the site stores and refreshes the token, and never
//! shows it.
//!
//! The counterpart is `tests/python/mcp_login_server.py`, a server of the official package with its own
//! authorization server. The person is an HTTP client that opens the printed address and goes where it is
//! sent, as a browser does.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use reqwest::redirect::Policy;
use serde_json::{Value, json};

use super::mcp_server::steps;
use super::program::Program;
use crate::site::{PATIENCE, TestSite, answer, eventually, mcp_python, message, state, status_text};

/// The sentence by which the operator knows what to do.
const WANTED: &str = "log in with `agentsite agent login notes`";

struct Story {
    server: Program,
    site: TestSite,
}

impl Story {
    async fn begin(auth: &str, variables: &[(&str, &str)]) -> Self {
        let server = Program::start(&mcp_python(), "mcp_login_server.py").await;
        let mut site = TestSite::trusting();
        for (name, value) in variables {
            site = site.variable(name, value);
        }
        site.write("agentsite.toml", "[egress]\nallow = [\"127.0.0.1\"]\n");
        site.write("agents/notes/agent.toml", &manifest(&format!("{}/mcp", server.url), auth));
        site.start();
        Self { server, site }
    }

    async fn health(&self, health: &str) -> String {
        eventually(&format!("notes is {health}"), async || {
            let agent = self.site.get("/api/agents/notes").await;
            (agent["health"] == health).then(|| agent["reason"].as_str().unwrap_or_default().to_owned())
        })
        .await
    }

    async fn control(&self, what: &str) -> Value {
        let request = self.site.http.post(format!("{}/control/{what}", self.server.url));
        request.send().await.unwrap().json().await.unwrap()
    }

    /// Calls the tool by A2A.
    async fn note(&self, text: &str) -> Value {
        let mut message = message("");
        message["parts"] = json!([{ "data": { "tool": "note", "arguments": { "text": text } } }]);
        self.site.rpc("notes", "SendMessage", json!({ "message": message })).await
    }

    /// Calls the tool by MCP, with the official client.
    fn note_by_mcp(&self, text: &str) -> Value {
        let call = json!({"do": "call", "tool": "note", "arguments": {"text": text}});
        steps(&format!("{}/mcp/notes", self.site.url), &[], &[call]).remove(0)
    }

    /// Begins a login on the command line.
    fn login(&self, more: &[&str]) -> LoginProcess {
        let mut command = self.site.command(&["agent", "login", "notes"]);
        command.args(more).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut address = String::new();
        out.read_line(&mut address).unwrap();
        LoginProcess { child, out, address: address.trim().to_owned() }
    }

    /// Logs in as a person does.
    async fn log_in(&self) {
        let process = self.login(&[]);
        let page = browser().get(&process.address).send().await.unwrap();
        let told = page.text().await.unwrap();
        assert!(told.contains("notes is logged in"), "{told}");
        let (code, out, err) = process.end();
        assert!(code == 0 && out.contains("notes is logged in; it is ready"), "{code} {out} {err}");
    }
}

fn manifest(url: &str, auth: &str) -> String {
    format!(
        "name = \"notes\"\ndescription = \"Keeps notes\"\nvisibility = \"public\"\n[runtime]\nkind = \"mcp\"\nurl = \"{url}\"\n{auth}\n"
    )
}

/// The command line while it waits for the person.
struct LoginProcess {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    /// What it printed first.
    address: String,
}

impl LoginProcess {
    /// Waits for its end: exit code, the rest of stdout, stderr.
    fn end(mut self) -> (i32, String, String) {
        drop(self.child.stdin.take());
        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), out, err)
    }
}

/// A client that goes where it is sent.
fn browser() -> reqwest::Client {
    let client = reqwest::Client::builder().no_proxy().redirect(Policy::limited(5)).timeout(PATIENCE);
    client.build().unwrap()
}

fn parameter(address: &str, name: &str) -> String {
    let address: reqwest::Url = address.parse().unwrap();
    address.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned()
}

/// All files below a folder as bytes, with their names.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path.display().to_string(), bytes));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_logs_an_agent_in_once_and_the_site_goes_on_by_itself() {
    let mut story = Story::begin("auth = \"login\"", &[]).await;
    assert_eq!(story.health("needs-setup").await, WANTED);
    let refused = story.note("too early").await;
    assert_eq!(state(&refused), "failed", "{refused}");
    assert!(status_text(&refused).contains(WANTED), "{refused}");
    let refused = story.note_by_mcp("too early").to_string();
    assert!(refused.contains(WANTED), "{refused}");
    assert!(answer(&story.site.send("echo", "still here").await).contains("still here"));

    story.log_in().await;
    assert_eq!(answer(&story.note("milk").await), "noted: milk");
    assert!(story.note_by_mcp("bread").to_string().contains("noted: bread"));
    let card = story.site.get("/a2a/notes/.well-known/agent-card.json").await;
    assert_eq!(card["skills"][0]["id"], "note", "{card}");

    story.control("expire").await;
    assert_eq!(answer(&story.note("refreshed").await), "noted: refreshed");
    story.site.kill();
    story.site.start();
    story.health("ready").await;
    assert_eq!(answer(&story.note("restarted").await), "noted: restarted");
    story.control("expire").await;
    assert_eq!(answer(&story.note("refreshed again").await), "noted: refreshed again");
    let seen = story.control("seen").await;
    assert_eq!((&seen["asked"], &seen["registered"]), (&json!(1), &json!(1)), "one person, once: {seen}");
    assert!(seen["refreshed"].as_u64().unwrap() >= 2, "{seen}");

    story.control("revoke").await;
    let refused = story.note("revoked").await;
    assert_eq!(state(&refused), "failed", "{refused}");
    assert!(status_text(&refused).contains(WANTED), "{refused}");
    assert_eq!(story.health("needs-setup").await, WANTED);
    story.log_in().await;
    assert_eq!(answer(&story.note("again").await), "noted: again");
    nobody_sees_a_secret(&story).await;

    assert!(story.site.run(&["agent", "logout", "notes"]).ok().out().contains("is logged out"));
    assert_eq!(story.health("needs-setup").await, WANTED);
    assert!(story.site.run(&["agent", "logout", "notes"]).ok().out().contains("was not logged in"));
}

/// Looks for every secret of the authorization server in everything that the site wrote or tells.
async fn nobody_sees_a_secret(story: &Story) {
    let secrets = story.control("seen").await["secrets"].take();
    let secrets: Vec<&str> = secrets.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(secrets.len() > 5, "{secrets:?}");
    let mut told = Vec::new();
    files(story.site.path(), &mut told);
    assert!(told.iter().any(|(name, _)| name.ends_with("site.db")));
    for verb in [["agent", "logs", "notes"], ["agent", "show", "notes"], ["task", "ls", "--json"]] {
        told.push((verb.join(" "), story.site.run(&verb).ok().out().into_bytes()));
    }
    for path in ["/api/journal", "/api/agents/notes", "/a2a/notes/.well-known/agent-card.json"] {
        told.push((path.into(), story.site.get(path).await.to_string().into_bytes()));
    }
    for (name, bytes) in &told {
        let found =
            secrets.iter().find(|secret| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
        assert_eq!(found, None, "in {name}");
    }
    let journal = story.site.get("/api/journal").await.to_string();
    assert!(journal.contains("logged the agent in to its server"), "{journal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_goes_wrong_is_told() {
    let story = Story::begin("auth = \"login\"", &[]).await;
    story.health("needs-setup").await;

    story.control("deny").await;
    let denied = story.login(&["--no-browser"]);
    let page = browser().get(&denied.address).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("access_denied: The person said no."), "{page}");
    let (code, _, err) = denied.end();
    assert!(code != 0 && err.contains("the login to the tool server failed: access_denied"), "{err}");

    let process = story.login(&[]);
    let landing = parameter(&process.address, "redirect_uri");
    let stray = browser().get(format!("{landing}?code=guessed&state=guessed")).send().await.unwrap();
    assert_eq!(stray.status(), 400);
    let site_told = story.site.http.post(format!("{}/api/agents/notes/login/answer", story.site.url));
    let site_told = site_told.json(&json!({"url": format!("{landing}?code=guessed&state=guessed")}));
    let site_told = site_told.send().await.unwrap().text().await.unwrap();
    assert!(site_told.contains("its state differs"), "{site_told}");
    let page = browser().get(&process.address).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("notes is logged in"), "{page}");
    let (code, _, err) = process.end();
    assert!(code == 0 && err.contains("an answer to another login"), "{err}");

    let (code, _, err) = story.login(&["--timeout", "100ms"]).end();
    assert!(code != 0 && err.contains("the login did not finish within 100ms"), "{err}");
    let nobody = story.site.run(&["agent", "login", "echo"]);
    assert!(nobody.code() == 6 && nobody.err().contains("echo whose server wants a login"), "{nobody:?}");

    // A login belongs to the address for which it was given.
    let moved = manifest(&format!("{}/mcp?moved", story.server.url), "auth = \"login\"");
    story.site.write("agents/notes/agent.toml", &moved);
    assert_eq!(story.health("needs-setup").await, WANTED);
    assert!(story.site.run(&["agent", "logout", "notes"]).ok().out().contains("was not logged in"));
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_whose_browser_is_elsewhere_pastes_the_address() {
    let story = Story::begin("auth = \"login\"", &[]).await;
    story.health("needs-setup").await;
    for (wrong, sentence) in [
        ("nonsense\n", "this is not a URL"),
        ("http://127.0.0.1:1/callback?code=a&state=b\n", "its state differs"),
    ] {
        let mut process = story.login(&["--paste"]);
        process.child.stdin.as_mut().unwrap().write_all(wrong.as_bytes()).unwrap();
        let (code, _, err) = process.end();
        assert!(code != 0 && err.contains(sentence), "{err}");
    }
    let mut process = story.login(&["--paste"]);
    let sent = story.site.http.get(&process.address).send().await.unwrap();
    let location = sent.headers()["location"].to_str().unwrap().to_owned();
    process.child.stdin.as_mut().unwrap().write_all(format!("{location}\n").as_bytes()).unwrap();
    let (code, out, err) = process.end();
    assert!(code == 0 && out.contains("notes is logged in; it is ready"), "{out} {err}");
    assert_eq!(answer(&story.note("from afar").await), "noted: from afar");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_comes_in_without_any_person() {
    let auth = "auth = \"machine\"\nclient_id = \"machine\"\nclient_secret_env = \"NOTES_SECRET\"";
    let story = Story::begin(auth, &[("NOTES_SECRET", "machine-secret")]).await;
    story.health("ready").await;
    assert_eq!(answer(&story.note("milk").await), "noted: milk");
    story.control("revoke").await;
    assert_eq!(answer(&story.note("renewed").await), "noted: renewed");
    let seen = story.control("seen").await;
    assert!(seen["asked"].is_null() && seen["machine"].as_u64().unwrap() >= 2, "{seen}");

    let story = Story::begin(auth, &[("NOTES_SECRET", "wrong-secret")]).await;
    let reason = story.health("down").await;
    assert!(reason.contains("invalid_client") && !reason.contains("wrong-secret"), "{reason}");
    assert!(!story.site.log().contains("wrong-secret"));
}

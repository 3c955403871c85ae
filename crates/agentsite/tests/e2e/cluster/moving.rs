//! `agentsite migrate` and `agentsite restore` between a file and PostgreSQL, with the real binary.
//!
//! Promises that are tested: a moved site has everything, its old keys included; what cannot be moved is
//! refused with what to do, and no password is shown; a move that is killed leaves nothing that a site would
//! take for its data, and the same command completes it; a backup of either engine restores into the other.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};

use serde_json::json;

use super::server::Server;
use crate::site::{TestSite, answer, eventually, http};

/// Words that are searched for: a script without spaces, and a letter with an accent.
const SAID: &str = "今天天气很好 im Café";

/// What a site holds that its caller can name.
struct Story {
    task: String,
    secret: String,
    conversation: String,
}

/// Makes a task, a key and a conversation.
async fn begin(site: &TestSite) -> Story {
    let sent = site.send("echo", "before the move").await;
    let key = site.run(&["key", "new", "--label", "old", "--scope", "call", "--json"]).ok().json();
    let begun = json!({ "agent": "echo", "message": SAID });
    let begun = site.http.post(format!("{}/api/conversations", site.url)).json(&begun).send().await.unwrap();
    let begun: serde_json::Value = begun.json().await.unwrap();
    let turn = begun["turn"]["id"].as_str().unwrap_or_else(|| panic!("{begun}"));
    let stream = site.http.get(format!("{}/api/tasks/{turn}/events", site.url));
    let stream = stream.header("accept", "text/event-stream").send().await.unwrap().text().await.unwrap();
    assert!(stream.contains("event: settled"), "{stream}");
    Story {
        task: sent["result"]["task"]["id"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned(),
        secret: key["secret"].as_str().unwrap().to_owned(),
        conversation: begun["conversation"]["id"].as_str().unwrap().to_owned(),
    }
}

/// Everything is there, and work continues.
async fn has(site: &TestSite, story: &Story) {
    let task = site.rpc("echo", "GetTask", json!({ "id": story.task })).await;
    assert!(task["result"].to_string().contains("before the move"), "{task}");
    let asked = http().get(format!("{}/api/tasks", site.url)).bearer_auth(&story.secret);
    assert_eq!(asked.send().await.unwrap().status().as_u16(), 200, "the old key works");
    for words in ["%E5%A4%A9%E6%B0%94", "%63af%C3%A9"] {
        let found = site.get(&format!("/api/conversations?text={words}")).await;
        assert!(found.to_string().contains(&story.conversation), "{words}: {found}");
    }
    assert_eq!(answer(&site.send("echo", "after the move").await), "after the move");
    let audited = site.run(&["audit", "verify", "--json"]).ok().json();
    assert_eq!(audited["ok"], true, "{audited}");
}

fn migrate(site: &TestSite, from: &str, to: &str) -> crate::site::Said {
    site.run(&["migrate", "--from", from, "--to", to])
}

#[tokio::test]
async fn a_site_moves_into_a_database_and_back_with_everything() {
    let server = Server::start();
    let mut site = TestSite::started();
    let story = begin(&site).await;
    assert!(site.stop().success());
    let moved = site.run(&["migrate", "--from", "agentsite-data", "--to", &server.url(), "--json"]).ok();
    let tables = moved.json()["tables"].as_array().unwrap().clone();
    assert!(tables.iter().all(|table| table["from"] == table["to"]), "{tables:?}");
    assert!(tables.iter().any(|table| table["table"] == "task_events" && table["to"]["rows"] != 0));
    let again = migrate(&site, "agentsite-data", &server.url()).ok().out();
    assert!(again.contains("was there already"), "the same command ends with the same result: {again}");

    let mut site = site.variable("AGENTSITE_STORE", &server.url());
    site.start();
    has(&site, &story).await;
    let running = site.run(&["migrate", "--to", "elsewhere"]);
    assert!(running.code() == 1 && running.err().contains("a site is running on this"), "{running:?}");
    assert!(site.stop().success());
    let other = migrate(&site, "agentsite-data", &server.url());
    assert!(other.code() == 1 && other.err().contains("it is not the same"), "{other:?}");

    let mut home = TestSite::new();
    let back = site.run(&["migrate", "--to", home.data().to_str().unwrap()]).ok().out();
    assert!(back.contains("verified"), "{back}");
    home.start();
    has(&home, &story).await;
}

#[tokio::test]
async fn what_cannot_be_moved_is_refused_with_what_to_do() {
    let server = Server::start();
    server.sql("CREATE ROLE guarded LOGIN PASSWORD 'right'");
    let mut site = TestSite::started();
    begin(&site).await;
    let refused = |site: &TestSite, to: &str, sentence: &str| {
        let said = migrate(site, "agentsite-data", to);
        assert!(said.code() == 1 && said.err().contains(sentence), "{sentence}: {said:?}");
        assert!(!format!("{said:?}").contains("sesame"), "a password is shown: {said:?}");
    };
    refused(&site, &server.url(), "a site is running on this data folder: stop it first");
    assert!(site.stop().success());

    let url = server.url();
    refused(&site, &url.replace("/postgres?", "/nowhere?"), "create it with `createdb`");
    refused(&site, &url.replace("postgres@", "guarded:sesame@"), "PostgreSQL refused the login");
    refused(&site, &format!("{url}&user=guarded&password=sesame"), "PostgreSQL refused the login");
    refused(&site, "postgres://site:sesame@127.0.0.1:1/agents", "does not answer");
    let file = site.path().join("database.url");
    std::fs::write(&file, "postgres://site:sesame@127.0.0.1:1/agents\n").unwrap();
    refused(&site, "database.url", "does not answer");
    assert_eq!(migrate(&site, "agentsite-data", "mysql://u:sesame@h/d").code(), 2);
    assert_eq!(migrate(&site, "agentsite-data", "agentsite-data").code(), 2);
    assert_eq!(migrate(&site, "nothing-here", &url).code(), 6);

    let site = site.variable("AGENTSITE_DATA_KEY", super::KEY);
    refused(&site, &url, "sealed with another key");
    let site = site.without("AGENTSITE_DATA_KEY");
    let mut other = super::process(&server, "other");
    other.start();
    refused(&site, &url, "a site is running on this database (process other)");
    assert!(other.stop().success());
    refused(&site, &url, "already holds the data of a site");
}

/// A session that holds a lock, so that others wait at a place that the story knows.
struct Holder {
    psql: Child,
    _input: ChildStdin,
}

impl Holder {
    fn lock(server: &Server, mode: &str) -> Self {
        let mut psql = server.session();
        let mut psql = psql.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = psql.stdin.take().unwrap();
        writeln!(input, "BEGIN; LOCK TABLE agentsite.listings IN {mode} MODE; SELECT 'locked';").unwrap();
        input.flush().unwrap();
        let mut line = String::new();
        BufReader::new(psql.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "locked");
        Self { psql, _input: input }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.psql.kill();
        let _ = self.psql.wait();
    }
}

/// Starts a move that meets a locked table, and kills it there.
async fn kill_at(site: &TestSite, server: &Server, mode: &str, arguments: &[&str]) {
    let holder = Holder::lock(server, mode);
    let mut moving = site.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'agentsite' AND wait_event_type = 'Lock'";
    eventually("the move waits at the lock", async || (server.sql(waiting) == "1").then_some(())).await;
    moving.kill().unwrap();
    moving.wait().unwrap();
    // The server notices that its client is gone when it gets the lock.
    drop(holder);
    let left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'agentsite'";
    eventually("the server has ended the session", async || (server.sql(left) == "0").then_some(())).await;
}

fn refuses_to_start(site: &TestSite) {
    let said = site.serve_command().output().unwrap();
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(!said.status.success() && words.contains("is not complete"), "{words}");
}

#[tokio::test]
async fn a_move_that_is_killed_is_not_taken_for_data_and_continues() {
    let server = Server::start();
    let mut site = TestSite::started();
    let story = begin(&site).await;
    assert!(site.stop().success());
    // The tables are there, and empty, when the doctor has looked at the database.
    let site = site.variable("AGENTSITE_STORE", &server.url());
    site.run(&["doctor"]);
    let arguments = ["migrate", "--from", "agentsite-data"];
    // Reading is possible, emptying the table is not.
    kill_at(&site, &server, "ACCESS SHARE", &arguments).await;
    assert_ne!(server.sql("SELECT count(*) FROM agentsite.copying"), "0", "some tables are whole");
    refuses_to_start(&site);
    let mut site = site;
    site.run(&arguments).ok();
    site.start();
    has(&site, &story).await;
    assert!(site.stop().success());

    let mut home = TestSite::new();
    let arguments = ["migrate", "--to", home.data().to_str().unwrap()].map(str::to_owned);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    kill_at(&site, &server, "ACCESS EXCLUSIVE", &arguments).await;
    refuses_to_start(&home);
    site.run(&arguments).ok();
    home.start();
    has(&home, &story).await;
}

#[tokio::test]
async fn a_backup_of_either_engine_restores_into_the_other() {
    let server = Server::start();
    let mut site = TestSite::started();
    let story = begin(&site).await;
    assert!(site.stop().success());
    site.run(&["backup", "file.backup"]).ok();
    let backup = site.path().join("file.backup").display().to_string();

    let mut shared = TestSite::new().variable("AGENTSITE_STORE", &server.url());
    let restored = shared.run(&["restore", &backup]).ok().out();
    assert!(restored.contains("restored from"), "{restored}");
    shared.start();
    has(&shared, &story).await;
    let running = shared.run(&["restore", &backup, "--force"]);
    assert!(
        running.code() == 1 && running.err().contains("a site is running on this database"),
        "{running:?}"
    );
    assert!(shared.stop().success());
    let taken = shared.run(&["restore", &backup]);
    assert!(taken.code() == 1 && taken.err().contains("--force"), "{taken:?}");
    shared.run(&["backup", "database.backup"]).ok();
    shared.run(&["restore", &backup, "--force"]).ok();
    assert_ne!(server.sql("SELECT count(*) FROM agentsite_before_restore.tasks"), "0", "it was kept");

    let mut home = TestSite::new();
    home.run(&["restore", shared.path().join("database.backup").to_str().unwrap()]).ok();
    home.start();
    has(&home, &story).await;
    let wrong = TestSite::new()
        .variable("AGENTSITE_STORE", &format!("{}&search_path=other", server.url()))
        .variable("AGENTSITE_DATA_KEY", super::KEY);
    let refused = wrong.run(&["restore", &backup]);
    assert!(refused.code() == 1 && refused.err().contains("sealed with another key"), "{refused:?}");
}

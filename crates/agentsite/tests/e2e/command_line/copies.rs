//! `agentsite backup` and `restore`.
//!
//! A copy can be taken at any time and is never overwritten; it is brought back only while no site runs. That
//! a copy is consistent under load is the store's own contract.

use std::os::unix::fs::PermissionsExt;

use crate::site::{TestSite, exec_agent};

fn tasks(site: &TestSite) -> usize {
    site.run(&["task", "ls", "--json"]).ok().json()["tasks"].as_array().unwrap().len()
}

#[test]
fn a_backup_of_a_running_site_brings_its_tasks_back() {
    let mut site = TestSite::started();
    let kept = site.run(&["call", "echo", "keep me", "--json"]).ok().json();
    let said = site.run(&["backup", "copy.db"]).ok();
    assert!(said.out().contains("copy.db"), "{said:?}");
    site.run(&["call", "echo", "after the copy"]).ok();
    assert_eq!(tasks(&site), 2);
    let again = site.run(&["backup", "copy.db"]);
    assert_eq!(again.code(), 1, "a copy is never overwritten");

    let refused = site.run(&["restore", "copy.db"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.err().contains("stop"), "{refused:?}");
    assert_eq!(tasks(&site), 2, "nothing happened");

    assert!(site.stop().success());
    let refused = site.run(&["restore", "copy.db"]);
    assert!(refused.code() == 1 && refused.err().contains("--force"), "{refused:?}");
    site.run(&["restore", "copy.db", "--force"]).ok();
    site.start();
    assert_eq!(tasks(&site), 1);
    let shown = site.run(&["task", "show", kept["id"].as_str().unwrap(), "--json"]).ok().json();
    assert_eq!(shown["artifacts"][0]["parts"][0]["text"], "keep me");
}

#[test]
fn a_stopped_site_is_backed_up_and_restored_into_another_folder() {
    let mut site = TestSite::started();
    site.run(&["call", "echo", "keep me"]).ok();
    assert!(site.stop().success());
    let json = site.run(&["backup", "copy.db", "--json"]).ok().json();
    assert!(json["file"].as_str().unwrap().ends_with("copy.db"));
    let mut other = TestSite::new();
    let copy = site.path().join("copy.db").display().to_string();
    other.run(&["restore", &copy]).ok();
    other.start();
    assert_eq!(tasks(&other), 1);
}

#[test]
fn what_cannot_be_copied_is_told() {
    let site = TestSite::new();
    let nothing = site.run(&["backup", "copy.db"]);
    assert_eq!(nothing.code(), 6, "{nothing:?}");
    assert!(nothing.err().contains("there is no data to back up"), "{nothing:?}");
    assert_eq!(site.run(&["restore", "nowhere.db"]).code(), 6);
    site.write("garbage.db", "this is not a database, only words");
    let garbage = site.run(&["restore", "garbage.db"]);
    assert_eq!(garbage.code(), 1, "{garbage:?}");
    assert!(garbage.err().contains("garbage.db"), "{garbage:?}");
}

#[tokio::test]
async fn a_backup_of_a_running_site_is_a_working_site_in_an_empty_folder() {
    let private = exec_agent("shout", &["./shout.sh"], "").replace("public", "private");
    let mut site = TestSite::new().agent("shout", &private);
    site.write("agents/shout/shout.sh", "#!/bin/sh\ntr a-z A-Z\n");
    let script = site.path().join("agents/shout/shout.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    site.write("agents/shout/node_modules/big/index.js", "made again");
    site.write("outside.txt", "not of the site");
    std::os::unix::fs::symlink(site.path().join("outside.txt"), site.path().join("agents/shout/link"))
        .unwrap();
    site.write("agentsite.toml", "demos = false\n[site]\nname = \"first\"\n");
    site.start();
    let kept = site.run(&["call", "shout", "keep me", "--json"]).ok().json();

    let made = site.run(&["backup", "site.backup"]).ok().out();
    for line in ["agents     shout", "agentsite.toml", "left out   agents/shout/link", "node_modules"] {
        assert!(made.contains(line), "{line}: {made}");
    }
    let file = site.path().join("site.backup");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let leftovers = std::fs::read_dir(site.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".making"));
    assert_eq!(leftovers.count(), 0);
    let listed = site.run(&["backup", "--list", "site.backup"]).ok().out();
    assert!(listed.contains("agents     shout") && listed.contains("made by agentsite"), "{listed}");

    // Onto an existing file the site answers that it is there, not that it broke.
    let body = serde_json::json!({ "file": file });
    let asked = site.http.post(format!("{}/api/backup", site.url)).bearer_auth(site.token()).json(&body);
    assert_eq!(asked.send().await.unwrap().status(), 409);

    let mut other = TestSite::new();
    other.run(&["restore", file.to_str().unwrap()]).ok();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&other.data()), mode(&other.data().join("site.db"))), (0o700, 0o600));
    assert!(!other.path().join("agents/shout/link").exists());
    other.start();
    assert_eq!(other.run(&["call", "shout", "hello"]).ok().out().trim(), "HELLO");
    assert_eq!(other.run(&["status", "--json"]).ok().json()["name"], "first");
    let shown = other.run(&["task", "show", kept["id"].as_str().unwrap(), "--json"]).ok().json();
    assert_eq!(shown["artifacts"][0]["parts"][0]["text"].as_str().unwrap().trim(), "KEEP ME");
    assert!(other.stop().success());
    let again = other.run(&["restore", file.to_str().unwrap()]);
    assert!(again.code() == 1 && again.err().contains("--force"), "{again:?}");
}

#[test]
fn data_only_leaves_agents_and_configuration_out_and_plain_databases_of_earlier_versions_are_restored() {
    let mut site = TestSite::new().agent("shout", &exec_agent("shout", &["cat"], ""));
    site.start();
    site.run(&["call", "shout", "keep me"]).ok();
    let made = site.run(&["backup", "data.backup", "--data-only", "--json"]).ok().json();
    assert_eq!(made["contents"]["agents"], serde_json::json!([]));
    assert!(site.stop().success());
    // What earlier versions wrote was a copy of the database; this one is sealed, so its key has to come
    // along.
    let old = site.path().join("old.db");
    std::fs::copy(site.data().join("site.db"), &old).unwrap();
    for file in [site.path().join("data.backup"), old.clone()] {
        let mut other = TestSite::new();
        other.run(&["backup", "--list", file.to_str().unwrap()]).ok();
        other.run(&["restore", file.to_str().unwrap()]).ok();
        if file == old {
            std::fs::copy(site.data().join("site.key"), other.data().join("site.key")).unwrap();
        }
        other.start();
        assert_eq!(tasks(&other), 1, "{file:?}");
    }
}

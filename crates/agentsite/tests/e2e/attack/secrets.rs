//! Secrets at rest and hostile text: private files, sealed secrets, and nothing that steers a terminal.
//!
//! What a terminal would see is read from a real one.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::report;
use crate::command_line::terminal::at_a_terminal;
use crate::site::{TestSite, binary, eventually, exec_agent};

/// Files and folders below a folder that others may use.
fn open_to_others(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let about = std::fs::symlink_metadata(&path).unwrap();
        if about.permissions().mode() & 0o077 != 0 && !about.is_symlink() {
            found.push(path.clone());
        }
        if about.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found
}

#[test]
fn everything_in_the_data_folder_is_its_owners_alone_whatever_the_umask_and_the_modes_before() {
    let mut site = TestSite::new();
    std::fs::create_dir(site.data()).unwrap();
    std::fs::set_permissions(site.data(), std::fs::Permissions::from_mode(0o777)).unwrap();
    site.start();
    site.run(&["call", "echo", "hello"]).ok();
    let backup = site.path().join("copy.db");
    let backed = Command::new("sh")
        .args(["-c", "umask 0; exec \"$0\" backup copy.db"])
        .arg(binary())
        .current_dir(site.path())
        .status()
        .unwrap();
    assert!(backed.success());
    assert_eq!(open_to_others(&site.data()), Vec::<PathBuf>::new());
    assert_eq!(std::fs::metadata(&backup).unwrap().permissions().mode() & 0o077, 0, "the backup");
    assert_eq!(
        std::fs::metadata(site.path().join("site.log")).unwrap().permissions().mode() & 0o077,
        0,
        "the log"
    );
    site.stop();
    for entry in std::fs::read_dir(site.data()).unwrap() {
        let path = entry.unwrap().path();
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    site.start();
    assert_eq!(open_to_others(&site.data()), Vec::<PathBuf>::new(), "corrected at the next start");
    report("secrets", "loose umask and loose modes", "0 files of the data folder open to others");
}

#[test]
fn a_data_folder_of_another_user_is_refused() {
    let site = TestSite::new();
    // Another user's folder: for root one that is given away, for others the root folder itself.
    let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let folder = if root {
        std::fs::create_dir(site.data()).unwrap();
        std::os::unix::fs::chown(site.data(), Some(12_345), None).unwrap();
        site.data()
    } else {
        PathBuf::from("/")
    };
    let said = site
        .command(&["serve", "--listen", "127.0.0.1:0", "--data", folder.to_str().unwrap()])
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(!said.status.success() && words.contains("belongs to another user"), "{words}");
    // A link is as good as where it leads.
    let link = site.path().join("link");
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    let said = site.command(&["serve", "--listen", "127.0.0.1:0", "--data", "link"]).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stderr).contains("belongs to another user"), "{said:?}");
    report("secrets", "data folder of another user, direct and by a link", "refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn seeds_and_credentials_are_sealed_and_need_the_key() {
    let mut site = TestSite::started();
    site.stop();
    for file in ["site.db", "site.db-wal"] {
        let bytes = std::fs::read(site.data().join(file)).unwrap_or_default();
        assert!(!bytes.windows(7).any(|part| part == b"\"seeds\""), "{file} shows the signing seeds");
    }
    let key = std::fs::read_to_string(site.data().join("site.key")).unwrap();
    std::fs::remove_file(site.data().join("site.key")).unwrap();
    let refused = site.serve_command().output().unwrap();
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && words.contains("site.key") && words.contains("missing"), "{words}");
    assert!(!site.data().join("site.key").exists(), "no other key replaces it");
    // The same key from the environment, and as a credential of systemd.
    let mut from_variable = site.variable("AGENTSITE_DATA_KEY", key.trim());
    from_variable.start();
    let identity = from_variable.run(&["identity", "show", "--json"]).ok().json();
    from_variable.stop();
    std::fs::write(from_variable.path().join("agentsite-data-key"), &key).unwrap();
    let folder = from_variable.path().to_str().unwrap().to_owned();
    let mut from_credential =
        from_variable.without("AGENTSITE_DATA_KEY").variable("CREDENTIALS_DIRECTORY", &folder);
    from_credential.start();
    assert_eq!(from_credential.run(&["identity", "show", "--json"]).ok().json(), identity);
    report("secrets", "database without its key", "refused; seeds are not readable");
}

#[test]
fn a_backup_restores_a_working_site_elsewhere() {
    let mut site = TestSite::started();
    site.run(&["call", "echo", "carried over"]).ok();
    let identity = site.run(&["identity", "show", "--json"]).ok().json();
    let copy = site.path().join("copy.db");
    site.run(&["backup", copy.to_str().unwrap()]).ok();
    site.stop();
    let mut other = TestSite::new();
    other.run(&["restore", copy.to_str().unwrap()]).ok();
    other.start();
    assert_eq!(other.run(&["identity", "show", "--json"]).ok().json(), identity);
    other.run(&["audit", "verify"]).ok();
}

/// What steers terminals: colours, titles, links, the clipboard, cursor moves, C1 controls, overrides of
/// direction.
const HOSTILE: &str = "a\\033[2J\\033]0;owned\\007\\033]8;;http://evil.example\\033\\\\b\\033]52;c;ZXZpbA==\\007\\302\\2331mc\\342\\200\\256d\\r\\010";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_an_agent_says_steers_the_terminal() {
    let hostile =
        exec_agent("hostile", &["sh", "-c", &format!("printf '{HOSTILE}' >&2; printf '{HOSTILE}'")], "");
    let failing = exec_agent("failing", &["sh", "-c", &format!("printf '{HOSTILE}' >&2; exit 3")], "");
    let hostile = hostile
        .replace("description = \"Answers\"", "description = \"An \\u001b]0;owned\\u0007answer \\u202e\"");
    let mut site = TestSite::new().agent("hostile", &hostile).agent("failing", &failing);
    site.start();
    eventually("the agents are there", async || {
        site.run(&["agent", "ls"]).out().contains("failing").then_some(())
    })
    .await;
    let mut said = Vec::new();
    let task = site.run(&["call", "hostile", "x", "--json"]).json();
    let id = [&task["id"], &task["task"]["id"], &task["result"]["id"]]
        .into_iter()
        .find_map(|id| id.as_str())
        .map(ToOwned::to_owned);
    for arguments in [
        vec!["call", "hostile", "x"],
        vec!["call", "hostile", "x", "--json"],
        vec!["call", "failing", "\u{1b}[31mx\u{202e}"],
        vec!["call", "no\u{1b}such", "x"],
        vec!["task", "ls"],
        vec!["task", "show", id.as_deref().unwrap_or("unknown")],
        vec!["agent", "ls"],
        vec!["agent", "show", "hostile"],
        vec!["find", "an answer"],
        vec!["logs"],
        vec!["hub", "ls"],
        vec!["status"],
        vec!["doctor"],
    ] {
        // A terminal turns line feeds into two characters.
        let (_, seen) = at_a_terminal(&site, &arguments, &[("NO_COLOR", "1")], "");
        said.push((arguments.join(" "), seen.replace("\r\n", "\n")));
    }
    let steers = |letter: char| {
        (letter.is_control() && !matches!(letter, '\n' | '\t')) || ('\u{202a}'..='\u{202e}').contains(&letter)
    };
    let bad: Vec<&String> =
        said.iter().filter(|(_, text)| text.chars().any(steers)).map(|(verb, _)| verb).collect();
    assert!(bad.is_empty(), "{bad:?}: {said:?}");
    let log = site.log();
    assert!(!log.chars().any(steers), "the log");
    report(
        "secrets",
        "hostile agent names, answers and errors",
        format!("{} commands and the log: 0 escapes reach the terminal", said.len()),
    );
    assert!(said[0].1.contains("ab"), "the text itself arrives: {:?}", said[0]);
}

#[test]
fn the_log_inside_the_agents_folder_does_not_wake_the_watch() {
    let site = TestSite::new();
    site.write("agents/keep/notes", "");
    let log = std::fs::File::create(site.path().join("agents/site.log")).unwrap();
    let mut child = site
        .serve_command()
        .env("AGENTSITE_TELEMETRY_LOG", "debug")
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    let banner: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_ne!(banner["url"], json!(null));
    child.kill().unwrap();
    child.wait().unwrap();
}

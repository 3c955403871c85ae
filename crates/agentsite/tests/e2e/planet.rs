//! `agentsite demo planet`: the real binary starts real sites, shows what they do, and leaves nothing behind.
//!
//! Promises that are tested: the story has a query, a call, a lost site and another answer; a signal, an
//! error and a killed parent end every process; the folder is gone.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::site::{binary, eventually, http};

/// A planet that is being shown, in a folder for temporary files of its own.
struct Demo {
    process: Child,
    events: std::io::Lines<BufReader<ChildStdout>>,
    temporary: tempfile::TempDir,
}

impl Demo {
    fn start(sites: &str) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let mut process = Command::new(binary())
            .args(["demo", "planet", "--sites", sites, "--json"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TMPDIR", temporary.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let events = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, events, temporary }
    }

    /// The events up to and with the one of this name.
    fn until(&mut self, name: &str) -> Vec<Value> {
        let mut told = Vec::new();
        while told.last().is_none_or(|event: &Value| event["event"] != name) {
            let line = self.events.next().unwrap_or_else(|| panic!("ended before {name}: {told:?}")).unwrap();
            told.push(serde_json::from_str(&line).unwrap());
        }
        told
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.process.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// The folders that it made.
    fn folders(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.temporary.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It may have ended; its sites end with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

fn pids(events: &[Value]) -> Vec<u64> {
    named(events, "start").iter().map(|event| event["pid"].as_u64().unwrap()).collect()
}

/// Whether a process of a planet runs: another program may have got its number meanwhile.
fn runs(pid: &u64) -> bool {
    std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"))
        .is_ok_and(|line| String::from_utf8_lossy(&line).contains("demo-site"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planet_shows_a_query_a_call_and_a_lost_site_and_leaves_nothing_behind() {
    let mut demo = Demo::start("3");
    let told = demo.until("running");
    assert_eq!((named(&told, "start").len(), named(&told, "join").len()), (3, 2));
    let page = named(&told, "page")[0];
    let link = page["signIn"].as_str().unwrap();
    assert!(link.contains("/signin?token="), "{page}");
    assert!(http().get(page["url"].as_str().unwrap()).send().await.unwrap().status().is_success());
    let calls = named(&told, "call");
    assert!(calls.len() == 2 && calls.iter().all(|call| call["answer"] == "9"), "{calls:?}");
    assert_ne!(calls[0]["target"], calls[1]["target"], "another site answers");
    let lost = named(&told, "gone")[0]["site"].as_str().unwrap();
    assert!(calls[0]["target"].as_str().unwrap().ends_with(lost), "{lost}");
    let again = named(&told, "query")[1]["matches"].as_array().unwrap();
    assert!(again.iter().any(|one| one["live"] == false) && again[0]["live"] == true, "{again:?}");
    let pids = pids(&told);
    assert_eq!(pids.iter().filter(|pid| runs(pid)).count(), 2);

    demo.signal("INT");
    demo.until("stopped");
    assert!(demo.process.wait().unwrap().success());
    assert!(!pids.iter().any(runs), "every site has ended");
    assert_eq!(demo.folders(), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sites_of_a_planet_end_with_a_signal_and_when_their_parent_is_killed() {
    let mut demo = Demo::start("2");
    let started = demo.until("invite");
    demo.signal("TERM");
    demo.until("stopped");
    assert!(demo.process.wait().unwrap().success());
    assert!(!pids(&started).iter().any(runs) && demo.folders().is_empty());

    let mut demo = Demo::start("2");
    let pids = pids(&demo.until("invite"));
    demo.signal("KILL");
    eventually("every site ends by itself", async || (!pids.iter().any(runs)).then_some(())).await;
}

#[test]
fn a_planet_of_one_site_or_of_too_many_is_refused() {
    for sites in ["0", "1", "21"] {
        let said = Command::new(binary()).args(["demo", "planet", "--sites", sites]).output().unwrap();
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.status.code() == Some(2) && words.contains("from 2 to 20"), "{words}");
    }
}

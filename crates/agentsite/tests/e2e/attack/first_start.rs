//! Kills during the first start: whenever the process dies, the next start yields a site with a working admin
//! token. The moments are changes of the data folder, so that no pause and no machine decides what is met.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;

use notify::{RecursiveMode, Watcher};

use super::{is_full, report};
use crate::site::{PATIENCE, TestSite, http};

/// Changes in the data folder after which the process is killed: from the first one to well after the site
/// listens.
const MOMENTS: usize = 60;

/// Events of the folder that may wait: more than a start causes, so that nothing is held up.
const EVENTS: usize = 10_000;

/// Every how many moments one is tried in an ordinary test run.
const SHORT_STEP: usize = 6;

#[tokio::test]
async fn a_first_start_that_is_killed_at_any_moment_leaves_a_site_that_starts_with_a_working_token() {
    let step = if is_full() { 1 } else { SHORT_STEP };
    let (mut kills, mut missing) = (0, 0);
    for moment in (1..=MOMENTS).step_by(step) {
        let mut site = TestSite::new();
        kill_after(&site, moment);
        kills += 1;
        site.start();
        let token = std::fs::read_to_string(site.data().join("admin.token")).unwrap_or_default();
        let keys = http().get(format!("{}/api/keys", site.url)).bearer_auth(token.trim());
        if keys.send().await.unwrap().status() != 200 {
            missing += 1;
            println!("no working token after a kill at change {moment}");
        }
    }
    report(
        "first start",
        "kill at every change of the data folder",
        format!("{kills} kills, {missing} without a working admin token"),
    );
    assert_eq!(missing, 0);
}

/// What is seen of a start.
enum Seen {
    /// A file of the data folder was made, written, renamed or removed.
    Change,
    /// The site serves, or has ended.
    Banner,
}

/// Starts the site for the first time and kills it after this many changes in its data folder.
fn kill_after(site: &TestSite, changes: usize) {
    std::fs::create_dir(site.data()).unwrap();
    let (seen, events) = mpsc::sync_channel(EVENTS);
    let ready = seen.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| !event.kind.is_access()) {
            let _ = seen.send(Seen::Change);
        }
    })
    .unwrap();
    watcher.watch(&site.data(), RecursiveMode::NonRecursive).unwrap();
    let mut child = site.serve_command().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        let _ = out.read_line(&mut String::new());
        let _ = ready.send(Seen::Banner);
    });
    // A start that makes fewer changes than this is killed as soon as it serves.
    let mut seen = 0;
    while seen < changes && matches!(events.recv_timeout(PATIENCE), Ok(Seen::Change)) {
        seen += 1;
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

//! A database that has no space or no connections left.
//!
//! Promises that are tested: what cannot be written is refused with when to come back, never acknowledged;
//! what was acknowledged is there afterwards; the site heals by itself when the database does. A start that
//! finds no connection says what to raise.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::server::{Server, own};
use super::{process, started, task, task_id};
use crate::crash::dice::Dice;
use crate::site::{TestSite, eventually, message, state};

/// The disk of the small database: what an empty one needs, and a few megabytes.
const SIZE: &str = "size=80m";

/// Messages after which a full disk must have shown itself.
const MOST_SENT: usize = 5_000;

/// What a message is padded with, so that the space goes quickly.
const PADDING: usize = 64 << 10;

/// A small file system; taken away when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(place: PathBuf) -> Self {
        std::fs::create_dir_all(&place).unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", SIZE, "agentsite"]).arg(&place).output().unwrap();
        assert!(mounted.status.success(), "cannot mount a small disk: run as root: {mounted:?}");
        own(&place);
        Self(place)
    }

    /// Makes the disk larger.
    fn grow(&self) {
        let mut mount = Command::new("mount");
        let grown = mount.args(["-o", "remount,size=400m"]).arg(&self.0).output().unwrap();
        assert!(grown.status.success(), "{grown:?}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// Sends to echo; the status, whether Retry-After is there, and the body.
async fn post(site: &TestSite, text: &str) -> (u16, bool, serde_json::Value) {
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message(text)}});
    let asked = site.http.post(format!("{}/a2a/echo", site.url)).header("a2a-version", "1.0").json(&body);
    let answer = asked.send().await.unwrap();
    let (status, later) = (answer.status().as_u16(), answer.headers().contains_key("retry-after"));
    (status, later, answer.json().await.unwrap_or_default())
}

/// A text that the database cannot make smaller.
fn padded(number: usize) -> String {
    let mut dice = Dice::new(number as u64);
    let mut text = format!("{number} ");
    while text.len() < PADDING {
        text.push_str(&format!("{:x}", dice.below(1 << 40)));
    }
    text
}

/// Sends until a message is refused for the moment; gives the tasks that were acknowledged before.
async fn send_until_refused(site: &TestSite) -> Vec<String> {
    let mut kept = Vec::new();
    for number in 0..MOST_SENT {
        let (status, later, body) = post(site, &padded(number)).await;
        if status == 200 && body["result"].is_object() {
            kept.push(task_id(&body));
            continue;
        }
        assert!([503, 507].contains(&status) && later, "{status}, come back later: {later}: {body}");
        return kept;
    }
    panic!("a full disk is noticed");
}

async fn all_are_there(site: &TestSite, kept: &[String]) {
    for id in kept {
        let seen = eventually("the task is read", async || {
            Some(task(site, "echo", id).await).filter(serde_json::Value::is_object)
        })
        .await;
        assert_eq!(state(&seen), "completed", "{seen}");
    }
}

async fn works_again(site: &TestSite) {
    eventually("new work is taken again", async || (post(site, "after").await.0 == 200).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_of_the_database_refuses_new_work_and_loses_nothing() {
    // Small segments of its log, so that it needs little space at rest.
    let mut server = Server::empty(&["min_wal_size=4MB", "max_wal_size=8MB"]);
    let disk = SmallDisk::mount(server.data());
    std::fs::set_permissions(server.data(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    server.init(&["--wal-segsize=1"]);
    server.run();
    let site = started(process(&server, "one"));
    let kept = send_until_refused(&site).await;
    assert!(!kept.is_empty());
    println!("{} tasks were acknowledged before the disk was full", kept.len());
    disk.grow();
    // A server that could not write its log has ended; its operator starts it again.
    tokio::task::block_in_place(|| server.run());
    works_again(&site).await;
    all_are_there(&site, &kept).await;
    drop(site);
    server.kill();
    drop(disk);
}

/// Clients that sit on connections; they end when dropped.
struct Crowd(Vec<Child>);

impl Crowd {
    fn of(server: &Server, size: usize) -> Self {
        let sit = || {
            // It waits for a statement that never comes, and ends with its input.
            let mut client = server.session();
            client.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        Self(std::iter::repeat_with(sit).take(size).collect())
    }

    /// Ends the connections of the site, by the connection of one who leaves the crowd.
    fn terminate_site(&mut self, server: &Server) {
        let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'agentsite'";
        while !server.client().arg(sql).output().unwrap().status.success() {
            let mut client = self.0.pop().expect("one who leaves makes space");
            client.kill().unwrap();
            client.wait().unwrap();
        }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for client in &mut self.0 {
            let _ = client.kill();
            let _ = client.wait();
        }
    }
}

/// Connections of the small server.
const CONNECTIONS: usize = 24;

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_on_the_database_is_survived_and_named() {
    let server =
        Server::start_with(&[&format!("max_connections={CONNECTIONS}"), "superuser_reserved_connections=0"]);
    let one = started(process(&server, "one"));
    let mut kept = vec![task_id(&one.send("echo", "before").await)];
    let mut crowd = Crowd::of(&server, 2 * CONNECTIONS);
    // Before that, another process of the site would start.
    eventually("the crowd has every connection", async || {
        let asked = server.client().arg("SELECT 1").output().unwrap();
        (!asked.status.success()).then_some(())
    })
    .await;
    let tried = process(&server, "two").serve_command().output().unwrap();
    let refused = String::from_utf8_lossy(&tried.stderr).into_owned();
    assert!(
        !tried.status.success() && refused.contains("max_connections"),
        "it says what to raise: {refused}"
    );
    kept.push(task_id(&one.send("echo", "with the connections that it has").await));

    // The site loses its connections while others want them, too.
    crowd.terminate_site(&server);
    let more = Crowd::of(&server, CONNECTIONS);
    // Each of them may wait for a connection as long as a request waits for the database.
    for _ in 0..3 {
        let (status, later, body) = post(&one, "in the crowd").await;
        match status {
            200 => kept.push(task_id(&body)),
            503 => assert!(later, "{body}"),
            other => panic!("{other}: {body}"),
        }
    }
    drop((crowd, more));
    works_again(&one).await;
    all_are_there(&one, &kept).await;
    eventually("the server has let the crowd go", async || {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'psql' AND state = 'idle'";
        let asked = server.client().arg(sql).output().unwrap();
        (asked.status.success() && asked.stdout == b"0\n").then_some(())
    })
    .await;
    let two = started(process(&server, "two"));
    all_are_there(&two, &kept).await;
}

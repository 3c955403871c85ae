//! Storage: what one owner stores is bounded, and a full disk neither loses nor blocks anything.
//!
//! Callers without a key are distinguished by the address that a trusted proxy names. The full disk is a file
//! system of its own, which only root can mount: `cargo xtask test` runs as root in CI, and elsewhere the
//! test prints what to do.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::report;
use crate::site::{TestSite, answer, eventually, exec_agent, gate, message, state};

/// Text of one message of a flood.
const BIG: usize = 256 << 10;

/// Limits that a short flood reaches.
const LIMITS: &str = "trusted_proxies = [\"127.0.0.1\"]\n[limits]\nanonymous_rate = 0\nkey_rate = 0\n[storage]\naddress = \"2MiB\"\nanonymous = \"6MiB\"\nkey = \"8MiB\"\n";

/// A message to an agent from an address, with a key or without.
fn send(site: &TestSite, agent: &str, text: &str, from: &str, key: Option<&str>) -> RequestBuilder {
    let params = json!({"message": message(text)});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let request =
        crate::site::http().post(format!("{}/a2a/{agent}", site.url)).header("x-forwarded-for", from);
    let request = match key {
        Some(key) => request.bearer_auth(key),
        None => request,
    };
    request.json(&body)
}

async fn read(request: RequestBuilder) -> (u16, Value) {
    let reply = request.send().await.unwrap();
    (reply.status().as_u16(), reply.json().await.unwrap_or_default())
}

/// What an admin reads.
async fn admin(site: &TestSite, path: &str) -> Value {
    let request = crate::site::http().get(format!("{}{path}", site.url)).bearer_auth(site.token());
    request.send().await.unwrap().json().await.unwrap()
}

async fn new_key(site: &TestSite) -> String {
    let request = crate::site::http().post(format!("{}/api/keys", site.url)).bearer_auth(site.token());
    let made: Value =
        request.json(&json!({"label": "k", "scopes": ["call"]})).send().await.unwrap().json().await.unwrap();
    made["secret"].as_str().unwrap().to_owned()
}

/// Sends until it is refused; gives how often it was accepted, and the refusal.
async fn flood(site: &TestSite, agent: &str, from: &str, key: Option<&str>) -> (usize, u16, Value) {
    let text = "x".repeat(BIG);
    for accepted in 0..200 {
        let (status, reply) = read(send(site, agent, &text, from, key)).await;
        if status != 200 || !reply["error"].is_null() {
            return (accepted, status, reply);
        }
    }
    panic!("a flood from {from} is never refused");
}

/// What the accounts of callers hold. What the site itself keeps may change with each start.
async fn held_by_callers(site: &TestSite) -> Vec<Value> {
    let status = admin(site, "/api/status").await;
    let all = status["storage"]["largest"].as_array().unwrap();
    all.iter().filter(|account| account[0] != "site").cloned().collect()
}

#[tokio::test]
async fn a_caller_without_a_key_fills_its_own_share_and_nothing_else() {
    let mut site = TestSite::new();
    site.write("agentsite.toml", LIMITS);
    site.start();
    let key = new_key(&site).await;

    // Echo stores everything twice: the message and the answer.
    let (accepted, status, refusal) = flood(&site, "echo", "192.0.2.1", None).await;
    assert_eq!(status, 507, "{refusal}");
    assert!((2..=4).contains(&accepted), "{accepted}");
    let words = refusal["error"]["message"].as_str().unwrap();
    for part in ["192.0.2.1", "storage.address", "2097152", "delete"] {
        assert!(words.contains(part), "{part} is missing in: {words}");
    }
    assert_eq!(refusal["error"]["data"][0]["reason"], "STORAGE_LIMIT", "{refusal}");

    let mut addresses = 1;
    let shared = loop {
        addresses += 1;
        let (_, status, refusal) = flood(&site, "echo", &format!("192.0.2.{addresses}"), None).await;
        assert_eq!(status, 507);
        if refusal.to_string().contains("storage.anonymous") {
            break refusal;
        }
        assert!(addresses < 20, "{refusal}");
    };
    assert!(shared["error"]["message"].as_str().unwrap().contains("callers without a key"), "{shared}");

    let (status, reply) = read(send(&site, "echo", "honest", "192.0.2.1", Some(&key))).await;
    assert_eq!((status, answer(&reply).as_str()), (200, "honest"));
    let storage = admin(&site, "/api/status").await["storage"].clone();
    let held = storage["anonymous"].as_u64().unwrap();
    assert!(held <= 6 << 20, "{storage}");
    assert_eq!(storage["largest"][0][1].as_u64().unwrap() / (1 << 20), 1, "{storage}");

    // A key has a limit too, and one key's flood is not another's concern.
    let other = new_key(&site).await;
    let (accepted, status, refusal) = flood(&site, "echo", "192.0.2.1", Some(&key)).await;
    assert!(status == 507 && refusal.to_string().contains("storage.key") && accepted > 8, "{refusal}");
    let (status, reply) = read(send(&site, "echo", "me", "192.0.2.1", Some(&other))).await;
    assert_eq!((status, answer(&reply).as_str()), (200, "me"));

    // The counts are the same after a kill, and deleting gives the space back.
    let before = held_by_callers(&site).await;
    site.kill();
    site.start();
    assert_eq!(held_by_callers(&site).await, before);
    let tasks: Value = crate::site::http()
        .get(format!("{}/api/tasks?limit=2", site.url))
        .bearer_auth(&key)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    for task in tasks["tasks"].as_array().unwrap() {
        let path = format!("{}/api/tasks/{}", site.url, task["id"].as_str().unwrap());
        let gone = crate::site::http().delete(path).bearer_auth(&key).send().await.unwrap();
        assert_eq!(gone.status(), 204);
    }
    let text = "x".repeat(BIG);
    assert_eq!(read(send(&site, "echo", &text, "192.0.2.1", Some(&key))).await.0, 200);
    report(
        "storage",
        "flood of callers without a key",
        format!("refused with 507 after {} KiB, a key continues", held >> 10),
    );
}

#[tokio::test]
async fn a_running_task_whose_owner_has_no_storage_left_ends_and_says_why() {
    let loud = exec_agent(
        "loud",
        &["sh", "-c", "read x; head -c 12000000 /dev/zero | tr '\\0' 'y'"],
        "[limits]\noutput = \"64MiB\"\n",
    );
    let mut site = TestSite::new().agent("loud", &loud);
    site.write("agentsite.toml", LIMITS);
    site.start();
    let key = new_key(&site).await;
    let (status, reply) = read(send(&site, "loud", "go", "192.0.2.1", Some(&key))).await;
    assert_eq!(status, 200, "{reply}");
    let task = &reply["result"]["task"];
    assert_eq!(state(task), "failed", "{}", task["status"]);
    assert!(task["status"].to_string().contains("storage.key"), "{}", task["status"]);
    let stored = admin(&site, &format!("/api/tasks/{}", task["id"].as_str().unwrap())).await;
    assert_eq!(state(&stored), "failed", "what was said is what is stored");
    let held = admin(&site, "/api/status").await["storage"]["total"].as_u64().unwrap();
    assert!(held < 10 << 20, "{held}");
    report(
        "storage",
        "endless output of a running task",
        "the task fails and says why; what was accepted stays",
    );
}

/// A small file system at the place of a data folder; taken away when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(place: PathBuf, size: &str) -> Self {
        std::fs::create_dir_all(&place).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", size, "agentsite"]).arg(&place).output();
        let mounted = mounted.expect("the command mount; install util-linux");
        assert!(
            mounted.status.success(),
            "only root can mount a small disk: run the tests as root, or with `unshare -rm`"
        );
        Self(place)
    }

    /// Takes all that is left, as another program would.
    fn fill(&self) {
        let mut filler = std::fs::File::create(self.0.join("filler")).unwrap();
        for size in [64 << 10, 4 << 10, 1] {
            while filler.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn free(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }

    fn ballast(&self) -> u64 {
        std::fs::metadata(self.0.join("site.db-ballast")).map_or(0, |file| file.len())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

async fn probe(site: &TestSite, path: &str) -> (u16, String) {
    let reply = crate::site::http().get(format!("{}{path}", site.url)).send().await.unwrap();
    (reply.status().as_u16(), reply.text().await.unwrap())
}

#[tokio::test]
async fn a_full_disk_serves_reads_lets_delete_and_survives_a_restart() {
    let waiting =
        exec_agent("waiting", &["sh", "-c", "read x; read go < gate; echo $x"], "[limits]\nretry = 1\n");
    let mut site = TestSite::new().agent("waiting", &waiting);
    let _gate = gate(&site.path().join("agents/waiting/gate"));
    let disk = SmallDisk::mount(site.data(), "size=24m");
    site.start();
    let token = site.token();
    let mut tasks = Vec::new();
    for number in 0..3 {
        let (status, reply) =
            read(send(&site, "echo", &format!("kept {number}"), "127.0.0.1", Some(&token))).await;
        assert_eq!(status, 200, "{reply}");
        tasks.push(reply["result"]["task"]["id"].as_str().unwrap().to_owned());
    }
    let params = json!({"message": message("late"), "configuration": {"returnImmediately": true}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let request =
        crate::site::http().post(format!("{}/a2a/waiting", site.url)).bearer_auth(&token).json(&body);
    let (_, running) = read(request).await;
    let running = running["result"]["task"]["id"].as_str().unwrap().to_owned();
    assert!(disk.ballast() > 1 << 20, "the ballast is there: {}", disk.ballast());

    disk.fill();
    let not_ready = async || {
        let (status, words) = probe(&site, "/readyz").await;
        (status == 503).then_some(words)
    };
    let words = eventually("a full disk shows", not_ready).await;
    assert!(words.contains("disk"), "{words}");
    assert_eq!(probe(&site, "/healthz").await.0, 200);
    let (status, refusal) = read(send(&site, "echo", "no more", "127.0.0.1", Some(&token))).await;
    assert!(status == 507 && refusal.to_string().contains("the disk is full"), "{status} {refusal}");
    let path = format!("{}/api/tasks/{}", site.url, tasks[0]);
    let gone = crate::site::http().delete(path).bearer_auth(&token).send().await.unwrap();
    assert_eq!(gone.status(), 204, "deleting works on a full disk");
    assert_eq!(admin(&site, &format!("/api/tasks/{}", tasks[1])).await["id"], tasks[1].as_str());

    site.kill();
    // Another program takes what the ballast had kept.
    disk.fill();
    site.start();
    let (status, words) = probe(&site, "/readyz").await;
    assert!(status == 503 && words.contains("disk"), "{status} {words}");
    assert_eq!(probe(&site, "/healthz").await.0, 200);
    for task in &tasks[1..] {
        assert_eq!(
            state(&admin(&site, &format!("/api/tasks/{task}")).await),
            "completed",
            "reads are served"
        );
    }
    assert_eq!(read(send(&site, "echo", "no", "127.0.0.1", Some(&token))).await.0, 507);

    disk.free();
    let ready = async || (probe(&site, "/readyz").await.0 == 200).then_some(());
    eventually("the site recovers by itself", ready).await;
    let (status, reply) = read(send(&site, "echo", "after", "127.0.0.1", Some(&token))).await;
    assert_eq!((status, answer(&reply).as_str()), (200, "after"));
    eventually("the ballast is made again", async || (disk.ballast() > 1 << 20).then_some(())).await;
    eventually("work that was running is taken up again", async || {
        let task = admin(&site, &format!("/api/tasks/{running}")).await;
        (task["status"].to_string().contains("trying again") || state(&task) == "working").then_some(())
    })
    .await;
    assert!(
        admin(&site, &format!("/api/tasks/{}", tasks[0])).await["error"].is_object(),
        "deleted stays deleted"
    );
    site.kill();
    report(
        "storage",
        "full disk, with a kill and a restart on it",
        "reads and deletes work, /readyz 503, recovers, 0 lost",
    );
    drop(disk);
}

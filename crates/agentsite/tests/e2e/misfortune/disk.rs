//! A full disk: new work is refused with an error that says so, reading continues, and everything works again
//! when there is space.
//!
//! It needs a file system of its own, which only root can mount; without that right it fails and says so.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::site::{TestSite, answer, eventually, exec_agent, gate, message, state};

/// Size of the disk: space for the database and a few hundred tasks.
const SIZE: &str = "size=4m";

/// Messages after which a full disk must have shown itself; the log of the database may have some space left.
const MOST_SENT: usize = 2_000;

/// A small file system at the place of a data folder; taken away when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(place: PathBuf) -> Self {
        std::fs::create_dir_all(&place).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", SIZE, "agentsite"])
            .arg(&place)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&mounted.stderr);
        assert!(
            mounted.status.success(),
            "cannot mount a small disk: run `cargo xtask test` as root\n{said}"
        );
        Self(place)
    }

    /// Fills all that is left.
    fn fill(&self) {
        let mut ballast = std::fs::File::create(self.0.join("ballast")).unwrap();
        for size in [64 << 10, 4 << 10, 1] {
            while ballast.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn free(&self) {
        std::fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[tokio::test]
async fn a_full_disk_refuses_new_work_keeps_the_old_and_heals_by_itself() {
    let waiting = exec_agent("waiting", &["sh", "-c", "read x; read go < gate; echo $x"], "");
    let mut site = TestSite::new().agent("waiting", &waiting);
    let mut gate = gate(&site.path().join("agents/waiting/gate"));
    let disk = SmallDisk::mount(site.data());
    site.start();
    let first = site.send("echo", "before").await["result"]["task"].clone();
    let params = json!({"message": message("late"), "configuration": {"returnImmediately": true}});
    let late = site.rpc("waiting", "SendMessage", params).await["result"]["task"]["id"].clone();
    let late = late.as_str().unwrap().to_owned();

    disk.fill();
    let (mut accepted, mut refusal) = (0, None);
    while refusal.is_none() && accepted < MOST_SENT {
        let reply = post(&site, "no more").await;
        match reply.0.as_u16() {
            200 => accepted += 1,
            _ => refusal = Some(reply),
        }
    }
    let (status, retry_after, body) = refusal.expect("a full disk is noticed");
    assert_eq!(status.as_u16(), 507, "{body}");
    assert!(retry_after && body.contains("the disk is full"), "{body}");
    assert_eq!(
        site.get(&format!("/api/tasks/{}", first["id"].as_str().unwrap())).await["status"],
        first["status"]
    );
    assert_eq!(site.get("/api/tasks?limit=1").await["tasks"].as_array().unwrap().len(), 1);
    gate.write_all(b"go\n").unwrap();

    disk.free();
    eventually("new work is taken again", async || (post(&site, "after").await.0 == 200).then_some(())).await;
    assert_eq!(answer(&site.send("echo", "after").await), "after");
    let late = eventually("work that ended meanwhile is written", async || {
        let task = site.get(&format!("/api/tasks/{late}")).await;
        (state(&task) != "working").then_some(task)
    })
    .await;
    assert_eq!(state(&late), "completed", "{late}");
    assert!(site.stop().success());
    drop(disk);
}

/// Sends to echo; the status, whether Retry-After is there, and the body.
async fn post(site: &TestSite, text: &str) -> (reqwest::StatusCode, bool, String) {
    let params = json!({"message": message(text)});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let answer = site.http.post(format!("{}/a2a/echo", site.url)).json(&body).send().await.unwrap();
    let (status, retry_after) = (answer.status(), answer.headers().contains_key("retry-after"));
    (status, retry_after, answer.text().await.unwrap())
}

//! Sandbox: the process of an agent reaches only what its manifest declares.
//!
//! Promises that are tested, with a real exec agent that tries to break out: no file outside of its own, no
//! other process, no signal, no socket, no kernel interface, bounded memory and processes, nothing left
//! behind, and other callers do not notice. The script that tries is `sandbox/prisoner.py`.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::report;
use crate::site::{PATIENCE, TestSite, answer, eventually, exec_agent, state, status_text};

const PRISONER: &str = include_str!("sandbox/prisoner.py");

/// A word in the environment of the site and in files of its operator.
const SECRET: &str = "canary-of-the-operator";

/// A site with the agent that tries to escape, and one that is its target.
fn site_with(rest: &str) -> TestSite {
    let mut site = TestSite::new()
        .variable("OPENAI_API_KEY", SECRET)
        .agent("prisoner", &exec_agent("prisoner", &["python3", "prisoner.py"], rest))
        .agent("victim", &exec_agent("victim", &["sh", "-c", "echo diary > $HOME/diary; echo done"], ""));
    let home = site.path().join("operator").display().to_string();
    site.write("operator/.ssh/id_ed25519", SECRET);
    site.write("agents/prisoner/prisoner.py", PRISONER);
    site.write("agents/victim/notes.txt", SECRET);
    site.write("agentsite.toml", "");
    site = site.variable("HOME", &home);
    site.start();
    site
}

/// Lets the agent try something; gives what it says.
async fn attempt(site: &TestSite, attack: &str, on: Value) -> (String, Value) {
    let wish = json!({"attack": attack, "on": on}).to_string();
    let reply = tokio::time::timeout(PATIENCE, site.send("prisoner", &wish)).await.expect("an answer");
    (answer(&reply), reply)
}

async fn held(site: &TestSite, attack: &str, on: Value) {
    let (said, reply) = attempt(site, attack, on.clone()).await;
    let outcome = said.lines().last().unwrap_or_default().to_owned();
    report("sandbox", &format!("{attack} {on}"), if outcome.is_empty() { "ended" } else { &outcome });
    assert!(!said.contains("ESCAPED"), "{attack} on {on}: {said}");
    // An attack that the script itself could not make proves nothing.
    assert!(said.starts_with("held"), "{attack} on {on}: {said:?} {}", status_text(&reply));
    assert_eq!(answer(&site.send("echo", "still here").await), "still here");
}

#[tokio::test]
async fn files_outside_of_the_own_folder_cannot_be_read() {
    let site = site_with("");
    assert_eq!(answer(&site.send("victim", "write").await).trim(), "done");
    let at = |path: &str| site.path().join(path).display().to_string();
    for path in [
        "agentsite-data/site.db",
        "agentsite-data/admin.token",
        "agentsite-data/homes/victim/diary",
        "agentsite.toml",
        "agents/victim/notes.txt",
        "agents/victim/agent.toml",
        "operator/.ssh/id_ed25519",
        "site.log",
    ] {
        assert!(std::path::Path::new(&at(path)).exists(), "{path}");
        held(&site, "read", json!(at(path))).await;
    }
    for path in
        ["/etc/shadow", "/etc/gshadow", "/var/lib/dpkg/status", "/proc/1/environ", "/proc/kcore", "/dev/mem"]
    {
        held(&site, "read", json!(path)).await;
    }
    let pid = site.pid();
    for path in [
        format!("/proc/{pid}/environ"),
        format!("/proc/{pid}/root/etc/shadow"),
        "/proc/self/root/etc/shadow".into(),
    ] {
        held(&site, "read", json!(path)).await;
    }
    for path in [at("agentsite-data/homes/victim"), at("agents/victim"), at("operator")] {
        held(&site, "listing", json!(path)).await;
    }
    held(&site, "environments", json!(SECRET)).await;
}

/// All files of a folder that an agent must not change, with their sizes.
fn everything_below(folder: &std::path::Path) -> Vec<(std::path::PathBuf, u64)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let (path, about) = (entry.path(), entry.metadata().unwrap());
            let name = entry.file_name();
            if about.is_dir() && !["prisoner", "index", "libraries"].iter().any(|one| name == *one) {
                folders.push(path);
            } else if about.is_file() && !name.to_string_lossy().starts_with("site.") {
                found.push((path, about.len()));
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn nothing_outside_of_the_own_folder_can_be_changed() {
    let site = site_with("");
    // The site of a test is below /tmp, and the agent has a private one: what it writes there is visible only
    // to itself.
    let before = everything_below(site.path());
    for path in [
        "agentsite-data/new",
        "agents/victim/new",
        "agents/new",
        "agents/victim/agent.toml",
        "operator/new",
        "new",
    ] {
        let path = site.path().join(path).display().to_string();
        let (said, _) = attempt(&site, "write", json!(path)).await;
        assert!(said.starts_with("held") || said.contains("written"), "{said}");
        assert_eq!(everything_below(site.path()), before, "{path}");
        report("sandbox", &format!("write {path}"), "the file outside is unchanged");
    }
    for path in ["/etc/new", "/usr/bin/new", "/var/lib/new", "/dev/new", "/sys/kernel/new"] {
        held(&site, "write", json!(path)).await;
    }
    // Its own manifest defines its permissions, so it may not change that either.
    for attack in ["write", "replace", "remove"] {
        held(&site, attack, json!("agent.toml")).await;
    }
    for attack in ["core_pattern", "mount", "chroot", "device", "keyring"] {
        held(&site, attack, Value::Null).await;
    }
}

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    let site = site_with("");
    let pid = site.pid();
    for attack in ["send_signal", "trace", "memory_of"] {
        held(&site, attack, json!(pid)).await;
    }
}

#[tokio::test]
async fn without_network_nothing_can_be_reached() {
    let site = site_with("[sandbox]\nnetwork = false");
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    held(&site, "tcp", json!(["127.0.0.1", tcp.local_addr().unwrap().port()])).await;
    held(
        &site,
        "tcp",
        json!([
            "127.0.0.1",
            site.url.rsplit(':').next().unwrap().trim_end_matches('/').parse::<u16>().unwrap()
        ]),
    )
    .await;
    held(&site, "udp", json!(["127.0.0.1", udp.local_addr().unwrap().port()])).await;
    held(&site, "vsock", Value::Null).await;
    assert!(tcp.accept().is_err() && udp.recv(&mut [0; 8]).is_err(), "something arrived");
}

#[tokio::test]
async fn sockets_of_other_programs_are_out_of_reach_even_with_network() {
    let site = site_with("");
    let path = site.path().join("outside.sock");
    let _by_path = UnixListener::bind(&path).unwrap();
    let name = format!("agentsite-attack-{}", std::process::id());
    let _by_name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    held(&site, "unix", json!(path.display().to_string())).await;
    held(&site, "abstract", json!(name)).await;
    let open = TcpListener::bind("127.0.0.1:0").unwrap();
    let (said, _) = attempt(&site, "tcp", json!(["127.0.0.1", open.local_addr().unwrap().port()])).await;
    assert!(said.contains("connected"), "the network is on: {said}");
}

#[tokio::test]
async fn processes_and_memory_are_bounded_and_others_do_not_notice() {
    let site = site_with("[limits]\ntimeout = \"50s\"");
    let (said, reply) = attempt(&site, "bomb", Value::Null).await;
    report("sandbox", "fork bomb", said.trim());
    let count: u64 = said.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or_default();
    assert!(said.starts_with("held") && (1..1_000).contains(&count), "{said:?} {}", status_text(&reply));
    for (attack, on) in
        [("allocate", Value::Null), ("fill", json!("/dev/shm/x")), ("allocate_apart", Value::Null)]
    {
        let (said, reply) = attempt(&site, attack, on).await;
        let outcome = format!("{} {}", said.trim(), status_text(&reply));
        let reached = said.matches("reached").count();
        let told = match attack {
            "allocate_apart" => format!("held {reached} of 10 processes got 1 GiB each"),
            _ => outcome.lines().last().unwrap_or_default().trim().to_owned(),
        };
        report("sandbox", attack, told);
        assert!(!said.contains("ESCAPED '10 GiB'"), "{outcome}");
        assert!(reached < 3, "{outcome}");
        assert_eq!(answer(&site.send("echo", "still here").await), "still here");
    }
}

/// Processes of agents that are still there, by their private home below the data folder of this site.
fn prisoners(site: &TestSite) -> usize {
    let homes = [site.data().canonicalize().unwrap(), site.data()]
        .map(|data| format!("HOME={}", data.join("homes/prisoner").display()));
    let has = |path: std::path::PathBuf| {
        let variables = std::fs::read(path.join("environ")).unwrap_or_default();
        let variables = String::from_utf8_lossy(&variables).into_owned();
        homes.iter().any(|home| variables.split('\0').any(|one| one == home))
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| has(entry.path())).count()
}

#[tokio::test]
async fn a_daemon_ends_with_its_task() {
    let site = site_with("");
    let (said, reply) = attempt(&site, "daemon", json!("daemon-ran")).await;
    assert!(said.contains("held for now"), "{said:?} {}", status_text(&reply));
    assert!(site.path().join("agents/prisoner/daemon-ran").exists());
    // The answer comes when everything has ended, so there is nothing to wait for.
    assert_eq!(prisoners(&site), 0);
    report("sandbox", "daemon", "ended with its task");
}

#[tokio::test]
async fn a_runaway_ends_within_a_second_of_its_deadline() {
    let site = site_with("[limits]\ntimeout = \"3s\"");
    let began = Instant::now();
    let (_, reply) = attempt(&site, "runaway", json!("runaway-ran")).await;
    let late = began.elapsed().saturating_sub(Duration::from_secs(3));
    assert_eq!(state(&reply), "failed");
    eventually("it is gone", async || (prisoners(&site) == 0).then_some(())).await;
    let gone = began.elapsed().saturating_sub(Duration::from_secs(3));
    report("sandbox", "runaway", format!("answered {late:?} and gone {gone:?} after its deadline"));
    if super::is_full() {
        assert!(gone <= Duration::from_secs(1), "{gone:?} after its deadline");
    }
}

#[tokio::test]
async fn nothing_of_an_agent_survives_a_site_that_is_killed() {
    let mut site = site_with("");
    let wish = json!({"attack": "runaway", "on": "runaway-ran"}).to_string();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "message": crate::site::message(&wish), "configuration": {"returnImmediately": true}
    }});
    let send = site.http.post(format!("{}/a2a/prisoner", site.url)).header("a2a-version", "1.0").json(&body);
    send.send().await.unwrap();
    let ran = site.path().join("agents/prisoner/runaway-ran");
    eventually("it runs", async || ran.exists().then_some(())).await;
    eventually("it is seen", async || (prisoners(&site) > 0).then_some(())).await;
    site.kill();
    eventually("it is gone", async || (prisoners(&site) == 0).then_some(())).await;
    report("sandbox", "survive the site", "ended with it");
}

#[tokio::test]
async fn a_manifest_widens_the_sandbox_in_readable_terms() {
    let mut site = TestSite::new();
    site.write("operator/papers/a.txt", "paper\n");
    site.write("shared/b.txt", "shared\n");
    let script = "cat ~/../operator/papers/a.txt $PAPERS/a.txt 2>/dev/null; echo more >> $SHARED/b.txt && cat $SHARED/b.txt";
    let at = |path: &str| site.path().join(path).display().to_string();
    let manifest = format!(
        "env = {{ PAPERS = \"{}\", SHARED = \"{}\" }}\n[sandbox]\nread = [\"~/papers\"]\nwrite = [\"../../shared\"]\n",
        at("operator/papers"),
        at("shared")
    );
    let home = at("operator");
    site =
        site.agent("reader", &exec_agent("reader", &["sh", "-c", script], &manifest)).variable("HOME", &home);
    let greedy = "[sandbox]\nread = [\"../..\"]\n";
    site = site.agent("greedy", &exec_agent("greedy", &["true"], greedy));
    site.start();
    let reply = site.send("reader", "").await;
    assert_eq!(answer(&reply).split_whitespace().collect::<Vec<_>>(), ["paper", "shared", "more"], "{reply}");
    let refused = site.send("greedy", "").await;
    assert!(refused.to_string().contains("site's own data") || refused["error"].is_object(), "{refused}");
    assert!(site.log().contains("site's own data"), "{}", site.log());
}

/// The same site on a kernel that grants no namespaces, which is how some distributions and most containers
/// are set up.
struct Weak(std::process::Child);

impl Weak {
    /// Starts the site in a user namespace of its own that allows no further ones.
    fn start(site: &mut TestSite) -> Self {
        use std::io::BufRead;

        let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
        let mut command = std::process::Command::new("unshare");
        command.args([
            "-Ur",
            "sh",
            "-c",
            script,
            crate::site::binary(),
            "serve",
            "--json",
            "--listen",
            "127.0.0.1:0",
            "--anonymous",
            "admin",
        ]);
        command
            .current_dir(site.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", site.path().join("operator")).env("OPENAI_API_KEY", SECRET);
        let log = std::fs::File::create(site.path().join("site.log")).unwrap();
        let mut child = command.stdout(std::process::Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let banner: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}: {}", site.log()));
        site.url = banner["url"].as_str().unwrap().to_owned();
        Self(child)
    }
}

impl Drop for Weak {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn without_namespaces_files_signals_and_network_are_guarded_all_the_same() {
    let mut site = TestSite::new();
    for (name, rest) in [("prisoner", ""), ("offline", "[sandbox]\nnetwork = false")] {
        site.write(&format!("agents/{name}/prisoner.py"), PRISONER);
        site.write(
            &format!("agents/{name}/agent.toml"),
            &exec_agent(name, &["python3", "prisoner.py"], rest),
        );
        site.write(&format!("agents/{name}/daemon-ran"), "");
    }
    site.write("operator/.ssh/id_ed25519", SECRET);
    site.write("agents/victim/notes.txt", SECRET);
    let weak = Weak::start(&mut site);
    assert!(site.log().contains("user namespaces cannot be used"), "{}", site.log());
    let pid = weak.0.id();
    let at = |path: &str| site.path().join(path).display().to_string();
    for path in [
        "agentsite-data/site.db",
        "agentsite-data/admin.token",
        "agents/victim/notes.txt",
        "operator/.ssh/id_ed25519",
    ] {
        held(&site, "read", json!(at(path))).await;
    }
    for path in ["/etc/shadow".to_owned(), format!("/proc/{pid}/environ"), "/var/lib/dpkg/status".to_owned()]
    {
        held(&site, "read", json!(path)).await;
    }
    for path in [
        at("agentsite-data/new"),
        at("agents/victim/new"),
        at("agents/prisoner/agent.toml"),
        "/etc/new".into(),
    ] {
        held(&site, "write", json!(path)).await;
    }
    for attack in ["send_signal", "trace", "memory_of"] {
        held(&site, attack, json!(pid)).await;
    }
    for attack in ["core_pattern", "mount", "keyring", "device", "vsock"] {
        held(&site, attack, Value::Null).await;
    }
    let open = TcpListener::bind("127.0.0.1:0").unwrap();
    let wish = json!({"attack": "tcp", "on": ["127.0.0.1", open.local_addr().unwrap().port()]}).to_string();
    assert!(answer(&site.send("offline", &wish).await).starts_with("held"));
    let (said, reply) = attempt(&site, "daemon", json!("daemon-ran")).await;
    assert!(said.contains("held for now"), "{said:?} {}", status_text(&reply));
    assert_eq!(prisoners(&site), 0, "a daemon outlived its task");
    report("sandbox", "all of it without namespaces", "held");
}

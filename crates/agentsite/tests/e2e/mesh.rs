//! Two sites in the mesh: real processes, real libp2p on loopback, from the invite to the call.
//!
//! What a lease does when a site dies is tested in virtual time, in the stories of `peers`; here a killed
//! site is seen as not connected. `faults` has sites in networks that fail.

mod calls;
mod faults;
mod identity;
mod second_way;
pub(crate) mod sites;

use agentsite_protocol::{Algorithm, SigningKey, SiteToken};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::{Value, json};

use crate::site::{TestSite, eventually, exec_agent, http, message};

/// A text that must not leave its site.
const SECRET: &str = "the-diary-of-the-baker-is-nobody-elses-business";

/// The name of an agent that only added peers learn.
const HOARD: &str = "hoard-of-the-baker-under-the-floor";

/// A site in the mesh, at free ports of loopback.
fn site(name: &str) -> TestSite {
    let site = TestSite::new();
    site.write(
        "agentsite.toml",
        &format!(
            "[site]\nname = \"{name}\"\n[mesh]\nenabled = true\nlisten = [\"/ip4/127.0.0.1/tcp/0\"]\nallow_private_addresses = true\n"
        ),
    );
    site
}

/// A site that bakes: with the built-in agents, one of its own, and one that is private.
fn bakery() -> TestSite {
    let private = exec_agent("diary", &["cat"], "").replace("\"public\"", "\"private\"");
    site("Bakery")
        .agent("greeter", &exec_agent("greeter", &["echo", "good morning"], ""))
        .agent("diary", &private.replace("Answers", SECRET))
}

/// The agents of other sites that a site lists, by name.
async fn listed(site: &TestSite) -> Vec<String> {
    let hub = site.get("/api/hub?limit=500").await;
    let items = hub["items"].as_array().cloned().unwrap_or_default();
    let mut names: Vec<String> =
        items.iter().filter_map(|one| one["name"].as_str().map(str::to_owned)).collect();
    names.sort_unstable();
    names
}

/// Connects a site to another by an invite, and waits until the agents have come.
async fn join(guest: &TestSite, host: &TestSite) {
    let link = eventually("an invite", async || {
        let said = host.run(&["peer", "invite", "--json"]);
        (said.code() == 0).then(|| said.json()["link"].as_str().unwrap().to_owned())
    })
    .await;
    eventually("the invite is taken", async || {
        let said = guest.run(&["peer", "join", &link]);
        (said.code() == 0).then_some(())
    })
    .await;
    eventually("the agents come", async || listed(guest).await.contains(&"greeter".to_owned()).then_some(()))
        .await;
}

/// Whether a folder holds a text, as it is or in base64.
fn holds(folder: &std::path::Path, text: &str) -> bool {
    let mut forms = vec![text.as_bytes().to_vec()];
    for shift in 0..3 {
        let written = STANDARD_NO_PAD.encode(format!("{}{text}", "x".repeat(shift)));
        // The first and the last letters depend on what is next to the text.
        forms.push(written.as_bytes()[4..written.len() - 4].to_vec());
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            if forms.iter().any(|form| bytes.windows(form.len()).any(|window| window == form.as_slice())) {
                return true;
            }
        }
    }
    false
}

fn peer(site: &TestSite, title: &str) -> Value {
    let mesh = site.run(&["peer", "ls", "--json"]).ok().json();
    let peers = mesh["peers"].as_array().cloned().unwrap_or_default();
    peers.into_iter().find(|peer| peer["title"] == title).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_joins_by_an_invite_finds_an_agent_and_calls_it_through_the_mesh() {
    let (mut host, mut guest) = (bakery(), site("Mill").flag("--no-demos"));
    host.start();
    guest.start();
    join(&guest, &host).await;

    let found = guest.run(&["find", "add", "two", "numbers", "--json"]).ok().json();
    assert!(found.to_string().contains("calc"), "{found}");
    let said = guest.run(&["call", "calc@Bakery", "2 + 2"]).ok();
    assert_eq!(said.out().trim(), "4", "{said:?}");
    let said = guest.run(&["call", "greeter@bakery", "hello"]).ok();
    assert_eq!(said.out().trim(), "good morning", "{said:?}");

    let tasks = host.get("/api/tasks").await;
    let did = guest.run(&["identity", "show", "--json"]).ok().json()["didKey"].as_str().unwrap().to_owned();
    assert!(tasks.to_string().contains(&format!("site:{did}")), "the calling site owns the task: {tasks}");

    let seen = peer(&guest, "Bakery");
    assert!(seen["connected"] == true && seen["agents"].as_u64() > Some(3), "{seen}");
    assert!(seen["bytesIn"].as_u64() > Some(0) && seen["bytesOut"].as_u64() > Some(0), "{seen}");

    assert!(!listed(&guest).await.contains(&"diary".to_owned()));
    assert_ne!(guest.run(&["call", "diary@Bakery", "read"]).code(), 0);
    std::fs::remove_dir_all(host.path().join("agents/greeter")).unwrap();
    eventually("the agent is taken back", async || {
        (!listed(&guest).await.contains(&"greeter".to_owned())).then_some(())
    })
    .await;
    assert!(host.stop().success());
    eventually("a site that stops takes its agents along", async || {
        listed(&guest).await.is_empty().then_some(())
    })
    .await;
    assert!(guest.stop().success());
    assert!(holds(host.path(), SECRET) && !holds(guest.path(), SECRET), "it stayed at home");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_with_a_url_is_called_there_with_a_proof_that_counts_once() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let mut host = bakery().flag("--public-url").flag(&format!("http://{address}"));
    host.start_at(&address);
    let mut guest = site("Mill").flag("--no-demos").variable("AGENTSITE_EGRESS_ALLOW", &address);
    guest.start();
    let added = eventually("the peer is added by its URL", async || {
        let said = guest.run(&["peer", "add", &host.url, "--json"]);
        (said.code() == 0).then(|| said.json())
    })
    .await;
    let document: Value = http()
        .get(format!("{}/.well-known/agentsite.json", host.url))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!((&document["did"], &document["title"]), (&added["site"], &json!("Bakery")));
    eventually("the agents come", async || listed(&guest).await.contains(&"calc".to_owned()).then_some(()))
        .await;
    let said = guest.run(&["call", &format!("calc@{address}"), "6 * 7"]).ok();
    assert_eq!(said.out().trim(), "42", "{said:?}");

    let key = SigningKey::from_seed(Algorithm::EdDsa, &[9; 32]).unwrap();
    let to = added["site"].as_str().unwrap();
    let now = || agentsite_site::World::system().clock.now();
    let good = SiteToken::sign(&key, to, &[1; 16], now());
    let stranger = SiteToken::sign(&key, &key.public().did_key(), &[2; 16], now());
    let mut forged = SiteToken::sign(&key, to, &[3; 16], now());
    forged.replace_range(forged.len() - 12..forged.len() - 8, "AAAA");
    for (token, expected) in [(&good, 200), (&good, 401), (&stranger, 401), (&forged, 401)] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("1 + 1")}});
        let request =
            http().post(format!("{}/a2a/calc", host.url)).bearer_auth(token).header("a2a-version", "1.0");
        assert_eq!(request.json(&body).send().await.unwrap().status().as_u16(), expected, "{token}");
    }
    let api =
        http().get(format!("{}/api/mesh", host.url)).bearer_auth(SiteToken::sign(&key, to, &[4; 16], now()));
    assert!(matches!(api.send().await.unwrap().status().as_u16(), 401 | 403), "a site is not an admin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_site_is_not_connected_and_comes_back_as_the_same() {
    let (mut host, mut guest) = (bakery(), site("Mill").flag("--no-demos"));
    host.start();
    guest.start();
    join(&guest, &host).await;
    host.kill();
    eventually("the loss is noticed", async || (peer(&guest, "Bakery")["connected"] == false).then_some(()))
        .await;
    assert!(listed(&guest).await.contains(&"calc".to_owned()), "until its lease ends");
    eventually("its agents are shown as not reachable", async || {
        let hub = guest.get("/api/hub?limit=500").await;
        let items = hub["items"].as_array().cloned().unwrap_or_default();
        (!items.is_empty() && items.iter().all(|one| one["live"] == false && one["checkedAt"].is_string()))
            .then_some(())
    })
    .await;
    let found = eventually("the search knows it", async || {
        let found = guest.run(&["find", "add", "two", "numbers"]).ok().out();
        found.contains("not reachable, last seen").then_some(found)
    })
    .await;
    assert!(found.contains("calc@"), "{found}");
    let said = eventually("a call fails at once, in words", async || {
        let said = guest.run(&["call", "calc@Bakery", "2 + 2"]);
        assert_ne!(said.code(), 0);
        said.err().contains("not reachable").then_some(said)
    })
    .await;
    assert!(said.out().is_empty(), "{said:?}");
    let state = guest.run(&["peer", "ls"]).ok().out();
    assert!(state.contains("not reachable"), "{state}");
    guest.kill();
    guest.start();
    assert!(listed(&guest).await.contains(&"calc".to_owned()), "what was listed is on disk");
    let before = host.run(&["peer", "ls", "--json"]);
    assert_ne!(before.code(), 0, "it does not run");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_site_says_nothing_to_strangers() {
    let site = TestSite::started();
    let answer = http().get(format!("{}/.well-known/agentsite.json", site.url)).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 404);
    let said = site.run(&["peer", "add", "127.0.0.1:4101"]);
    assert!(said.code() != 0 && said.err().contains("--mesh"), "{said:?}");
    let said = site.run(&["call", "calc@Nobody", "1 + 1"]);
    assert_ne!(said.code(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_for_peers_is_found_and_called_by_them_alone() {
    let hoard = exec_agent(HOARD, &["echo", "we are rich"], "").replace("\"public\"", "\"peers\"");
    let mut host = bakery().agent(HOARD, &hoard);
    let (mut guest, mut other) = (site("Mill").flag("--no-demos"), site("Farm").flag("--no-demos"));
    host.start();
    guest.start();
    other.start();
    join(&guest, &host).await;
    join(&other, &host).await;
    let addresses = guest.run(&["peer", "ls", "--json"]).ok().json()["addresses"].clone();
    let address = addresses[0].as_str().unwrap_or_default().to_owned();
    host.run(&["peer", "add", &address]).ok();
    eventually("the agent is shown", async || listed(&guest).await.contains(&HOARD.to_owned()).then_some(()))
        .await;
    let said = guest.run(&["call", &format!("{HOARD}@Bakery"), "how much?"]).ok();
    assert_eq!(said.out().trim(), "we are rich", "{said:?}");
    assert!(!listed(&other).await.contains(&HOARD.to_owned()), "the third site was never told");
}

/// Runs two sites with `--mesh` and nothing else, in a network namespace.
fn first_minute(machine: &str) {
    let folder = tempfile::tempdir().unwrap();
    let script = crate::site::repository("crates/agentsite/tests/e2e/mesh/first_minute.sh");
    let ran = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "sh"])
        .args([script.as_os_str(), crate::site::binary().as_ref(), machine.as_ref()])
        .current_dir(folder.path())
        .output()
        .expect("unshare of util-linux is there; install it");
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("the agent of the other site answered"), "{said}");
    let ports = said.matches("in use by another program or another site").count();
    assert!(ports >= 2, "the second site says that it takes other ports: {said}");
}

#[test]
fn two_sites_on_one_machine_join_by_an_invite_with_no_settings() {
    first_minute("loopback");
}

#[test]
fn two_sites_in_one_network_find_each_other_with_no_settings() {
    first_minute("network");
}

//! The mesh of a site that several processes serve: one of them runs it, all of them use it.
//!
//! Promises that are tested: peers are added and agents of other sites called through any process; the mesh
//! moves when its process dies; the token of another site counts once in all processes together.

use std::time::Instant;

use agentsite_protocol::{Algorithm, SigningKey, SiteToken};
use serde_json::{Value, json};

use super::server::Server;
use super::{process, started};
use crate::mesh::sites::{CLERK, clerk};
use crate::site::{TestSite, answer, eventually, http, message, state, unique};

/// The configuration of a site in the mesh, at a free port of loopback.
fn configuration(name: &str) -> String {
    format!(
        "[site]\nname = \"{name}\"\n[mesh]\nenabled = true\nlisten = [\"/ip4/127.0.0.1/tcp/0\"]\n\
         allow_private_addresses = true\n"
    )
}

/// A process of the site, which is in the mesh.
fn member(server: &Server, name: &str) -> TestSite {
    let site = process(server, name).flag("--no-demos");
    site.write("agentsite.toml", &configuration("Town"));
    started(site)
}

/// Another site, with a clerk.
fn bakery() -> TestSite {
    let site = TestSite::new().flag("--no-demos").agent(CLERK, &clerk());
    site.write("agentsite.toml", &configuration("Bakery"));
    started(site)
}

/// The name of the process that runs the mesh, as a process sees it.
async fn holder(site: &TestSite) -> String {
    eventually("a process runs the mesh", async || {
        let processes = site.get("/api/status").await["processes"].take();
        let holds = |one: &&Value| one["leases"].to_string().contains("worker/mesh");
        let found = processes.as_array()?.iter().find(holds)?["name"].as_str()?.to_owned();
        (site.get("/api/mesh").await["running"] == true).then_some(found)
    })
    .await
}

async fn post(site: &TestSite, path: &str, body: Value) -> Value {
    let asked = site.http.post(format!("{}{path}", site.url)).json(&body).send().await.unwrap();
    asked.json().await.unwrap()
}

/// Calls the clerk of the bakery through a process; gives the text, once it was answered.
async fn called(site: &TestSite) -> String {
    eventually("the clerk answers", async || {
        let opened = post(site, "/api/mesh/open", json!({"agent": CLERK, "site": "Bakery"})).await;
        let agent = opened["agent"].as_str()?;
        let text = unique();
        let said = site.rpc(agent, "SendMessage", json!({"message": message(&text)})).await;
        (state(&said) == "completed" && answer(&said).trim() == text).then_some(text)
    })
    .await
}

fn times_run(bakery: &TestSite, text: &str) -> usize {
    let ledger = std::fs::read_to_string(bakery.data().join("homes/clerk/ledger")).unwrap_or_default();
    ledger.lines().filter(|line| *line == text).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_process_adds_peers_and_calls_through_the_mesh_and_it_moves_when_its_process_dies() {
    let server = Server::start();
    let bakery = bakery();
    let (one, two) = (member(&server, "one"), member(&server, "two"));
    let (mut running, other) = if holder(&one).await == "one" { (one, two) } else { (two, one) };

    let addresses = eventually("the bakery has an address", async || {
        let addresses = bakery.get("/api/mesh").await["addresses"].take();
        addresses.as_array().and_then(|all| Some(all.first()?.as_str()?.to_owned()))
    })
    .await;
    let added = post(&other, "/api/mesh/peers", json!({"target": addresses})).await;
    assert!(added["site"].as_str().is_some_and(|did| did.starts_with("did:key:")), "{added}");
    let invite = eventually("an invite of the other process", async || {
        post(&other, "/api/mesh/invite", json!({})).await["link"].as_str().map(str::to_owned)
    })
    .await;
    assert!(invite.starts_with("agentsite://join/"), "{invite}");

    for process in [&other, &running] {
        let text = called(process).await;
        assert_eq!(times_run(&bakery, &text), 1, "it ran once");
    }

    running.kill();
    let died = Instant::now();
    eventually("the mesh runs in the other process", async || {
        let processes = other.get("/api/status").await["processes"].take();
        let all = processes.as_array()?;
        (all.len() == 1 && all[0]["leases"].to_string().contains("worker/mesh")).then_some(())
    })
    .await;
    println!("the mesh moved within {:.1?}", died.elapsed());
    let text = called(&other).await;
    println!("a call through it was answered within {:.1?}", died.elapsed());
    assert_eq!(times_run(&bakery, &text), 1, "it ran once");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_another_site_counts_once_in_all_processes_together() {
    let server = Server::start();
    let (one, two) = (member(&server, "one"), member(&server, "two"));
    holder(&one).await;
    let did = one.run(&["identity", "show", "--json"]).ok().json()["didKey"].as_str().unwrap().to_owned();
    let key = SigningKey::from_seed(Algorithm::EdDsa, &[9; 32]).unwrap();
    let now = agentsite_site::World::system().clock.now();
    let status = async |site: &TestSite, token: &str| {
        let asked = http().get(format!("{}/a2a/.well-known/agent-card.json", site.url)).bearer_auth(token);
        asked.send().await.unwrap().status().as_u16()
    };
    let (first, second) =
        (SiteToken::sign(&key, &did, &[1; 16], now), SiteToken::sign(&key, &did, &[2; 16], now));
    let seen = (status(&one, &first).await, status(&two, &first).await, status(&two, &second).await);
    assert_eq!(seen, (200, 401, 200));
    assert_eq!(status(&one, &second).await, 401);
}

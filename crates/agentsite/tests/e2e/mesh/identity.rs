//! What crosses a link besides the message: who asks, as far as their site tells, and in which trace.
//!
//! Forged, late and repeated tokens are tested in `peers` and `protocol`.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{bakery, join, site};
use crate::site::{TestSite, answer, http, message, state};

/// A trace of a caller.
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Calls an agent of the bakery through a site, with this key; gives the answer.
async fn call(guest: &TestSite, key: &str, agent: &str, to: &str) -> Value {
    let asked = json!({"agent": agent, "site": to});
    let opened = http().post(format!("{}/api/mesh/open", guest.url)).bearer_auth(key).json(&asked);
    let opened: Value = opened.send().await.unwrap().json().await.unwrap();
    let name = opened["agent"].as_str().unwrap_or_else(|| panic!("{agent}@{to}: {opened}"));
    let params = json!({"message": message("1 + 1")});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let request =
        http().post(format!("{}/a2a/{name}", guest.url)).bearer_auth(key).header("a2a-version", "1.0");
    request.header("traceparent", TRACE).json(&body).send().await.unwrap().json().await.unwrap()
}

/// The owners of the tasks of a site.
async fn owners(host: &TestSite) -> BTreeSet<String> {
    let tasks = host.get("/api/tasks").await["tasks"].take();
    let owner =
        |task: &Value| task["owner"].as_str().unwrap_or_else(|| panic!("no owner: {task}")).to_owned();
    tasks.as_array().unwrap().iter().map(owner).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_are_told_apart_by_pseudonyms_that_differ_from_site_to_site() {
    let mut guest = site("Mill").flag("--no-demos");
    let configured = std::fs::read_to_string(guest.path().join("agentsite.toml")).unwrap();
    guest.write("agentsite.toml", &format!("{configured}caller_identity = \"pseudonym\"\n"));
    guest.start();
    let did = guest.run(&["identity", "show", "--json"]).ok().json()["didKey"].as_str().unwrap().to_owned();
    let keys = ["anna", "ben"].map(|label| {
        let made = guest.run(&["key", "new", "--label", label, "--scope", "call", "--json"]).ok().json();
        made["secret"].as_str().unwrap().to_owned()
    });
    let mut seen = Vec::new();
    for _ in 0..2 {
        let mut host = bakery();
        host.start();
        join(&guest, &host).await;
        let to = host.run(&["identity", "show", "--json"]).ok().json()["didKey"].as_str().unwrap().to_owned();
        for key in [&keys[0], &keys[1], &keys[0]] {
            let said = call(&guest, key, "calc", &to).await;
            assert_eq!((state(&said).as_str(), answer(&said).as_str()), ("completed", "2"), "{said}");
        }
        let owners = owners(&host).await;
        assert_eq!(owners.len(), 2, "two callers are two owners: {owners:?}");
        assert!(owners.iter().all(|owner| owner.starts_with(&format!("site:{did}/"))), "{owners:?}");
        seen.extend(owners);
    }
    let distinct: BTreeSet<_> = seen.iter().collect();
    assert_eq!(distinct.len(), 4, "no pseudonym is known at two sites: {seen:?}");
}

/// An agent that answers with a message; gives its address, and the traces in which it was called.
fn agent_of_traces() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, traces) = (listener.local_addr().unwrap().to_string(), Arc::new(Mutex::new(Vec::new())));
    let (url, noted) = (format!("http://{address}/"), traces.clone());
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            answer_once(connection, &url, &noted);
        }
    });
    (address, traces)
}

/// Answers one request: with the card, or to a message.
fn answer_once(mut connection: TcpStream, url: &str, traces: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut head = Vec::new();
    while let Some(Ok(line)) =
        reader.by_ref().lines().next().filter(|line| !matches!(line, Ok(line) if line.is_empty()))
    {
        head.push(line.to_lowercase());
    }
    let of = |name: &str| {
        head.iter().find_map(|line| line.strip_prefix(name).map(|value| value.trim().to_owned()))
    };
    let length = of("content-length:").and_then(|length| length.parse().ok()).unwrap_or(0);
    reader.read_exact(&mut vec![0; length]).unwrap();
    let interface = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    let body = if head.first().is_some_and(|line| line.starts_with("post")) {
        traces.lock().unwrap().extend(of("traceparent:"));
        let said = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "noted"}]});
        json!({"jsonrpc": "2.0", "id": 1, "result": {"message": said}})
    } else {
        json!({"name": "tracer", "description": "Notes", "version": "1", "supportedInterfaces": [interface],
               "capabilities": {"streaming": false}, "skills": []})
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = connection.write_all(format!("{head}{body}").as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trace_of_a_caller_crosses_the_link() {
    let (address, traces) = agent_of_traces();
    let manifest = format!(
        "name = \"tracer\"\ndescription = \"Notes\"\nvisibility = \"public\"\n[runtime]\nkind = \"a2a\"\ncard = \"http://{address}/\"\n"
    );
    let mut host = bakery().agent("tracer", &manifest).variable("AGENTSITE_EGRESS_ALLOW", &address);
    let mut guest = site("Mill").flag("--no-demos");
    host.start();
    guest.start();
    join(&guest, &host).await;
    let said = call(&guest, &guest.token(), "tracer", "Bakery").await;
    assert_eq!((state(&said).as_str(), answer(&said).as_str()), ("completed", "noted"), "{said}");
    let traces = traces.lock().unwrap().clone();
    assert!(!traces.is_empty() && traces.iter().all(|trace| trace == TRACE), "{traces:?}");
}

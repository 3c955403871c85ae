//! Three processes behind a balancer with the configuration of `examples/cluster`, while processes are killed
//! and the database is restarted.
//!
//! Promises that are tested: every task that was acknowledged is there, with events that are dense and with
//! the answer to its own message; the same message sent again is the same task; the balanced address is one
//! site for official clients.

use std::process::Command;

use serde_json::{Value, json};

use super::server::Server;
use super::{process, started, task_id};
use crate::proxy::{Program, Proxy, temporary_paths};
use crate::site::{TestSite, eventually, http, message, python, repository, state};

/// How often a process is killed.
const KILLS: usize = 6;

/// Messages between two kills.
const MESSAGES: usize = 40;

/// The committed configuration of a balancer, with the addresses of this story.
fn configured(file: &str, processes: &[TestSite], port: u16) -> String {
    let mut text = std::fs::read_to_string(repository(&format!("examples/cluster/{file}"))).unwrap();
    for (site, example) in processes.iter().zip(["127.0.0.1:4747", "127.0.0.1:4748", "127.0.0.1:4749"]) {
        assert!(text.contains(example), "{file} names three processes");
        text = text.replace(example, site.url.trim_start_matches("http://"));
    }
    text.replace("127.0.0.1:8080", &format!("127.0.0.1:{port}"))
}

async fn caddy(processes: &[TestSite]) -> Proxy {
    Proxy::start(Program::Caddy, |_, port| {
        format!("{{\n admin off\n auto_https off\n}}\n{}", configured("Caddyfile", processes, port))
    })
    .await
}

async fn nginx(processes: &[TestSite]) -> Proxy {
    Proxy::start(Program::Nginx, |folder, port| {
        let text = configured("nginx.conf", processes, port);
        text.replacen("http {", &format!("http {{ access_log off; {}", temporary_paths(folder)), 1)
    })
    .await
}

/// Sends a message until it is acknowledged, as a client that must not lose it does; gives the task.
async fn send(client: &reqwest::Client, url: &str, message: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    eventually("a message is acknowledged", async || {
        let asked = client.post(format!("{url}/a2a/echo")).header("a2a-version", "1.0").json(&body);
        let reply: Value = asked.send().await.ok()?.json().await.ok()?;
        reply["result"]["task"].is_object().then_some(reply)
    })
    .await
}

#[tokio::test]
async fn crash_of_processes_and_database_loses_and_doubles_nothing() {
    let mut server = Server::start();
    let mut processes: Vec<TestSite> =
        ["one", "two", "three"].map(|name| started(process(&server, name))).into();
    let balancer = caddy(&processes).await;
    let client = processes[0].http.clone();
    let mut acknowledged: Vec<(String, String)> = Vec::new();
    for kill in 0..KILLS {
        let victim = kill % processes.len();
        let sending = async {
            let mut sent = Vec::new();
            for number in 0..MESSAGES {
                let text = format!("{kill}-{number}");
                let message = message(&text);
                let reply = send(&client, &balancer.url, &message).await;
                let id = task_id(&reply);
                if number % 10 == 0 {
                    assert_eq!(task_id(&send(&client, &balancer.url, &message).await), id, "the same again");
                }
                sent.push((id, text));
            }
            sent
        };
        let port = processes[victim].url.rsplit(':').next().unwrap().to_owned();
        let (sent, ()) = tokio::join!(sending, async {
            processes[victim].kill();
            if kill == KILLS / 2 {
                server.restart();
            }
            processes[victim].start_at(&format!("127.0.0.1:{port}"));
        });
        acknowledged.extend(sent);
    }
    let mut ids: Vec<&str> = acknowledged.iter().map(|(id, _)| id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), acknowledged.len(), "each message has its own task");
    for (id, text) in &acknowledged {
        let task = processes[1].rpc("echo", "GetTask", json!({"id": id})).await["result"].take();
        assert_eq!((state(&task).as_str(), answer_of(&task)), ("completed", Some(text.as_str())), "{task}");
    }
    let events = processes[2].get(&format!("/api/tasks/{}/events", acknowledged[0].0)).await;
    let numbers: Vec<u64> =
        events["events"].as_array().unwrap().iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "dense");
}

fn answer_of(task: &Value) -> Option<&str> {
    task["artifacts"][0]["parts"][0]["text"].as_str()
}

#[tokio::test]
async fn the_official_client_works_at_the_balanced_address() {
    let server = Server::start();
    let processes: Vec<TestSite> = ["one", "two", "three"].map(|name| started(process(&server, name))).into();
    for balancer in [nginx(&processes).await, caddy(&processes).await] {
        for (agent, scenario) in
            [("echo", "send"), ("echo", "stream"), ("echo", "get"), ("echo", "list"), ("calc", "input")]
        {
            let words: &[&str] = if scenario == "input" {
                &["--text", "what is", "--answer", "6 * 7"]
            } else {
                &["--text", "through the balancer"]
            };
            let client = Command::new(python())
                .arg(repository("tests/python/a2a_client.py"))
                .arg(format!("{}/a2a/{agent}", balancer.url))
                .arg(scenario)
                .args(words)
                // The token of one process is good in all of them.
                .args(["--token", &processes[0].token()])
                .output()
                .unwrap();
            assert!(client.status.success(), "{agent} {scenario}: {client:?}");
        }
        let page = http().get(&balancer.url).header("accept", "text/html").send().await.unwrap();
        assert!(page.text().await.unwrap().contains("<!doctype html>"));
    }
}

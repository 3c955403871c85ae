//! Three processes behind a balancer with the configuration of `examples/cluster`.
//!
//! Promises that are tested: the balanced address is one site for official clients, for the conformance
//! suites of both protocols, and for people with a browser.

use std::process::Command;

use super::server::Server;
use super::{process, started};
use crate::counterparts::{conformance, mcp_server};
use crate::proxy::{Program, Proxy, temporary_paths};
use crate::site::{TestSite, binary, counterpart, http, python, repository};

/// The stories of the pages that are run against several processes: signing in, talking while an answer
/// streams, two browsers on one conversation, and following a task. Each is a file of `web/tests` and a title
/// in it.
const STORIES: [(&str, &str); 5] = [
    ("journeys.test.ts", "from the first page to the first answer by clicking"),
    ("journeys.test.ts", "a key made in the pages signs another browser in"),
    ("chat.test.ts", "an answer streams, a file is taken along"),
    ("chat.test.ts", "two browsers on one conversation show the same, live"),
    ("hub.test.ts", "a task that is at work is followed as it happens, and stopped"),
];

/// The committed configuration of a balancer, with the addresses of this story.
fn configured(file: &str, processes: &[TestSite], port: u16) -> String {
    let mut text = std::fs::read_to_string(repository(&format!("examples/cluster/{file}"))).unwrap();
    for (site, example) in processes.iter().zip(["127.0.0.1:4747", "127.0.0.1:4748", "127.0.0.1:4749"]) {
        assert!(text.contains(example), "{file} names three processes");
        text = text.replace(example, site.url.trim_start_matches("http://"));
    }
    text.replace(":8080", &format!(":{port}"))
}

pub(super) async fn caddy(processes: &[TestSite]) -> Proxy {
    Proxy::start(Program::Caddy, |_, port| {
        let text = configured("Caddyfile", processes, port);
        assert!(text.starts_with("{\n"), "the options of the whole server come first");
        text.replacen("{\n", "{\n admin off\n auto_https off\n", 1)
    })
    .await
}

pub(super) async fn nginx(processes: &[TestSite]) -> Proxy {
    Proxy::start(Program::Nginx, |folder, port| {
        let text = configured("nginx.conf", processes, port);
        text.replacen("http {", &format!("http {{ access_log off; {}", temporary_paths(folder)), 1)
    })
    .await
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

#[tokio::test]
async fn the_official_client_works_by_grpc_at_the_address_that_caddy_balances() {
    let server = Server::start();
    let processes: Vec<TestSite> = ["one", "two", "three"].map(|name| started(process(&server, name))).into();
    let balancer = caddy(&processes).await;
    for scenario in ["send", "stream", "get", "ended", "missing"] {
        let client = Command::new(python())
            .arg(repository("tests/python/a2a_client.py"))
            .arg(format!("{}/a2a/echo", balancer.url))
            .args([scenario, "--binding", "grpc", "--text", "through the balancer"])
            .args(["--token", &processes[0].token()])
            .output()
            .unwrap();
        assert!(client.status.success(), "{scenario}: {client:?}");
    }
}

/// Three processes with the agent of the kits, which show no key and are quick.
fn conforming(server: &Server) -> Vec<TestSite> {
    let all = ["one", "two", "three"].map(|name| {
        let site = process(server, name).flag("--conformance");
        let site = site.variable("AGENTSITE_LIMITS_ANONYMOUS_RATE", "0");
        started(site.variable("AGENTSITE_TRUSTED_PROXIES", "127.0.0.1"))
    });
    all.into()
}

#[tokio::test]
async fn the_suites_of_both_protocols_pass_at_the_balanced_address() {
    let server = Server::start();
    let processes = conforming(&server);
    let balancer = caddy(&processes).await;
    let (url, token) = (balancer.url.clone(), processes[0].token());
    tokio::task::spawn_blocking(move || {
        mcp_server::check_suite(&url);
        // The suite shows no key by gRPC, so its tasks would be those of another caller.
        conformance::check(&url, &[("jsonrpc", 30), ("http", 30)], Some(&token));
    })
    .await
    .unwrap();
}

#[test]
fn people_with_a_browser_find_one_site() {
    let server = Server::start();
    for file in ["journeys.test.ts", "chat.test.ts", "hub.test.ts"] {
        let titles = STORIES.iter().filter(|(of, _)| *of == file);
        let patterns = titles.map(|(_, title)| format!("--test-name-pattern={title}"));
        let output = Command::new(counterpart("AGENTSITE_TEST_NODE"))
            .args(["--test", "--test-reporter=spec"])
            .args(patterns)
            .arg(format!("tests/{file}"))
            .current_dir(repository("web"))
            .env("AGENTSITE_TEST_BINARY", binary())
            .env("AGENTSITE_TEST_CHROMIUM", counterpart("AGENTSITE_TEST_CHROMIUM"))
            .env("AGENTSITE_TEST_STORE", server.url())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        let wanted = STORIES.iter().filter(|(of, _)| *of == file).count();
        assert!(said.contains(&format!("pass {wanted}")), "{wanted} stories were run: {said}");
    }
}

//! Work that one process hands to another, and what holds for all of them together: with the real binary,
//! programs that are attached to one process, and a tool server on the official Python package.
//!
//! Promises that are tested: a slow start costs no membership; an agent is reached through every process,
//! wherever its program or server is; it moves with it; rates of callers hold for the site.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::Server;
use super::{open, process, started, two, until};
use crate::site::{TestSite, answer, counterpart, eventually, exec_agent, http, repository, state};

/// A command that is attached to a process as an agent; killed when dropped.
struct Attached(Child);

impl Attached {
    /// Attaches a command with this token, which is good in all processes, and waits until it is connected.
    fn new(site: &TestSite, token: &str, name: &str, command: &[&str]) -> Self {
        let arguments =
            ["agent", "attach", "--site", &site.url, "--name", name, "--visibility", "public", "--"];
        let mut attach = site.command(&arguments);
        attach.args(command).env("AGENTSITE_TOKEN", token);
        let mut child = attach.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("connected as") && line.contains("called at"), "{line}");
        // Read on, so that it never waits for a reader.
        std::thread::spawn(move || said.lines().for_each(drop));
        Self(child)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn processes(site: &TestSite) -> Vec<Value> {
    site.get("/api/status").await["processes"].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_start_that_takes_longer_than_the_lease_costs_no_membership() {
    let server = Server::start();
    let short = |name: &str| {
        let site = process(&server, name).without("AGENTSITE_CLUSTER_LEASE");
        site.variable("AGENTSITE_CLUSTER_LEASE", "2500ms")
    };
    let one = started(short("one"));
    // What a start reads is locked, so that the next one waits in the middle.
    let mut lock = server.session().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut orders = lock.stdin.take().unwrap();
    let mut told = BufReader::new(lock.stdout.take().unwrap()).lines();
    writeln!(orders, "BEGIN; LOCK TABLE agentsite.settings IN ACCESS EXCLUSIVE MODE; SELECT 'locked';")
        .unwrap();
    assert!(told.any(|line| line.unwrap().contains("locked")));
    let mut second = short("two");
    let starting = tokio::task::spawn_blocking(move || {
        second.start();
        second
    });
    let waited = "SELECT count(*) FROM agentsite.processes
        WHERE name = 'two' AND extract(epoch FROM clock_timestamp()) * 1000 > joined_at + 3300";
    eventually("it has been starting for longer than its lease", async || {
        (server.sql(waited) == "1").then_some(())
    })
    .await;
    writeln!(orders, "COMMIT;").unwrap();
    drop(orders);
    lock.wait().unwrap();
    let two = starting.await.unwrap();
    assert_eq!(processes(&one).await.len(), 2);
    assert_eq!(answer(&two.send("echo", "in time").await), "in time");
    assert!(!one.log().contains("has died"), "{}", one.log());
}

#[tokio::test]
async fn an_agent_without_a_record_is_asked_where_it_has_a_slot() {
    let server = Server::start();
    let one_at_a_time = "[limits]\nconcurrency = 1";
    let loud = exec_agent("loud", &["tr", "a-z", "A-Z"], one_at_a_time).replacen(
        "visibility",
        "answers = \"message\"\nvisibility",
        1,
    );
    let sites = ["one", "two"].map(|name| started(process(&server, name).agent("loud", &loud)));
    eventually("the slot belongs to one process", async || {
        let all = processes(&sites[0]).await;
        (all.len() == 2 && all.iter().all(|one| one["agents"].as_u64() > Some(0))).then_some(())
    })
    .await;
    for _ in 0..5 {
        for site in &sites {
            let reply = site.send("loud", "over there").await;
            assert_eq!(reply["result"]["message"]["parts"][0]["text"], "OVER THERE", "{reply}");
        }
    }
    let kept = "SELECT count(*) FROM agentsite.records WHERE collection = 'process-calls'";
    eventually("nothing is kept", async || (server.sql(kept) == "0").then_some(())).await;
}

#[tokio::test]
async fn a_program_is_reached_through_every_process_and_its_tasks_follow_it() {
    let server = Server::start();
    let (one, two) = two(&server);
    // The owner of an agent is the key that connected it; each machine has an admin key of its own.
    let token = one.token();
    let attached = Attached::new(&one, &token, "shouter", &["tr", "a-z", "A-Z"]);
    eventually("the other process knows it", async || {
        (two.get("/api/agents/shouter").await["health"] == "ready").then_some(())
    })
    .await;
    assert_eq!(answer(&two.send("shouter", "loud").await), "LOUD");
    drop(attached);
    for site in [&one, &two] {
        eventually("it is away, as each process sees it", async || {
            (site.get("/api/agents/shouter").await["health"] == "down").then_some(())
        })
        .await;
    }
    // It waits in the first process, and its program connects to the second.
    let id = open(&one, "shouter", "moved").await;
    let _attached = Attached::new(&two, &token, "shouter", &["tr", "a-z", "A-Z"]);
    let done = until(&one, "shouter", &id, "completed").await;
    assert!(done["artifacts"].to_string().contains("MOVED"), "{done}");
}

/// Asks an agent by MCP in the stateless revision.
async fn mcp(site: &TestSite, method: &str, name: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = site.http.post(format!("{}/mcp/tools", site.url));
    let request = request.header("accept", "application/json, text/event-stream").header("mcp-name", name);
    let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let text = request.json(&body).send().await.unwrap().text().await.unwrap();
    let line = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap_or(&text);
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn a_server_that_runs_once_for_the_site_is_used_through_every_process_and_moves() {
    let server = Server::start();
    let (python, script) =
        (counterpart("AGENTSITE_TEST_PYTHON_MCP"), repository("tests/python/mcp_server.py"));
    let tools = format!(
        "name = \"tools\"\ndescription = \"Some tools\"\nvisibility = \"public\"\n[runtime]\nkind = \"mcp\"\n\
         command = [{python:?}, {script:?}, \"one\"]\ninstances = \"site\"\n"
    );
    let mut sites = ["one", "two"].map(|name| started(process(&server, name).agent("tools", &tools)));
    for site in &sites {
        eventually("its tools are listed", async || {
            let listed = mcp(site, "tools/list", "", json!({})).await;
            listed["result"]["tools"].to_string().contains("echo").then_some(())
        })
        .await;
        let call = json!({ "name": "echo", "arguments": { "text": "here" } });
        let called = mcp(site, "tools/call", "echo", call).await;
        assert_eq!(called["result"]["content"][0]["text"], "HERE", "{called}");
        let task = site.send("tools", "echo {\"text\": \"task\"}").await;
        assert_eq!(state(&task), "completed", "{task}");
        assert_eq!(site.get("/api/agents/tools").await["health"], "ready");
    }
    let all = processes(&sites[0]).await;
    let has = |one: &Value| one["leases"].to_string().contains("server/tools");
    assert_eq!(all.iter().filter(|one| has(one)).count(), 1, "one has it: {all:?}");
    let holder = usize::from(!all.iter().any(|one| has(one) && one["name"] == "one"));
    sites[holder].kill();
    let left = &sites[1 - holder];
    eventually("the other process runs it", async || {
        let call = json!({ "name": "echo", "arguments": { "text": "moved" } });
        let called = mcp(left, "tools/call", "echo", call).await;
        (called["result"]["content"][0]["text"] == "MOVED").then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_rate_of_a_key_holds_for_all_processes_together() {
    const RATE: u32 = 5;
    const BURST: u32 = 9;
    let server = Server::start();
    let sites = ["one", "two", "three"].map(|name| {
        let site = process(&server, name).variable("AGENTSITE_LIMITS_KEY_RATE", &RATE.to_string());
        started(site.variable("AGENTSITE_LIMITS_KEY_BURST", &BURST.to_string()))
    });
    let made = sites[0].run(&["key", "new", "--label", "x", "--scope", "call", "--json"]).ok().json();
    let (secret, client) = (made["secret"].as_str().unwrap(), http());
    let asked = async |site: &TestSite| {
        let asked = client.get(format!("{}/api/agents", site.url)).bearer_auth(secret);
        asked.send().await.unwrap().status().as_u16()
    };
    for site in &sites {
        eventually("all know the key and each other", async || {
            (processes(site).await.len() == 3 && asked(site).await != 401).then_some(())
        })
        .await;
    }
    let (begun, mut admitted) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(4) {
        for site in &sites {
            admitted += u32::from(asked(site).await == 200);
        }
    }
    let seconds = u32::try_from(begun.elapsed().as_secs()).unwrap() + 1;
    assert!(admitted <= RATE * seconds + 2 * BURST + 3, "{admitted} in {seconds} s");
    assert!(admitted >= RATE * (seconds - 1) / 2, "{admitted} in {seconds} s: it is served");
}

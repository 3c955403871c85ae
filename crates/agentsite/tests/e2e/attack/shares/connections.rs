//! Floods of connections, bodies, requests, streams and resets.
//!
//! Each attack runs while an honest caller works; the short form checks that it is served, the full form also
//! how fast.

use super::*;
use crate::attack::{is_full, report};
use crate::site::eventually;

/// Connections of an attacker.
fn many() -> usize {
    if is_full() { 5_000 } else { 600 }
}

/// Requests of an honest caller in a measurement.
fn asked() -> usize {
    if is_full() { 500 } else { 20 }
}

/// Opens many connections and sends this over each.
async fn flood(site: &TestSite, bytes: &[u8]) -> Vec<TcpStream> {
    let mut open = Vec::new();
    for _ in 0..many() {
        let mut stream = connect(site, ATTACKER).await.unwrap();
        // The site may have ended it already.
        let _ = stream.write_all(bytes).await;
        open.push(stream);
    }
    open
}

async fn withstands(attack: &str, bytes: &str) {
    let site = site();
    let (honest, same) = (Caller::at(&site, HONEST), Caller::at(&site, ATTACKER));
    honest.asks(20).await;
    let memory = resident(&site);
    // Quiet and attacked rounds in turn, so that what the disk does meanwhile hits both.
    let (mut quiet, mut attacked) = (Vec::new(), Vec::new());
    let mut open = Vec::new();
    for _ in 0..ROUNDS {
        drop(std::mem::take(&mut open));
        eventually("the end of the attacker's connections", async || {
            let status = status(&site).await;
            (status["connections"].as_u64().unwrap() < 50).then_some(())
        })
        .await;
        quiet.push(honest.round(asked()).await);
        open = flood(&site, bytes.as_bytes()).await;
        attacked.push(honest.round(asked()).await);
    }
    // Another caller at the same address gets in, too, and with a key on every new connection.
    same.ask().await;
    let key = key(&site, "honest").await;
    Caller::at(&site, HONEST).with_key(key.clone()).ask().await;
    Caller::at(&site, ATTACKER).with_key(key).ask().await;
    grown(&site, memory, attack);
    let status = status(&site).await;
    assert!(status["connections"].as_u64().unwrap() < 400, "{status}");
    drop(open);
    let quiet = Measured::middle(&quiet);
    Measured::middle(&attacked).against([quiet; 2], &format!("{} {attack} from one address", many()));
}

#[tokio::test]
async fn slow_bodies_from_one_address_do_not_stop_others() {
    withstands("slow bodies", &(head("/a2a/echo", 1000) + "{")).await;
}

#[tokio::test]
async fn slow_heads_from_one_address_do_not_stop_others() {
    withstands("slow heads", "POST /a2a/echo HTTP/1.1\r\nHost: agents.exam").await;
}

#[tokio::test]
async fn silent_connections_from_one_address_do_not_stop_others() {
    withstands("silent connections", "").await;
}

#[tokio::test]
async fn one_stranger_follows_a_handful_of_tasks() {
    let site = site();
    let limit = 8;
    let (mut open, mut taken) = (Vec::new(), 0);
    let tries = 60;
    for _ in 0..tries {
        let request = call("SendStreamingMessage", message("sleep")).to_string();
        let mut stream = connect(&site, ATTACKER).await.unwrap();
        throw(&mut stream, (head("/a2a/waits", request.len()) + &request).as_bytes()).await;
        let answer = first(&mut stream).await;
        if answer.starts_with("HTTP/1.1 200") {
            taken += 1;
        } else {
            assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
        }
        open.push(stream);
    }
    assert!(taken <= limit, "{taken}");
    // The subscriptions that never end: `listen` of MCP has no task that could.
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
        "notifications": { "toolsListChanged": true },
        "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} },
    }});
    let (mut listening, mut refused) = (0, 0);
    let caller = Caller::at(&site, ATTACKER);
    let mut streams = Vec::new();
    for _ in 0..tries {
        let request = caller.post("/mcp", &listen).header("accept", "application/json, text/event-stream");
        let request =
            request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "subscriptions/listen");
        let answer = request.send().await.unwrap();
        match answer.status().as_u16() {
            200 => listening += 1,
            429 => {
                assert!(answer.headers().contains_key("retry-after"));
                refused += 1;
            }
            _ => panic!("{:?} {}", answer.status(), answer.text().await.unwrap()),
        }
        streams.push(answer);
    }
    let outcome = format!("{} taken, {} refused", taken + listening, tries - taken + refused);
    report(AREA, &format!("{} endless subscriptions by one anonymous caller", 2 * tries), outcome);
    assert!(taken + listening <= limit && refused > 0, "{taken} {listening} {refused}");
    Caller::at(&site, HONEST).ask().await;
    drop((streams, open));
    let status = eventually("places come back", async || {
        let status = status(&site).await;
        (status["streams"] == 0).then_some(status)
    })
    .await;
    assert!(status["refused"]["streams"].as_u64().unwrap() > 0, "{status}");
}

#[tokio::test]
async fn a_request_with_two_hosts_is_refused() {
    let site = site();
    let mut refused = 0;
    for hosts in [
        "Host: agents.example.org\r\nHost: agents.example.org\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "Host: evil.example\r\nhost: localhost\r\n",
        "Host: localhost, evil.example\r\n",
        "Host: \r\n",
        "",
    ] {
        for path in ["/", "/api/status", "/a2a/echo", "/metrics", "/v1/models"] {
            let mut stream = connect(&site, ATTACKER).await.unwrap();
            throw(&mut stream, format!("GET {path} HTTP/1.1\r\n{hosts}\r\n").as_bytes()).await;
            let answer = first(&mut stream).await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{path} {hosts:?}: {answer}");
            refused += 1;
        }
    }
    report(AREA, "two hosts, none, or a list of them", format!("{refused} of {refused} refused"));
}

/// The beginning of an HTTP/2 connection, and then so many requests that are taken back at once.
fn resets(count: u32) -> Vec<u8> {
    let mut out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    out.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    let mut block = vec![0x82, 0x86, 0x84, 0x41, HOST.len() as u8];
    block.extend_from_slice(HOST.as_bytes());
    for number in 0..count {
        let stream = (number * 2 + 1).to_be_bytes();
        out.extend_from_slice(&[0, 0, block.len() as u8, 1, 5]);
        out.extend_from_slice(&stream);
        out.extend_from_slice(&block);
        out.extend_from_slice(&[0, 0, 4, 3, 0]);
        out.extend_from_slice(&stream);
        out.extend_from_slice(&[0, 0, 0, 8]);
    }
    out
}

#[tokio::test]
async fn requests_that_are_taken_back_at_once_cost_nothing() {
    let site = site();
    let honest = Caller::at(&site, HONEST);
    honest.asks(20).await;
    let (quiet, memory) = (honest.asks(asked()).await, resident(&site));
    let (connections, count) = if is_full() { (50, 20_000) } else { (5, 2_000) };
    let bytes = resets(count);
    let mut attack = tokio::task::JoinSet::new();
    for _ in 0..connections {
        let (mut stream, bytes) = (connect(&site, ATTACKER).await.unwrap(), bytes.clone());
        attack.spawn(async move {
            throw(&mut stream, &bytes).await;
            stream
        });
    }
    let open = attack.join_all().await;
    let attacked = honest.asks(asked()).await;
    grown(&site, memory, "rapid reset");
    drop(open);
    let again = honest.asks(asked()).await;
    attacked.against([quiet, again], &format!("{connections} connections with {count} resets each"));
}

/// How often an honest caller asks, and how often the attacker tries to in the same time, over so many lanes.
const HONEST_PACE: Duration = Duration::from_millis(50);
const ATTACK_LANES: u32 = 20;
const ATTACK_PACE: Duration = HONEST_PACE.saturating_mul(ATTACK_LANES).checked_div(100).unwrap();

/// Requests at a steady pace, until the handle is dropped.
///
/// An attacker elsewhere takes no processor time from the site, so this one works on a thread of its own that
/// comes last: what is measured is what the site does with the requests, not what it costs to make them here.
struct Flood(Option<std::thread::JoinHandle<()>>, tokio_util::sync::CancellationToken);

impl Flood {
    fn start(site: &TestSite) -> Self {
        let stop = tokio_util::sync::CancellationToken::new();
        let attackers: Vec<Caller> = (0..ATTACK_LANES).map(|_| Caller::at(site, ATTACKER)).collect();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            rustix::process::nice(19).expect("a thread may always step back");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(stopped.run_until_cancelled_owned(async {
                futures::future::join_all(attackers.iter().map(Self::ask_for_ever)).await;
            }));
        });
        Self(Some(thread), stop)
    }

    async fn ask_for_ever(attacker: &Caller) {
        let mut tick = tokio::time::interval(ATTACK_PACE);
        loop {
            tick.tick().await;
            let _ = attacker.post("/a2a/echo", &call("SendMessage", message("me"))).send().await;
        }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.1.cancel();
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

#[tokio::test]
async fn a_stranger_at_a_hundred_times_the_rate_leaves_others_theirs() {
    let mut site = TestSite::new();
    site.write("agentsite.toml", &format!("public_url = \"https://{HOST}\"\n[limits]\nkey_rate = 0\n"));
    site.start();
    raise_open_files();
    let key = key(&site, "honest").await;
    let honest = Caller::at(&site, HONEST).with_key(key).paced(HONEST_PACE);
    let asked = if is_full() { 200 } else { 5 };
    honest.round(5).await;
    let quiet = honest.asks(asked).await;
    let flood = Flood::start(&site);
    let attacked = honest.asks(asked).await;
    drop(flood);
    let again = honest.asks(asked).await;
    attacked.against([quiet, again], "an anonymous caller at 100 times the rate");
    let status = status(&site).await;
    assert!(!is_full() || status["refused"]["rate"].as_u64().unwrap() > 1_000, "{status}");
}

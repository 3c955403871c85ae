//! Shares: connections, streams, sockets and deliveries are shared fairly among owners and addresses.
//!
//! The site listens on 127.0.0.1; attackers and honest callers come from other addresses of the same network,
//! and name the site's public host, so that all of them are anonymous unless they show a key.

mod connections;
mod sockets;

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use reqwest::Client;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::site::{PATIENCE, TestSite, exec_agent, unique};

const AREA: &str = "shares";

/// The site's public host.
const HOST: &str = "agents.example.org";

/// Where attackers come from.
const ATTACKER: u8 = 2;

/// Where honest callers come from.
const HONEST: u8 = 3;

/// A site that anonymous callers reach by its public name. Requests per second are not limited, so that only
/// shares can stop an attack.
fn site() -> TestSite {
    site_with("")
}

fn site_with(limits: &str) -> TestSite {
    let waits = exec_agent("waits", &["sh", "-c", "exec sleep 600"], "");
    let mut site = TestSite::new().agent("waits", &waits);
    let config = format!(
        "public_url = \"https://{HOST}\"\n[limits]\nanonymous_rate = 0\nkey_rate = 0\n{limits}\n[hub]\nquota = 20000\n"
    );
    site.write("agentsite.toml", &config);
    site.start();
    raise_open_files();
    site
}

/// As many files as this process may open.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

/// Where the site listens.
fn address(site: &TestSite) -> SocketAddr {
    site.url.trim_start_matches("http://").parse().unwrap()
}

fn here(last: u8) -> IpAddr {
    [127, 0, 0, last].into()
}

/// A connection from this address.
async fn connect(site: &TestSite, last: u8) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(here(last), 0))?;
    socket.connect(address(site)).await
}

/// The head of a POST by an anonymous caller.
fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

/// Reads what comes first; nothing when the connection has ended.
async fn first(stream: &mut TcpStream) -> String {
    let mut buffer = vec![0; 8 << 10];
    let read =
        tokio::time::timeout(PATIENCE, stream.read(&mut buffer)).await.expect("an answer").unwrap_or(0);
    String::from_utf8_lossy(&buffer[..read]).into_owned()
}

/// An honest caller.
struct Caller {
    http: Client,
    url: String,
    key: Option<String>,
    /// The least time from one question to the next.
    pace: Option<Duration>,
}

impl Caller {
    fn at(site: &TestSite, last: u8) -> Self {
        let http = Client::builder().no_proxy().local_address(here(last)).timeout(PATIENCE).build().unwrap();
        Self { http, url: site.url.clone(), key: None, pace: None }
    }

    fn with_key(self, key: String) -> Self {
        Self { key: Some(key), ..self }
    }

    fn paced(self, pace: Duration) -> Self {
        Self { pace: Some(pace), ..self }
    }

    fn post(&self, path: &str, body: &Value) -> reqwest::RequestBuilder {
        let request =
            self.http.post(format!("{}{path}", self.url)).header("host", HOST).header("a2a-version", "1.0");
        let request = match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        request.json(body)
    }

    /// Asks echo and says how long it took.
    async fn ask(&self) -> Duration {
        let begun = Instant::now();
        let answer = self.post("/a2a/echo", &call("SendMessage", message("hello"))).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(answer["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{answer}");
        begun.elapsed()
    }

    /// Asks so often, one after the other, in a few rounds; the middle one counts, so that what else the
    /// machine does does not.
    async fn asks(&self, times: usize) -> Measured {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(self.round(times).await);
        }
        Measured::middle(&rounds)
    }

    async fn round(&self, times: usize) -> Measured {
        let (begun, mut took) = (Instant::now(), Vec::new());
        let mut tick = self.pace.map(tokio::time::interval);
        for _ in 0..times {
            if let Some(tick) = &mut tick {
                tick.tick().await;
            }
            took.push(self.ask().await);
        }
        took.sort();
        Measured {
            rate: times as f64 / begun.elapsed().as_secs_f64(),
            p99: took[(took.len() * 99 / 100).min(took.len() - 1)],
        }
    }
}

/// Rounds of a measurement.
const ROUNDS: usize = 5;

/// How an honest caller fared.
#[derive(Debug, Clone, Copy)]
struct Measured {
    /// Answers a second.
    rate: f64,
    p99: Duration,
}

impl Measured {
    /// The middle rate and the middle p99 of some rounds.
    fn middle(rounds: &[Self]) -> Self {
        let middle = |mut all: Vec<f64>| {
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let p99 = middle(rounds.iter().map(|round| round.p99.as_secs_f64()).collect());
        Self {
            rate: middle(rounds.iter().map(|round| round.rate).collect()),
            p99: Duration::from_secs_f64(p99),
        }
    }

    /// Compares with what it was before and after the attack, in the mean, because tasks become slower while
    /// the store grows and the disk has its moods; the full form judges it.
    fn against(self, [before, after]: [Self; 2], attack: &str) {
        let rate = 2.0 * self.rate / (before.rate + after.rate);
        let slower = 2.0 * self.p99.as_secs_f64() / (before.p99 + after.p99).as_secs_f64();
        let outcome = format!(
            "honest rate {:.0} %, p99 {slower:.1}x ({:.1} ms)",
            rate * 100.0,
            self.p99.as_secs_f64() * 1e3
        );
        super::report(AREA, attack, &outcome);
        if super::is_full() {
            assert!(rate >= 0.9 && slower < 2.0, "{attack}: {outcome}");
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the parameters where they call")]
fn call(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn message(text: &str) -> Value {
    json!({ "message": { "messageId": unique(), "role": "ROLE_USER", "parts": [{ "text": text }] } })
}

/// A new API key that may call agents.
async fn key(site: &TestSite, name: &str) -> String {
    let body = json!({ "label": name, "scopes": ["call"] });
    let request =
        crate::site::http().post(format!("{}/api/keys", site.url)).bearer_auth(site.token()).json(&body);
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    answer["secret"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// What the site says of itself.
async fn status(site: &TestSite) -> Value {
    let request = crate::site::http().get(format!("{}/api/status", site.url)).bearer_auth(site.token());
    request.send().await.unwrap().json().await.unwrap()
}

/// Resident memory of the site in bytes.
fn resident(site: &TestSite) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", site.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

const MIB: u64 = 1 << 20;

/// Memory that an attack may cost at most, in the full form and in the short one.
const MAX_GROWTH: u64 = 64 * MIB;

fn grown(site: &TestSite, before: u64, attack: &str) {
    let grown = resident(site).saturating_sub(before);
    super::report(AREA, attack, format!("memory +{:.1} MiB", grown as f64 / MIB as f64));
    assert!(grown < MAX_GROWTH, "{attack}: {grown} bytes more than before");
}

/// Sends bytes as far as the other end takes them.
async fn throw(stream: &mut TcpStream, bytes: &[u8]) {
    let _ = tokio::time::timeout(PATIENCE, stream.write_all(bytes)).await;
}

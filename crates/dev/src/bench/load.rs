//! The load: keep-alive connections that each send one request after another.
//!
//! Promises: as little work per request as possible, so that the server and not the load is measured; every
//! answer is checked to be a success. It implements just enough HTTP/1.1 for our own servers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::grpc::Caller;
use crate::bench::BenchError;

/// Place of the number that makes each message different; as wide as the numbers are.
const NUMBER: &str = "0000000000000000";

/// How an event of a stream begins.
const EVENT: &[u8] = b"\ndata: ";

/// How a body of chunks ends.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// What every client of MCP says that it reads.
const MCP_ACCEPT: &str = "accept: application/json, text/event-stream\r\n";

/// Largest answer that is read.
const MAX_ANSWER: usize = 1 << 20;

/// Numbers messages over all phases, so that none is a repeat.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A request that is sent again and again, each time with another number in it.
#[derive(Debug, Clone)]
pub(super) enum Request {
    /// By HTTP/1.1, as bytes with the place of the number.
    Http {
        /// The whole request.
        bytes: Arc<[u8]>,
        /// The position of the number.
        number_at: usize,
    },
    /// SendMessage by gRPC to this agent.
    Grpc(Arc<str>),
}

/// How much load, for how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) connections: usize,
    pub(super) time: Duration,
}

/// What was measured.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) requests: u64,
    /// Events of streams among the answers.
    pub(super) events: u64,
    pub(super) seconds: f64,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
}

impl Measured {
    /// Requests that took so many microseconds each, in so many seconds altogether.
    pub(super) fn of(mut times: Vec<u32>, seconds: f64) -> Self {
        times.sort_unstable();
        let at = |share: usize| times.get(times.len() * share / 100).copied().map_or(Duration::ZERO, micros);
        Self { requests: times.len() as u64, events: 0, seconds, p50: at(50), p99: at(99) }
    }
}

impl Request {
    /// A2A SendMessage.
    pub(super) fn send(path: &str) -> Self {
        Self::post(path, &Self::body("SendMessage"))
    }

    /// A2A SendMessage by HTTP+JSON.
    pub(super) fn send_rest(path: &str) -> Self {
        Self::post(&format!("{path}/message:send"), &Self::params())
    }

    /// A2A SendStreamingMessage.
    pub(super) fn stream(path: &str) -> Self {
        Self::post(path, &Self::body("SendStreamingMessage"))
    }

    /// A2A SendMessage by gRPC.
    pub(super) fn grpc(agent: &str) -> Self {
        Self::Grpc(agent.into())
    }

    /// The same body to a server that only echoes.
    pub(super) fn echo(path: &str) -> Self {
        Self::post(path, &Self::body("SendMessage"))
    }

    fn body(method: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{}}}"#, Self::params())
    }

    fn params() -> String {
        format!(
            r#"{{"message":{{"messageId":"bench-{NUMBER}","role":"ROLE_USER","parts":[{{"text":"hello world"}}]}}}}"#
        )
    }

    /// MCP `tools/call` of a tool that takes a message, in the stateless form.
    pub(super) fn call_tool(path: &str, tool: &str) -> Self {
        let meta = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
        let head = format!(
            "{MCP_ACCEPT}mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n"
        );
        Self::post_with(path, &head, &Self::tool_body(tool, meta))
    }

    /// MCP `tools/call` in a session of the older form.
    pub(super) fn call_tool_in(path: &str, tool: &str, session: &str) -> Self {
        let head = format!("{MCP_ACCEPT}mcp-protocol-version: 2025-11-25\r\nmcp-session-id: {session}\r\n");
        Self::post_with(path, &head, &Self::tool_body(tool, ""))
    }

    fn tool_body(tool: &str, meta: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":"{NUMBER}","method":"tools/call","params":{{"name":"{tool}","arguments":{{"message":"hello world"}}{meta}}}}}"#
        )
    }

    fn post(path: &str, body: &str) -> Self {
        Self::post_with(path, "a2a-version: 1.0\r\n", body)
    }

    fn post_with(path: &str, head: &str, body: &str) -> Self {
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{head}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let number_at = text.find(NUMBER).expect("the body has the number");
        Self::Http { bytes: text.into_bytes().into(), number_at }
    }
}

/// Sends for a while.
pub(super) async fn run(address: SocketAddr, request: &Request, load: Load) -> Result<Measured, BenchError> {
    run_across(&[address], request, load).await
}

/// Sends for a while to several servers, which take turns with the connections.
pub(super) async fn run_across(
    addresses: &[SocketAddr],
    request: &Request,
    load: Load,
) -> Result<Measured, BenchError> {
    let end = Instant::now() + load.time;
    drive(addresses, request, load.connections, move || Instant::now() < end).await
}

/// Sends so many.
pub(super) async fn send(
    address: SocketAddr,
    request: &Request,
    connections: usize,
    amount: u64,
) -> Result<Measured, BenchError> {
    let left = Arc::new(AtomicI64::new(i64::try_from(amount).unwrap_or(i64::MAX)));
    drive(&[address], request, connections, move || left.fetch_sub(1, Ordering::Relaxed) > 0).await
}

async fn drive(
    addresses: &[SocketAddr],
    request: &Request,
    connections: usize,
    more: impl Fn() -> bool + Clone + Send + 'static,
) -> Result<Measured, BenchError> {
    let began = Instant::now();
    let workers: Vec<_> = (addresses.iter().cycle().take(connections))
        .map(|address| tokio::spawn(converse(*address, request.clone(), more.clone())))
        .collect();
    let (mut times, mut events) = (Vec::new(), 0);
    for worker in workers {
        let failed = |error: String| BenchError::error(format!("the load stopped: {error}"));
        let one = worker.await.map_err(|error| failed(error.to_string()))?.map_err(failed)?;
        times.extend(one.times);
        events += one.events;
    }
    Ok(Measured { events, ..Measured::of(times, began.elapsed().as_secs_f64()) })
}

fn micros(time: u32) -> Duration {
    Duration::from_micros(time.into())
}

/// The result of one connection.
#[derive(Default)]
struct Talk {
    /// The time of each request in microseconds.
    times: Vec<u32>,
    events: u64,
}

impl Talk {
    fn took(&mut self, time: Duration) {
        self.times.push(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    }
}

/// One connection: sends and reads until there is no more to send.
async fn converse(address: SocketAddr, request: Request, more: impl Fn() -> bool) -> Result<Talk, String> {
    match request {
        Request::Http { bytes, number_at } => by_http(address, &bytes, number_at, more).await,
        Request::Grpc(agent) => by_grpc(address, &agent, more).await,
    }
}

async fn by_grpc(address: SocketAddr, agent: &str, more: impl Fn() -> bool) -> Result<Talk, String> {
    let mut caller = Caller::connect(address, agent).await?;
    let mut talk = Talk::default();
    while more() {
        let began = Instant::now();
        caller.call(NEXT.fetch_add(1, Ordering::Relaxed)).await?;
        talk.took(began.elapsed());
    }
    Ok(talk)
}

async fn by_http(
    address: SocketAddr,
    bytes: &[u8],
    number_at: usize,
    more: impl Fn() -> bool,
) -> Result<Talk, String> {
    let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let mut bytes = bytes.to_vec();
    let mut answer = Vec::with_capacity(4096);
    let mut talk = Talk::default();
    while more() {
        let number = format!("{:016}", NEXT.fetch_add(1, Ordering::Relaxed));
        bytes[number_at..number_at + NUMBER.len()].copy_from_slice(number.as_bytes());
        let began = Instant::now();
        stream.write_all(&bytes).await.map_err(|error| error.to_string())?;
        read_answer(&mut stream, &mut answer).await?;
        talk.took(began.elapsed());
        talk.events += answer.windows(EVENT.len()).filter(|window| *window == EVENT).count() as u64;
    }
    Ok(talk)
}

/// Reads one whole answer and checks that it is a success.
async fn read_answer(stream: &mut TcpStream, answer: &mut Vec<u8>) -> Result<(), String> {
    answer.clear();
    loop {
        let read = stream.read_buf(answer).await.map_err(|error| error.to_string())?;
        if read == 0 {
            return Err("the server closed the connection".into());
        }
        if let Some(whole) = length(answer)
            && answer.len() >= whole
        {
            let success = answer.starts_with(b"HTTP/1.1 200") && !contains(&answer[..whole], b"\"error\"");
            return if success { Ok(()) } else { Err(String::from_utf8_lossy(answer).into_owned()) };
        }
        if answer.len() > MAX_ANSWER {
            return Err("the answer is too long".into());
        }
    }
}

/// Length of head and body together, once the head is whole.
fn length(answer: &[u8]) -> Option<usize> {
    let head = find(answer, b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&answer[..head]).ok()?;
    let field = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    if text.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return find(&answer[head..], LAST_CHUNK).map(|at| head + at + LAST_CHUNK.len());
    }
    Some(head + field.unwrap_or(0))
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    find(text, wanted).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is() {
        assert_eq!(length(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"), None);
        assert_eq!(length(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), Some(40));
    }

    #[test]
    fn a_stream_is_whole_with_its_last_chunk() {
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let cut = [&head[..], b"3\r\nabc\r\n"].concat();
        assert_eq!(length(&cut), None);
        let whole = [&cut[..], b"0\r\n\r\n"].concat();
        assert_eq!(length(&whole), Some(whole.len()));
    }

    #[test]
    fn each_request_can_carry_its_own_number() {
        for request in
            [Request::send("/a2a/echo"), Request::send_rest("/a2a/echo"), Request::stream("/a2a/echo")]
        {
            let Request::Http { bytes, number_at } = request else { panic!("it goes by HTTP") };
            assert_eq!(&bytes[number_at..number_at + NUMBER.len()], NUMBER.as_bytes());
        }
    }
}

//! The load: keep-alive connections that each send one request after another.
//!
//! Promises: as little work per request as possible, so that the server and not the load is measured; every answer is checked to be a
//! success. It speaks just enough HTTP/1.1 for servers of our own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::exit::CliError;

/// Place of the number that makes each message different; as wide as the numbers are.
const NUMBER: &str = "0000000000000000";

/// Largest answer that is read.
const MAX_ANSWER: usize = 1 << 20;

/// Numbers messages over all phases, so that none is a repeat.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A request that is sent again and again, each time with another number in it.
#[derive(Debug, Clone)]
pub(super) struct Request {
    bytes: Arc<[u8]>,
    number_at: usize,
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
    pub(super) seconds: f64,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
}

impl Request {
    /// A2A SendMessage.
    pub(super) fn send(path: &str) -> Self {
        Self::post(path, &Self::body())
    }

    /// The same body to a server that only echoes.
    pub(super) fn echo(path: &str) -> Self {
        Self::post(path, &Self::body())
    }

    fn body() -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{"messageId":"bench-{NUMBER}","role":"ROLE_USER","parts":[{{"text":"hello world"}}]}}}}}}"#
        )
    }

    fn post(path: &str, body: &str) -> Self {
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\na2a-version: 1.0\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let number_at = text.find(NUMBER).expect("the body has the number");
        Self { bytes: text.into_bytes().into(), number_at }
    }
}

/// Sends for a while.
pub(super) async fn run(address: SocketAddr, request: &Request, load: Load) -> Result<Measured, CliError> {
    let end = Instant::now() + load.time;
    drive(address, request, load.connections, move || Instant::now() < end).await
}

/// Sends so many.
pub(super) async fn send(
    address: SocketAddr,
    request: &Request,
    connections: usize,
    amount: u64,
) -> Result<Measured, CliError> {
    let left = Arc::new(AtomicI64::new(i64::try_from(amount).unwrap_or(i64::MAX)));
    drive(address, request, connections, move || left.fetch_sub(1, Ordering::Relaxed) > 0).await
}

async fn drive(
    address: SocketAddr,
    request: &Request,
    connections: usize,
    more: impl Fn() -> bool + Clone + Send + 'static,
) -> Result<Measured, CliError> {
    let began = Instant::now();
    let workers: Vec<_> =
        (0..connections).map(|_| tokio::spawn(converse(address, request.clone(), more.clone()))).collect();
    let mut times = Vec::new();
    for worker in workers {
        let failed = |error: String| CliError::error(format!("the load stopped: {error}"));
        times.extend(worker.await.map_err(|error| failed(error.to_string()))?.map_err(failed)?);
    }
    let seconds = began.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().map_or(Duration::ZERO, micros);
    Ok(Measured { requests: times.len() as u64, seconds, p50: at(50), p99: at(99) })
}

fn micros(time: u32) -> Duration {
    Duration::from_micros(time.into())
}

/// One connection: sends and reads until there is no more to send; gives the time of each request in microseconds.
async fn converse(
    address: SocketAddr,
    request: Request,
    more: impl Fn() -> bool,
) -> Result<Vec<u32>, String> {
    let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let mut bytes = request.bytes.to_vec();
    let mut answer = Vec::with_capacity(4096);
    let mut times = Vec::new();
    while more() {
        let number = format!("{:016}", NEXT.fetch_add(1, Ordering::Relaxed));
        bytes[request.number_at..request.number_at + NUMBER.len()].copy_from_slice(number.as_bytes());
        let began = Instant::now();
        stream.write_all(&bytes).await.map_err(|error| error.to_string())?;
        read_answer(&mut stream, &mut answer).await?;
        times.push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    Ok(times)
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
    fn each_request_can_carry_its_own_number() {
        let request = Request::send("/a2a/echo");
        let at = request.number_at;
        assert_eq!(&request.bytes[at..at + NUMBER.len()], NUMBER.as_bytes());
    }
}

//! Fair shares over real sockets: connections, requests, streams, slow bodies, readers that do not read,
//! hosts.
//!
//! Limits are set low where a story has to reach them. Addresses of this machine's own network (127.0.0.2 …)
//! stand for other machines; their callers name another host and a forwarded address, so that they count as
//! strangers.

use std::net::SocketAddr;
use std::time::Duration;

use agentsite_gateway::{Division, GatewaySettings, HttpLimits};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::story::{Story, body, client};

/// Longest that a step of a story may take; it only turns a hang into a failure.
const HANG: Duration = Duration::from_secs(20);

const PUBLIC: &str = "agents.example.org";

/// A site that strangers reach by its public name, with these limits.
async fn story(change: impl FnOnce(&mut HttpLimits)) -> Story {
    let mut settings = GatewaySettings {
        public_url: Some(format!("https://{PUBLIC}")),
        trusted_proxies: vec!["127.0.0.9".parse().unwrap()],
        ..GatewaySettings::default()
    };
    settings.rates.anonymous = agentsite_gateway::Rate::UNLIMITED;
    change(&mut settings.limits);
    Story::with(settings).await
}

/// A connection from this address of the own machine.
async fn from(last: u8, story: &Story) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
    socket.connect(story.address).await.unwrap()
}

/// The head of a POST by a stranger.
fn head(path: &str, length: usize, more: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: {PUBLIC}\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n\
         Content-Length: {length}\r\n{more}\r\n"
    )
}

/// Sends a whole request by a stranger and reads the head of the answer.
async fn asks(stream: &mut TcpStream, path: &str, request: &Value, more: &str) -> String {
    let request = request.to_string();
    stream.write_all((head(path, request.len(), more) + &request).as_bytes()).await.unwrap();
    first(stream).await
}

/// What comes first.
async fn first(stream: &mut TcpStream) -> String {
    let mut buffer = vec![0; 16 << 10];
    let read = tokio::time::timeout(HANG, stream.read(&mut buffer)).await.expect("an answer").unwrap_or(0);
    String::from_utf8_lossy(&buffer[..read]).into_owned()
}

async fn until_closed(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    let _ = tokio::time::timeout(HANG, stream.read_to_end(&mut text)).await.expect("the connection ends");
    String::from_utf8_lossy(&text).into_owned()
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the parameters where they call")]
fn call(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn message(text: &str) -> Value {
    json!({ "message": { "messageId": text, "role": "ROLE_USER", "parts": [{ "text": text }] } })
}

/// How often something was turned away for this reason.
async fn refused(story: &Story, reason: &str) -> u64 {
    let admin = story.key(&["admin"]).await;
    let status = body(client().get(story.url("/api/status")).bearer_auth(admin).send().await.unwrap()).await;
    status["refused"][reason].as_u64().unwrap_or_else(|| panic!("{status}"))
}

#[tokio::test]
async fn slow_bodies_of_one_address_leave_space_for_others() {
    let story = story(|limits| {
        limits.connections = Division { total: 64, reserve: 16, per_address: 8, per_owner: 16 };
    })
    .await;
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = from(2, &story).await;
        // What has been ended already cannot be written to.
        let _ = stream.write_all((head("/a2a/echo", 9, "") + "{").as_bytes()).await;
        slow.push(stream);
    }
    let mut honest = from(3, &story).await;
    let answer = asks(&mut honest, "/a2a/echo", &call("SendMessage", message("hello")), "").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mut same = from(2, &story).await;
    let answer = asks(&mut same, "/a2a/echo", &call("SendMessage", message("me too")), "").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "a newer one at the same address gets in: {answer}");
    assert!(refused(&story, "connections").await >= 92);
    let ended = until_closed(slow.swap_remove(0)).await;
    assert_eq!(ended, "", "the oldest one had to go");
}

#[tokio::test]
async fn an_authenticated_connection_is_not_ended_for_others() {
    let story = story(|limits| {
        limits.connections = Division { total: 8, reserve: 4, per_address: 4, per_owner: 4 };
    })
    .await;
    let key = story.key(&["call"]).await;
    let bearer = format!("Authorization: Bearer {key}\r\n");
    let mut known = from(2, &story).await;
    let hello = call("SendMessage", message("hello"));
    assert!(asks(&mut known, "/a2a/echo", &hello, &bearer).await.starts_with("HTTP/1.1 200"));
    let mut flood = Vec::new();
    for last in 2..40 {
        flood.push(from(last, &story).await);
    }
    let mut late = from(50, &story).await;
    assert!(asks(&mut late, "/a2a/echo", &hello, &bearer).await.starts_with("HTTP/1.1 200"), "it gets in");
    let answer = asks(&mut known, "/a2a/echo", &hello, &bearer).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "the first one is still there: {answer}");
}

#[tokio::test]
async fn a_body_that_drips_is_refused_in_both_versions_of_http() {
    let story = story(|limits| {
        limits.body_grace = Duration::from_millis(50);
        limits.body_rate = 1 << 20;
    })
    .await;
    let mut stream = from(2, &story).await;
    stream.write_all((head("/a2a/echo", 1000, "") + "{").as_bytes()).await.unwrap();
    let answer = until_closed(stream).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("REQUEST_TOO_SLOW"), "{answer}");
    let http2 = reqwest::Client::builder().http2_prior_knowledge().no_proxy().build().unwrap();
    let never = futures::StreamExt::chain(
        futures::stream::iter([Ok::<_, std::io::Error>("{")]),
        futures::stream::pending(),
    );
    let request = http2.post(story.url("/a2a/echo")).header("content-type", "application/json");
    let answer = tokio::time::timeout(HANG, request.body(reqwest::Body::wrap_stream(never)).send()).await;
    assert_eq!(answer.expect("it does not hang").unwrap().status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(refused(&story, "slow_body").await, 2);
}

#[tokio::test]
async fn bodies_under_way_share_one_budget() {
    let story = story(|limits| {
        limits.body_memory =
            Division { total: 1 << 20, reserve: 0, per_address: 64 << 10, per_owner: 1 << 20 };
    })
    .await;
    let mut first_part = from(2, &story).await;
    let part = vec![b' '; 300 << 10];
    first_part.write_all(head("/a2a/echo", 1 << 20, "").as_bytes()).await.unwrap();
    let _ = first_part.write_all(&part).await;
    let answer = until_closed(first_part).await;
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    assert_eq!(refused(&story, "bodies").await, 1);
}

#[tokio::test]
async fn a_stranger_follows_a_handful_of_tasks_and_a_key_more() {
    let story =
        story(|limits| limits.streams = Division { total: 100, reserve: 10, per_address: 3, per_owner: 5 })
            .await;
    let streaming = |text: &str| call("SendStreamingMessage", message(text));
    let mut open = Vec::new();
    for number in 0..3 {
        let mut stream = from(2, &story).await;
        let answer = asks(&mut stream, "/a2a/long", &streaming(&format!("s{number}")), "").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("text/event-stream"), "{answer}");
        open.push(stream);
    }
    let mut fourth = from(2, &story).await;
    let answer = asks(&mut fourth, "/a2a/long", &streaming("s3"), "").await;
    assert!(answer.starts_with("HTTP/1.1 429") && answer.to_lowercase().contains("retry-after"), "{answer}");
    let mut elsewhere = from(3, &story).await;
    assert!(asks(&mut elsewhere, "/a2a/long", &streaming("s4"), "").await.starts_with("HTTP/1.1 200"));
    let mut by_rest = from(2, &story).await;
    let answer = asks(&mut by_rest, "/a2a/long/message:stream", &message("s5"), "").await;
    assert!(answer.contains("RESOURCE_EXHAUSTED") && answer.starts_with("HTTP/1.1 429"), "{answer}");
    let mut by_openai = from(2, &story).await;
    let chat = json!({ "model": "long", "stream": true, "messages": [{ "role": "user", "content": "hi" }] });
    let answer = asks(&mut by_openai, "/v1/chat/completions", &chat, "").await;
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    let bearer = format!("Authorization: Bearer {}\r\n", story.key(&["call"]).await);
    for number in 0..6 {
        let mut stream = from(2, &story).await;
        let answer = asks(&mut stream, "/a2a/long", &streaming(&format!("k{number}")), &bearer).await;
        assert_eq!(answer.starts_with("HTTP/1.1 200"), number < 5, "{answer}");
        open.push(stream);
    }
    assert_eq!(refused(&story, "streams").await, 4);
    drop(open);
    // A place is free as soon as the site has seen that its reader left.
    tokio::time::timeout(HANG, async {
        loop {
            let mut again = from(2, &story).await;
            if asks(&mut again, "/a2a/long", &streaming("again"), "").await.starts_with("HTTP/1.1 200") {
                return;
            }
        }
    })
    .await
    .expect("places come back");
}

#[tokio::test]
async fn behind_a_trusted_proxy_shares_go_by_the_forwarded_address() {
    let story =
        story(|limits| limits.streams = Division { total: 100, reserve: 10, per_address: 1, per_owner: 5 })
            .await;
    let streaming = |text: &str| call("SendStreamingMessage", message(text));
    let mut open = Vec::new();
    for (number, (address, taken)) in
        [("192.0.2.1", true), ("192.0.2.1", false), ("192.0.2.2", true)].iter().enumerate()
    {
        let mut stream = from(9, &story).await;
        let forwarded = format!("X-Forwarded-For: {address}\r\n");
        let answer = asks(&mut stream, "/a2a/long", &streaming(&format!("p{number}")), &forwarded).await;
        assert_eq!(answer.starts_with("HTTP/1.1 200"), *taken, "{address}: {answer}");
        open.push(stream);
    }
}

#[tokio::test]
async fn a_stranger_has_a_bounded_number_of_requests_under_way() {
    let story =
        story(|limits| limits.requests = Division { total: 50, reserve: 10, per_address: 2, per_owner: 4 })
            .await;
    let mut waiting = Vec::new();
    for number in 0..2 {
        let mut stream = from(2, &story).await;
        let request = call("SendMessage", message(&format!("w{number}"))).to_string();
        stream.write_all((head("/a2a/long", request.len(), "") + &request).as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    // The two have been taken in when a third is refused.
    tokio::time::timeout(HANG, async {
        loop {
            let mut third = from(2, &story).await;
            let answer = asks(&mut third, "/a2a/echo", &call("SendMessage", message("third")), "").await;
            if answer.starts_with("HTTP/1.1 429") {
                return;
            }
        }
    })
    .await
    .expect("a third one is refused");
    let mut elsewhere = from(3, &story).await;
    let answer = asks(&mut elsewhere, "/a2a/echo", &call("SendMessage", message("hello")), "").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_reader_that_stops_reading_loses_its_answer() {
    let story = story(|limits| {
        limits.send_time = Duration::from_millis(100);
        limits.head_time = Duration::from_millis(200);
        limits.keep_alive = Duration::from_millis(1);
    })
    .await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 2], 0))).unwrap();
    let mut stream = socket.connect(story.address).await.unwrap();
    // Many large answers that are asked for at once and never read.
    let large = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "x".repeat(500_000) }] } });
    let request = call("SendMessage", large).to_string();
    let (mut reading, mut writing) = stream.split();
    let asking = async {
        loop {
            if writing.write_all((head("/a2a/echo", request.len(), "") + &request).as_bytes()).await.is_err()
            {
                return;
            }
        }
    };
    tokio::time::timeout(HANG, asking).await.expect("the connection is cut");
    let mut rest = Vec::new();
    let _ = reading.read_to_end(&mut rest).await;
    assert_eq!(refused(&story, "slow_reader").await, 1);
}

#[tokio::test]
async fn a_request_names_exactly_one_host() {
    let story = Story::begin().await;
    let local = format!("localhost:{}", story.address.port());
    for (hosts, status) in [
        (format!("Host: {local}\r\n"), "200"),
        (format!("Host: {local}\r\nHost: {local}\r\n"), "400"),
        (format!("Host: {local}\r\nHost: evil.example\r\n"), "400"),
        (String::new(), "400"),
        ("Host:\r\n".to_owned(), "400"),
        (format!("Host: {local}, evil.example\r\n"), "400"),
        (format!("Host: user@{local}\r\n"), "400"),
    ] {
        for path in ["/healthz", "/", "/a2a/echo", "/mcp", "/nothing"] {
            let mut stream = TcpStream::connect(story.address).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let answer = until_closed(stream).await;
            let refused = answer.starts_with("HTTP/1.1 400");
            assert_eq!(refused, status == "400", "{path} {hosts:?}: {answer}");
        }
    }
    let mut stream = TcpStream::connect(story.address).await.unwrap();
    let absolute =
        format!("GET http://evil.example/healthz HTTP/1.1\r\nHost: {local}\r\nConnection: close\r\n\r\n");
    stream.write_all(absolute.as_bytes()).await.unwrap();
    assert!(until_closed(stream).await.starts_with("HTTP/1.1 400"));
    let http2 = reqwest::Client::builder().http2_prior_knowledge().no_proxy().build().unwrap();
    let answer = http2.get(story.url("/healthz")).header("host", "evil.example").send().await;
    // The client may leave the header out; when it does not, the request is refused.
    assert!(answer.is_err() || [200, 400].contains(&answer.unwrap().status().as_u16()));
}

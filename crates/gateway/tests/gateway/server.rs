//! Listening, TLS, slow peers and stopping.
//!
//! Limits are set low where a story has to reach them; certificates are made on the spot.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agentsite_gateway::{AnonymousAccess, Division, Gateway, GatewaySettings, TlsSettings};
use prometheus_client::registry::Registry;
use reqwest::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::story::{Story, client, says, site};

async fn refusal(settings: GatewaySettings) -> String {
    let bound = Gateway::bind(settings, site().await, Arc::new(Registry::default())).await;
    bound.err().map(|error| error.to_string()).unwrap_or_default()
}

fn listening(address: &str) -> GatewaySettings {
    GatewaySettings { listen: address.parse().unwrap(), ..GatewaySettings::default() }
}

fn certificate() -> TlsSettings {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    TlsSettings { cert_pem: made.cert.pem().into(), key_pem: made.signing_key.serialize_pem().into() }
}

#[tokio::test]
async fn the_network_is_refused_without_tls_and_with_open_doors() {
    let plain = refusal(listening("0.0.0.0:0")).await;
    assert!(plain.contains("--tls-cert") && plain.contains("tls_terminated_by_proxy = true"), "{plain}");
    assert!(!refusal(listening("[::]:0")).await.is_empty());
    let behind = GatewaySettings { tls_terminated_by_proxy: true, ..listening("0.0.0.0:0") };
    assert_eq!(refusal(behind.clone()).await, "");
    let open = GatewaySettings { anonymous: AnonymousAccess::Admin, ..behind };
    assert!(refusal(open).await.contains("anonymous"));
    let here = GatewaySettings { anonymous: AnonymousAccess::Admin, ..listening("127.0.0.1:0") };
    assert_eq!(refusal(here).await, "");
    let nonsense =
        GatewaySettings { public_url: Some("agents.example.org".into()), ..listening("127.0.0.1:0") };
    assert!(refusal(nonsense).await.contains("public_url"));
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let story = Story::begin().await;
    let told = refusal(listening(&story.address.to_string())).await;
    assert!(told.contains(&story.address.to_string()) && told.contains("--listen"), "{told}");
}

#[tokio::test]
async fn tls_is_spoken_with_both_versions_of_http() {
    let settings = GatewaySettings { tls: Some(certificate()), ..listening("127.0.0.1:0") };
    let gateway = Gateway::bind(settings, site().await, Arc::new(Registry::default())).await.unwrap();
    let (address, stop) = (gateway.local_addr(), CancellationToken::new());
    let serving = tokio::spawn(gateway.serve(stop.clone()));
    let card = format!("https://localhost:{}/a2a/echo", address.port());
    let response = client().get(&card).send().await.unwrap();
    assert_eq!(response.version(), reqwest::Version::HTTP_2);
    assert!(response.text().await.unwrap().contains(&card), "the card names the address that was used");
    let old = reqwest::Client::builder()
        .http1_only()
        .no_proxy()
        .tls_danger_accept_invalid_certs(true)
        .build()
        .unwrap();
    assert_eq!(old.get(&card).send().await.unwrap().status(), StatusCode::OK);
    drop(old);
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test]
async fn http2_is_spoken_without_tls() {
    let story = Story::begin().await;
    let http2 = reqwest::Client::builder().http2_prior_knowledge().no_proxy().build().unwrap();
    let response = http2.get(story.url("/a2a/echo")).send().await.unwrap();
    assert_eq!(response.version(), reqwest::Version::HTTP_2);
    assert_eq!(response.status(), StatusCode::OK);
}

/// Reads until the other side ends the connection.
async fn until_closed(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text).await;
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test]
async fn a_peer_that_dawdles_is_ended_and_others_are_served() {
    let mut settings = GatewaySettings::default();
    settings.limits.head_time = Duration::from_millis(50);
    let story = Story::with(settings).await;
    let address: SocketAddr = story.address;
    let mut half_a_head = TcpStream::connect(address).await.unwrap();
    half_a_head.write_all(b"GET / HTTP/1.1\r\nHost: local").await.unwrap();
    let mut one_letter = TcpStream::connect(address).await.unwrap();
    one_letter.write_all(b"P").await.unwrap();
    let silent = TcpStream::connect(address).await.unwrap();
    assert_eq!(story.get("/healthz").send().await.unwrap().status(), StatusCode::OK);
    for stream in [half_a_head, one_letter, silent] {
        assert!(!until_closed(stream).await.contains("200 OK"));
    }
}

#[tokio::test]
async fn a_slow_body_is_refused() {
    let mut settings = GatewaySettings::default();
    settings.limits.body_time = Duration::from_millis(50);
    let story = Story::with(settings).await;
    let mut stream = TcpStream::connect(story.address).await.unwrap();
    let head = "POST /a2a/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = until_closed(stream).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("REQUEST_TOO_SLOW"));
}

#[tokio::test]
async fn stopping_ends_streams_and_lets_calls_finish() {
    let mut story = Story::begin().await;
    let id = story.long_task().await;
    let stream = story.rpc("long", "SubscribeToTask", serde_json::json!({ "id": id })).send().await.unwrap();
    let waiting = story.rpc("long", "SendMessage", says("wait for me")).send();
    let waiting = tokio::spawn(waiting);
    let path = "/api/tasks?agent=long";
    loop {
        let list = crate::story::body(story.get(path).send().await.unwrap()).await;
        if list["tasks"].as_array().unwrap().len() == 2 {
            break;
        }
        tokio::task::yield_now().await;
    }
    story.stop();
    assert!(stream.text().await.unwrap().contains(&id));
    let site = story.site.clone();
    let stopping = tokio::spawn(async move { site.stop().await });
    let answer = crate::story::body(waiting.await.unwrap().unwrap()).await;
    assert!(answer["result"]["task"]["id"].is_string(), "{answer}");
    story.stopped().await;
    stopping.await.unwrap();
    assert!(TcpStream::connect(story.address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_full_house_ends_the_connection_that_waits_longest() {
    let mut settings = GatewaySettings::default();
    settings.limits.connections = Division { total: 1, reserve: 0, per_address: 1, per_owner: 1 };
    let story = Story::with(settings).await;
    let first = TcpStream::connect(story.address).await.unwrap();
    assert_eq!(story.get("/healthz").send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(until_closed(first).await, "", "it has made space");
}

/// Reads one answer with its body off a connection.
async fn one_answer(stream: &mut TcpStream) -> String {
    let (mut read, mut piece) = (Vec::new(), [0; 1024]);
    loop {
        let text = String::from_utf8_lossy(&read).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        let count = stream.read(&mut piece).await.unwrap();
        assert!(count > 0, "closed after {text}");
        read.extend_from_slice(&piece[..count]);
    }
}

#[tokio::test]
async fn a_call_that_is_refused_before_its_body_came_loses_no_later_one() {
    let story = Story::begin().await;
    let mut stream = TcpStream::connect(story.address).await.unwrap();
    let head = |length: usize, more: &str| {
        format!(
            "POST /api/keys HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer ask_wrong\r\n{more}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
            story.address
        )
    };
    // Head and body in two pieces, as proxies send them, and the next request over the same connection.
    for _ in 0..20 {
        stream.write_all(head(2, "").as_bytes()).await.unwrap();
        tokio::task::yield_now().await;
        stream.write_all(b"{}").await.unwrap();
        let answer = one_answer(&mut stream).await;
        assert!(answer.starts_with("http/1.1 401") && !answer.contains("connection: close"), "{answer}");
    }
    // What is too much to be read for nothing, or was not sent yet, costs the connection, and the answer says
    // so.
    for (length, more) in [(10 << 20, ""), (2, "Expect: 100-continue\r\n")] {
        let mut stream = TcpStream::connect(story.address).await.unwrap();
        stream.write_all(head(length, more).as_bytes()).await.unwrap();
        let answer = one_answer(&mut stream).await;
        assert!(answer.starts_with("http/1.1 401") && answer.contains("connection: close"), "{answer}");
    }
}

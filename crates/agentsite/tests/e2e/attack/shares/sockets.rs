//! WebSockets: many, idle, unregistered, and with messages that never end.
//!
//! Frames are written directly, so that the memory and the patience of a client library do not matter.

use super::*;
use crate::attack::{is_full, report};
use crate::site::eventually;

/// Opens a socket directly, so that the client's own buffers do not count; gives the status of the answer.
async fn open(site: &TestSite, last: u8, key: &str) -> (TcpStream, u16) {
    let mut stream = connect(site, last).await.unwrap();
    let request = format!(
        "GET /ws/agent HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer {key}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = first(&mut stream).await;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    (stream, status)
}

/// A text of this length as a client writes it: the head alone, with a mask of zeros.
fn frame_head(length: u64) -> Vec<u8> {
    let mut head = vec![0x81];
    match length {
        0..126 => head.push(0x80 | length as u8),
        126..65_536 => {
            head.push(0x80 | 126);
            head.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            head.push(0x80 | 127);
            head.extend_from_slice(&length.to_be_bytes());
        }
    }
    head.extend_from_slice(&[0; 4]);
    head
}

async fn say(stream: &mut TcpStream, frame: &Value) {
    let text = frame.to_string();
    let mut bytes = frame_head(text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
    stream.write_all(&bytes).await.unwrap();
}

/// Registers an agent of this name and waits for the welcome.
async fn register(stream: &mut TcpStream, name: &str) -> String {
    let params = json!({ "name": name, "description": "Waits." });
    say(stream, &json!({ "jsonrpc": "2.0", "id": 1, "method": "agent/register", "params": params })).await;
    first(stream).await
}

/// Reads until the site says this; a ping may come before it.
async fn answer_with(stream: &mut TcpStream, word: &str) {
    let mut heard = String::new();
    while !heard.contains(word) {
        let more = first(stream).await;
        assert!(!more.is_empty(), "the socket ended before {word:?} came: {heard:?}");
        heard.push_str(&more);
    }
}

/// Keeps a socket open as an idle program does: answers the pings of the site and says nothing else.
async fn idle(mut stream: TcpStream) {
    let pong = [0x8A, 0x80, 0, 0, 0, 0];
    let mut ping = [0; 64];
    while stream.read(&mut ping).await.is_ok_and(|read| read > 0) {
        if stream.write_all(&pong).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn one_key_has_few_sockets_that_do_not_register() {
    let site = site();
    let (attacker, honest) = (key(&site, "attacker").await, key(&site, "honest").await);
    let (mut held, mut taken) = (Vec::new(), 0);
    let tries = 200;
    for _ in 0..tries {
        let (stream, status) = open(&site, ATTACKER, &attacker).await;
        taken += usize::from(status == 101);
        assert!([101, 429].contains(&status), "{status}");
        held.push(stream);
    }
    report(AREA, &format!("{tries} sockets of one key that do not register"), format!("{taken} taken"));
    assert!(taken < tries / 2, "{taken}");
    let (mut stream, status) = open(&site, HONEST, &honest).await;
    assert_eq!(status, 101);
    assert!(register(&mut stream, "honest").await.contains("\"name\":\"honest\""));
}

#[tokio::test]
async fn messages_that_never_end_share_one_budget() {
    let site = site();
    let attacker = key(&site, "attacker").await;
    let count = if is_full() { 300 } else { 100 };
    let mut sockets = Vec::new();
    for number in 0..count {
        let (mut stream, status) = open(&site, ATTACKER, &attacker).await;
        assert_eq!(status, 101);
        assert!(register(&mut stream, &format!("greedy-{number}")).await.contains("resume"));
        sockets.push(stream);
    }
    let before = resident(&site);
    // Each begins a message of four megabytes and never ends it.
    let part = vec![b'x'; 4_100_000];
    let mut sending = tokio::task::JoinSet::new();
    for mut stream in sockets {
        let part = part.clone();
        sending.spawn(async move {
            throw(&mut stream, &frame_head(4 << 20)).await;
            throw(&mut stream, &part).await;
            stream
        });
    }
    let held = sending.join_all().await;
    grown(&site, before, &format!("{count} sockets of one key with half a message of 4 MiB each"));
    let status = status(&site).await;
    assert!(status["refused"]["socket_memory"].as_u64().unwrap() > 0, "{status}");
    Caller::at(&site, HONEST).ask().await;
    drop(held);
}

#[tokio::test]
async fn many_idle_sockets_cost_little() {
    let site = site();
    let count: u64 = if is_full() { 9_999 } else { 200 };
    let token = site.token();
    // What the first ones cost once is not counted.
    let (mut warm, _) = open(&site, 4, &token).await;
    register(&mut warm, "warm").await;
    let before = resident(&site);
    let mut held = tokio::task::JoinSet::new();
    held.spawn(idle(warm));
    for number in 0..count {
        let (mut stream, status) = open(&site, 4, &token).await;
        assert_eq!(status, 101, "{number}");
        assert!(register(&mut stream, &format!("idle-{number}")).await.contains("resume"), "{number}");
        held.spawn(idle(stream));
    }
    let open = eventually("all are there", async || {
        let status = status(&site).await;
        (status["sockets"] == count + 1).then_some(status)
    })
    .await;
    let each = resident(&site).saturating_sub(before) / count;
    report(
        AREA,
        &format!("{} idle WebSockets, registered", count + 1),
        format!("{:.1} kB each", each as f64 / 1000.0),
    );
    assert!(!is_full() || each <= 40_000, "{each} bytes each: {open}");
    Caller::at(&site, HONEST).ask().await;
    drop(held);
}

#[tokio::test]
async fn large_messages_leave_no_large_buffers_behind() {
    let site = site();
    let owner = key(&site, "owner").await;
    let count = if is_full() { 200 } else { 40 };
    let (mut sockets, large) = (Vec::new(), "y".repeat(3 << 20));
    for number in 0..count {
        let (mut stream, _) = open(&site, HONEST, &owner).await;
        register(&mut stream, &format!("large-{number}")).await;
        sockets.push(stream);
    }
    let before = resident(&site);
    for stream in &mut sockets {
        say(
            stream,
            &json!({ "jsonrpc": "2.0", "id": 7, "method": "agent/unknown", "params": { "x": large } }),
        )
        .await;
        answer_with(stream, "error").await;
    }
    grown(&site, before, &format!("{count} idle sockets that have sent 3 MiB each"));
}

//! Agents elsewhere that answer nonsense, nothing at all, or point into the site's own network.
//!
//! Promises that are tested: the task fails with a sentence that names the address; the site never follows a
//! redirect to a place that the operator did not allow, not even with one packet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::site::{TestSite, answer, state, status_text};

/// Largest head of a request that the small server reads.
const HEAD: usize = 4096;

/// A server that gives everybody the same bytes, or nothing; counts who came.
async fn server(answer: Option<String>) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, visits) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let counted = visits.clone();
    tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            match &answer {
                None => held.push(stream),
                Some(answer) => {
                    let _ = stream.read(&mut [0; HEAD]).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                    let _ = stream.shutdown().await;
                }
            }
        }
    });
    (port, visits)
}

fn ok(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn remote(name: &str, port: u16) -> String {
    format!(
        "name = \"{name}\"\ndescription = \"Lives elsewhere\"\n[runtime]\nkind = \"a2a\"\ncard = \"http://127.0.0.1:{port}\"\n[limits]\ntimeout = \"2s\"\n"
    )
}

/// A site with one remote agent on this machine, which the operator allows.
fn site_with(port: u16) -> TestSite {
    let mut site = TestSite::new().agent("far", &remote("far", port));
    site.write("agentsite.toml", &format!("[egress]\nallow = [\"127.0.0.1:{port}\"]\n"));
    site.start();
    site
}

async fn fails(site: &TestSite, words: &[&str]) {
    let reply = site.send("far", "hello").await;
    let why = status_text(&reply);
    assert_eq!(state(&reply), "failed", "{reply}");
    assert!(words.iter().all(|word| why.contains(word)), "{words:?} in {why}");
    assert_eq!(answer(&site.send("echo", "still here").await), "still here");
}

#[tokio::test]
async fn a_card_that_is_garbage_is_told() {
    for garbage in ["<html>not a card</html>", "{\"name\": 7}", "[]", ""] {
        let (port, _) = server(Some(ok(garbage))).await;
        fails(&site_with(port), &["127.0.0.1", &port.to_string()]).await;
    }
}

#[tokio::test]
async fn a_card_that_never_comes_is_waited_for_no_longer_than_the_task_may_last() {
    let (port, visits) = server(None).await;
    fails(&site_with(port), &["2s"]).await;
    assert!(visits.load(Ordering::SeqCst) > 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    fails(&site_with(port), &[&format!("127.0.0.1:{port}")]).await;
}

#[tokio::test]
async fn a_redirect_into_the_own_network_is_not_followed() {
    let (canary, visits) = server(Some(ok("{}"))).await;
    let places = [
        format!("http://127.0.0.1:{canary}/"),
        format!("http://localhost:{canary}/"),
        "http://10.0.0.1/".into(),
    ];
    for place in places {
        let redirect = format!(
            "HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let (port, _) = server(Some(redirect)).await;
        fails(&site_with(port), &["not on the public internet"]).await;
    }
    assert_eq!(visits.load(Ordering::SeqCst), 0, "the canary was not contacted");
}

#[tokio::test]
async fn a_private_address_that_nobody_allowed_is_refused_with_the_key_to_set() {
    let (port, visits) = server(Some(ok("{}"))).await;
    let mut site = TestSite::new().agent("far", &remote("far", port));
    site.start();
    fails(&site, &["egress", "allow"]).await;
    assert_eq!(visits.load(Ordering::SeqCst), 0);
}

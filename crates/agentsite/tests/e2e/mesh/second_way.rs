//! The second way to an agent of another site: through the mesh when its URL fails, and never twice.
//!
//! The URL is refused, silent, not encrypted, or loses its answers. Which way is tried when is tested in
//! `client`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::sites::{CLERK, clerk};
use super::{bakery, join, site};
use crate::site::{TestSite, unique};

/// A free address of this machine.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// A host with this URL that listens there, and a guest that knows its agents.
async fn pair(url: &str, listen: &str) -> (TestSite, TestSite) {
    let (_, address) = url.split_once("://").unwrap();
    let mut host = bakery().agent(CLERK, &clerk()).flag("--public-url").flag(url);
    let mut guest = site("Mill").flag("--no-demos").variable("AGENTSITE_EGRESS_ALLOW", address);
    host.start_at(listen);
    guest.start();
    join(&guest, &host).await;
    (host, guest)
}

/// How often the clerk of a site was asked this.
fn asked(host: &TestSite, text: &str) -> usize {
    let ledger = std::fs::read_to_string(host.data().join("homes/clerk/ledger")).unwrap_or_default();
    ledger.lines().filter(|line| *line == text).count()
}

/// An address at which connections are accepted and nothing is answered.
fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || listener.incoming().flatten().collect::<Vec<_>>());
    address
}

/// An address that answers everything, also the beginning of TLS, in plain text.
fn plain_text() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let _ = connection.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    address
}

/// An address that leads to another one and loses the answer to everything that is posted; gives how often
/// it did.
fn losing(to: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, lost) = (listener.local_addr().unwrap().to_string(), Arc::new(AtomicUsize::new(0)));
    let counter = lost.clone();
    std::thread::spawn(move || {
        for here in listener.incoming().flatten() {
            let there = TcpStream::connect(&to).unwrap();
            let posts = Arc::new(AtomicUsize::new(0));
            let (back, forth) = (here.try_clone().unwrap(), there.try_clone().unwrap());
            let (seen, counter) = (posts.clone(), counter.clone());
            std::thread::spawn(move || {
                copy(here, forth, |bytes| {
                    posts.fetch_add(usize::from(bytes.starts_with(b"POST ")), Ordering::SeqCst);
                    true
                });
            });
            std::thread::spawn(move || {
                copy(there, back, |_| {
                    let is_lost = seen.load(Ordering::SeqCst) > 0;
                    counter.fetch_add(usize::from(is_lost), Ordering::SeqCst);
                    !is_lost
                });
            });
        }
    });
    (address, lost)
}

/// Copies bytes until the end, or until `passes` says that they do not pass; then both connections end.
fn copy(mut from: TcpStream, mut to: TcpStream, passes: impl Fn(&[u8]) -> bool) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count) = from.read(&mut bytes) {
        if count == 0 || !passes(&bytes[..count]) || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_whose_url_does_not_answer_is_called_through_the_mesh() {
    let refused = format!("http://{}", free_address());
    let unencrypted = format!("https://{}", plain_text());
    let without_answer = format!("http://{}", silent());
    for url in [refused, unencrypted, without_answer] {
        let (host, guest) = pair(&url, "127.0.0.1:0").await;
        let text = unique();
        let said = guest.run(&["call", "clerk@Bakery", &text]).ok();
        assert_eq!((said.out().trim(), asked(&host, &text)), (text.as_str(), 1), "{url}: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_answer_is_lost_at_the_url_is_answered_through_the_mesh_and_runs_once() {
    let listen = free_address();
    let (address, lost) = losing(listen.clone());
    let (host, guest) = pair(&format!("http://{address}"), &listen).await;
    for _ in 0..3 {
        let text = unique();
        let said = guest.run(&["call", "clerk@Bakery", &text]).ok();
        assert_eq!((said.out().trim(), asked(&host, &text)), (text.as_str(), 1), "{said:?}");
    }
    assert!(lost.load(Ordering::SeqCst) > 0, "the URL was tried");
}

//! Deliveries: receivers that hang delay only the key that named them. The receivers are real sockets of this
//! process that never answer.

use std::net::TcpListener;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{is_full, report};
use crate::site::{TestSite, http, message};

/// Receivers that accept and never answer.
const HANGING: usize = 20;

async fn new_key(site: &TestSite) -> String {
    let request = http().post(format!("{}/api/keys", site.url)).bearer_auth(site.token());
    let made: Value =
        request.json(&json!({"label": "k", "scopes": ["call"]})).send().await.unwrap().json().await.unwrap();
    made["secret"].as_str().unwrap().to_owned()
}

async fn rpc(site: &TestSite, key: &str, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = http().post(format!("{}/a2a/echo", site.url)).bearer_auth(key).json(&body);
    let reply: Value = request.send().await.unwrap().json().await.unwrap();
    assert!(reply["error"].is_null(), "{reply}");
    reply["result"].clone()
}

#[tokio::test]
async fn twenty_receivers_that_hang_do_not_hold_up_another_key() {
    let mut site = TestSite::new();
    // A receiver may take longer than this test: only fairness lets the other delivery through.
    site.write(
        "agentsite.toml",
        "[egress]\nallow = [\"127.0.0.1\"]\n[push]\ntimeout = \"1h\"\n[limits]\nkey_rate = 0\n",
    );
    site.start();
    let (flooding, honest) = (new_key(&site).await, new_key(&site).await);
    let hanging: Vec<TcpListener> = (0..HANGING).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let hook = |listener: &TcpListener| format!("http://{}/hook", listener.local_addr().unwrap());

    // Five tasks for each receiver: more deliveries are due than a site has places for one origin, and than
    // it once had in all.
    let rounds = if is_full() { 20 } else { 5 };
    for listener in hanging.iter().cycle().take(rounds * HANGING) {
        let receiver = json!({"id": "f", "url": hook(listener)});
        let params =
            json!({"message": message("flood"), "configuration": {"taskPushNotificationConfig": receiver}});
        rpc(&site, &flooding, "SendMessage", params).await;
    }
    // The first receiver has been called, so the flood is in flight.
    let first = tokio::net::TcpListener::from_std({
        hanging[0].set_nonblocking(true).unwrap();
        hanging[0].try_clone().unwrap()
    })
    .unwrap();
    let _held = first.accept().await.unwrap();

    let receiver = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", receiver.local_addr().unwrap());
    let params = json!({"message": message("honest"), "configuration": {"taskPushNotificationConfig": {"id": "h", "url": url}}});
    rpc(&site, &honest, "SendMessage", params).await;
    let (mut stream, _) = receiver.accept().await.unwrap();
    let mut head = vec![0; 4096];
    let read = stream.read(&mut head).await.unwrap();
    assert!(String::from_utf8_lossy(&head[..read]).starts_with("POST /hook"), "the delivery arrived");
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.unwrap();
    report("shares", "20 receivers of one key that hang", "another key's delivery arrives at once");
}

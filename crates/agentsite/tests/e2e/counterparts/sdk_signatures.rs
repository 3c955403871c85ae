//! The official Python A2A SDK and the site agree about signed cards, in both directions.
//!
//! The tests of `protocol` and `client` cover changed cards and foreign keys; here only that others read the
//! rules alike.

use std::process::{Command, Stdio};

use axum::Router;
use axum::routing::get;

use crate::site::{TestSite, python, repository};

const ALGORITHMS: [&str; 2] = ["EdDSA", "ES256"];

#[test]
fn the_sdk_verifies_the_cards_of_a_site() {
    let python = python();
    let site = TestSite::trusting_started();
    for card in ["/.well-known/agent-card.json", "/a2a/calc/.well-known/agent-card.json"] {
        for algorithm in ALGORITHMS {
            let mut command = Command::new(&python);
            command.arg(repository("tests/python/card_signature.py")).arg("verify");
            command.args([&format!("{}{card}", site.url), algorithm]).stdin(Stdio::null());
            let output = command.output().unwrap();
            assert!(output.status.success(), "{card} {algorithm}: {output:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_the_sdk_signed_is_verified() {
    let python = python();
    let site = TestSite::trusting();
    for algorithm in ALGORITHMS {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let mut command = Command::new(&python);
        command.arg(repository("tests/python/card_signature.py"));
        command.args(["sign", algorithm, &format!("{base}/keys.json")]).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        let (card, keys) = printed.trim().split_once('\n').unwrap();
        let (card, keys) = (card.to_owned(), keys.to_owned());
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(|| async move { card }))
            .route("/keys.json", get(|| async move { keys }));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        let said = site.run(&["card", "verify", &base]).ok();
        assert!(said.out().contains(&format!("`sample` is signed with {algorithm}")), "{said:?}");
        assert!(said.out().contains(&format!("published by {base}")), "{said:?}");
        serving.abort();
    }
}

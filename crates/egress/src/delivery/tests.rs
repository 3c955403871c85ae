//! Facts about deliveries: what is sent, what answers mean, and which receivers are never contacted.
//!
//! Receivers are real and listen on free ports of the loopback.

use std::sync::{Arc, Mutex};

use agentsite_protocol::{Delivery, PushAuthentication, SigningKey};
use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use tokio::net::TcpListener;

use super::*;
use crate::EgressSettings;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

type Headers = &'static [(&'static str, &'static str)];

fn config(url: &str) -> PushConfig {
    PushConfig { id: "c".into(), url: url.into(), ..PushConfig::default() }
}

fn proof() -> DeliveryProof {
    let key = SigningKey::from_seed(agentsite_protocol::Algorithm::EdDsa, &[7; 32]).unwrap();
    let delivery = Delivery { url: "https://x/", content_type: "application/a2a+json", body: b"{}", id: "1" };
    delivery.sign(&key, NOW, Duration::from_secs(300))
}

fn allowing(target: &str) -> Egress {
    Egress::new(EgressSettings { allow: vec![target.parse().unwrap()], ..EgressSettings::default() }).unwrap()
}

async fn tell(egress: &Egress, config: &PushConfig) -> DeliveryOutcome {
    egress.tell(config, b"{}".to_vec(), &proof(), Duration::from_secs(600), NOW).await
}

/// A receiver that records requests and answers with this status.
async fn receiver(status: u16, header: Headers) -> (String, Arc<Mutex<Vec<(HeaderMap, Bytes)>>>) {
    let seen: Arc<Mutex<Vec<(HeaderMap, Bytes)>>> = Arc::default();
    let keep = seen.clone();
    let take = post(move |headers: HeaderMap, body: Bytes| async move {
        keep.lock().unwrap().push((headers, body));
        let answer = header.iter().fold(http::Response::builder().status(status), |answer, (name, value)| {
            answer.header(*name, *value)
        });
        answer.body(axum::body::Body::empty()).unwrap()
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/hook", take)).await });
    (place, seen)
}

#[tokio::test]
async fn a_receiver_gets_its_words_and_the_proof() {
    let (place, seen) = receiver(204, &[]).await;
    let mut config = config(&format!("http://{place}/hook"));
    config.token = "t0ken".into();
    config.authentication = Some(PushAuthentication { scheme: "Bearer".into(), credentials: "cr3d".into() });
    assert_eq!(tell(&allowing(&place), &config).await, DeliveryOutcome::Taken);
    let (headers, body) = seen.lock().unwrap().remove(0);
    let proof = proof();
    for (name, value) in [
        ("content-type", "application/a2a+json"),
        ("a2a-version", "1.0"),
        ("x-a2a-notification-token", "t0ken"),
        ("authorization", "Bearer cr3d"),
        ("content-digest", &proof.content_digest),
        ("idempotency-key", "\"1\""),
        ("signature-input", &proof.signature_input),
        ("signature", &proof.signature),
    ] {
        assert_eq!(headers[name], value, "{name}");
    }
    assert_eq!(body, "{}");
}

#[tokio::test]
async fn answers_are_read_by_their_status() {
    for (status, means) in [
        (200, "taken"),
        (202, "taken"),
        (301, "later"),
        (302, "later"),
        (400, "refused"),
        (401, "refused"),
        (404, "refused"),
        (408, "later"),
        (410, "refused"),
        (425, "later"),
        (429, "later"),
        (500, "later"),
        (503, "later"),
    ] {
        let (place, seen) = receiver(status, &[("location", "http://127.0.0.1:1/")]).await;
        let receipt = tell(&allowing(&place), &config(&format!("http://{place}/hook?key=s3cret"))).await;
        let told = format!("{receipt:?}");
        assert!(told.to_lowercase().starts_with(means), "{status}: {told}");
        assert!(!told.contains("s3cret"), "{told}");
        assert_eq!(seen.lock().unwrap().len(), 1, "redirects are not followed");
    }
}

#[tokio::test]
async fn a_wish_to_wait_is_read_within_bounds() {
    let waits: [(Headers, Option<u64>); 6] = [
        (&[("retry-after", "7")], Some(7)),
        (&[("retry-after", "99999999")], Some(3_600)),
        (&[("retry-after", "Tue, 14 Nov 2023 22:14:20 GMT")], Some(60)),
        (&[("retry-after", "Tue, 14 Nov 2000 22:14:20 GMT")], Some(0)),
        (&[("retry-after", "soon")], None),
        (&[], None),
    ];
    for (header, wait) in waits {
        let (place, _) = receiver(503, header).await;
        let receipt = tell(&allowing(&place), &config(&format!("http://{place}/hook"))).await;
        let DeliveryOutcome::Later { wait: found, .. } = receipt else { panic!("{receipt:?}") };
        assert_eq!(found, wait.map(Duration::from_secs), "{header:?}");
    }
}

#[tokio::test]
async fn a_dead_port_may_come_back_and_a_private_one_is_never_told() {
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let inside = canary.local_addr().unwrap().to_string();
    let refused = tell(&Egress::default(), &config(&format!("http://{inside}/hook"))).await;
    assert!(
        matches!(&refused, DeliveryOutcome::Refused(why) if why.contains("public internet")),
        "{refused:?}"
    );
    assert!(futures::FutureExt::now_or_never(canary.accept()).is_none(), "the canary was not contacted");
    drop(canary);
    let later = tell(&allowing(&inside), &config(&format!("http://{inside}/hook"))).await;
    assert!(matches!(later, DeliveryOutcome::Later { wait: None, .. }), "{later:?}");
}

#[test]
fn only_https_or_what_the_operator_named_is_a_receiver() {
    let egress = allowing("hooks.lan:8080");
    for good in ["https://example.org/hook", "https://example.org:8443/", "http://hooks.lan:8080/x#y"] {
        assert!(egress.receiver(&config(good)).is_ok(), "{good}");
    }
    for bad in [
        "http://example.org/",
        "http://hooks.lan/",
        "example.org",
        "ftp://example.org/",
        "https://user:pass@example.org/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://0x7f.1/",
        "",
    ] {
        let refused = egress.receiver(&config(bad)).unwrap_err();
        assert_eq!(refused.field, "url", "{bad}: {refused}");
        assert!(!refused.to_string().contains("127.0.0.1"), "{refused}");
    }
}

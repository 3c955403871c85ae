//! Facts about the way out: what it refuses, however it is written, and what it does with redirects, sizes
//! and time.
//!
//! Servers are real and listen on free ports of the loopback; names are answered by a made-up resolver, so no
//! test asks the network.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{any, get};
use reqwest::dns::Resolve;
use tokio::net::TcpListener;

use super::resolver::{Filter, FilteredResolver, Lookup};
use super::*;

/// A resolver that knows every name and leads it to these addresses, one answer after the other, the last one
/// for ever.
fn names_lead_to(answers: &[&[&str]]) -> Lookup {
    let read = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
    let answers: VecDeque<Vec<IpAddr>> = answers.iter().map(read).collect();
    let answers = Arc::new(Mutex::new(answers));
    Arc::new(move |_| {
        let mut answers = answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0].clone() };
        Box::pin(std::future::ready(Ok(answer)))
    })
}

fn egress(allow: &[&str], lookup: &Lookup) -> Egress {
    let allow = allow.iter().map(|target| target.parse().unwrap()).collect();
    Egress::with_lookup(EgressSettings { allow, ..EgressSettings::default() }, lookup).unwrap()
}

/// A server on a free port of this address; gives `address:port`.
async fn serve(address: &str, router: Router) -> String {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    place
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

/// Every way into the private network that has been seen in the wild, or nearly.
const HOSTILE: [&str; 88] = [
    "http://127.0.0.1/",
    "http://127.0.0.1:8080/x",
    "https://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.255.255.254/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0177.0.0.01/",
    "http://127.0.0.1./",
    "http://127.0.0.1.:80/",
    "http://0/",
    "http://0.0.0.0/",
    "http://0x0/",
    "http://00000/",
    "http://10.0.0.1/",
    "http://012.0.0.1/",
    "http://0xa000001/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://3232235521/",
    "http://192.168.257/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0xa9.0xfe.0xa9.0xfe/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://192.0.2.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://4294967295/",
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]:80/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[ff02::1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:7f00:1::1]/",
    "http://[2001:db8::1]/",
    "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
    "http://127\u{3002}0\u{3002}0\u{3002}1/",
    "http://\u{2460}\u{2461}\u{2466}.0.0.1/",
    "http://8.8.8.8@127.0.0.1/",
    "http://user:secret@example.org/",
    "http://token@example.org/",
    "ftp://example.org/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_INFO",
    "data:text/plain,hi",
    "javascript:alert(1)",
    "unix:///run/docker.sock",
    "http://example.org:0/",
    "http:\\\\127.0.0.1\\x",
    "HTTP://127.0.0.1/",
    "http://127.0.0.1%00.example.org/",
    "http://127.0.0.1\u{200b}/",
    "http://[fe80::1%25eth0]/",
    "http://[::1%25lo]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[0:0:0:0:0:ffff:7f00:0001]/",
    "http://[2002:a00:1::]/",
    "http://[2001:0:c0a8:101::1]/",
    "http://[2001:0:808:808:0:0:80ff:fffe]/",
    "http://[fec0::1]/",
    "http://[100::1]/",
    "http://\u{0661}\u{0662}\u{0667}.0.0.1/",
    "http://127.0.0.1:80@127.0.0.1/",
    "http://example.org@127.0.0.1:80/",
    "http://0300.0250.0.1/",
    "http://0x7f.0x0.0x0.0x1./",
];

#[tokio::test]
async fn hostile_addresses_are_refused_before_a_packet_is_sent() {
    let egress = egress(&[], &names_lead_to(&[&["127.0.0.1"]]));
    for text in HOSTILE {
        let Ok(url) = Url::parse(text) else { continue };
        let refused = egress.get(url).send().await.unwrap_err();
        assert!(
            matches!(refused, EgressError::Address { .. } | EgressError::Private { .. }),
            "{text}: {refused}"
        );
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
}

#[tokio::test]
async fn names_that_lead_inside_are_refused() {
    for name in [
        "localhost",
        "localhost.",
        "LOCALHOST",
        "app.localhost",
        "127.0.0.1.nip.io",
        "metadata.google.internal",
        "db",
    ] {
        for inside in ["127.0.0.1", "::1", "169.254.169.254", "::ffff:10.0.0.1", "fd00::1", "0.0.0.0"] {
            let egress = egress(&[], &names_lead_to(&[&[inside]]));
            let refused = egress.get(url(&format!("http://{name}:8080/"))).send().await.unwrap_err();
            assert!(matches!(refused, EgressError::Private { .. }), "{name} at {inside}: {refused}");
        }
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_write() {
    let egress = egress(&[], &names_lead_to(&[&["10.1.2.3"]]));
    let literal = egress.check(&url("http://127.0.0.1:8080/")).unwrap_err().to_string();
    assert!(literal.contains(r#"[egress] allow = ["127.0.0.1:8080"]"#), "{literal}");
    let named = egress.get(url("http://db.internal/")).send().await.unwrap_err().to_string();
    assert!(named.contains(r#"allow = ["db.internal:80"]"#) && named.contains("10.1.2.3"), "{named}");
}

#[tokio::test]
async fn only_the_public_addresses_of_a_name_are_used() {
    let lookup = names_lead_to(&[&["127.0.0.1", "93.184.215.14", "::1"], &["127.0.0.1"]]);
    let resolver = FilteredResolver { filter: Filter::Guarded(Arc::new([])), lookup };
    let first: Vec<_> = resolver.resolve("rebind.example".parse().unwrap()).await.unwrap().collect();
    assert_eq!(first, ["93.184.215.14:0".parse().unwrap()]);
    assert!(
        resolver.resolve("rebind.example".parse().unwrap()).await.is_err(),
        "the second answer leads inside"
    );
}

#[tokio::test]
async fn a_name_that_moves_inside_later_is_refused_then() {
    let hello = get(|| async { ([("connection", "close")], "hello") });
    let place = serve("127.0.0.2", Router::new().route("/", hello)).await;
    let port = place.rsplit_once(':').unwrap().1;
    // The allowed network represents the public internet, which a test cannot serve on.
    let egress = egress(&["127.0.0.2/32"], &names_lead_to(&[&["127.0.0.2"], &["127.0.0.1"]]));
    let ask = || egress.get(url(&format!("http://rebind.example:{port}/"))).send();
    assert_eq!(ask().await.unwrap().bytes().await.unwrap(), "hello");
    assert!(matches!(ask().await.unwrap_err(), EgressError::Private { .. }));
}

#[tokio::test]
async fn a_redirect_inside_is_refused_and_nothing_arrives() {
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let inside = canary.local_addr().unwrap();
    for target in [
        format!("http://{inside}/"),
        format!("//{inside}/"),
        format!("http://localhost:{}/", inside.port()),
        "http://169.254.169.254/".into(),
        "file:///etc/passwd".into(),
        format!("http://me:you@{inside}/"),
    ] {
        let hop = get(move || async move { (StatusCode::FOUND, [("location", target)]) });
        let place = serve("127.0.0.1", Router::new().route("/", hop)).await;
        let egress = egress(&[&place], &names_lead_to(&[&["127.0.0.1"]]));
        let refused = egress.get(url(&format!("http://{place}/"))).send().await.unwrap_err();
        assert!(matches!(refused, EgressError::Private { .. } | EgressError::Address { .. }), "{refused}");
    }
    let arrived = futures::FutureExt::now_or_never(canary.accept());
    assert!(arrived.is_none(), "the canary was not contacted");
}

/// A service inside that must not be reached, at one port of both loopback addresses.
async fn canaries() -> (u16, Vec<TcpListener>) {
    let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = first.local_addr().unwrap().port();
    let second = TcpListener::bind(("::1", port)).await.ok();
    (port, std::iter::once(first).chain(second).collect())
}

fn stayed_alone(canaries: &[TcpListener]) -> bool {
    canaries.iter().all(|canary| futures::FutureExt::now_or_never(canary.accept()).is_none())
}

/// Tells a receiver at this address something.
async fn told(egress: &Egress, address: &str) -> crate::DeliveryOutcome {
    use agentsite_protocol::{Algorithm, Delivery, PushConfig, SigningKey, Timestamp};
    let config = PushConfig { id: "c".into(), url: address.into(), ..PushConfig::default() };
    let key = SigningKey::from_seed(Algorithm::EdDsa, &[7; 32]).unwrap();
    let delivery = Delivery { url: address, content_type: config.media_type(), body: b"{}", id: "1" };
    let now = Timestamp::from_millis(0);
    let proof = delivery.sign(&key, now, Duration::from_secs(1));
    egress.tell(&config, b"{}".to_vec(), &proof, Duration::from_secs(2), now).await
}

#[tokio::test]
async fn no_hostile_address_is_a_receiver_and_nothing_arrives() {
    let (port, canaries) = canaries().await;
    let egress = egress(&[], &names_lead_to(&[&["127.0.0.1"], &["::1"]]));
    let mut addresses: Vec<String> = HOSTILE.iter().map(|text| (*text).to_owned()).collect();
    for text in HOSTILE {
        // The same at the canary's own port, with and without encryption.
        let Ok(mut url) = Url::parse(text) else { continue };
        if url.set_port(Some(port)).is_ok() {
            addresses.push(url.to_string());
            addresses.push(url.to_string().replacen("http:", "https:", 1));
        }
    }
    for name in ["localhost", "localhost.", "127.0.0.1.nip.io", "metadata.google.internal"] {
        addresses.push(format!("https://{name}:{port}/"));
    }
    for address in &addresses {
        let receipt = told(&egress, address).await;
        assert!(matches!(receipt, crate::DeliveryOutcome::Refused(_)), "{address}: {receipt:?}");
    }
    assert!(addresses.len() > 180 && stayed_alone(&canaries), "the canaries were not contacted");
}

#[tokio::test]
async fn a_receiver_that_moves_inside_or_sends_us_there_finds_nobody() {
    let (port, canaries) = canaries().await;
    // The allowed address represents the public internet, which a test cannot serve on.
    let outside = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
    let rebinding = names_lead_to(&[&["127.0.0.2", "127.0.0.1"], &["127.0.0.1"]]);
    let egress = egress(&["127.0.0.2/32"], &rebinding);
    let address = format!("https://rebind.example:{port}/");
    let (first, _) = tokio::join!(told(&egress, &address), async {
        // Closed immediately: the receiver does not use TLS, but it was the one contacted.
        drop(outside.accept().await.unwrap());
    });
    assert!(matches!(first, crate::DeliveryOutcome::Later { .. }), "{first:?}");
    for _ in 0..5 {
        let receipt = told(&egress, &address).await;
        assert!(matches!(receipt, crate::DeliveryOutcome::Refused(_)), "{receipt:?}");
    }
    let target = format!("http://127.0.0.1:{port}/");
    let hop = any(move || async move { (StatusCode::TEMPORARY_REDIRECT, [("location", target)]) });
    let place = serve("127.0.0.1", Router::new().route("/", hop)).await;
    let egress = self::egress(&[&place], &names_lead_to(&[&["127.0.0.1"]]));
    let receipt = told(&egress, &format!("http://{place}/")).await;
    assert!(matches!(receipt, crate::DeliveryOutcome::Later { .. }), "{receipt:?}");
    assert!(stayed_alone(&canaries), "the canaries were not contacted");
}

#[tokio::test]
async fn redirects_are_followed_three_times_and_no_more() {
    let hop = |status: StatusCode, to: &'static str| get(move || async move { (status, [("location", to)]) });
    let router = Router::new()
        .route("/1", hop(StatusCode::FOUND, "/2"))
        .route("/2", hop(StatusCode::PERMANENT_REDIRECT, "3"))
        .route("/3", hop(StatusCode::SEE_OTHER, "/end"))
        .route("/end", get(|| async { "end" }))
        .route("/loop", hop(StatusCode::FOUND, "/loop"));
    let place = serve("127.0.0.1", router).await;
    let egress = egress(&[&place], &names_lead_to(&[&["127.0.0.1"]]));
    let answer = egress.get(url(&format!("http://{place}/1"))).send().await.unwrap();
    assert_eq!(answer.url().path(), "/end");
    assert_eq!(answer.bytes().await.unwrap(), "end");
    let endless = egress.get(url(&format!("http://{place}/loop"))).send().await.unwrap_err();
    assert!(matches!(endless, EgressError::Redirects { limit: 3, .. }), "{endless}");
}

#[tokio::test]
async fn a_redirect_elsewhere_takes_no_credentials_along() {
    let tell = any(|headers: HeaderMap| async move { format!("{headers:?}") });
    let there = serve("127.0.0.1", Router::new().route("/", tell)).await;
    let target = format!("http://{there}/");
    let hop =
        any(move || async move { (StatusCode::TEMPORARY_REDIRECT, [("location", target)]).into_response() });
    let here = serve("127.0.0.1", Router::new().route("/", hop)).await;
    let egress = egress(&[&here, &there], &names_lead_to(&[&["127.0.0.1"]]));
    let asked = egress.get(url(&format!("http://{here}/"))).bearer("s3cret").send().await.unwrap();
    let seen = String::from_utf8(asked.bytes().await.unwrap().to_vec()).unwrap();
    assert!(!seen.contains("authorization") && seen.contains("agentsite/"), "{seen}");
    let sent = egress.post(url(&format!("http://{here}/"))).body("text/plain", "x").send().await.unwrap();
    assert_eq!(sent.status(), StatusCode::TEMPORARY_REDIRECT, "what is posted is not carried on");
}

#[tokio::test]
async fn an_allowed_target_is_reached_and_its_neighbour_is_not() {
    let place = serve("127.0.0.1", Router::new().route("/", get(|| async { "hello" }))).await;
    let guarded = egress(&[], &names_lead_to(&[&["127.0.0.1"]]));
    let here = url(&format!("http://{place}/"));
    assert!(guarded.get(here.clone()).send().await.is_err());
    let trusting = guarded.trusting(&here);
    assert_eq!(trusting.get(here.clone()).send().await.unwrap().bytes().await.unwrap(), "hello");
    let neighbour = if here.port() == Some(1) { "http://127.0.0.1:2/" } else { "http://127.0.0.1:1/" };
    assert!(matches!(trusting.check(&url(neighbour)), Err(EgressError::Private { .. })));
    let by_name = guarded.with_allowed(format!("there:{}", here.port().unwrap()).parse().unwrap());
    let named = url(&format!("http://there:{}/", here.port().unwrap()));
    assert_eq!(by_name.get(named).send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn answers_are_bounded_in_size_and_time() {
    let router = Router::new()
        .route("/large", get(|| async { vec![b'x'; 2_000] }))
        .route(
            "/endless",
            get(|| async {
                let piece = Ok::<_, std::convert::Infallible>(vec![b'x'; 4_096]);
                axum::body::Body::from_stream(futures::stream::repeat(piece))
            }),
        )
        .route("/never", get(|| async { std::future::pending::<String>().await }));
    let place = serve("127.0.0.1", router).await;
    let egress = egress(&[&place], &names_lead_to(&[&["127.0.0.1"]]));
    let ask = |path: &str| egress.get(url(&format!("http://{place}{path}"))).limit(1_000);
    for path in ["/large", "/endless"] {
        let error = ask(path).send().await.unwrap().bytes().await.unwrap_err();
        assert!(matches!(error, EgressError::TooLarge { limit: 1_000, .. }), "{error}");
    }
    let late = ask("/never").timeout(Duration::from_millis(100)).send().await.unwrap_err();
    assert!(matches!(late, EgressError::TimedOut { .. }), "{late}");
}

#[tokio::test]
async fn a_dead_port_says_that_it_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error =
        Egress::unguarded().get(url(&format!("http://{place}/secret?key=1"))).send().await.unwrap_err();
    assert!(matches!(error, EgressError::NoConnection { .. }), "{error}");
    assert!(!error.to_string().contains("key=1"), "{error}");
}

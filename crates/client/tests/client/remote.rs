//! An agent in a test: a real server on a free port with scripted answers, which records its requests.
//!
//! It is independent of bindings: the stories define what is served where.

use std::sync::{Arc, Mutex};

use agentsite_client::{A2aClient, Egress, Token};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::get;
use http::HeaderMap;
use http_body_util::BodyExt;
use tokio::net::TcpListener;
use url::Url;

/// One request that came.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    /// Method and path with query.
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

type Answers = Arc<dyn Fn(&ReceivedRequest) -> Response + Send + Sync>;

/// An agent with scripted answers.
#[derive(Clone)]
pub(crate) struct Remote {
    answers: Answers,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
    pub(crate) url: Url,
}

impl Remote {
    /// Serves; `card` is made from the address.
    pub(crate) async fn start(
        card: impl Fn(&str) -> String,
        answers: impl Fn(&ReceivedRequest) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        let url = Url::parse(&base).unwrap();
        let remote = Self { answers: Arc::new(answers), asked: Arc::default(), url };
        let card = card(&base);
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(|| async move { card }))
            .fallback(answer)
            .with_state(remote.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        remote
    }

    /// A client of it.
    pub(crate) async fn client(&self) -> A2aClient {
        let egress = Egress::default().trusting(&self.url);
        A2aClient::resolve(&egress, &self.url, Some(Token::new("secret"))).await.unwrap()
    }

    /// What came so far.
    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap().clone()
    }
}

async fn answer(State(remote): State<Remote>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let line = format!("{} {}", parts.method, parts.uri.path_and_query().unwrap());
    let body = body.collect().await.unwrap().to_bytes();
    let asked = ReceivedRequest { line, headers: parts.headers, body };
    let answer = (remote.answers)(&asked);
    remote.asked.lock().unwrap().push(asked);
    answer
}

/// A card with these interfaces, each an address and a binding, in A2A 1.0.
pub(crate) fn card(interfaces: &[(&str, &str)]) -> String {
    let offers: Vec<String> = interfaces
        .iter()
        .map(|(url, binding)| {
            format!(r#"{{"url":"{url}","protocolBinding":"{binding}","protocolVersion":"1.0"}}"#)
        })
        .collect();
    format!(
        r#"{{"name":"Troupe","description":"Shouts","supportedInterfaces":[{}],"version":"1","capabilities":{{"streaming":true}},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}}"#,
        offers.join(",")
    )
}

/// An answer of this type.
pub(crate) fn typed(media: &'static str, body: impl Into<Body>) -> Response {
    Response::builder().header("content-type", media).body(body.into()).unwrap()
}

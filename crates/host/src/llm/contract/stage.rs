//! A model server on this machine that plays one scene, for as many requests as come.
//!
//! It listens on a free port, remembers the last request, and tells when a client has left.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentsite_egress::Egress;
use axum::Router;
use axum::body::{Body as HttpBody, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures::stream::{self, BoxStream, StreamExt};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::super::model::Model;
use super::super::server::{ModelServer, ServerAddress};
use super::wire::{Body, Wire, wire};
use super::{KEY, Scene};
use crate::ModelApi;
use crate::models::Secret;

/// What the last client sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    headers: BTreeMap<String, String>,
    pub(super) body: Value,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A server that plays one scene.
pub(super) struct Stage {
    address: SocketAddr,
    api: ModelApi,
    idle: Duration,
    play: Arc<Play>,
    serving: JoinHandle<()>,
}

struct Play {
    wire: Wire,
    seen: Mutex<Seen>,
    left: Arc<Notify>,
}

/// Tells when the body that it is part of is dropped.
struct Leaving(Arc<Notify>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Stage {
    /// Plays a scene in one of the wire forms.
    pub(super) async fn open(scene: Scene, api: ModelApi) -> Self {
        let silent = matches!(scene, Scene::SilentStart | Scene::SilentMiddle);
        // Long enough for a busy machine where silence is not what is tested.
        let idle = if silent { Duration::from_millis(50) } else { Duration::from_secs(15) };
        Self::serve(wire(scene, api), api, idle).await
    }

    /// Plays one stream in the form of OpenAI.
    pub(super) async fn playing(stream: &str) -> Self {
        let wire = Wire { status: 200, retry_after: None, body: Body::Text(stream.into()) };
        Self::serve(wire, ModelApi::Openai, Duration::from_secs(15)).await
    }

    async fn serve(wire: Wire, api: ModelApi, idle: Duration) -> Self {
        let play = Arc::new(Play { wire, seen: Mutex::default(), left: Arc::default() });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().fallback(answer).with_state(play.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, api, idle, play, serving }
    }

    /// The model behind this server.
    pub(super) fn model(&self) -> Arc<dyn Model> {
        let address = ServerAddress {
            api: self.api,
            base_url: format!("http://{}", self.address).parse().unwrap(),
            key: Some(Secret::new(KEY)),
            model: "m1".into(),
            remedy: "set CONTRACT_KEY".into(),
        };
        Arc::new(ModelServer::new(address, &Egress::default(), self.idle))
    }

    /// The last request.
    pub(super) fn seen(&self) -> Seen {
        self.play.seen.lock().unwrap().clone()
    }

    /// Comes when a client has left.
    pub(super) async fn left(&self) {
        self.play.left.notified().await;
    }

    /// Ends the server.
    pub(super) async fn close(mut self) {
        self.serving.abort();
        let _ = (&mut self.serving).await;
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(play): State<Arc<Play>>, headers: HeaderMap, body: Bytes) -> Response {
    let text = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap_or_default().to_owned())
    };
    let body = serde_json::from_slice(&body).unwrap_or_default();
    *play.seen.lock().unwrap() = Seen { headers: headers.iter().map(text).collect(), body };
    let mut response =
        Response::builder().status(play.wire.status).header("content-type", "text/event-stream");
    if let Some(after) = play.wire.retry_after {
        response = response.header("retry-after", after);
    }
    let pieces = match &play.wire.body {
        Body::Never => std::future::pending().await,
        Body::Text(text) => small_pieces(text),
        Body::Open(text) => small_pieces(text).chain(stream::pending()).boxed(),
        Body::Endless(text) => stream::repeat(Bytes::from(text.clone())).boxed(),
        Body::Broken(text) => {
            // A pause, so that what was said before is on its way.
            let broken = stream::once(async {
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut"))
            });
            let pieces = small_pieces(text).map(Ok).chain(broken);
            return response.body(HttpBody::from_stream(pieces)).unwrap();
        }
    };
    let leaving = Leaving(play.left.clone());
    let pieces = pieces.map(move |piece| {
        let _ = &leaving;
        Ok::<_, Infallible>(piece)
    });
    response.body(HttpBody::from_stream(pieces)).unwrap()
}

/// The text in pieces that cut events, lines and characters anywhere.
fn small_pieces(text: &str) -> BoxStream<'static, Bytes> {
    let pieces: Vec<Bytes> = text.as_bytes().chunks(37).map(Bytes::copy_from_slice).collect();
    stream::iter(pieces).boxed()
}

//! Leftover: the part of a request's body that is unread when the response is ready.
//!
//! Promises: a small rest is read and thrown away, so that the connection serves the next request; of a large
//! or slow one the answer says that the connection closes, so that no client or proxy sends another request
//! over it and loses that. It does not limit bodies that are read (`limits`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::response::Response;
use http::header::{CONNECTION, EXPECT};
use http::{HeaderValue, Version};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::time::timeout;

/// Bytes that are read to keep a connection: any call that was refused for what its head says.
const SMALL: u64 = 64 << 10;

/// How long the rest may take to come: what was sent in one go is there in this time.
const MOMENT: Duration = Duration::from_millis(500);

/// Where the rest of a body is left.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leftover(Arc<Mutex<Option<Incoming>>>);

/// What decides whether the connection of a request can be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeepAlive {
    is_http1: bool,
    /// Whether the client sends the body only when it is asked to.
    waits: bool,
}

impl KeepAlive {
    pub(crate) fn of<T>(request: &hyper::Request<T>) -> Self {
        let is_http1 = request.version() < Version::HTTP_2;
        Self { is_http1, waits: request.headers().contains_key(EXPECT) }
    }
}

impl Leftover {
    /// Leaves a body that is not read any more.
    pub(crate) fn leave(&self, body: Incoming) {
        if !body.is_end_stream() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }

    /// Reads what was left, or says in the answer that the connection closes.
    pub(crate) async fn settle(&self, keep_alive: KeepAlive, response: &mut Response) {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(body) = left.filter(|_| keep_alive.is_http1) else { return };
        let is_small = body.size_hint().upper().is_some_and(|most| most <= SMALL);
        if keep_alive.waits || !is_small || !matches!(timeout(MOMENT, read(body)).await, Ok(true)) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Reads to the end; false when it breaks off.
async fn read(mut body: Incoming) -> bool {
    while let Some(frame) = body.frame().await {
        if frame.is_err() {
            return false;
        }
    }
    true
}

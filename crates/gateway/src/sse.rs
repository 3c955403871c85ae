//! Server-sent events: the frames of a stream and the response around them.
//!
//! Promises: one event is one `data:` line of JSON, with the sequence number as its id; a silent stream gets
//! a comment before any client loses patience; a stream ends when its source ends or the gateway stops. A
//! caller that reads slowly holds back only its own stream, and loses it when it stops reading. It does not
//! know what the events mean.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{HeaderValue, header};

use crate::front::Front;
use crate::metrics::OpenConnection;
use crate::unread::Guarded;
use crate::visit::StreamPlace;

/// A comment that keeps the connection awake; clients ignore it.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// What a stream is made from.
pub(crate) trait SseSource: Send + 'static {
    /// The next frames, already written; empty when there is nothing to show, `None` at the end. Must be safe
    /// to cancel: what was not returned comes with the next call.
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>>;
}

/// Writes one event around JSON that `write` appends.
pub(crate) fn event<E>(
    out: &mut Vec<u8>,
    seq: Option<u64>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    if let Some(seq) = seq {
        out.extend_from_slice(format!("id: {seq}\n").as_bytes());
    }
    out.extend_from_slice(b"data: ");
    let written = write(out);
    match written {
        Ok(()) => out.extend_from_slice(b"\n\n"),
        Err(_) => out.truncate(start),
    }
    written
}

/// Writes one event of JSON that is there already.
pub(crate) fn json_event(out: &mut Vec<u8>, id: Option<&str>, json: &[u8]) {
    if let Some(id) = id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(json);
    out.extend_from_slice(b"\n\n");
}

/// A response that sends `first` at once and then what the source gives.
pub(crate) fn respond(
    front: &Arc<Front>,
    place: StreamPlace,
    first: Vec<u8>,
    source: impl SseSource,
) -> Response {
    let open = front.settings.metrics.stream();
    let connection = Arc::clone(&place.connection);
    let state =
        Following { front: Arc::clone(front), first: Some(first), source, _place: place, _open: open };
    let events = Guarded::new(&connection, stream::unfold(state, Following::step));
    let mut response = Response::new(Body::from_stream(events));
    mark(&mut response);
    response
}

/// A response that is a stream of nothing but this JSON, with the headers and the status that it has.
pub(crate) fn alone(json: Response) -> Response {
    let mut response = json.map(|body| {
        let frame = |bytes: &'static [u8]| stream::iter([Ok(Bytes::from_static(bytes))]);
        Body::from_stream(frame(b"data: ").chain(body.into_data_stream()).chain(frame(b"\n\n")))
    });
    mark(&mut response);
    response
}

fn mark(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-store"));
    // Proxies of the nginx family buffer a stream unless a header forbids it.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
}

struct Following<S> {
    front: Arc<Front>,
    first: Option<Vec<u8>>,
    source: S,
    _place: StreamPlace,
    _open: OpenConnection,
}

impl<S: SseSource> Following<S> {
    async fn step(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Self)> {
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Some((Ok(first.into()), self));
        }
        let patience = self.front.settings.limits.keep_alive;
        let stop = self.front.stop.clone();
        let frames = tokio::select! {
            biased;
            next = self.source.next() => next?,
            () = stop.cancelled() => return None,
            () = tokio::time::sleep(patience) => Vec::new(),
        };
        let frames = if frames.is_empty() { Bytes::from_static(KEEP_ALIVE) } else { frames.into() };
        Some((Ok(frames), self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_with_its_number() {
        let mut out = Vec::new();
        event(&mut out, Some(7), |out| serde_json::to_writer(out, "a\nb")).unwrap();
        event(&mut out, None, |out| serde_json::to_writer(out, &1)).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "id: 7\ndata: \"a\\nb\"\n\ndata: 1\n\n");
    }

    #[test]
    fn an_event_that_cannot_be_written_leaves_no_trace() {
        let mut out = b"x".to_vec();
        assert!(event(&mut out, Some(1), |_| Err(())).is_err());
        assert_eq!(out, b"x");
    }
}

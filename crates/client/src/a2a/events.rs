//! The stream of an answer: server-sent events in, items out.
//!
//! Promises: an event is bounded before it is put together, and a silent server is noticed (comments count as
//! signs of life). It does not judge where a stream may end: `follow` does.

use std::time::Duration;

use agentsite_egress::EgressAnswer;
use bytes::Bytes;
use eventsource_stream::{EventStream, EventStreamError};
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use super::A2aLimits;
use super::wire::StreamItem;
use crate::ClientError;
use crate::sse::EventSize;

/// Longest id of an event that is remembered: it must fit into a header.
const MAX_EVENT_ID: usize = 256;

type Pieces = BoxStream<'static, Result<Bytes, ClientError>>;

/// How one event is read.
pub(super) type ReadItem = fn(&str, &[u8]) -> Result<StreamItem, ClientError>;

/// An item, with the id under which the server would go on after it.
#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) id: Option<String>,
    pub(super) item: StreamItem,
}

/// Items as they come; the end of the answer is the end.
pub(super) type NumberedStream = BoxStream<'static, Result<Numbered, ClientError>>;

/// The items of an answer that is a stream of events.
pub(super) fn items(answer: EgressAnswer, from: String, limits: A2aLimits, read: ReadItem) -> NumberedStream {
    let bytes = answer.stream().map(|piece| piece.map_err(ClientError::from)).boxed();
    let watched = watched(bytes, from.clone(), limits.idle_timeout);
    let events = EventStream::new(bounded(watched, from.clone(), limits.max_event));
    let items = events.filter_map(move |event| {
        let item = match event {
            Ok(event) if event.data.is_empty() => None,
            Ok(event) => Some(read(&from, event.data.as_bytes()).map(|item| {
                let id = (!event.id.is_empty() && event.id.len() <= MAX_EVENT_ID).then_some(event.id);
                Numbered { id, item }
            })),
            Err(EventStreamError::Transport(error)) => Some(Err(error)),
            Err(error) => Some(Err(ClientError::BadAnswer { from: from.clone(), what: error.to_string() })),
        };
        std::future::ready(item)
    });
    items.boxed()
}

/// Ends with an error when nothing came for a while.
fn watched(bytes: Pieces, from: String, idle: Duration) -> Pieces {
    let next = move |mut bytes: Pieces| {
        let from = from.clone();
        async move {
            let late = |_| ClientError::TimedOut(format!("{from} was silent for {} s", idle.as_secs_f32()));
            match tokio::time::timeout(idle, bytes.next()).await.map_err(late) {
                Ok(piece) => piece.map(|piece| (piece, bytes)),
                Err(error) => Some((Err(error), stream::empty().boxed())),
            }
        }
    };
    stream::unfold(bytes, next).boxed()
}

/// Ends with an error when more than `most` bytes come without the blank line that ends an event.
fn bounded(bytes: Pieces, from: String, most: usize) -> Pieces {
    let mut event = EventSize::default();
    let check = move |piece: Result<Bytes, ClientError>| {
        let piece = piece?;
        if event.after(&piece) > most {
            let told = format!("{from} sent an event of more than {most} bytes; ask for less at once");
            return Err(ClientError::TooLarge(told));
        }
        Ok(piece)
    };
    bytes.map(check).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_event_without_an_end_is_stopped() {
        let endless = stream::repeat_with(|| Ok(Bytes::from_static(b"data: aaaaaaaaaa\n"))).boxed();
        let pieces: Vec<_> = bounded(endless, "h".into(), 100).take(7).collect().await;
        assert!(pieces[..5].iter().all(Result::is_ok));
        assert!(matches!(pieces[5], Err(ClientError::TooLarge(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_noticed() {
        let silent = stream::iter([Ok(Bytes::from_static(b": hello\n\n"))]).chain(stream::pending()).boxed();
        let pieces: Vec<_> = watched(silent, "h".into(), Duration::from_secs(60)).collect().await;
        assert!(matches!(pieces[..], [Ok(_), Err(ClientError::TimedOut(_))]), "{pieces:?}");
    }
}

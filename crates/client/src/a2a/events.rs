//! The stream of an answer: server-sent events in, items out.
//!
//! Promises: an event is bounded, and a silent server is noticed (comments count as signs of life). It does
//! not judge where a stream may end: `follow` does.

use std::time::Duration;

use agentsite_egress::EgressAnswer;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use super::A2aLimits;
use super::wire::StreamItem;
use crate::ClientError;
use crate::sse::{SseBreak, SseError, SseLimits, sse_events};

/// Longest id of an event that is remembered: it must fit into a header.
const MAX_EVENT_ID: usize = 256;

type Pieces = BoxStream<'static, Result<Bytes, ClientError>>;

/// How one event is read.
pub(super) type ReadItem = fn(&str, &[u8]) -> Result<StreamItem, ClientError>;

/// An item, with the id after which the server would resume.
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
    let mut last_id = None;
    let items = sse_events(watched, SseLimits::new(limits.max_event)).filter_map(move |event| {
        let item = match event {
            Ok(event) => {
                last_id = event.id.or(last_id.take());
                let data = event.data.filter(|data| !data.is_empty());
                data.map(|data| {
                    let item = read(&from, data.as_bytes())?;
                    let id = last_id.clone().filter(|id| !id.is_empty() && id.len() <= MAX_EVENT_ID);
                    Ok(Numbered { id, item })
                })
            }
            Err(SseBreak::Body(error)) => Some(Err(error)),
            Err(SseBreak::Decode(error)) => Some(Err(undecodable(&from, error))),
        };
        std::future::ready(item)
    });
    items.boxed()
}

fn undecodable(from: &str, error: SseError) -> ClientError {
    match error {
        SseError::NotUtf8 => ClientError::BadAnswer { from: from.to_owned(), what: error.to_string() },
        SseError::LineTooLong(_) | SseError::EventTooLarge(_) => {
            ClientError::TooLarge(format!("{from} sent {error}; ask for less at once"))
        }
    }
}

/// Ends with an error after a period of silence.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_without_an_end_asks_for_less() {
        let error = undecodable("h", SseError::EventTooLarge(100));
        let expected = "h sent an event of more than 100 bytes; ask for less at once";
        assert!(matches!(&error, ClientError::TooLarge(told) if told == expected), "{error:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_noticed() {
        let silent = stream::iter([Ok(Bytes::from_static(b": hello\n\n"))]).chain(stream::pending()).boxed();
        let pieces: Vec<_> = watched(silent, "h".into(), Duration::from_secs(60)).collect().await;
        assert!(matches!(pieces[..], [Ok(_), Err(ClientError::TimedOut(_))]), "{pieces:?}");
    }
}

//! The stream of an answer: server-sent events in, items out.
//!
//! Promises: an event is bounded before it is put together, a silent server is noticed (comments count as signs of life), and a
//! stream that ends before the task does is an error, not an end. After an error nothing follows.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use eventsource_stream::{EventStream, EventStreamError};
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};

use super::call::read_answer;
use super::wire::StreamItem;
use super::{A2aLimits, TaskStream};
use crate::{ClientError, EgressAnswer};

type Pieces = BoxStream<'static, Result<Bytes, ClientError>>;

/// The items of an answer that is a stream of events.
pub(super) fn items(answer: EgressAnswer, from: String, limits: A2aLimits) -> TaskStream {
    let bytes = answer.stream().map(|piece| piece.map_err(ClientError::from)).boxed();
    let events = EventStream::new(bounded(
        watched(bytes, from.clone(), limits.idle_timeout),
        from.clone(),
        limits.max_event,
    ));
    let reading = Reading { events: Box::pin(events), from, settled: false, done: false };
    stream::unfold(reading, |mut reading| async move { reading.next().await.map(|item| (item, reading)) })
        .boxed()
}

struct Reading<S> {
    events: Pin<Box<EventStream<S>>>,
    from: String,
    /// Whether the stream may end here.
    settled: bool,
    /// Whether nothing more is read.
    done: bool,
}

impl<S: Stream<Item = Result<Bytes, ClientError>>> Reading<S> {
    async fn next(&mut self) -> Option<Result<StreamItem, ClientError>> {
        while !self.done {
            let item = match self.events.next().await {
                Some(Ok(event)) if event.data.is_empty() => continue,
                Some(Ok(event)) => read_answer::<StreamItem>(&self.from, event.data.as_bytes()),
                Some(Err(EventStreamError::Transport(error))) => Err(error),
                Some(Err(error)) => {
                    Err(ClientError::BadAnswer { from: self.from.clone(), what: error.to_string() })
                }
                None if self.settled => return None,
                None => Err(ClientError::Cut { from: self.from.clone() }),
            };
            self.settled = item.as_ref().is_ok_and(StreamItem::settles);
            self.done = item.as_ref().map_or(true, StreamItem::closes);
            return Some(item);
        }
        None
    }
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

/// Counts the bytes of the event that is under way.
#[derive(Debug, Default)]
struct EventSize {
    bytes: usize,
    line_is_empty: bool,
}

impl EventSize {
    /// The largest size that the event under way had while this piece came in.
    fn after(&mut self, piece: &[u8]) -> usize {
        let mut largest = 0;
        for byte in piece {
            self.bytes += 1;
            largest = largest.max(self.bytes);
            match byte {
                b'\n' if self.line_is_empty => self.bytes = 0,
                b'\n' => self.line_is_empty = true,
                b'\r' => {}
                _ => self.line_is_empty = false,
            }
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_an_event_begins_anew_after_a_blank_line() {
        let mut size = EventSize::default();
        assert_eq!(size.after(b"data: 1\r\n\r\n"), 11);
        assert_eq!(size.after(b"data: 1"), 7);
        assert_eq!(size.after(b"23\n: ping"), 16);
        assert_eq!(size.after(b"\n\nd"), 18);
        assert_eq!(size.bytes, 1);
    }

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

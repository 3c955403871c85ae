//! The events of a body that arrives piece by piece.
//!
//! Promises: holds one piece and its events; an error is the last item. It does not decode: the decoder does.

use futures::stream::{BoxStream, Stream, StreamExt, unfold};

use super::{SseDecoder, SseError, SseEvent, SseLimits};

/// Why a stream of events ended before its body did.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseBreak<E> {
    /// The body broke.
    #[error(transparent)]
    Body(E),
    /// The body is not a stream of events within the limits.
    #[error("the server sent {0}")]
    Decode(SseError),
}

/// The events of a body. Dropping the stream drops the body.
pub fn sse_events<B, P, E>(body: B, limits: SseLimits) -> BoxStream<'static, Result<SseEvent, SseBreak<E>>>
where
    B: Stream<Item = Result<P, E>> + Send + Unpin + 'static,
    P: AsRef<[u8]> + Send + 'static,
    E: Send + 'static,
{
    unfold(Some((body, SseDecoder::new(limits))), |reading| async move {
        let (mut body, mut decoder) = reading?;
        loop {
            match decoder.next_event() {
                Some(Ok(event)) => return Some((Ok(event), Some((body, decoder)))),
                Some(Err(error)) => return Some((Err(SseBreak::Decode(error)), None)),
                None => {}
            }
            match body.next().await? {
                Ok(piece) => decoder.push(piece.as_ref()),
                Err(error) => return Some((Err(SseBreak::Body(error)), None)),
            }
        }
    })
    .boxed()
}

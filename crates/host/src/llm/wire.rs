//! The body of a model server's answer, cut into the events of its stream.
//!
//! Promises: bounded in bytes, in the size of an event and in silence; any bytes give events or one
//! [`StreamError`]. An answer that is one JSON document where a stream was asked for counts as one event. It
//! is independent of the wire form.

use std::time::Duration;

use agentsite_client::sse::{SseBreak, SseLimits, sse_events};
use agentsite_egress::{EgressAnswer, EgressError};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{BoxStream, unfold};

/// Most bytes of one answer on the wire. An event of one token takes about 300 bytes, so this is more than
/// 50,000 tokens.
pub(super) const MAX_STREAM: usize = 16 << 20;

/// Most bytes of one event; a whole answer of the longest model fits into it.
const MAX_EVENT: usize = 1 << 20;

/// Most bytes of an error's body that are read; its message is at the beginning.
const MAX_COMPLAINT: usize = 64 << 10;

/// Why a stream cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StreamError {
    /// Silence for too long.
    Silent,
    /// The connection broke.
    Cut,
    /// Too much, or unreadable.
    Garbage(String),
}

/// The data of the events of a stream.
pub(super) type Frames = BoxStream<'static, Result<String, StreamError>>;

/// A body that comes in pieces, with a limit on silence.
struct Pieces {
    body: BoxStream<'static, Result<Bytes, EgressError>>,
    idle: Duration,
}

impl Pieces {
    fn of(answer: EgressAnswer, idle: Duration) -> Self {
        Self { body: answer.stream(), idle }
    }

    async fn next(&mut self) -> Option<Result<Bytes, StreamError>> {
        match tokio::time::timeout(self.idle, self.body.next()).await {
            Err(_) => Some(Err(StreamError::Silent)),
            Ok(Some(Err(EgressError::TooLarge { limit, .. }))) => {
                Some(Err(StreamError::Garbage(format!("more than {limit} bytes in one answer"))))
            }
            Ok(Some(Err(_))) => Some(Err(StreamError::Cut)),
            Ok(Some(Ok(piece))) => Some(Ok(piece)),
            Ok(None) => None,
        }
    }
}

/// Cuts an answer into the events of its stream; `idle` is the longest silence. A break is its last item.
pub(super) fn frames(answer: EgressAnswer, idle: Duration) -> Frames {
    let is_whole = answer.is_type("application/json");
    let pieces = Pieces::of(answer, idle);
    if is_whole {
        return futures::stream::once(whole(pieces)).boxed();
    }
    let body = unfold(pieces, |mut pieces| async move { pieces.next().await.map(|piece| (piece, pieces)) });
    sse_events(body.boxed(), SseLimits::new(MAX_EVENT))
        .filter_map(|event| async move {
            match event {
                Ok(event) => event.data.map(Ok),
                Err(SseBreak::Body(broken)) => Some(Err(broken)),
                Err(SseBreak::Decode(error)) => Some(Err(StreamError::Garbage(error.to_string()))),
            }
        })
        .boxed()
}

/// The beginning of an error's body, as far as it comes.
pub(super) async fn complaint(answer: EgressAnswer, idle: Duration) -> Vec<u8> {
    let mut pieces = Pieces::of(answer, idle);
    let mut read = Vec::new();
    while let Some(Ok(piece)) = pieces.next().await {
        read.extend_from_slice(&piece);
        if read.len() > MAX_COMPLAINT {
            break;
        }
    }
    read
}

async fn whole(mut pieces: Pieces) -> Result<String, StreamError> {
    let mut read = Vec::new();
    while let Some(piece) = pieces.next().await {
        read.extend_from_slice(&piece?);
    }
    String::from_utf8(read).map_err(|_| StreamError::Garbage("text that is not UTF-8".into()))
}

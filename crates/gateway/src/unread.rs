//! Unread: answers that hold on to something while they are sent, and let go of it when they are not read.
//!
//! Promises: a stream whose other end takes nothing for too long gives up its source, with its place and its
//! memory, and ends with an error when it is looked at again. One that waits for something to say is never
//! given up. `server` looks regularly.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use futures::{Stream, TryStreamExt as _};
use tokio::time::Instant;

use crate::connection::{Connection, Unread};

/// The end of a stream that was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer was not read for too long")]
pub(crate) struct NotRead;

type FrameSource<T> = Pin<Box<dyn Stream<Item = Result<T, BoxError>> + Send>>;

/// A stream that can be given up.
pub(crate) struct Guarded<T>(Arc<Slot<T>>);

struct Slot<T> {
    // A std lock: held while the stream is polled, which never waits. The look from outside only tries it.
    state: Mutex<State<T>>,
}

struct State<T> {
    /// `None` once it is given up.
    source: Option<FrameSource<T>>,
    /// When something was handed over that the other end has not asked for more after.
    handed: Option<Instant>,
}

impl<T: Send + 'static> Guarded<T> {
    /// Guards a stream that is sent over this connection.
    pub(crate) fn new<E: Into<BoxError> + 'static>(
        connection: &Connection,
        source: impl Stream<Item = Result<T, E>> + Send + 'static,
    ) -> Self {
        let source: FrameSource<T> = Box::pin(source.map_err(Into::into));
        let slot = Arc::new(Slot { state: Mutex::new(State { source: Some(source), handed: None }) });
        let weak: Weak<Slot<T>> = Arc::downgrade(&slot);
        connection.look_after(weak);
        Self(slot)
    }
}

impl<T> Stream for Guarded<T> {
    type Item = Result<T, BoxError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(source) = state.source.as_mut() else { return Poll::Ready(Some(Err(NotRead.into()))) };
        let polled = source.as_mut().poll_next(context);
        state.handed = matches!(polled, Poll::Ready(Some(_))).then(Instant::now);
        polled
    }
}

impl<T: Send> Unread for Slot<T> {
    fn abandon(&self, limit: Duration) -> bool {
        // Being polled just now is being read.
        let Ok(mut state) = self.state.try_lock() else { return false };
        if state.handed.is_none_or(|handed| handed.elapsed() <= limit) {
            return false;
        }
        let source = state.source.take();
        state.handed = None;
        drop(state);
        drop(source);
        true
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt as _, stream};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn connection() -> Arc<Connection> {
        Connection::new(1, "127.0.0.1".parse().unwrap(), false)
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_is_not_read_lets_go_of_its_source() {
        let (connection, held) = (connection(), Arc::new(()));
        let kept = Arc::clone(&held);
        let source = stream::repeat(1).map(move |number| {
            let _kept = &kept;
            Ok::<_, BoxError>(number)
        });
        let mut guarded = Guarded::new(&connection, source);
        assert_eq!(guarded.next().await.unwrap().unwrap(), 1);
        tokio::time::advance(LIMIT).await;
        assert_eq!(connection.abandon_unread(LIMIT), 0);
        assert_eq!(guarded.next().await.unwrap().unwrap(), 1, "it was read in time");
        tokio::time::advance(LIMIT + Duration::from_millis(1)).await;
        assert_eq!(connection.abandon_unread(LIMIT), 1);
        assert_eq!(Arc::strong_count(&held), 1, "the source is gone");
        assert_eq!(connection.abandon_unread(LIMIT), 0);
        assert!(guarded.next().await.unwrap().unwrap_err().is::<NotRead>());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_has_nothing_to_say_is_kept() {
        let connection = connection();
        let mut guarded = Guarded::<u8>::new(&connection, stream::pending::<Result<u8, BoxError>>());
        assert!(futures::poll!(guarded.next()).is_pending());
        tokio::time::advance(LIMIT * 10).await;
        assert_eq!(connection.abandon_unread(LIMIT), 0);
        assert!(futures::poll!(guarded.next()).is_pending());
    }
}

//! The part of futures-timer that libp2p uses, on the clock of tokio.
//!
//! Promises: a [`Delay`] ends when tokio's time says so, which stands still while it is paused and something
//! is left to do. It needs a runtime of tokio, which the real crate does not.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// A future that is ready after a while.
#[derive(Debug)]
pub struct Delay(Pin<Box<Sleep>>);

impl Delay {
    /// Begins to wait.
    #[must_use]
    pub fn new(duration: Duration) -> Self {
        Self(Box::pin(sleep(duration)))
    }

    /// Begins to wait anew.
    pub fn reset(&mut self, duration: Duration) {
        // As tokio's own `sleep` does when the time is too far away to be written down.
        const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);
        let now = Instant::now();
        self.0.as_mut().reset(now.checked_add(duration).unwrap_or(now + FAR));
    }
}

impl Future for Delay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

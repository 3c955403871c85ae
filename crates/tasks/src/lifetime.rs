//! Lifetime: when a site stops taking work, when it gives work up, and what still runs.
//!
//! Promises: clones are handles on the same lifetime. Everything that runs in the background of a site is
//! spawned here, so that a stop can wait for it. It ends nothing by itself.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The lifetime of a site and of its background work. Clones are handles on the same lifetime.
#[derive(Debug, Clone, Default)]
pub struct Lifetime {
    stopping: CancellationToken,
    halted: CancellationToken,
    running: TaskTracker,
}

impl Lifetime {
    /// Fires when no new work is taken.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Fires when running work is given up.
    #[must_use]
    pub fn halted(&self) -> &CancellationToken {
        &self.halted
    }

    /// Whether no new work is taken.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Runs something that a stop waits for.
    pub fn spawn<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.running.spawn(work)
    }

    /// Takes no new work and waits for what runs; false when some of it did not end in time. Cancellation
    /// safe: no new work is taken from the first poll on.
    pub async fn drain(&self, time: Duration) -> bool {
        self.stopping.cancel();
        self.running.close();
        tokio::time::timeout(time, self.running.wait()).await.is_ok()
    }

    /// Gives up what still runs, and waits a while for it to end.
    pub async fn halt(&self, time: Duration) {
        self.halted.cancel();
        let _ = tokio::time::timeout(time, self.running.wait()).await;
    }
}

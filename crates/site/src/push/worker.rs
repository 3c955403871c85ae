//! The worker: takes what is due from the outbox and sends it, some at a time.
//!
//! Promises: at most [`AT_ONCE`] deliveries on their way; whatever is cut off by a stop or a kill comes again when its lease has run out.
//! It looks when the bell rings, when a delivery is done, and every second for what is due again.

use std::sync::Arc;
use std::time::Duration;

use agentsite_store::StoreError;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Push;
use crate::Worker;

/// Deliveries on their way at once: waiting costs little, and fifteen slow origins still leave room for a quick one.
const AT_ONCE: usize = 64;

/// How often is looked for what is due again.
const LOOK: Duration = Duration::from_secs(1);

/// How long a claim lasts beyond the time that a receiver may take: reading, signing and a slow disk.
const SPARE: Duration = Duration::from_secs(15);

/// How often the outbox is counted for the metrics.
const COUNT: Duration = Duration::from_secs(15);

/// How long a stop waits for what is on its way; the rest comes again at the next start.
const LAST_ANSWERS: Duration = Duration::from_secs(3);

impl Push {
    /// Sends until the site stops.
    pub(crate) async fn send_all(self: Arc<Self>, worker: Worker, stop: CancellationToken) {
        let mut flying: JoinSet<Result<(), StoreError>> = JoinSet::new();
        let mut counted: Option<Instant> = None;
        loop {
            match self.take_off(&mut flying).await {
                Ok(()) if flying.is_empty() => worker.idle("nothing has to leave"),
                Ok(()) => worker.working(&format!("{} deliveries are on their way", flying.len())),
                Err(error) => worker.failing(&error.to_string()),
            }
            if counted.is_none_or(|at| at.elapsed() >= COUNT) {
                counted = Some(Instant::now());
                self.count().await;
            }
            tokio::select! {
                Some(done) = flying.join_next() => self.landed(&worker, done),
                () = self.bell.ring.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = stop.cancelled() => break,
            }
        }
        let landing = async { while flying.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_ANSWERS, landing).await;
    }

    /// Claims as much as there is room for and sends it off.
    async fn take_off(
        self: &Arc<Self>,
        flying: &mut JoinSet<Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        let room = AT_ONCE.saturating_sub(flying.len());
        if room == 0 {
            return Ok(());
        }
        let now = self.ids.clock().now();
        let until = now.plus(self.settings.timeout.0 + SPARE);
        for claim in self.store.claim(now, until, room).await? {
            let push = self.clone();
            flying.spawn(async move { push.deliver(claim).await });
        }
        Ok(())
    }

    fn landed(&self, worker: &Worker, done: Result<Result<(), StoreError>, tokio::task::JoinError>) {
        let error = match done {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(error, "What became of a delivery could not be written; it is sent again.");
        worker.failing(&error);
    }

    async fn count(&self) {
        if let Ok(stats) = self.store.stats().await {
            self.metrics.outbox(stats.outbox, stats.dead);
        }
    }
}

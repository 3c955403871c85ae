//! The worker: takes what is due from the outbox and sends it, some at a time, in turns among accounts.
//!
//! Promises: at most [`AT_ONCE`] deliveries in flight, [`PER_ACCOUNT`] of one account and [`PER_ANONYMOUS`]
//! of all callers without a key, so that receivers that hang hold up their own account only (the choice is
//! `store::fair`); what is cut off by a stop or a kill comes again when its lease has run out. It looks when
//! it is woken, when a delivery is done, and every second for what is due again.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use agentsite_store::{ClaimTurn, DeliveryClaimRequest, StoreError};
use futures::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Push;
use crate::Worker;

/// Deliveries in flight at once: waiting costs a socket and a body each, and it takes 32 accounts full of
/// receivers that hang to use them up; even then one place becomes free every 40 ms on average.
const AT_ONCE: usize = 256;

/// Deliveries of one account in flight: enough to keep a quick receiver busy, one place in thirty-two.
const PER_ACCOUNT: usize = 8;

/// Deliveries of all callers without a key in flight: a quarter, because addresses are cheaper than keys.
const PER_ANONYMOUS: usize = 64;

/// How often is looked for what is due again.
const LOOK: Duration = Duration::from_secs(1);

/// How long a claim lasts beyond the time that a receiver may take: reading, signing and a slow disk.
const SPARE: Duration = Duration::from_secs(15);

/// How often the outbox is counted for the metrics.
const COUNT: Duration = Duration::from_secs(15);

/// How long a stop waits for what is on its way; the rest comes again at the next start.
const LAST_ANSWERS: Duration = Duration::from_secs(3);

/// A delivery that has ended: its account, and whether what became of it was written.
type Flight = (String, Result<(), StoreError>);

/// The deliveries in flight.
type Flights = JoinSet<Flight>;

impl Push {
    /// Sends until the site stops.
    pub(crate) async fn send_all(self: Arc<Self>, worker: Worker, stop: CancellationToken) {
        let mut flying: Flights = JoinSet::new();
        let (mut busy, mut turn) = (HashMap::new(), ClaimTurn::default());
        let mut counted: Option<Instant> = None;
        loop {
            match self.take_off(&mut flying, &mut busy, &mut turn).await {
                Ok(()) if flying.is_empty() => worker.idle("nothing has to leave"),
                Ok(()) => worker.working(&format!("{} deliveries are on their way", flying.len())),
                Err(error) => worker.failing(&error.to_string()),
            }
            if counted.is_none_or(|at| at.elapsed() >= COUNT) {
                counted = Some(Instant::now());
                self.count().await;
            }
            tokio::select! {
                Some(done) = flying.join_next() => self.landed(&worker, &mut busy, done),
                () = self.signal.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = stop.cancelled() => break,
            }
        }
        let landing = async { while flying.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_ANSWERS, landing).await;
    }

    /// Claims as much as there is space for and sends it off.
    async fn take_off(
        self: &Arc<Self>,
        flying: &mut Flights,
        busy: &mut HashMap<String, usize>,
        turn: &mut ClaimTurn,
    ) -> Result<(), StoreError> {
        let limit = AT_ONCE.saturating_sub(flying.len());
        if limit == 0 {
            return Ok(());
        }
        let now = self.ids.clock().now();
        let request = DeliveryClaimRequest {
            now,
            until: now.plus(self.settings.timeout.0 + SPARE),
            limit,
            per_account: PER_ACCOUNT,
            per_anonymous: PER_ANONYMOUS,
            busy: busy.clone(),
            turn: turn.clone(),
        };
        let claims = self.store.claim(request).await?;
        *turn = claims.turn;
        for queued in claims.rows {
            let (push, account) = (self.clone(), queued.row.account.clone());
            *busy.entry(account.clone()).or_default() += 1;
            flying.spawn(async move {
                // A delivery that breaks down frees its place like any other.
                let sent = AssertUnwindSafe(push.deliver(queued)).catch_unwind().await;
                let broken = |_| Err(StoreError::Engine("a delivery broke down".into()));
                (account, sent.unwrap_or_else(broken))
            });
        }
        Ok(())
    }

    fn landed(
        &self,
        worker: &Worker,
        busy: &mut HashMap<String, usize>,
        done: Result<Flight, tokio::task::JoinError>,
    ) {
        let error = match done {
            Ok((account, sent)) => {
                if let Some(count) = busy.get_mut(&account) {
                    *count = count.saturating_sub(1);
                }
                busy.retain(|_, count| *count > 0);
                match sent {
                    Ok(()) => return,
                    Err(error) => error.to_string(),
                }
            }
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

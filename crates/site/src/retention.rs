//! Retention: finished work and old lines go, so that memory and disk stay bounded.
//!
//! Promises: removes in small portions, so that the writer is never held up for long; reports its progress;
//! never touches work that has not ended. Ages go by settled time (`settled`), so that a clock that jumps
//! removes nothing; what is removed is in no file afterwards.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Clock;
use agentsite_store::{Change, Expiry, SharedStore, Unjournaled};
use tokio_util::sync::CancellationToken;

use crate::keys::Keys;
use crate::settled::SettledClock;
use crate::{Retention, SiteError, Worker};

/// Tasks removed in one transaction: a few milliseconds of the writer's time.
const PORTION: usize = 500;

/// How long a result for a caller without a key stays even when their share of the storage is nearly full:
/// time to fetch it.
const ANONYMOUS_SPARE: Duration = Duration::from_secs(600);

/// Removes what has expired, by the rules of the site.
#[derive(Debug, Clone)]
pub(crate) struct Expirer {
    pub(crate) store: SharedStore,
    pub(crate) keys: Arc<Keys>,
    pub(crate) clock: Arc<SettledClock>,
    pub(crate) retention: Retention,
}

impl Expirer {
    /// Removes everything that has expired; gives the number of tasks.
    pub(crate) async fn expire(&self) -> Result<usize, SiteError> {
        expire(&self.store, &self.keys, &self.clock, &self.retention).await
    }

    /// Removes what has expired, again and again, until the site stops.
    pub(crate) async fn keep_bounded(self, worker: Worker, stop: CancellationToken) {
        loop {
            worker.working("removing what has expired");
            match self.expire().await {
                Ok(0) => worker.idle("nothing had expired"),
                Ok(gone) => worker.idle(&format!("removed {gone} finished tasks")),
                Err(error) => worker.failing(&error.to_string()),
            }
            tokio::select! {
                () = tokio::time::sleep(self.retention.every.0) => {}
                () = stop.cancelled() => return,
            }
        }
    }
}

/// Removes everything that has expired; gives the number of tasks.
async fn expire(
    store: &SharedStore,
    keys: &Keys,
    clock: &SettledClock,
    retention: &Retention,
) -> Result<usize, SiteError> {
    let settled = Change::unjournaled(Unjournaled::SettledTime).edit(clock.setting());
    if let Err(error) = store.commit(settled).await {
        // A full disk must not keep what is old from going; the next look writes it down.
        tracing::debug!(%error, "The settled time was not written down.");
    }
    keys.sweep().await?;
    let now = clock.settled();
    let expiry = Expiry {
        now,
        before: now.minus(retention.max_age.0),
        keep: retention.keep_tasks,
        portion: PORTION,
        journal_before: now.minus(retention.journal_age.0),
        journal_bytes: retention.journal_size.0,
        anonymous_before: now.minus(retention.anonymous_age.0),
        anonymous_bytes: retention.anonymous_full,
        anonymous_spare: now.minus(ANONYMOUS_SPARE),
    };
    let mut gone = 0;
    loop {
        let portion = store.expire(expiry).await?;
        gone += portion;
        if portion < PORTION {
            // What was removed is in no file from here on, backups aside.
            store.scrub().await?;
            return Ok(gone);
        }
        tokio::task::yield_now().await;
    }
}

//! Retention: finished work and old lines go, so that memory and disk stay bounded.
//!
//! Promises: removes in small portions, so that the writer is never held up for long; reports its progress;
//! never touches work that has not ended. Ages go by settled time (`settled`), so that a clock that jumps
//! removes nothing; what is removed is in no file afterwards.

mod section;

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{ByteSize, Clock};
use agentsite_store::{Change, Expiry, SharedStore, Unjournaled};
use agentsite_tasks::{Capability, WorkerScope};
use tokio_util::sync::CancellationToken;

use crate::keys::Keys;
use crate::settled::SettledClock;
use crate::{SiteError, Worker};

pub use section::RetentionSection;

/// Tasks removed in one transaction: a few milliseconds of the writer's time.
const PORTION: usize = 500;

/// How long a result for a caller without a key stays even when their share of the storage is nearly full:
/// time to fetch it.
const ANONYMOUS_SPARE: Duration = Duration::from_secs(600);

/// How often the site looks for what has expired. An age is exact to this: a minute is little next to the
/// ages that make sense, and a look that finds nothing costs one read.
const EVERY: Duration = Duration::from_secs(60);

/// Removes what has expired, by the rules of the site.
#[derive(Debug, Clone)]
pub(crate) struct Expirer {
    pub(crate) store: SharedStore,
    pub(crate) keys: Arc<Keys>,
    pub(crate) clock: Arc<SettledClock>,
    pub(crate) retention: RetentionSection,
    /// Most that callers without a key may store together; 0 means no limit.
    pub(crate) anonymous_storage: ByteSize,
}

impl Expirer {
    /// What retention contributes to a site.
    pub(crate) fn capability(&self) -> Capability {
        let expirer = self.clone();
        let about = "Removes finished tasks, old journal lines and expired keys.";
        Capability::new("retention").worker("retention", about, WorkerScope::Site, move |worker, stop| {
            expirer.clone().keep_bounded(worker, stop)
        })
    }

    /// Removes everything that has expired; gives the number of tasks.
    pub(crate) async fn expire(&self) -> Result<usize, SiteError> {
        let settled = Change::unjournaled(Unjournaled::SettledTime).edit(self.clock.setting());
        if let Err(error) = self.store.commit(settled).await {
            // A full disk must not keep what is old from going; the next look writes it down.
            tracing::debug!(%error, "The settled time was not written down.");
        }
        self.keys.sweep().await?;
        let expiry = self.expiry();
        let mut gone = 0;
        loop {
            let portion = self.store.expire(expiry).await?;
            gone += portion;
            if portion < PORTION {
                // What was removed is in no file from here on, backups aside.
                self.store.scrub().await?;
                return Ok(gone);
            }
            tokio::task::yield_now().await;
        }
    }

    /// What goes now.
    fn expiry(&self) -> Expiry {
        let (now, retention) = (self.clock.settled(), &self.retention);
        Expiry {
            now,
            before: now.minus(retention.age.0),
            keep: retention.tasks,
            portion: PORTION,
            journal_before: now.minus(retention.journal_age.0),
            journal_bytes: retention.journal_size.0,
            anonymous_before: now.minus(retention.anonymous_age.0),
            // Three quarters: the rest takes new work while the oldest goes.
            anonymous_bytes: match self.anonymous_storage.0 {
                0 => u64::MAX,
                most => most / 4 * 3,
            },
            anonymous_spare: now.minus(ANONYMOUS_SPARE),
        }
    }

    /// Removes what has expired, again and again, until the site stops.
    async fn keep_bounded(self, worker: Worker, stop: CancellationToken) {
        loop {
            worker.working("removing what has expired");
            match self.expire().await {
                Ok(0) => worker.idle("nothing had expired"),
                Ok(gone) => worker.idle(&format!("removed {gone} finished tasks")),
                Err(error) => worker.failing(&error.to_string()),
            }
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = stop.cancelled() => return,
            }
        }
    }
}

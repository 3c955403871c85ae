//! Retention: finished work and old lines go, so that memory and disk stay bounded.
//!
//! Promises: removes in small portions, so that the writer is never held up for long; tells how it goes; never touches work that has not
//! ended.

use std::sync::Arc;
use std::time::Duration;

use agentsite_store::Expiry;
use tokio_util::sync::CancellationToken;

use crate::keys::Keys;
use crate::tasks::Desk;
use crate::{Retention, SiteError, Worker};

/// Tasks removed in one transaction: a few milliseconds of the writer's time.
const PORTION: usize = 500;

/// How long a result for a caller without a key stays even when their share of the storage is nearly full: time to fetch it.
const ANONYMOUS_SPARE: Duration = Duration::from_secs(600);

/// Looks again and again until the site stops.
pub(crate) async fn keep_bounded(
    desk: Arc<Desk>,
    keys: Arc<Keys>,
    retention: Retention,
    worker: Worker,
    stop: CancellationToken,
) {
    loop {
        worker.working("removing what has expired");
        match expire(&desk, &keys, &retention).await {
            Ok(0) => worker.idle("nothing had expired"),
            Ok(gone) => worker.idle(&format!("removed {gone} finished tasks")),
            Err(error) => worker.failing(&error.to_string()),
        }
        tokio::select! {
            () = tokio::time::sleep(retention.every.0) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Removes everything that has expired; gives the number of tasks.
pub(crate) async fn expire(desk: &Desk, keys: &Keys, retention: &Retention) -> Result<usize, SiteError> {
    keys.sweep().await?;
    let now = desk.ids.clock().now();
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
        let portion = desk.store.expire(expiry).await?;
        gone += portion;
        if portion < PORTION {
            return Ok(gone);
        }
        tokio::task::yield_now().await;
    }
}

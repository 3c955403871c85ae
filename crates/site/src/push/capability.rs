//! Push as a capability of a site: its journal kinds, hook, metrics, check and worker.
//!
//! Promises: the worker is there only while pushes are on. The check reads two counts of the store and
//! changes nothing.

use std::sync::Arc;

use agentsite_protocol::JournalKind;
use agentsite_tasks::{Capability, CheckReport, CheckVerdict, WorkerScope};

use super::Push;

/// A receiver was added to a task.
pub(super) const RECEIVER_ADDED: JournalKind = JournalKind::new("push.receiver_added");
/// A receiver was removed from a task.
pub(super) const RECEIVER_REMOVED: JournalKind = JournalKind::new("push.receiver_removed");
/// A delivery was given up.
pub(super) const GIVEN_UP: JournalKind = JournalKind::new("delivery.given_up");
/// An admin sent a delivery again or removed it.
pub(super) const DELIVERY_CHANGED: JournalKind = JournalKind::new("delivery.changed");

/// Deliveries that may wait without a receiver being down: a burst of a busy site.
const MANY_WAITING: u64 = 1_000;

impl Push {
    /// What pushes contribute to a site.
    pub(crate) fn capability(self: &Arc<Self>) -> Capability {
        let (push, metrics) = (self.clone(), self.metrics.clone());
        let capability = Capability::new("deliveries")
            .kinds(const { &[RECEIVER_ADDED, RECEIVER_REMOVED, GIVEN_UP, DELIVERY_CHANGED] })
            .hook(self.clone())
            .metrics(move |registry| metrics.register(registry))
            .check(move || {
                let push = push.clone();
                async move { push.check_outbox().await }
            });
        if !self.settings.enabled {
            return capability;
        }
        let (about, push) = ("Delivers what receivers are to be told about tasks.", self.clone());
        capability
            .worker("push", about, WorkerScope::Site, move |worker, stop| push.clone().send_all(worker, stop))
    }

    /// What is in the outbox: a receiver that is down makes it grow.
    async fn check_outbox(&self) -> CheckReport {
        let report = |verdict, words| CheckReport { name: "outbox", verdict, words };
        match self.store.stats().await {
            Ok(stats) => {
                let (verdict, words) = judge(stats.outbox, stats.dead);
                report(verdict, words)
            }
            Err(error) => report(CheckVerdict::Fail, error.to_string()),
        }
    }
}

fn judge(waiting: u64, dead: u64) -> (CheckVerdict, String) {
    let words = format!("{waiting} waiting, {dead} given up");
    if dead > 0 {
        let what = "see why with `agentsite outbox ls --dead`, then retry or drop them";
        (CheckVerdict::Warn, format!("{words}; {what}"))
    } else if waiting > MANY_WAITING {
        (CheckVerdict::Warn, format!("{words}; a receiver may be down, see `agentsite outbox ls`"))
    } else {
        (CheckVerdict::Ok, words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outbox_with_dead_or_many_waiting_deliveries_needs_attention() {
        assert_eq!(judge(MANY_WAITING, 0), (CheckVerdict::Ok, "1000 waiting, 0 given up".into()));
        assert!(matches!(judge(MANY_WAITING + 1, 0), (CheckVerdict::Warn, words) if words.contains("down")));
        assert!(matches!(judge(0, 1), (CheckVerdict::Warn, words) if words.contains("--dead")));
    }
}

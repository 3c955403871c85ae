//! What the store tells the operator about itself.
//!
//! Promises: cheap to clone, all clones count together; nothing is shown until it is registered. It keeps no
//! labels, because a site has one store.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::{DiskState, StorageUse};

/// Counters of the writer: how much it commits at once, how long that takes, how much waits.
#[derive(Debug, Clone)]
pub struct StoreMetrics {
    commit_changes: Histogram,
    commit_seconds: Histogram,
    commits: Counter,
    changes: Counter,
    queue: Gauge,
    bytes: Gauge,
    anonymous_bytes: Gauge,
    journal_bytes: Gauge,
    disk_free: Gauge,
    writable: Gauge,
}

impl Default for StoreMetrics {
    fn default() -> Self {
        Self {
            // One change alone up to a full group of 256, by doubling.
            commit_changes: Histogram::new(exponential_buckets(1.0, 2.0, 9)),
            // From a disk with a battery behind it (0.1 ms) to one that is in trouble (1.6 s).
            commit_seconds: Histogram::new(exponential_buckets(0.0001, 2.0, 15)),
            commits: Counter::default(),
            changes: Counter::default(),
            queue: Gauge::default(),
            bytes: Gauge::default(),
            anonymous_bytes: Gauge::default(),
            journal_bytes: Gauge::default(),
            disk_free: Gauge::default(),
            writable: Gauge::default(),
        }
    }
}

impl StoreMetrics {
    /// Shows the metrics in a registry under names that begin with `agentsite_store_`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "agentsite_store_commit_changes",
            "Changes per commit",
            self.commit_changes.clone(),
        );
        registry.register(
            "agentsite_store_commit_seconds",
            "Time of one commit",
            self.commit_seconds.clone(),
        );
        registry.register("agentsite_store_changes", "Changes that are on disk", self.changes.clone());
        registry.register(
            "agentsite_store_queue_length",
            "Changes that wait to be written",
            self.queue.clone(),
        );
        for (name, help, gauge) in [
            ("agentsite_storage_bytes", "Bytes stored by all accounts and the journal", &self.bytes),
            (
                "agentsite_storage_anonymous_bytes",
                "Bytes stored by callers without a key",
                &self.anonymous_bytes,
            ),
            ("agentsite_storage_journal_bytes", "Bytes of the journal", &self.journal_bytes),
            ("agentsite_disk_free_bytes", "Free bytes of the disk of the data folder", &self.disk_free),
            ("agentsite_disk_writable", "1 while the disk has space for new work, else 0", &self.writable),
        ] {
            registry.register(name, help, gauge.clone());
        }
    }

    /// What is held and how the disk is.
    pub(crate) fn holds(&self, held: &StorageUse) {
        let number = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        self.bytes.set(number(held.total));
        self.anonymous_bytes.set(number(held.anonymous));
        self.journal_bytes.set(number(held.journal));
        self.disk_free.set(number(held.disk.free));
        self.writable.set(i64::from(held.disk.state == DiskState::Ample));
    }

    /// Something was queued for the writer.
    pub(crate) fn queued(&self) {
        self.queue.inc();
    }

    /// The writer took so much from its queue.
    pub(crate) fn taken(&self, jobs: usize) {
        self.queue.dec_by(i64::try_from(jobs).unwrap_or(i64::MAX));
    }

    /// A group of changes is on disk.
    pub(crate) fn committed(&self, changes: usize, took: Duration) {
        self.commit_changes.observe(changes as f64);
        self.commit_seconds.observe(took.as_secs_f64());
        self.changes.inc_by(changes as u64);
        self.commits.inc();
    }

    /// Groups of changes that are on disk.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_shows_in_the_registry() {
        let metrics = StoreMetrics::default();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        metrics.queued();
        metrics.queued();
        metrics.taken(1);
        metrics.committed(3, Duration::from_millis(5));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "agentsite_store_commit_changes_sum 3.0",
            "agentsite_store_commit_seconds_count 1",
            "agentsite_store_changes_total 3",
            "agentsite_store_queue_length 1",
        ] {
            assert!(text.contains(line), "{line} is missing in:\n{text}");
        }
    }
}

//! The upkeep of the registry, shown among the workers of the site.
//!
//! Promises: whatever the upkeep reports is the state of its worker; dropping it marks the worker as stopped.
//! It decides nothing.

use agentsite_registry::UpkeepReport;

use crate::Worker;

/// The worker through which the registry reports.
#[derive(Debug)]
pub(super) struct WorkerReport(pub(super) Worker);

impl UpkeepReport for WorkerReport {
    fn working(&self, detail: &str) {
        self.0.working(detail);
    }

    fn idle(&self, detail: &str) {
        self.0.idle(detail);
    }

    fn failing(&self, detail: &str) {
        self.0.failing(detail);
    }
}

//! The kinds of journal lines that tasks write, and tasks as a capability of a site.
//!
//! Promises: a kind is never used for another event, and never changes its text, because readers filter by
//! it; every kind begins with `task.`, so that it differs from those of other capabilities. The sentences are
//! written in `journal` and where the events happen.

use agentsite_protocol::JournalKind;

use crate::capability::Capability;
use crate::metrics::TaskMetrics;

pub(crate) const OPENED: JournalKind = JournalKind::new("task.opened");
pub(crate) const ANSWERED: JournalKind = JournalKind::new("task.answered");
pub(crate) const REQUEUED: JournalKind = JournalKind::new("task.requeued");
pub(crate) const COMPLETED: JournalKind = JournalKind::new("task.completed");
pub(crate) const FAILED: JournalKind = JournalKind::new("task.failed");
pub(crate) const CANCELED: JournalKind = JournalKind::new("task.canceled");
pub(crate) const REJECTED: JournalKind = JournalKind::new("task.rejected");
pub(crate) const INPUT_REQUIRED: JournalKind = JournalKind::new("task.input_required");
pub(crate) const AUTH_REQUIRED: JournalKind = JournalKind::new("task.auth_required");
pub(crate) const REMOVED: JournalKind = JournalKind::new("task.removed");

const ALL: &[JournalKind] = &[
    OPENED,
    ANSWERED,
    REQUEUED,
    COMPLETED,
    FAILED,
    CANCELED,
    REJECTED,
    INPUT_REQUIRED,
    AUTH_REQUIRED,
    REMOVED,
];

/// What tasks contribute to a site. Their recovery is not a preparation: the site reports what came of it.
#[must_use]
pub fn capability(metrics: TaskMetrics) -> Capability {
    Capability::new("tasks").kinds(ALL).metrics(move |registry| metrics.register(registry))
}

//! What agents use: each commit of a task adds what was used to the sum of its agent's day.
//!
//! Promises: usage is written in the transaction of the events that report it, and counted once. A run of an
//! agent with a memory begins with what its agent has used on the day. It limits nothing: the runners do. The
//! report that callers get is in `site/usage`.

use std::sync::Arc;

use agentsite_host::Job;
use agentsite_protocol::{TaskEventKind, Usage};
use agentsite_store::{SharedStore, UsageChange};
use futures::future::BoxFuture;

use agentsite_tasks::{Capability, Contribution, TaskError, TaskHook, TaskMetrics, TaskMoment};

/// Adds up what agents use.
#[derive(Debug)]
pub(crate) struct UsageHook {
    store: SharedStore,
    metrics: TaskMetrics,
}

impl UsageHook {
    pub(crate) fn new(store: SharedStore, metrics: TaskMetrics) -> Self {
        Self { store, metrics }
    }

    /// What the counting of usage contributes to a site.
    pub(crate) fn capability(self) -> Capability {
        Capability::new("usage").hook(Arc::new(self))
    }
}

impl TaskHook for UsageHook {
    fn contribute(&self, moment: &TaskMoment<'_>, contribution: &mut Contribution) {
        if let Some(usage) = used(moment) {
            let (agent, day) = (moment.task.head.agent.clone(), moment.now.day());
            contribution.add(UsageChange { agent, day, usage });
        }
    }

    fn committed(&self, moment: &TaskMoment<'_>) {
        if let Some(usage) = used(moment) {
            self.metrics.used(usage);
        }
    }

    fn prepare<'a>(&'a self, job: &'a mut Job) -> Option<BoxFuture<'a, Result<(), TaskError>>> {
        Some(Box::pin(async move {
            job.used_today = self.store.usage(&job.agent, job.ids.clock().now().day()).await?;
            Ok(())
        }))
    }
}

/// What the events of a commit report; none for nearly all of them.
fn used(moment: &TaskMoment<'_>) -> Option<Usage> {
    let reports = moment.events.iter().filter_map(|event| match &event.kind {
        TaskEventKind::Used { usage } => Some(*usage),
        _ => None,
    });
    reports
        .reduce(|mut sum, more| {
            sum.add(more);
            sum
        })
        .filter(|sum| !sum.is_empty())
}

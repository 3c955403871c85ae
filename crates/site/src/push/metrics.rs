//! Figures about pushes for `/metrics`.
//!
//! Promises: counting costs a few atomic operations; names and units follow Prometheus' conventions. What is
//! counted about tasks is in `tasks`.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PushOutcome {
    outcome: &'static str,
}

/// Figures about pushes. Clones count into the same figures.
#[derive(Debug, Clone, Default)]
pub(super) struct PushMetrics {
    pushes: Family<PushOutcome, Counter>,
    outbox_waiting: Gauge,
    outbox_dead: Gauge,
}

impl PushMetrics {
    /// Adds all figures to a registry.
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Tries to tell a receiver about a task, by what came of them: delivered, retried, dead";
        registry.register("agentsite_push_tries", help, self.pushes.clone());
        let help = "Deliveries that wait in the outbox";
        registry.register("agentsite_outbox_waiting", help, self.outbox_waiting.clone());
        let help = "Deliveries that were given up and lie in the outbox";
        registry.register("agentsite_outbox_dead", help, self.outbox_dead.clone());
    }

    /// A try to deliver to a receiver ended in this way.
    pub(super) fn pushed(&self, outcome: &'static str) {
        self.pushes.get_or_create(&PushOutcome { outcome }).inc();
    }

    /// What is in the outbox.
    pub(super) fn outbox(&self, waiting: u64, dead: u64) {
        self.outbox_waiting.set(i64::try_from(waiting).unwrap_or(i64::MAX));
        self.outbox_dead.set(i64::try_from(dead).unwrap_or(i64::MAX));
    }
}

//! Figures about tasks for `/metrics`.
//!
//! Promises: counting costs a few atomic operations; names and units follow Prometheus' conventions. It knows
//! nothing of the other figures of a site: the site registers them beside these.

use std::time::Duration;

use agentsite_protocol::{TaskState, Usage};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds in seconds: from below one commit (0.5 ms) to the longest default timeout.
const SECONDS: [f64; 15] =
    [0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct State {
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Direction {
    direction: &'static str,
}

const READ: Direction = Direction { direction: "in" };
const WRITTEN: Direction = Direction { direction: "out" };

/// Sums since the start, for charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskFigures {
    /// Tasks that were accepted.
    pub started: u64,
    /// Tasks that failed.
    pub failed: u64,
    /// Tokens that models read.
    pub tokens_in: u64,
    /// Tokens that models wrote.
    pub tokens_out: u64,
}

/// Figures about tasks. Clones count into the same figures.
#[derive(Debug, Clone)]
pub struct TaskMetrics {
    entered: Family<State, Counter>,
    pub(crate) live: Gauge,
    pub(crate) queued: Gauge,
    pub(crate) refused: Counter,
    tokens: Family<Direction, Counter>,
    start_delay: Histogram,
    duration: Histogram,
}

impl Default for TaskMetrics {
    fn default() -> Self {
        Self {
            entered: Family::default(),
            live: Gauge::default(),
            queued: Gauge::default(),
            refused: Counter::default(),
            tokens: Family::default(),
            start_delay: Histogram::new(SECONDS),
            duration: Histogram::new(SECONDS),
        }
    }
}

impl TaskMetrics {
    /// Adds all figures to a registry.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("agentsite_tasks", "Tasks that entered a state", self.entered.clone());
        registry.register("agentsite_tasks_live", "Tasks that wait or run now", self.live.clone());
        registry.register("agentsite_tasks_queued", "Tasks that wait for a free place", self.queued.clone());
        registry.register(
            "agentsite_tasks_refused",
            "Tasks refused because a queue was full",
            self.refused.clone(),
        );
        let help = "Seconds from the acceptance of a task to the start of its runner";
        registry.register("agentsite_task_start_delay_seconds", help, self.start_delay.clone());
        let help = "Seconds from the acceptance of a task until it ended or asked back";
        registry.register("agentsite_task_duration_seconds", help, self.duration.clone());
        let help = "Tokens that models read and wrote for tasks";
        registry.register("agentsite_tokens", help, self.tokens.clone());
    }

    /// Counts what a model read and wrote for a task.
    pub fn used(&self, usage: Usage) {
        self.tokens.get_or_create(&READ).inc_by(usage.input_tokens);
        self.tokens.get_or_create(&WRITTEN).inc_by(usage.output_tokens);
    }

    /// Sums since the start.
    #[must_use]
    pub fn figures(&self) -> TaskFigures {
        // Owned, because a member that is borrowed keeps the family locked, and making the next one would
        // wait for it for ever.
        let entered =
            |state: TaskState| self.entered.get_or_create_owned(&State { state: state.word() }).get();
        let tokens = |direction: &Direction| self.tokens.get_or_create_owned(direction).get();
        TaskFigures {
            started: entered(TaskState::Submitted),
            failed: entered(TaskState::Failed),
            tokens_in: tokens(&READ),
            tokens_out: tokens(&WRITTEN),
        }
    }

    pub(crate) fn entered(&self, state: TaskState) {
        self.entered.get_or_create(&State { state: state.word() }).inc();
    }

    pub(crate) fn started_after(&self, delay: Duration) {
        self.start_delay.observe(delay.as_secs_f64());
    }

    pub(crate) fn settled_after(&self, duration: Duration) {
        self.duration.observe(duration.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_before_anything_was_counted_and_after() {
        let metrics = TaskMetrics::default();
        assert_eq!(metrics.figures(), TaskFigures::default());
        metrics.entered(TaskState::Submitted);
        metrics.used(Usage { input_tokens: 3, output_tokens: 5, ..Usage::default() });
        let figures = metrics.figures();
        assert_eq!((figures.started, figures.tokens_in, figures.tokens_out), (1, 3, 5));
    }
}

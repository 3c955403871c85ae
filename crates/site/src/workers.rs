//! Background work that people can see: every worker has a name, a state and a count of errors.
//!
//! Promises: a worker that ends is shown as stopped, not forgotten. It does not run anything itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{Clock, Timestamp};
use serde::Serialize;

/// What a worker does at the moment.
#[derive(Debug, Clone, Serialize)]
pub struct WorkerView {
    /// Its name.
    pub name: String,
    /// idle, working, failing or stopped.
    pub state: &'static str,
    /// What it last did or waits for.
    pub detail: String,
    /// How often it failed since the start.
    pub errors: u64,
    /// Since when it is in this state.
    pub since: Timestamp,
}

/// All background work of a site.
#[derive(Debug, Clone)]
pub struct Workers {
    clock: Arc<dyn Clock>,
    // A std lock: held for a field's update or a copy of a few rows, never across an await.
    views: Arc<Mutex<BTreeMap<String, WorkerView>>>,
}

impl Workers {
    /// No workers yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, views: Arc::default() }
    }

    /// Adds a worker, idle at first.
    #[must_use]
    pub fn register(&self, name: &str) -> Worker {
        let worker = Worker { name: name.into(), workers: self.clone() };
        worker.set("idle", "has not run yet");
        worker
    }

    /// All workers by name.
    #[must_use]
    pub fn list(&self) -> Vec<WorkerView> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, WorkerView>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By which one piece of background work tells how it goes; dropping it marks the work as stopped.
#[derive(Debug)]
pub struct Worker {
    name: String,
    workers: Workers,
}

impl Worker {
    /// It works on something.
    pub fn working(&self, detail: &str) {
        self.set("working", detail);
    }

    /// It waits.
    pub fn idle(&self, detail: &str) {
        self.set("idle", detail);
    }

    /// It failed and will try again.
    pub fn failing(&self, detail: &str) {
        self.set("failing", detail);
    }

    fn set(&self, state: &'static str, detail: &str) {
        let now = self.workers.clock.now();
        let mut views = self.workers.lock();
        let errors = u64::from(state == "failing");
        let view = views.entry(self.name.clone()).or_insert_with(|| WorkerView {
            name: self.name.clone(),
            state,
            detail: String::new(),
            errors: 0,
            since: now,
        });
        if view.state != state {
            view.since = now;
        }
        view.state = state;
        view.errors += errors;
        view.detail = detail.into();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.set("stopped", "ended");
    }
}

//! Background work that people can see: every worker has a name, a state and a count of errors.
//!
//! Promises: a worker that ends is shown as stopped, not forgotten. It does not run anything itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{Clock, Timestamp};
use serde::Serialize;

/// What a worker does at the moment.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerView {
    /// Its name.
    pub name: String,
    /// What it is there for.
    pub about: &'static str,
    /// idle, working, failing or stopped.
    pub state: &'static str,
    /// What it last did or waits for.
    pub detail: String,
    /// How often it failed since the start.
    pub errors: u64,
    /// What went wrong when it last failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it last did or looked for something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run_at: Option<Timestamp>,
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

    /// Adds a worker, idle at first; `about` says what it is there for, in a sentence for admins.
    #[must_use]
    pub fn register(&self, name: &str, about: &'static str) -> Worker {
        let view = WorkerView {
            name: name.into(),
            about,
            state: "idle",
            detail: "has not run yet".into(),
            errors: 0,
            last_error: None,
            last_run_at: None,
            since: self.clock.now(),
        };
        self.lock().insert(name.into(), view);
        Worker { name: name.into(), workers: self.clone() }
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
        let Some(view) = views.get_mut(&self.name) else { return };
        if view.state != state {
            view.since = now;
        }
        if state == "failing" {
            view.errors += 1;
            view.last_error = Some(detail.into());
        }
        if state != "stopped" {
            view.last_run_at = Some(now);
        }
        view.state = state;
        view.detail = detail.into();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.set("stopped", "ended");
    }
}

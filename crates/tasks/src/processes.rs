//! Processes: the membership of this process among those that serve one site from one shared store.
//!
//! Promises: what other processes report is known with the delay of one renewal. On a store that belongs to
//! one process nothing is joined, every lease is granted, and nothing is read.
//!
//! It does not decide what a process may write: the store refuses what a dead process writes. What a process
//! does about the others is in `cluster`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::AgentName;
use agentsite_store::{ProcessId, ProcessInfo, ProcessView, SharedStore, StoreError};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// Renewals within the time that a process may live without one: one or two may fail without harm.
const RENEWALS: u32 = 5;

/// What a process tells the others about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProcessReport {
    /// The agents that it runs from its folder, with a hash of their files.
    pub agents: BTreeMap<AgentName, String>,
    /// The agents whose programs are connected to it.
    pub connected: Vec<AgentName>,
    /// A hash of the settings that all processes should share.
    pub settings: String,
}

impl ProcessReport {
    /// The report of a process; an empty one when it cannot be read, as from another version.
    #[must_use]
    pub fn of(view: &ProcessView) -> Self {
        serde_json::from_str(&view.report).unwrap_or_default()
    }
}

/// The membership of this process. Clones are handles on the same membership.
#[derive(Clone)]
pub struct Processes(Arc<Membership>);

struct Membership {
    store: SharedStore,
    info: ProcessInfo,
    ttl: Duration,
    /// The number of this process; none on a store of one process, and while the process is not a member.
    current: watch::Sender<Option<ProcessId>>,
    shared: bool,
    // A std lock: held for a swap or a copy of a few rows, never across an await.
    living: Mutex<Vec<(ProcessView, ProcessReport)>>,
}

impl std::fmt::Debug for Processes {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Processes({:?})", self.id())
    }
}

impl Processes {
    /// Joins the processes of a store, for `ttl` at first and with each renewal.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn join(store: SharedStore, info: ProcessInfo, ttl: Duration) -> Result<Self, StoreError> {
        let id = store.join(info.clone(), ttl).await?;
        let processes = Self::of(store, info, ttl, id);
        processes.read_living().await?;
        Ok(processes)
    }

    /// The only process of a store.
    #[must_use]
    pub fn alone(store: SharedStore) -> Self {
        let info = ProcessInfo { name: String::new(), version: String::new() };
        Self::of(store, info, Duration::ZERO, None)
    }

    fn of(store: SharedStore, info: ProcessInfo, ttl: Duration, id: Option<ProcessId>) -> Self {
        let (current, shared) = (watch::Sender::new(id), id.is_some());
        Self(Arc::new(Membership { store, info, ttl, current, shared, living: Mutex::default() }))
    }

    /// Whether several processes may serve the site.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.0.shared
    }

    /// The number of this process; none on a store of one process, and while the process is not a member.
    #[must_use]
    pub fn id(&self) -> Option<ProcessId> {
        *self.0.current.borrow()
    }

    /// Follows the number of this process: it changes when the process loses its membership or joins again.
    #[must_use]
    pub fn membership(&self) -> watch::Receiver<Option<ProcessId>> {
        self.0.current.subscribe()
    }

    /// All processes as they were at the last renewal.
    #[must_use]
    pub fn living(&self) -> Vec<(ProcessView, ProcessReport)> {
        self.lock().clone()
    }

    /// How many processes serve the site; at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().len().max(1)
    }

    /// The agents that other processes run from their folders.
    #[must_use]
    pub fn agents_elsewhere(&self) -> BTreeSet<AgentName> {
        let own = self.id();
        let others = self.lock();
        let others = others.iter().filter(|(view, _)| Some(view.id) != own);
        others.flat_map(|(_, report)| report.agents.keys().cloned()).collect()
    }

    /// Whether the program of an agent is connected to another process.
    #[must_use]
    pub fn is_connected_elsewhere(&self, agent: &AgentName) -> bool {
        let own = self.id();
        self.lock().iter().any(|(view, report)| Some(view.id) != own && report.connected.contains(agent))
    }

    /// Takes a lease; always true on a store of one process.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] while this process is not a member; what else the store reports.
    pub async fn acquire(&self, lease: &str) -> Result<bool, StoreError> {
        self.0.store.acquire(lease).await
    }

    /// Gives a lease back.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn release(&self, lease: &str) -> Result<(), StoreError> {
        self.0.store.release(lease).await
    }

    /// Renews the membership before the background work does it.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn stay(&self) -> Result<(), StoreError> {
        if self.is_shared() {
            self.renew(None).await?;
        }
        Ok(())
    }

    /// Leaves: other processes take up what this one had.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn leave(&self) -> Result<(), StoreError> {
        self.0.current.send_replace(None);
        self.0.store.leave().await
    }

    /// How long a process waits between two attempts to get a lease or to renew its membership.
    #[must_use]
    pub fn pause(&self) -> Duration {
        self.0.ttl / RENEWALS
    }

    /// Renews the membership and reads who else is there; gives the processes that died.
    pub(crate) async fn renew(&self, report: Option<&ProcessReport>) -> Result<Vec<ProcessView>, StoreError> {
        let report = report.and_then(|report| serde_json::to_string(report).ok());
        let died = self.0.store.renew(self.0.ttl, report).await?;
        for process in &died {
            tracing::warn!(
                process = %process.id, name = process.info.name, tasks = process.tasks,
                "A process of this site has died; the others take up its tasks."
            );
        }
        self.read_living().await?;
        Ok(died)
    }

    async fn read_living(&self) -> Result<(), StoreError> {
        let living = self.0.store.processes().await?;
        let with_report = |view: ProcessView| {
            let report = ProcessReport::of(&view);
            (view, report)
        };
        *self.lock() = living.into_iter().map(with_report).collect();
        Ok(())
    }

    /// Is no member any more, as the store says.
    pub(crate) fn lose(&self) {
        self.0.current.send_replace(None);
    }

    /// Joins again under a new number.
    pub(crate) async fn rejoin(&self) -> Result<(), StoreError> {
        let id = self.0.store.join(self.0.info.clone(), self.0.ttl).await?;
        self.0.current.send_replace(id);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(ProcessView, ProcessReport)>> {
        self.0.living.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

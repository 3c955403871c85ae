//! Processes: the membership of this process among those that serve one site from one shared store.
//!
//! Promises: the membership is renewed from the join until the process leaves, also while it starts, drains
//! or is busy. What other processes report is known with the delay of one renewal. On a store that belongs to
//! one process nothing is joined, every lease is granted, and nothing is read.
//!
//! It does not decide what a process may write: the store refuses what a dead process writes. What a process
//! does about the others is in `cluster`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::{AgentName, Timestamp};
use agentsite_store::{ProcessId, ProcessInfo, ProcessView, SharedStore, StoreError};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::task::AbortOnDropHandle;

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
    /// The agents with one server for the whole site (`instances = "site"`) whose server it runs.
    pub servers: Vec<AgentName>,
    /// A hash of the settings that all processes should share.
    pub settings: String,
    /// By how many seconds its clock is ahead of the database's, or behind when negative; none as long as it
    /// is near enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_ahead: Option<i64>,
}

impl ProcessReport {
    /// Whether it runs an agent that only one process runs at a time.
    fn runs_alone(&self, agent: &AgentName) -> bool {
        self.connected.contains(agent) || self.servers.contains(agent)
    }

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
    // Std locks: held for a swap or a copy of a few rows, never across an await.
    living: Mutex<Vec<(ProcessView, ProcessReport)>>,
    /// The time of the store at the last renewal, and when that was.
    store_time: Mutex<Option<(Timestamp, Instant)>>,
    /// How many they are, for those who ask with each request.
    count: Arc<AtomicUsize>,
    /// What the last renewals came to.
    beat: watch::Sender<Heartbeat>,
    /// Renews until it is dropped; none on a store of one process and after the process left.
    // A std lock: held for a swap, never across an await.
    renewing: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// What the renewals of the membership came to so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Heartbeat {
    /// How many succeeded.
    pub(crate) renewed: u64,
    /// How many processes they found dead.
    pub(crate) died: u64,
    /// Whether this process was declared dead.
    pub(crate) fenced: bool,
}

impl std::fmt::Debug for Processes {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Processes({:?})", self.id())
    }
}

impl Processes {
    /// Joins the processes of a store, for `ttl` at first and at each renewal, and renews from now on. Needs
    /// a runtime of tokio.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn join(store: SharedStore, info: ProcessInfo, ttl: Duration) -> Result<Self, StoreError> {
        let id = store.join(info.clone(), ttl).await?;
        let processes = Self::of(store, info, ttl, id);
        if processes.is_shared() {
            processes.read_living().await?;
            processes.start_renewing();
        }
        Ok(processes)
    }

    /// The only process of a store.
    #[must_use]
    pub fn alone(store: SharedStore) -> Self {
        let info = ProcessInfo { name: String::new(), version: String::new() };
        Self::of(store, info, Duration::ZERO, None)
    }

    fn of(store: SharedStore, info: ProcessInfo, ttl: Duration, id: Option<ProcessId>) -> Self {
        let (current, beat) = (watch::Sender::new(id), watch::Sender::new(Heartbeat::default()));
        Self(Arc::new(Membership {
            store,
            info,
            ttl,
            current,
            shared: id.is_some(),
            living: Mutex::default(),
            store_time: Mutex::default(),
            count: Arc::new(AtomicUsize::new(1)),
            beat,
            renewing: Mutex::default(),
        }))
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
        self.0.count.load(Ordering::Relaxed)
    }

    /// The same number, kept up to date, for those who ask with each request.
    #[must_use]
    pub fn counted(&self) -> Arc<AtomicUsize> {
        self.0.count.clone()
    }

    /// The time by the clock of the store; none on a store of one process.
    #[must_use]
    pub fn store_time(&self) -> Option<Timestamp> {
        let known = *self.0.store_time.lock().unwrap_or_else(PoisonError::into_inner);
        known.map(|(time, at)| time.plus(at.elapsed()))
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

    /// Whether another process runs an agent that only one process runs at a time: its program is connected
    /// there, or that process has the one server of the site.
    #[must_use]
    pub fn is_elsewhere(&self, agent: &AgentName) -> bool {
        let own = self.id();
        self.lock().iter().any(|(view, report)| Some(view.id) != own && report.runs_alone(agent))
    }

    /// The agents of which [`Self::is_elsewhere`] is true.
    pub(crate) fn elsewhere(&self) -> BTreeSet<AgentName> {
        let own = self.id();
        let others = self.lock();
        let others = others.iter().filter(|(view, _)| Some(view.id) != own);
        others.flat_map(|(_, report)| report.connected.iter().chain(&report.servers).cloned()).collect()
    }

    /// Whether a process was living at the last renewal, or has joined since.
    pub(crate) fn is_living(&self, process: ProcessId) -> bool {
        let living = self.lock();
        let newest = living.iter().map(|(view, _)| view.id).max();
        newest.is_none_or(|newest| process > newest) || living.iter().any(|(view, _)| view.id == process)
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

    /// Leaves: other processes take up what this one had.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn leave(&self) -> Result<(), StoreError> {
        self.stop_renewing();
        self.0.current.send_replace(None);
        self.0.store.leave().await
    }

    /// How long a process waits between two attempts to get a lease or to renew its membership.
    #[must_use]
    pub fn pause(&self) -> Duration {
        self.0.ttl / RENEWALS
    }

    /// Follows the renewals.
    pub(crate) fn heartbeat(&self) -> watch::Receiver<Heartbeat> {
        self.0.beat.subscribe()
    }

    /// Renews the membership in the background, until [`Self::stop_renewing`] or until all handles are gone.
    fn start_renewing(&self) {
        let (membership, pause) = (Arc::downgrade(&self.0), self.pause());
        let renewing = tokio::spawn(async move {
            let mut turns = tokio::time::interval(pause);
            turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
            // The first turn comes at once, and the membership is new.
            turns.tick().await;
            loop {
                turns.tick().await;
                let Some(membership) = membership.upgrade() else { return };
                let processes = Self(membership);
                match processes.renew(None).await {
                    // The background work joins again; until then there is nothing to renew.
                    Err(StoreError::Fenced) => return,
                    Err(error) => {
                        tracing::debug!(%error, "The membership was not renewed; it is tried again.");
                    }
                    Ok(()) => {}
                }
            }
        });
        *self.renewing() = Some(AbortOnDropHandle::new(renewing));
    }

    /// Renews no more, as a process that leaves.
    pub(crate) fn stop_renewing(&self) {
        self.renewing().take();
    }

    fn renewing(&self) -> MutexGuard<'_, Option<AbortOnDropHandle<()>>> {
        self.0.renewing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews the membership, with a new report if there is one, and reads who else is there.
    pub(crate) async fn renew(&self, report: Option<&ProcessReport>) -> Result<(), StoreError> {
        let report = report.and_then(|report| serde_json::to_string(report).ok());
        let died = match self.0.store.renew(self.0.ttl, report).await {
            Err(StoreError::Fenced) => {
                self.0.beat.send_modify(|beat| beat.fenced = true);
                return Err(StoreError::Fenced);
            }
            renewed => renewed?,
        };
        for process in &died {
            tracing::warn!(
                process = %process.id, name = process.info.name, tasks = process.tasks,
                "A process of this site has died; the others take up its tasks."
            );
        }
        self.read_living().await?;
        self.0.beat.send_modify(|beat| {
            beat.renewed += 1;
            beat.died += died.len() as u64;
        });
        Ok(())
    }

    async fn read_living(&self) -> Result<(), StoreError> {
        let living = self.0.store.processes().await?;
        let with_report = |view: ProcessView| {
            let report = ProcessReport::of(&view);
            (view, report)
        };
        self.0.count.store(living.len().max(1), Ordering::Relaxed);
        let own = self.id();
        if let Some(own) = living.iter().find(|view| Some(view.id) == own) {
            let now = Some((own.renewed_at, Instant::now()));
            *self.0.store_time.lock().unwrap_or_else(PoisonError::into_inner) = now;
        }
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
        self.0.beat.send_modify(|beat| beat.fenced = false);
        self.start_renewing();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(ProcessView, ProcessReport)>> {
        self.0.living.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The live tasks: those that wait for a slot or run, and how each is reached.
//!
//! Promises: at most one runner for a task. A task that becomes live wakes the watchers that waited for it.
//! It starts and ends nothing itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{AgentName, TaskId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::followed::FollowedTasks;
use crate::log::TaskLog;
use crate::metrics::TaskMetrics;
use crate::paused::{PausedWatcher, PausedWatchers};

/// Orders that may wait for a runner: it reads them between commits, and one is enough.
const ORDERS: usize = 4;

/// What others ask of a live task.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TaskOrder {
    /// End the task.
    Cancel,
    /// Give the run up and write nothing more: another process has the task.
    Abandon,
    /// Give the task to the process that runs its agent now.
    HandOver,
}

/// How a live task is reached.
#[derive(Debug, Clone)]
pub(crate) struct LiveTask {
    /// What is committed of it.
    pub(crate) log: Arc<TaskLog>,
    /// The mailbox of its runner.
    pub(crate) orders: mpsc::Sender<TaskOrder>,
    /// The agent that works on it.
    agent: AgentName,
}

/// All live tasks of a site.
#[derive(Debug)]
pub(crate) struct LiveTasks {
    metrics: TaskMetrics,
    paused: Arc<PausedWatchers>,
    /// Tasks of other processes that are watched here; none unless several processes serve the site.
    pub(crate) followed: FollowedTasks,
    /// Whether other processes may run tasks of this site.
    pub(crate) shared: bool,
    // A std lock: held for an insert, a look-up or a removal, never across an await.
    tasks: Mutex<HashMap<TaskId, LiveTask>>,
}

impl LiveTasks {
    pub(crate) fn new(metrics: TaskMetrics, stopping: CancellationToken, shared: bool) -> Arc<Self> {
        let (paused, followed) = (PausedWatchers::new(stopping), FollowedTasks::default());
        Arc::new(Self { metrics, paused, followed, shared, tasks: Mutex::default() })
    }

    /// Makes a task live; `None` when it is already.
    pub(crate) fn insert(
        &self,
        id: TaskId,
        agent: &AgentName,
        log: &Arc<TaskLog>,
    ) -> Option<mpsc::Receiver<TaskOrder>> {
        let (orders, mailbox) = mpsc::channel(ORDERS);
        let mut tasks = self.lock();
        if tasks.contains_key(&id) {
            return None;
        }
        tasks.insert(id, LiveTask { log: log.clone(), orders, agent: agent.clone() });
        self.count(tasks.len());
        drop(tasks);
        self.paused.wake(id);
        Some(mailbox)
    }

    /// Removes a task, if it is still the one with this log.
    pub(crate) fn remove(&self, id: TaskId, log: &Arc<TaskLog>) {
        let mut tasks = self.lock();
        if tasks.get(&id).is_some_and(|known| Arc::ptr_eq(&known.log, log)) {
            tasks.remove(&id);
        }
        self.count(tasks.len());
    }

    pub(crate) fn get(&self, id: TaskId) -> Option<LiveTask> {
        self.lock().get(&id).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Subscribes to a task that waits for its caller.
    pub(crate) fn wait_for(&self, id: TaskId) -> PausedWatcher {
        self.paused.subscribe(id)
    }

    /// Wakes the watchers of a task that changed while it was not live.
    pub(crate) fn wake(&self, id: TaskId) {
        self.paused.wake(id);
    }

    /// Wakes the watchers of all tasks that `touched` names.
    pub(crate) fn wake_touched(&self, touched: impl Fn(&TaskId) -> bool) {
        self.paused.wake_touched(touched);
    }

    /// Makes all runners give up what they do: from now on their tasks are read from the store. Gives the
    /// mailboxes, each of which closes when its runner has ended.
    pub(crate) fn abandon(&self) -> Vec<mpsc::Sender<TaskOrder>> {
        let all = std::mem::take(&mut *self.lock());
        let abandoned = all.into_iter().map(|(id, live)| {
            let _ = live.orders.try_send(TaskOrder::Abandon);
            self.followed.keep(id, &live.log);
            live.orders
        });
        let abandoned = abandoned.collect();
        self.count(0);
        abandoned
    }

    /// Makes the runners of these agents give their tasks to other processes. One that has an order already
    /// gets this one the next time.
    pub(crate) fn hand_over(&self, moved: impl Fn(&AgentName) -> bool) {
        let tasks = self.lock();
        let idle = |live: &&LiveTask| live.orders.capacity() == ORDERS && moved(&live.agent);
        for live in tasks.values().filter(idle) {
            let _ = live.orders.try_send(TaskOrder::HandOver);
        }
    }

    fn count(&self, live: usize) {
        self.metrics.live.set(i64::try_from(live).unwrap_or(i64::MAX));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, LiveTask>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

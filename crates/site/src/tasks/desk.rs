//! Desk: what all drivers of tasks share, and the list of those that are live.
//!
//! Promises: at most one driver for a task; the list holds only tasks that wait for a place or run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agentsite_host::{Calls, NoCalls};
use agentsite_protocol::{Command, Ids, Task, TaskId};
use agentsite_store::{Admittance, Change, SharedStore, TaskChange, Unjournaled};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::drive::Order;
use super::journal;
use super::log::TaskLog;
use super::sleep::Sleepers;
use crate::anonymous::IdCipher;
use crate::conversations::{Feed, Told, ended};
use crate::push::Bell;
use crate::{SiteError, SiteMetrics};

/// Orders that may wait for a driver: it reads them between commits, and all of them say "cancel".
const ORDERS: usize = 4;

/// What all drivers share.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) store: SharedStore,
    pub(crate) ids: Ids,
    pub(crate) metrics: SiteMetrics,
    /// The ids that anonymous callers get.
    pub(crate) cipher: IdCipher,
    /// How receivers hear of tasks.
    pub(crate) bell: Arc<Bell>,
    /// Those who follow conversations.
    pub(crate) conversations: Feed,
    /// Fires when no new work is taken.
    pub(crate) stopping: CancellationToken,
    /// Fires when running work is given up.
    pub(crate) halted: CancellationToken,
    /// All drivers, to wait for them.
    pub(crate) running: TaskTracker,
    /// The way from a running agent to others; set once the site stands.
    pub(crate) calls: OnceLock<Arc<dyn Calls>>,
    /// Those who wait for tasks that wait for their caller.
    pub(super) sleepers: Sleepers,
    // A std lock: held for an insert, a look-up or a removal, never across an await.
    live: Mutex<HashMap<TaskId, Live>>,
}

/// How a live task is reached.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) log: Arc<TaskLog>,
    pub(crate) orders: mpsc::Sender<Order>,
}

impl Desk {
    pub(crate) fn new(
        store: SharedStore,
        ids: Ids,
        metrics: SiteMetrics,
        bell: Arc<Bell>,
        cipher: IdCipher,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            ids,
            metrics,
            cipher,
            bell,
            conversations: Feed::default(),
            stopping: CancellationToken::new(),
            halted: CancellationToken::new(),
            running: TaskTracker::new(),
            calls: OnceLock::new(),
            sleepers: Sleepers::default(),
            live: Mutex::default(),
        })
    }

    pub(crate) fn calls(&self) -> Arc<dyn Calls> {
        self.calls.get().cloned().unwrap_or_else(|| Arc::new(NoCalls))
    }

    /// Makes a task live; `None` when it is already.
    pub(super) fn enlist(&self, id: TaskId, log: &Arc<TaskLog>) -> Option<mpsc::Receiver<Order>> {
        let (orders, mailbox) = mpsc::channel(ORDERS);
        let mut live = self.lock();
        if live.contains_key(&id) {
            return None;
        }
        live.insert(id, Live { log: log.clone(), orders });
        self.metrics.live.set(i64::try_from(live.len()).unwrap_or(i64::MAX));
        drop(live);
        self.sleepers.wake(id);
        Some(mailbox)
    }

    /// Takes a task off the list, if it is still the one with this log.
    pub(super) fn forget(&self, id: TaskId, log: &Arc<TaskLog>) {
        let mut live = self.lock();
        if live.get(&id).is_some_and(|known| Arc::ptr_eq(&known.log, log)) {
            live.remove(&id);
        }
        self.metrics.live.set(i64::try_from(live.len()).unwrap_or(i64::MAX));
    }

    pub(crate) fn live(&self, id: TaskId) -> Option<Live> {
        self.lock().get(&id).cloned()
    }

    pub(crate) fn live_count(&self) -> usize {
        self.lock().len()
    }

    /// Changes a task that no driver holds.
    pub(super) async fn settle_unattended(
        &self,
        mut task: Task,
        command: Command,
    ) -> Result<Task, SiteError> {
        let now = self.ids.clock().now();
        let expect_seq = task.head.seq;
        let events = task.decide(command, now).map_err(SiteError::refused)?;
        for event in &events {
            task.apply(event).expect("decided events apply");
        }
        self.metrics.entered(task.head.state);
        let journal = journal::lines(&task, &events);
        let notice = self.bell.notice(task.head.id, &events, now);
        let expires_at = task.expires_at();
        let change = TaskChange { head: task.head.clone(), expect_seq, events, sent: None, expires_at };
        let change = Change::of_lines(journal, Unjournaled::TaskProgress)
            .edit(change)
            .edits(notice)
            .edits(ended(&task))
            .admittance(Admittance::Always);
        self.store.commit(change).await?;
        self.tell_conversation(&task);
        self.sleepers.wake(task.head.id);
        self.bell.ring();
        Ok(task)
    }

    /// Tells those who follow the conversation of which a task is a turn where it stands now.
    pub(super) fn tell_conversation(&self, task: &Task) {
        if let Some(id) = task.conversation {
            let told = Told::Turn(task.head.id, task.head.state);
            self.conversations.tell(&task.head.owner, id, told);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

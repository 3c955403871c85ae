//! How tasks take part in pushes: a receiver is written with the message that brings it, deliveries with the
//! events that receivers are told of, and the worker is woken after the commit.
//!
//! Promises: deliveries are written for each commit, whether this process knows of a receiver or not: which
//! receivers there are is the store's to look up in the transaction. Only waking the worker is left out where
//! no receiver is known; it looks by itself every second.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{PushConfig, TaskId};
use agentsite_store::{EventDeliveries, PushChange};

use super::Push;
use agentsite_tasks::{Contribution, TaskHook, TaskMoment};

/// The live tasks that are known to have receivers.
#[derive(Debug, Default)]
pub(super) struct LiveReceivers {
    /// How many there are, so that a commit of a site without receivers takes no lock.
    count: AtomicUsize,
    // A std lock: held for one look-up, insert or removal, never across an await.
    tasks: Mutex<HashSet<TaskId>>,
}

impl LiveReceivers {
    pub(super) fn insert(&self, task: TaskId) {
        let mut tasks = self.lock();
        tasks.insert(task);
        self.count.store(tasks.len(), Ordering::Release);
    }

    pub(super) fn remove(&self, task: TaskId) {
        let mut tasks = self.lock();
        tasks.remove(&task);
        self.count.store(tasks.len(), Ordering::Release);
    }

    fn contains(&self, task: TaskId) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.lock().contains(&task)
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<TaskId>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskHook for Push {
    fn contribute(&self, moment: &TaskMoment<'_>, contribution: &mut Contribution) {
        if !self.settings.enabled {
            return;
        }
        let told = moment.events.iter().filter(|event| event.is_told());
        let events: Vec<u64> = told.map(|event| event.seq).collect();
        if !events.is_empty() {
            let (task, due) = (moment.task.head.id, moment.now);
            let deadline = due.plus(self.settings.deadline.0);
            contribution.add(EventDeliveries { task, events, due, deadline });
        }
    }

    fn committed(&self, moment: &TaskMoment<'_>) {
        let head = &moment.task.head;
        let known = self.receivers.contains(head.id);
        // What an earlier process or message has kept is not looked up, so a task that was resumed may have
        // receivers.
        if known || moment.resumed {
            self.wake();
        }
        if known && head.state.is_settled() {
            self.receivers.remove(head.id);
        }
    }
}

/// A receiver that comes with a message.
pub(crate) struct NewReceiver {
    push: Arc<Push>,
    config: PushConfig,
}

/// The config may hold secrets and is not shown.
impl std::fmt::Debug for NewReceiver {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "NewReceiver({})", self.config.id)
    }
}

impl NewReceiver {
    /// A receiver that [`Push::prepare`] has checked.
    pub(crate) fn new(push: Arc<Push>, config: PushConfig) -> Self {
        Self { push, config }
    }
}

impl TaskHook for NewReceiver {
    fn contribute(&self, moment: &TaskMoment<'_>, contribution: &mut Contribution) {
        let id = moment.task.head.id;
        let config = PushConfig { task_id: id.to_string(), ..self.config.clone() };
        contribution.add(PushChange::Put(id, config));
    }

    fn committed(&self, moment: &TaskMoment<'_>) {
        // Before the hook of all tasks, which wakes the worker for tasks that are known to have receivers.
        self.push.receivers.insert(moment.task.head.id);
    }
}

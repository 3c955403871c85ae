//! Followed tasks: tasks that another process runs and that are watched here.
//!
//! Promises: a watched task costs one log, which goes with its last watcher. A log gets every committed event
//! once and in order, read from the store. A log whose runner gave up in this process continues here, so that
//! its watchers do not notice. It does not know when to read: `cluster` follows the change feed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agentsite_protocol::{Task, TaskId};
use agentsite_store::{SharedStore, StoreError};

use crate::log::TaskLog;

/// Events of a followed task that are read at once.
const EVENT_PAGE: usize = 500;

/// The logs of followed tasks, by task.
#[derive(Debug, Default)]
pub(crate) struct FollowedTasks {
    // A std lock: held for an insert, a look-up or a removal, never across an await.
    logs: Mutex<HashMap<TaskId, Weak<TaskLog>>>,
}

impl FollowedTasks {
    /// The log of a task as the store has it; the one that there is, else a new one. Follow it up with
    /// [`catch_up`], because the task may have moved on since it was read.
    pub(crate) fn follow(&self, task: Task) -> Arc<TaskLog> {
        let id = task.head.id;
        let mut logs = self.lock();
        if let Some(log) = logs.get(&id).and_then(Weak::upgrade) {
            return log;
        }
        let log = TaskLog::resumed(task);
        logs.insert(id, Arc::downgrade(&log));
        log
    }

    /// Continues a log that has no runner in this process any more.
    pub(crate) fn keep(&self, id: TaskId, log: &Arc<TaskLog>) {
        self.lock().insert(id, Arc::downgrade(log));
    }

    /// Those that are still watched.
    pub(crate) fn all(&self) -> Vec<(TaskId, Arc<TaskLog>)> {
        let mut logs = self.lock();
        logs.retain(|_, log| log.strong_count() > 0);
        logs.iter().filter_map(|(id, log)| Some((*id, log.upgrade()?))).collect()
    }

    pub(crate) fn remove(&self, id: TaskId) {
        self.lock().remove(&id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, Weak<TaskLog>>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds to a log what the store has after it; closes it when the task has settled.
pub(crate) async fn catch_up(store: &SharedStore, id: TaskId, log: &TaskLog) -> Result<(), StoreError> {
    loop {
        let events = store.events(id, log.last(), EVENT_PAGE).await?;
        if events.is_empty() {
            break;
        }
        log.extend(events.into_iter().map(Arc::new));
    }
    if log.is_done() {
        log.close();
    }
    Ok(())
}

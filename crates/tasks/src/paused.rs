//! Watchers of tasks that wait for their caller.
//!
//! Promises: a task that waits costs no memory unless it is watched, and then one entry, which goes with its
//! last watcher. A watcher wakes when the task continues or ends; one that looks at the task after it
//! subscribed misses nothing. It does not know what happened to the task.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::TaskId;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The subscriptions, by task.
#[derive(Debug)]
pub(crate) struct PausedWatchers {
    /// Fires when the site stops; all watchers wake then.
    stopping: CancellationToken,
    // A std lock: held for an insert, a look-up or a removal, never across an await.
    tasks: Mutex<HashMap<TaskId, watch::Sender<()>>>,
}

impl PausedWatchers {
    pub(crate) fn new(stopping: CancellationToken) -> Arc<Self> {
        Arc::new(Self { stopping, tasks: Mutex::default() })
    }

    /// Wakes all watchers of this task.
    pub(crate) fn wake(&self, id: TaskId) {
        let mut tasks = self.lock();
        if !tasks.is_empty()
            && let Some(signal) = tasks.remove(&id)
        {
            signal.send_replace(());
        }
    }

    /// Wakes the watchers of all tasks that `touched` names.
    pub(crate) fn wake_touched(&self, touched: impl Fn(&TaskId) -> bool) {
        let gone = self.lock().extract_if(|id, _| touched(id)).map(|(_, signal)| signal).collect::<Vec<_>>();
        gone.iter().for_each(|signal| signal.send_replace(()));
    }

    /// Subscribes to a task.
    pub(crate) fn subscribe(self: &Arc<Self>, id: TaskId) -> PausedWatcher {
        let signal = self.lock().entry(id).or_insert_with(|| watch::Sender::new(())).subscribe();
        PausedWatcher { all: self.clone(), id, signal }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, watch::Sender<()>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One subscription; dropping it ends it.
#[derive(Debug)]
pub(crate) struct PausedWatcher {
    all: Arc<PausedWatchers>,
    id: TaskId,
    signal: watch::Receiver<()>,
}

impl PausedWatcher {
    /// Waits until the task continues or ends; false when the site stops first.
    pub(crate) async fn woken(&mut self) -> bool {
        tokio::select! {
            // The signal was sent, or removed after it was sent.
            _ = self.signal.changed() => true,
            () = self.all.stopping.cancelled() => false,
        }
    }
}

impl Drop for PausedWatcher {
    fn drop(&mut self) {
        let mut tasks = self.all.lock();
        if tasks.get(&self.id).is_some_and(|signal| is_last(signal, &self.signal)) {
            tasks.remove(&self.id);
        }
    }
}

/// Whether this is the only receiver of the signal.
fn is_last(signal: &watch::Sender<()>, receiver: &watch::Receiver<()>) -> bool {
    signal.receiver_count() <= 1 && signal.subscribe().same_channel(receiver)
}

//! Sleep: how a watch outlasts the time in which a task waits for its caller.
//!
//! Promises: a task that waits costs no memory unless somebody watches it, and then one entry, gone with the last who watches. Whoever
//! sleeps wakes when the task goes on or is ended; whoever looks after falling asleep misses nothing. It does not know what happened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::TaskId;
use tokio::sync::watch;

use super::Desk;

/// Those who sleep, by the task that wakes them.
#[derive(Debug, Default)]
pub(super) struct Sleepers(
    // A std lock: held for an insert, a look-up or a removal, never across an await.
    Mutex<HashMap<TaskId, watch::Sender<()>>>,
);

impl Sleepers {
    /// Wakes all who sleep on this task.
    pub(super) fn wake(&self, id: TaskId) {
        let mut beds = self.lock();
        if !beds.is_empty()
            && let Some(bell) = beds.remove(&id)
        {
            bell.send_replace(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, watch::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who sleeps on a task; dropping it is getting up.
#[derive(Debug)]
pub(super) struct Sleeper {
    desk: Arc<Desk>,
    id: TaskId,
    bell: watch::Receiver<()>,
}

impl Sleeper {
    pub(super) fn on(desk: &Arc<Desk>, id: TaskId) -> Self {
        let bell = desk.sleepers.lock().entry(id).or_insert_with(|| watch::Sender::new(())).subscribe();
        Self { desk: desk.clone(), id, bell }
    }

    /// Sleeps until the task goes on or is ended; false when the site stops first.
    pub(super) async fn woken(&mut self) -> bool {
        tokio::select! {
            // The bell rings, or was taken away after it rang.
            _ = self.bell.changed() => true,
            () = self.desk.stopping.cancelled() => false,
        }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let mut beds = self.desk.sleepers.lock();
        if beds.get(&self.id).is_some_and(|bell| is_last(bell, &self.bell)) {
            beds.remove(&self.id);
        }
    }
}

/// Whether nobody but this one listens to the bell.
fn is_last(bell: &watch::Sender<()>, listener: &watch::Receiver<()>) -> bool {
    bell.receiver_count() <= 1 && bell.subscribe().same_channel(listener)
}

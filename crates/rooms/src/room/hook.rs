//! RoomAnswers: which tasks of rooms have answers that are to be posted.
//!
//! Promises: bounded; noting one costs a look at the task's origin. It posts nothing: see `answer`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use agentsite_protocol::{RoomId, TaskId};
use agentsite_tasks::{Origin, TaskHook, TaskMoment};
use tokio::sync::Notify;

/// Most answers that wait to be posted; more are found by the next look at the rooms.
const MAX_WAITING: usize = 4_096;

/// Tasks whose answers are to be posted.
#[derive(Debug, Default)]
pub struct RoomAnswers {
    // A std lock: it is held to add or take, never across an await.
    waiting: Mutex<BTreeSet<(RoomId, TaskId)>>,
    news: Notify,
}

impl TaskHook for RoomAnswers {
    fn committed(&self, moment: &TaskMoment<'_>) {
        let Origin::Room(room) = moment.origin() else { return };
        if moment.task.head.state.is_settled() && moment.changes_state() {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.len() < MAX_WAITING {
                waiting.insert((room, moment.task.head.id));
            }
            drop(waiting);
            self.news.notify_one();
        }
    }
}

impl RoomAnswers {
    /// Takes what is to be posted.
    pub(super) fn take(&self) -> BTreeSet<(RoomId, TaskId)> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until there is more.
    pub(super) async fn noted(&self) {
        self.news.notified().await;
    }
}

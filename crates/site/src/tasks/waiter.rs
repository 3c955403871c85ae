//! Waiter: one for whom a task is done. When it goes away before the task has settled, the task is ended.
//!
//! Promises: dropping it never waits. It does not read the task.

use std::sync::Arc;

use agentsite_protocol::{Caller, TaskId};

use super::Desk;

/// One for whom a task is done.
#[derive(Debug)]
pub(crate) struct Waiter {
    desk: Arc<Desk>,
    caller: Caller,
    task: Option<TaskId>,
}

impl Desk {
    /// One who waits for a task; dropped before [`Waiter::leave`], the task is ended.
    pub(crate) fn waiter(self: &Arc<Self>, caller: &Caller, task: TaskId) -> Waiter {
        Waiter { desk: self.clone(), caller: caller.clone(), task: Some(task) }
    }
}

impl Waiter {
    /// The task may go on, or has settled.
    pub(crate) fn leave(mut self) {
        self.task = None;
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(task) = self.task {
            let (desk, caller) = (self.desk.clone(), self.caller.clone());
            self.desk.running.spawn(async move {
                let _ = desk.cancel(&caller, task).await;
            });
        }
    }
}

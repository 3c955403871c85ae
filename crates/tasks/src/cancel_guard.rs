//! CancelGuard: cancels a task when its caller goes away before the task has settled.
//!
//! Promises: dropping it never waits. It does not read the task.

use std::sync::Arc;

use agentsite_protocol::{Caller, TaskId};

use crate::supervisor::TaskSupervisor;

/// Cancels its task when it is dropped before [`CancelGuard::release`].
#[derive(Debug)]
pub struct CancelGuard {
    tasks: Arc<TaskSupervisor>,
    caller: Caller,
    task: Option<TaskId>,
}

impl TaskSupervisor {
    /// Ties a task to its caller.
    pub(crate) fn cancel_guard(self: &Arc<Self>, caller: &Caller, task: TaskId) -> CancelGuard {
        CancelGuard { tasks: self.clone(), caller: caller.clone(), task: Some(task) }
    }
}

impl CancelGuard {
    /// Lets the task continue: it has settled, or is followed in another way.
    pub fn release(mut self) {
        self.task = None;
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if let Some(task) = self.task {
            let (tasks, caller) = (self.tasks.clone(), self.caller.clone());
            self.tasks.lifetime.spawn(async move {
                let _ = tasks.cancel(&caller, task).await;
            });
        }
    }
}

//! From the stored events of a task to the task.
//!
//! Promises: reads in pages, so that a long task is never read as one answer. It does not know which tasks
//! are live and checks no caller.

use agentsite_protocol::{Task, TaskId};
use agentsite_store::{SharedStore, StoreError};

/// Events read from the store at once when a task is rebuilt.
const REPLAY_PAGE: usize = 2_000;

/// Rebuilds a task from the store.
pub(crate) async fn replay(store: &SharedStore, id: TaskId) -> Result<Option<Task>, StoreError> {
    let mut task: Option<Task> = None;
    loop {
        let after = task.as_ref().map_or(0, |task| task.head.seq);
        let events = store.events(id, after, REPLAY_PAGE).await?;
        let damaged = |error| StoreError::Corrupt(format!("task {id}: {error}"));
        if events.is_empty() {
            return Ok(task);
        }
        match &mut task {
            None => task = Task::replay(&events).map_err(damaged)?,
            Some(task) => {
                for event in &events {
                    task.apply(event).map_err(damaged)?;
                }
            }
        }
        if events.len() < REPLAY_PAGE {
            return Ok(task);
        }
    }
}

/// A task as it was opened: by whom, with which agent. Costs one read, however long the task became.
pub(crate) async fn opened(store: &SharedStore, id: TaskId) -> Result<Option<Task>, StoreError> {
    let first = store.events(id, 0, 1).await?.into_iter().next();
    Ok(first.and_then(|event| Task::open(&event).ok()))
}

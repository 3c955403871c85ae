//! Histories: several tasks with all their events, read at once.
//!
//! Promises: a task comes whole or not at all, and the number of events in memory is about what was asked
//! for, or those of one task. Events are checked against their seals and against gaps like those of a single
//! task.

use agentsite_protocol::TaskId;
use rusqlite::Connection;

use super::{list, read};
use crate::{StoreError, TaskFilter, TaskHistory};

/// The first of some tasks, until there are enough events.
pub(super) fn of(
    db: &Connection,
    ids: &[TaskId],
    events: usize,
    started: usize,
) -> Result<Vec<TaskHistory>, StoreError> {
    let mut histories: Vec<TaskHistory> = Vec::new();
    let mut total = 0;
    for id in ids {
        if !histories.is_empty() && total >= events {
            break;
        }
        let history = one(db, *id, started)?;
        total += history.events.len();
        histories.push(history);
    }
    Ok(histories)
}

fn one(db: &Connection, id: TaskId, started: usize) -> Result<TaskHistory, StoreError> {
    let events = read::events(db, id, 0, usize::MAX)?;
    let filter = TaskFilter { parent: Some(id), ..TaskFilter::default() };
    let started = if started == 0 { Vec::new() } else { list::tasks(db, &filter, None, started)?.items };
    Ok(TaskHistory { id, events, started })
}

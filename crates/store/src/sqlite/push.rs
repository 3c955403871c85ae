//! The receivers of pushes: kept by task, told of events by rows of the outbox.
//!
//! Promises: which receivers a task has is looked up inside the transaction that tells of the events. A receiver goes with everything
//! that was still to be told to it; all of a task's go with the task. The configs stand here as they were given, secrets included: the
//! data folder is its owner's alone. It sends nothing.

use agentsite_protocol::{PushConfig, TaskId};
use rusqlite::{Connection, params};

use super::fault::damaged;
use super::outbox;
use crate::{Notice, PushChange, StoreError};

/// Applies one change.
pub(super) fn change(db: &Connection, change: &PushChange) -> rusqlite::Result<()> {
    match change {
        PushChange::Put(task, config) => {
            // A task that is gone gets no receivers that nobody would ever remove.
            let sql = "INSERT OR REPLACE INTO push_configs (task, id, body)
                       SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM tasks WHERE id = ?1)";
            let body = serde_json::to_string(config).expect("a config of texts is always written");
            db.prepare_cached(sql)?.execute(params![task.as_bytes().as_slice(), config.id, body])?;
        }
        PushChange::Remove(task, id) => {
            let task = task.as_bytes().as_slice();
            db.prepare_cached("DELETE FROM push_configs WHERE task = ?1 AND id = ?2")?
                .execute(params![task, id])?;
            db.prepare_cached("DELETE FROM outbox WHERE task = ?1 AND lane = ?2")?
                .execute(params![task, id])?;
        }
    }
    Ok(())
}

/// Adds the rows of a notice, receiver by receiver.
pub(super) fn notify(db: &Connection, notice: &Notice) -> rusqlite::Result<()> {
    let mut find = db.prepare_cached("SELECT id FROM push_configs WHERE task = ?1 ORDER BY id")?;
    let found = find.query_map([notice.task.as_bytes().as_slice()], |row| row.get(0))?;
    let configs: Vec<String> = found.collect::<rusqlite::Result<_>>()?;
    for row in configs.iter().flat_map(|config| notice.rows(config)) {
        outbox::add(db, &row)?;
    }
    Ok(())
}

/// Removes what belongs to a task that goes.
pub(super) fn forget(db: &Connection, task: i64) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM push_configs WHERE task = (SELECT id FROM tasks WHERE row = ?1)",
        "DELETE FROM outbox WHERE task = (SELECT id FROM tasks WHERE row = ?1)",
    ] {
        db.prepare_cached(sql)?.execute([task])?;
    }
    Ok(())
}

/// The receivers of a task, by id.
pub(super) fn configs(db: &Connection, task: TaskId) -> Result<Vec<PushConfig>, StoreError> {
    let mut find = db.prepare_cached("SELECT body FROM push_configs WHERE task = ?1 ORDER BY id")?;
    let mut rows = find.query([task.as_bytes().as_slice()])?;
    let mut configs = Vec::new();
    while let Some(row) = rows.next()? {
        let read = row.get_ref(0)?.as_str().ok().and_then(|body| serde_json::from_str(body).ok());
        configs.push(read.ok_or_else(|| damaged(format!("a push config of task {task}")))?);
    }
    Ok(configs)
}

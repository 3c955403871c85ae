//! The receivers of pushes: kept by task, told of events by rows of the outbox.
//!
//! Promises: which receivers a task has is looked up inside the transaction that tells of the events. A
//! receiver goes with everything that was still to be sent to it; all of a task's go with the task. The
//! configs hold secrets of callers and are encrypted in their rows. It sends nothing.

use agentsite_protocol::{Principal, PushConfig, TaskId};
use rusqlite::{Connection, OptionalExtension, params};

use super::accounts::{Books, account};
use super::fault::{damaged, principal};
use super::vault::{SEAL, Vault};
use super::{outbox, secrets};
use crate::storage::fixed;
use crate::{EventDeliveries, PushChange, StoreError};

/// The owner of a task.
pub(super) fn owner(db: &Connection, task: TaskId) -> rusqlite::Result<Option<Principal>> {
    let sql = "SELECT owner FROM tasks WHERE id = ?1";
    db.prepare_cached(sql)?.query_row([task.as_bytes().as_slice()], |row| principal(row, 0)).optional()
}

/// What a change adds, and to the receivers of which task.
pub(super) fn adds(change: &PushChange) -> (Option<TaskId>, u64) {
    match change {
        PushChange::Put(task, config) => (Some(*task), fixed::RECEIVER + written(config).len() as u64),
        PushChange::Remove(..) => (None, 0),
    }
}

fn written(config: &PushConfig) -> String {
    serde_json::to_string(config).expect("a config of texts is always written")
}

/// Takes the receivers off the books that a condition on `p`, their row, and `t`, the row of their task,
/// chooses.
fn take_off(
    db: &Connection,
    wanted: &str,
    values: &[&dyn rusqlite::ToSql],
    books: &mut Books,
) -> rusqlite::Result<()> {
    let sql = format!(
        "SELECT t.owner, octet_length(p.body) FROM tasks t JOIN push_configs p ON p.task = t.id WHERE {wanted}"
    );
    let mut find = db.prepare_cached(&sql)?;
    let mut rows = find.query(values)?;
    while let Some(row) = rows.next()? {
        let (owner, body): (String, i64) = (row.get(0)?, row.get(1)?);
        books
            .accounts
            .take(&account(Some(&owner)), fixed::RECEIVER + body.unsigned_abs().saturating_sub(SEAL as u64));
    }
    Ok(())
}

/// Applies one change.
pub(super) fn change(
    db: &Connection,
    change: &PushChange,
    books: &mut Books,
    vault: &Vault,
) -> rusqlite::Result<()> {
    let (PushChange::Put(task, PushConfig { id, .. }) | PushChange::Remove(task, id)) = change;
    take_off(db, "t.id = ?1 AND p.id = ?2", &[&task.as_bytes().as_slice(), id], books)?;
    match change {
        PushChange::Put(task, config) => {
            // A task that is gone gets no receivers, because they would never be removed.
            let sql = "INSERT OR REPLACE INTO push_configs (task, id, body)
                       SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM tasks WHERE id = ?1)";
            let body = written(config);
            let sealed = secrets::seal_config(vault, task.as_bytes(), &config.id, &body);
            db.prepare_cached(sql)?.execute(params![task.as_bytes().as_slice(), config.id, sealed])?;
            if let Some(owner) = owner(db, *task)? {
                books.accounts.add(owner.account(), fixed::RECEIVER + body.len() as u64);
            }
        }
        PushChange::Remove(task, id) => {
            let task = task.as_bytes().as_slice();
            db.prepare_cached("DELETE FROM push_configs WHERE task = ?1 AND id = ?2")?
                .execute(params![task, id])?;
            outbox::remove(db, "task = ?1 AND lane = ?2", &[&task, id], books)?;
        }
    }
    Ok(())
}

/// Adds the rows that notify the receivers of a task, receiver by receiver.
pub(super) fn notify(db: &Connection, notify: &EventDeliveries, books: &mut Books) -> rusqlite::Result<()> {
    let mut find = db.prepare_cached("SELECT id FROM push_configs WHERE task = ?1 ORDER BY id")?;
    let found = find.query_map([notify.task.as_bytes().as_slice()], |row| row.get(0))?;
    let configs: Vec<String> = found.collect::<rusqlite::Result<_>>()?;
    if configs.is_empty() {
        return Ok(());
    }
    let owner = owner(db, notify.task)?;
    let account = owner.as_ref().map_or("", Principal::account);
    for row in configs.iter().flat_map(|config| notify.rows(account, config)) {
        outbox::add(db, &row, books)?;
    }
    Ok(())
}

/// Removes what belongs to a task that goes.
pub(super) fn forget(db: &Connection, task: i64, books: &mut Books) -> rusqlite::Result<()> {
    take_off(db, "t.row = ?1", &[&task], books)?;
    let sql = "DELETE FROM push_configs WHERE task = (SELECT id FROM tasks WHERE row = ?1)";
    db.prepare_cached(sql)?.execute([task])?;
    outbox::remove(db, "task = (SELECT id FROM tasks WHERE row = ?1)", &[&task], books)
}

/// The receivers of a task, by id.
pub(super) fn configs(db: &Connection, task: TaskId, vault: &Vault) -> Result<Vec<PushConfig>, StoreError> {
    let mut find = db.prepare_cached("SELECT id, body FROM push_configs WHERE task = ?1 ORDER BY id")?;
    let mut rows = find.query([task.as_bytes().as_slice()])?;
    let mut configs = Vec::new();
    while let Some(row) = rows.next()? {
        let body = secrets::open_config(vault, task, &row.get::<_, String>(0)?, row.get_ref(1)?)?;
        let read = serde_json::from_slice(&body);
        configs.push(read.map_err(|_| damaged(format!("a push config of task {task}")))?);
    }
    Ok(configs)
}

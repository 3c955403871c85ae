//! Heads of tasks as rows.
//!
//! Promises: a head is checked against its seal before it is handed out; what does not fit is
//! [`StoreError::Corrupt`].

use agentsite_protocol::{TaskHead, TaskId};
use rusqlite::{Connection, Row};

use super::fault::{damaged, principal};
use super::seal::{self, time};
use crate::StoreError;

/// The columns of a head, as [`head`] reads them.
pub(super) const HEAD: &str = "id, state, seq, created_at, updated_at, seal, parent, agent, owner, context";

/// Reads a head from a row that begins with the columns [`HEAD`].
pub(super) fn head(row: &Row<'_>) -> Result<TaskHead, StoreError> {
    let id = TaskId::from_bytes(row.get(0)?);
    let (state, seq, updated_at): (i64, i64, i64) = (row.get(1)?, row.get(2)?, row.get(4)?);
    let parent: Option<[u8; 16]> = row.get(6)?;
    let wrong = |what: &str| damaged(format!("{what} of task {id}"));
    let text = |at: usize| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
    let head = TaskHead {
        id,
        context: text(9)?.parse().map_err(|_| wrong("the context"))?,
        agent: text(7)?.parse().map_err(|_| wrong("the agent"))?,
        owner: principal(row, 8).map_err(|_| wrong("the owner"))?,
        state: seal::state(state).ok_or_else(|| wrong("the state"))?,
        created_at: time(row.get(3)?),
        updated_at: time(updated_at),
        seq: seq.unsigned_abs(),
        parent: parent.map(TaskId::from_bytes),
    };
    if row.get::<_, i64>(5)? != seal::head(seal::root(&head), state, updated_at, seq) {
        return Err(wrong("the seal of the head"));
    }
    Ok(head)
}

/// Reads all heads of a query.
pub(super) fn heads(
    db: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<TaskHead>, StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut heads = Vec::new();
    while let Some(row) = rows.next()? {
        heads.push(head(row)?);
    }
    Ok(heads)
}

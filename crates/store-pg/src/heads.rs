//! Heads of tasks as rows.
//!
//! Promises: a head is checked against the hash of what never changes in it before it is handed out; what
//! does not fit is [`StoreError::Corrupt`]. It reads no row by itself.

use agentsite_protocol::{TaskHead, TaskId, Timestamp};
use agentsite_store::StoreError;
use agentsite_store::engine;
use tokio_postgres::Row;

use crate::fault::{damaged, principal};

/// The columns of a head, as [`head`] reads them.
pub(crate) const HEAD: &str = "id, state, seq, created_at, updated_at, root, parent, agent, owner, context";

/// Reads a head from a row that begins with the columns [`HEAD`].
pub(crate) fn head(row: &Row) -> Result<TaskHead, StoreError> {
    let id = task_id(row, 0)?;
    let wrong = |what: &str| damaged(format!("{what} of task {id}"));
    let time = |at: usize| Timestamp::from_millis(row.get(at));
    let parent: Option<&[u8]> = row.get(6);
    let head = TaskHead {
        id,
        context: row.get::<_, &str>(9).parse().map_err(|_| wrong("the context"))?,
        agent: row.get::<_, &str>(7).parse().map_err(|_| wrong("the agent"))?,
        owner: principal(row.get(8))?,
        state: engine::state(i64::from(row.get::<_, i16>(1))).ok_or_else(|| wrong("the state"))?,
        created_at: time(3),
        updated_at: time(4),
        seq: row.get::<_, i64>(2).cast_unsigned(),
        parent: parent.map(|_| task_id(row, 6)).transpose()?,
    };
    if row.get::<_, i64>(5) == engine::root(&head) { Ok(head) } else { Err(wrong("the head")) }
}

/// Reads the id of a task.
pub(crate) fn task_id(row: &Row, at: usize) -> Result<TaskId, StoreError> {
    let bytes: &[u8] = row.get(at);
    bytes.try_into().map(TaskId::from_bytes).map_err(|_| damaged("the id of a task"))
}

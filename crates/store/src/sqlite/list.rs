//! Lists of tasks with filters, by last change.
//!
//! Promises: a page costs about its own length, because each filter that can be selective has an index in the
//! right order. Open tasks stand in an index of their own, are few, and are sorted in; both parts are read at
//! one moment.

use agentsite_protocol::{TaskHead, TaskId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::heads::{HEAD, heads};
use super::seal;
use crate::query::MAX_PAGE;
use crate::{Page, StoreError, TaskCursor, TaskFilter};

/// Conditions of a query and the values they name, in order.
#[derive(Default)]
pub(super) struct Where {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

impl Where {
    pub(super) fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.sql.push_str(if self.sql.is_empty() { "" } else { " AND " });
        self.sql.push_str(condition);
        self.values.push(value.into());
    }

    pub(super) fn and_if(&mut self, condition: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.and(condition, value);
        }
    }
}

/// Tasks that fit, newest change first.
pub(super) fn tasks(
    db: &Connection,
    filter: &TaskFilter,
    after: Option<TaskCursor>,
    limit: usize,
) -> Result<Page<TaskHead, TaskCursor>, StoreError> {
    let moment = db.unchecked_transaction()?;
    let mut items = Vec::new();
    for (index, class) in classes(filter) {
        items.extend(part(&moment, index, class, filter, after, limit)?);
    }
    items.sort_by_key(|head| std::cmp::Reverse((head.updated_at, head.id)));
    Ok(Page::cut(items, limit))
}

/// How many tasks fit.
pub(super) fn count_tasks(db: &Connection, filter: &TaskFilter) -> Result<u64, StoreError> {
    let moment = db.unchecked_transaction()?;
    let mut total = 0;
    for (index, class) in classes(filter) {
        let fits = fitting(class, filter);
        let sql = format!("SELECT count(*) FROM tasks INDEXED BY {index} WHERE {}", fits.sql);
        let count: i64 =
            moment.prepare_cached(&sql)?.query_row(params_from_iter(fits.values), |row| row.get(0))?;
        total += count.unsigned_abs();
    }
    Ok(total)
}

/// The open and the ended tasks as far as either is wanted: the index to read, and the condition for it.
fn classes(filter: &TaskFilter) -> impl Iterator<Item = (&'static str, &'static str)> {
    let wanted =
        |ended: bool| filter.states.is_empty() || filter.states.iter().any(|one| one.is_terminal() == ended);
    let open = wanted(false).then_some(("tasks_open", "state < 4"));
    let ended = match ended_index(filter) {
        _ if !wanted(true) => [None, None],
        Some(index) => [Some((index, "state >= 4")), None],
        None => {
            ["state >= 4 AND kept = 0", "state >= 4 AND kept = 1"].map(|class| Some(("tasks_ended", class)))
        }
    };
    open.into_iter().chain(ended.into_iter().flatten())
}

/// The index that fits the most selective filter; none when there is no selective one, and all ended tasks
/// are looked at.
fn ended_index(filter: &TaskFilter) -> Option<&'static str> {
    if filter.parent.is_some() {
        Some("tasks_parent")
    } else if filter.context.is_some() {
        Some("tasks_context")
    } else if filter.owner.is_some() {
        Some("tasks_owner")
    } else {
        None
    }
}

/// The open or the ended tasks that fit: one more than a page, to see whether there is a next one.
fn part(
    db: &Connection,
    index: &str,
    class: &str,
    filter: &TaskFilter,
    after: Option<TaskCursor>,
    limit: usize,
) -> Result<Vec<TaskHead>, StoreError> {
    let mut fits = fitting(class, filter);
    if let Some(cursor) = after {
        fits.and("updated_at <= ?", cursor.updated_at.as_millis());
        fits.and("(updated_at, id) < (?, ", cursor.updated_at.as_millis());
        fits.sql.push_str("?)");
        fits.values.push(blob(cursor.id).into());
    }
    let limit = limit.clamp(1, MAX_PAGE) + 1;
    let sql = format!(
        "SELECT {HEAD} FROM tasks INDEXED BY {index} WHERE {} ORDER BY updated_at DESC, id DESC LIMIT {limit}",
        fits.sql
    );
    heads(db, &sql, params_from_iter(fits.values))
}

/// The conditions of a filter within a class of tasks.
fn fitting(class: &str, filter: &TaskFilter) -> Where {
    let mut fits = Where { sql: class.to_owned(), values: Vec::new() };
    fits.and_if("parent = ?", filter.parent.map(blob));
    fits.and_if("context = ?", filter.context.as_ref().map(|context| context.as_str().to_owned()));
    fits.and_if("owner = ?", filter.owner.as_ref().map(|owner| owner.as_str().to_owned()));
    fits.and_if("agent = ?", filter.agent.as_ref().map(|agent| agent.as_str().to_owned()));
    fits.and_if("updated_at >= ?", filter.updated_since.map(Timestamp::as_millis));
    if !filter.states.is_empty() {
        let numbers: Vec<String> =
            filter.states.iter().map(|one| seal::state_number(*one).to_string()).collect();
        fits.sql.push_str(&format!(" AND state IN ({})", numbers.join(", ")));
    }
    fits
}

/// The id as a column holds it.
pub(super) fn blob(id: TaskId) -> Vec<u8> {
    id.as_bytes().to_vec()
}

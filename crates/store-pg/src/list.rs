//! Lists of tasks with filters, by last change.
//!
//! Promises: a page is read at one moment and costs about its own length where a filter has an index. The
//! values of filters are never part of a statement's text.

use agentsite_protocol::{TaskHead, Timestamp};
use agentsite_store::engine::{MAX_PAGE, page_of_tasks, state_number};
use agentsite_store::{Page, StoreError, TaskCursor, TaskFilter};
use tokio_postgres::types::ToSql;

use crate::heads::{HEAD, head};
use crate::readers::Readers;

/// A value of a condition.
pub(crate) type Bound = Box<dyn ToSql + Sync + Send>;

/// Conditions of a query and their values, in order.
#[derive(Default)]
pub(crate) struct Where {
    pub(crate) sql: String,
    values: Vec<Bound>,
}

impl Where {
    /// Adds a condition in which `?` means the value.
    pub(crate) fn and(&mut self, condition: &str, value: impl ToSql + Sync + Send + 'static) {
        self.values.push(Box::new(value));
        self.sql.push_str(if self.sql.is_empty() { "" } else { " AND " });
        self.sql.push_str(&condition.replace('?', &format!("${}", self.values.len())));
    }

    pub(crate) fn and_if(&mut self, condition: &str, value: Option<impl ToSql + Sync + Send + 'static>) {
        if let Some(value) = value {
            self.and(condition, value);
        }
    }

    /// Adds a comparison with a row of several values.
    pub(crate) fn and_row(&mut self, condition: &str, values: Vec<Bound>) {
        let first = self.values.len() + 1;
        self.values.extend(values);
        let names: Vec<String> = (first..=self.values.len()).map(|at| format!("${at}")).collect();
        self.sql.push_str(if self.sql.is_empty() { "" } else { " AND " });
        self.sql.push_str(&format!("{condition} ({})", names.join(", ")));
    }

    /// The conditions, or one that always holds.
    pub(crate) fn conditions(&self) -> &str {
        if self.sql.is_empty() { "true" } else { &self.sql }
    }

    pub(crate) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect()
    }
}

/// Tasks that fit, newest change first.
pub(crate) async fn tasks(
    readers: &Readers,
    filter: &TaskFilter,
    after: Option<TaskCursor>,
    limit: usize,
) -> Result<Page<TaskHead, TaskCursor>, StoreError> {
    let mut fits = fitting(filter);
    if let Some(cursor) = after {
        let place: Vec<Bound> =
            vec![Box::new(cursor.updated_at.as_millis()), Box::new(cursor.id.as_bytes().to_vec())];
        fits.and_row("(updated_at, id) <", place);
    }
    let sql = format!(
        "SELECT {HEAD} FROM tasks WHERE {} ORDER BY updated_at DESC, id DESC LIMIT {}",
        fits.conditions(),
        limit.clamp(1, MAX_PAGE) + 1
    );
    let rows = readers.query(&sql, &fits.values()).await?;
    let items = rows.iter().map(head).collect::<Result<_, _>>()?;
    Ok(page_of_tasks(items, limit))
}

/// How many tasks fit.
pub(crate) async fn count_tasks(readers: &Readers, filter: &TaskFilter) -> Result<u64, StoreError> {
    let fits = fitting(filter);
    let sql = format!("SELECT count(*) FROM tasks WHERE {}", fits.conditions());
    let row = readers.first(&sql, &fits.values()).await?;
    Ok(row.map_or(0, |row| row.get::<_, i64>(0).cast_unsigned()))
}

fn fitting(filter: &TaskFilter) -> Where {
    let mut fits = Where::default();
    fits.and_if("parent = ?", filter.parent.map(|id| id.as_bytes().to_vec()));
    fits.and_if("context = ?", filter.context.as_ref().map(ToString::to_string));
    fits.and_if("owner = ?", filter.owner.as_ref().map(ToString::to_string));
    fits.and_if("agent = ?", filter.agent.as_ref().map(ToString::to_string));
    fits.and_if("updated_at >= ?", filter.updated_since.map(Timestamp::as_millis));
    if !filter.states.is_empty() {
        let number = |state| i16::try_from(state_number(state)).unwrap_or(i16::MAX);
        let states: Vec<i16> = filter.states.iter().copied().map(number).collect();
        fits.and("state = ANY(?)", states);
    }
    fits
}

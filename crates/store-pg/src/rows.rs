//! The rows of the database for a logical copy (see `copying` in `agentsite-store`).
//!
//! Promises: reads inside of the transaction that the session has open, so that everything is of one moment;
//! a page ends early where rows are large. It writes nothing.

use agentsite_store::StoreError;
use agentsite_store::copying::{Cell, CopyTable};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::fault::{damaged, told};
use crate::session::Session;
use crate::text;

/// Rows that are read at once, at most.
const PAGE: usize = 500;

/// Bytes that a page should have at most: rows of events may have megabytes each. The size of the last page
/// tells how many rows the next one asks for.
const PAGE_BYTES: usize = 4 << 20;

/// A place in the rows of the database.
#[derive(Debug, Default)]
pub(crate) struct PgRows {
    /// Whether a cursor is open.
    open: bool,
    /// Rows that the next page asks for.
    page: usize,
}

impl PgRows {
    /// Begins with a table.
    pub(crate) async fn begin(
        &mut self,
        session: &Session,
        table: &'static CopyTable,
    ) -> Result<(), StoreError> {
        self.close(session).await?;
        let declare = format!("DECLARE rows NO SCROLL CURSOR FOR {}", select(table));
        session.batch(&declare).await.map_err(|error| told(&error))?;
        (self.open, self.page) = (true, PAGE / 10);
        Ok(())
    }

    /// The next rows; none after the last.
    pub(crate) async fn next(&mut self, session: &Session) -> Result<Vec<Vec<Cell>>, StoreError> {
        if !self.open {
            return Ok(Vec::new());
        }
        let found = session.unprepared(&format!("FETCH {} FROM rows", self.page)).await;
        let rows = found.map_err(|error| told(&error))?.iter().map(cells).collect::<Result<Vec<_>, _>>()?;
        if rows.is_empty() {
            self.close(session).await?;
        }
        let bytes: usize = rows.iter().flatten().map(size).sum();
        let fitting = PAGE_BYTES.saturating_mul(rows.len()) / bytes.max(1);
        self.page = fitting.clamp(1, PAGE).min(self.page * 2);
        Ok(rows)
    }

    async fn close(&mut self, session: &Session) -> Result<(), StoreError> {
        if std::mem::take(&mut self.open) {
            session.batch("CLOSE rows").await.map_err(|error| told(&error))?;
        }
        Ok(())
    }
}

/// The rows of a table with the columns of the copy.
fn select(table: &CopyTable) -> String {
    let CopyTable { name, columns, .. } = table;
    match *name {
        "task_events" => "SELECT e.task, e.first_seq, e.last_seq, e.sent || s.body_hash, e.body
                          FROM task_events e LEFT JOIN sent s ON s.key = e.sent ORDER BY e.task, e.last_seq"
            .to_owned(),
        "front" => "SELECT front_seq, front_hash,
                        (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM outbox_id_seq) FROM head"
            .to_owned(),
        "turns" => "SELECT t.conversation, t.parent, t.task, t.at, t.agent, t.context, t.message, t.bytes, q.words, a.words
                    FROM turns t LEFT JOIN turn_words q ON q.turn = t.row AND NOT q.answer
                    LEFT JOIN turn_words a ON a.turn = t.row AND a.answer ORDER BY t.row"
            .to_owned(),
        "room_events" | "room_members" => format!("SELECT {columns} FROM {name} ORDER BY 1, 2"),
        "tasks" => format!("SELECT {columns} FROM tasks ORDER BY created_at, id"),
        _ => format!("SELECT {columns} FROM {name} ORDER BY 1"),
    }
}

fn cells(row: &Row) -> Result<Vec<Cell>, StoreError> {
    (0..row.len()).map(|at| cell(row, at)).collect()
}

fn cell(row: &Row, at: usize) -> Result<Cell, StoreError> {
    let found = match *row.columns()[at].type_() {
        Type::INT2 => row.get::<_, Option<i16>>(at).map(|number| Cell::Integer(number.into())),
        Type::INT4 => row.get::<_, Option<i32>>(at).map(|number| Cell::Integer(number.into())),
        Type::INT8 => row.get::<_, Option<i64>>(at).map(Cell::Integer),
        Type::BOOL => row.get::<_, Option<bool>>(at).map(|yes| Cell::Integer(yes.into())),
        Type::TEXT => row.get::<_, Option<String>>(at).map(|words| Cell::Text(text::got(words))),
        Type::BYTEA => row.get::<_, Option<Vec<u8>>>(at).map(Cell::Bytes),
        _ => return Err(damaged(format!("the type of column {}", row.columns()[at].name()))),
    };
    Ok(found.unwrap_or(Cell::Null))
}

fn size(cell: &Cell) -> usize {
    match cell {
        Cell::Null | Cell::Integer(_) => 8,
        Cell::Text(text) => text.len(),
        Cell::Bytes(bytes) => bytes.len(),
    }
}

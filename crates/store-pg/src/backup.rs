//! A backup of the database: a logical copy into one file, of the form that SQLite's backups have.
//!
//! Promises: everything is read at one moment, while the site runs, and changes nothing; the file restores
//! into a site on SQLite like any backup. Secrets stay encrypted with the store's key. Rows go in pages, so
//! the memory it takes does not grow with the database.

use std::path::Path;

use agentsite_store::StoreError;
use agentsite_store::engine::{COPY_TABLES, Cell, CopyTable, SqliteSink};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::fault::{damaged, told};
use crate::session::Session;
use crate::{PgStore, text};

/// Rows that are read at once.
const PAGE: usize = 500;

impl PgStore {
    /// Copies everything to a new file.
    pub(crate) async fn copy_to(&self, to: &Path) -> Result<(), StoreError> {
        let (to, key) = (to.to_owned(), self.key.clone());
        let mut sink = blocking(move || SqliteSink::create(&to, &key)).await?;
        let mut lent = self.readers.lend().await?;
        lent.spoiled = true;
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout TO 0";
        lent.batch(begin).await.map_err(|error| told(&error))?;
        for table in COPY_TABLES {
            sink = copy(&lent, table, sink).await?;
        }
        lent.batch("COMMIT").await.map_err(|error| told(&error))?;
        lent.spoiled = false;
        drop(lent);
        blocking(move || sink.finish()).await.map(drop)
    }
}

async fn copy(
    session: &Session,
    table: &'static CopyTable,
    mut sink: SqliteSink,
) -> Result<SqliteSink, StoreError> {
    let fault = |error: tokio_postgres::Error| told(&error);
    session.batch(&format!("DECLARE rows NO SCROLL CURSOR FOR {}", select(table))).await.map_err(fault)?;
    loop {
        let page = session.unprepared(&format!("FETCH {PAGE} FROM rows")).await.map_err(fault)?;
        let (count, rows) = (page.len(), page.iter().map(cells).collect::<Result<Vec<_>, _>>()?);
        sink = blocking(move || sink.put(table, rows).map(|()| sink)).await?;
        if count < PAGE {
            break;
        }
    }
    session.batch("CLOSE rows").await.map_err(fault)?;
    Ok(sink)
}

/// The rows of a table with the columns of the copy.
fn select(table: &CopyTable) -> String {
    let CopyTable { name, columns } = table;
    match *name {
        "task_events" => "SELECT e.task, e.first_seq, e.last_seq, e.sent || s.body_hash, e.body
                          FROM task_events e LEFT JOIN sent s ON s.key = e.sent ORDER BY e.task, e.last_seq"
            .to_owned(),
        "front" => "SELECT front_seq, front_hash FROM head".to_owned(),
        "turns" => "SELECT t.conversation, t.parent, t.task, t.at, t.agent, t.context, t.message, t.bytes, q.words, a.words
                    FROM turns t LEFT JOIN turn_words q ON q.turn = t.row AND NOT q.answer
                    LEFT JOIN turn_words a ON a.turn = t.row AND a.answer ORDER BY t.row"
            .to_owned(),
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

/// Does what may block on a thread that may.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(StoreError::Engine(format!("the backup was broken off: {error}"))))
}

//! The logical copy: the rows of a store, table by table, in a form that every engine reads and writes.
//!
//! Promises: backup, restore and migrate move data by this one way. A copy counts only when every table was
//! read back from its target and has the same number of rows and the same checksum as its source; before
//! that no site starts on it. A copy that was broken off is made again with the same calls; tables that are
//! whole already are not written twice. It knows no engine: sources and sinks bring their own.

use agentsite_protocol::{TaskHead, TaskId, TaskState, Timestamp};
use sha2::{Digest, Sha256};

use crate::{Reply, StoreError};

/// A value of a row that is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A number, a time in milliseconds, or a yes (1) or no (0).
    Integer(i64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// A table of a logical copy and its columns, in the order in which rows bring them.
#[derive(Debug, Clone, Copy)]
pub struct CopyTable {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static str,
    /// How many of its last columns are made anew by each engine. The checksum has whether they are there,
    /// not what they hold.
    pub derived: usize,
}

const fn table(name: &'static str, columns: &'static str) -> CopyTable {
    CopyTable { name, columns, derived: 0 }
}

/// The tables of a logical copy, in the order in which they are copied: tasks come before their events, rooms
/// before theirs, conversations before their turns, and turns in the order in which they were said.
///
/// `sent` of an event is the key of its message and the hash of its content. `question` and `answer` of a
/// turn are the words by which it is found, with a space before each. `front` has one row: the last line that
/// was removed from the journal, and the last number that was given to a delivery.
pub const COPY_TABLES: &[CopyTable] = &[
    table("tasks", "id, state, seq, created_at, updated_at, parent, agent, owner, context, kept, expires_at"),
    table("task_events", "task, first_seq, last_seq, sent, body"),
    table("journal", "seq, at, actor, agent, task, text, salt, digest, hash, kind, subject"),
    table("journal_heads", "seq, at, hash, signature"),
    table("front", "seq, hash, delivery"),
    table("push_configs", "task, id, body"),
    table("outbox", "id, due, deadline, attempts, dead, task, lane, kind, error, body, account"),
    table("keys", "id, hash, label, scopes, created_at, expires_at, last_used_at, session, of_key"),
    table("settings", "name, value, owner"),
    table("records", "collection, key, owner, revision, expires_at, body"),
    table("usage", "agent, day, input_tokens, output_tokens, turns, calls"),
    table("listings", "id, revision, owner, standing, visibility, media_type, updated_at, due, shape, body"),
    table("rooms", "id, owner, title, state, seq, first, front, hash, created_at, updated_at, deadline"),
    table("room_events", "room, seq, at, sender, message, digest, hash, signature, body"),
    table("room_members", "room, member, joined, delivered, processed"),
    table("room_snapshots", "room, seq, body"),
    table(
        "conversations",
        "id, owner, title, named, pinned, agent, created_at, updated_at, revision, head, turns, gone",
    ),
    CopyTable {
        name: "turns",
        columns: "conversation, parent, task, at, agent, context, message, bytes, question, answer",
        derived: 2,
    },
];

/// How many rows of a table there are, and the sum of their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopySum {
    /// The rows.
    pub rows: u64,
    /// The sum, the same for the same rows in any order.
    pub sum: u128,
}

impl CopySum {
    /// Adds a row of a table.
    pub fn add(&mut self, table: &CopyTable, row: &[Cell]) {
        let mut hash = Sha256::new();
        let copied = row.len().saturating_sub(table.derived);
        for (at, cell) in row.iter().enumerate() {
            let (tag, bytes): (u8, &[u8]) = match cell {
                Cell::Null => (0, &[]),
                _ if at >= copied => (4, &[]),
                Cell::Integer(number) => (1, &number.to_le_bytes()),
                Cell::Text(text) => (2, text.as_bytes()),
                Cell::Bytes(bytes) => (3, bytes),
            };
            hash.update([tag]);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        let digest = hash.finalize();
        self.rows += 1;
        self.sum = self.sum.wrapping_add(u128::from_le_bytes(std::array::from_fn(|at| digest[at])));
    }
}

/// Where rows come from: one moment of a store.
pub trait RowSource: Send {
    /// Begins to read a table.
    fn begin<'a>(&'a mut self, table: &'static CopyTable) -> Reply<'a, ()>;

    /// The next rows of the table; none after the last.
    fn next(&mut self) -> Reply<'_, Vec<Vec<Cell>>>;

    /// Ends the reading.
    ///
    /// # Errors
    /// When the store may have changed since the moment that was read, so that the copy lacks something.
    fn end(&mut self) -> Reply<'_, ()>;
}

/// Where rows go: a store that does not count before [`Self::complete`]. From [`Self::seal`] on it is read
/// like a source.
pub trait RowSink: RowSource {
    /// What an earlier copy that was broken off has left whole of a table.
    fn kept<'a>(&'a mut self, table: &'static CopyTable) -> Reply<'a, Option<CopySum>>;

    /// Begins to write a table, which is empty from here on.
    fn clear<'a>(&'a mut self, table: &'static CopyTable) -> Reply<'a, ()>;

    /// Takes rows of the table, each with the columns that [`COPY_TABLES`] names.
    fn put<'a>(&'a mut self, table: &'static CopyTable, rows: Vec<Vec<Cell>>) -> Reply<'a, ()>;

    /// The table is whole and has this sum.
    fn keep<'a>(&'a mut self, table: &'static CopyTable, sum: CopySum) -> Reply<'a, ()>;

    /// Makes what follows from the rows, and checks that they fit together: the chain of the journal, and the
    /// numbers of the events.
    fn seal(&mut self) -> Reply<'_, ()>;

    /// From here on the copy counts.
    fn complete(&mut self) -> Reply<'_, ()>;
}

/// How far a copy has come, for people who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyStep {
    /// The table.
    pub table: &'static str,
    /// Its rows so far.
    pub rows: u64,
    /// What is being done.
    pub doing: CopyPhase,
}

/// What a copy is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyPhase {
    /// Reading the source, to compare it with what an earlier copy has left or with a whole target.
    Comparing,
    /// Writing the target.
    Copying,
    /// Reading the target back.
    Verifying,
}

/// Is told about each step.
pub type CopyProgress<'a> = &'a mut (dyn FnMut(CopyStep) + Send);

/// A table on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableCopy {
    /// Its name.
    pub table: &'static str,
    /// In the source.
    pub from: CopySum,
    /// In the target.
    pub to: CopySum,
}

/// What was copied, table by table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopyReport {
    /// The tables, in the order of [`COPY_TABLES`].
    pub tables: Vec<TableCopy>,
}

impl CopyReport {
    /// The first table that is not the same on both sides.
    #[must_use]
    pub fn difference(&self) -> Option<&TableCopy> {
        self.tables.iter().find(|table| table.from != table.to)
    }
}

/// Copies everything, reads it back, and completes the target when nothing differs.
///
/// # Errors
/// What source and sink report. A difference is no error of this function: it is in the report, and the
/// target is not complete then.
pub async fn copy(
    source: &mut dyn RowSource,
    sink: &mut dyn RowSink,
    progress: CopyProgress<'_>,
) -> Result<CopyReport, StoreError> {
    let mut report = CopyReport::default();
    for table in COPY_TABLES {
        let kept = sink.kept(table).await?;
        let from = match kept {
            Some(kept) if sum(source, table, CopyPhase::Comparing, progress).await? == kept => kept,
            _ => copy_table(source, sink, table, progress).await?,
        };
        report.tables.push(TableCopy { table: table.name, from, to: CopySum::default() });
    }
    sink.seal().await?;
    for (table, copied) in COPY_TABLES.iter().zip(&mut report.tables) {
        copied.to = sum(sink, table, CopyPhase::Verifying, progress).await?;
    }
    source.end().await?;
    if report.difference().is_none() {
        sink.complete().await?;
    }
    Ok(report)
}

/// Compares two stores and changes neither.
///
/// # Errors
/// What the sources report.
pub async fn compare(
    from: &mut dyn RowSource,
    to: &mut dyn RowSource,
    progress: CopyProgress<'_>,
) -> Result<CopyReport, StoreError> {
    let mut report = CopyReport::default();
    for table in COPY_TABLES {
        let from = sum(from, table, CopyPhase::Comparing, progress).await?;
        let to = sum(to, table, CopyPhase::Verifying, progress).await?;
        report.tables.push(TableCopy { table: table.name, from, to });
    }
    Ok(report)
}

async fn copy_table(
    source: &mut dyn RowSource,
    sink: &mut dyn RowSink,
    table: &'static CopyTable,
    progress: CopyProgress<'_>,
) -> Result<CopySum, StoreError> {
    let mut sum = CopySum::default();
    sink.clear(table).await?;
    source.begin(table).await?;
    loop {
        let rows = source.next().await?;
        if rows.is_empty() {
            break;
        }
        rows.iter().for_each(|row| sum.add(table, row));
        sink.put(table, rows).await?;
        progress(CopyStep { table: table.name, rows: sum.rows, doing: CopyPhase::Copying });
    }
    sink.keep(table, sum).await?;
    Ok(sum)
}

async fn sum<S: RowSource + ?Sized>(
    source: &mut S,
    table: &'static CopyTable,
    doing: CopyPhase,
    progress: CopyProgress<'_>,
) -> Result<CopySum, StoreError> {
    let mut sum = CopySum::default();
    source.begin(table).await?;
    loop {
        let rows = source.next().await?;
        if rows.is_empty() {
            return Ok(sum);
        }
        rows.iter().for_each(|row| sum.add(table, row));
        progress(CopyStep { table: table.name, rows: sum.rows, doing });
    }
}

/// The head of a task from its row.
///
/// # Errors
/// [`StoreError::Corrupt`] for a row that no engine of ours writes.
pub fn copied_head(row: &[Cell]) -> Result<TaskHead, StoreError> {
    let wrong = || StoreError::Corrupt("a task that was copied".into());
    let parent = match row.get(5) {
        Some(Cell::Null) => None,
        _ => Some(TaskId::from_bytes(copied_bytes(row, 5)?)),
    };
    let state = usize::try_from(copied_integer(row, 1)?).ok().and_then(|number| TaskState::ALL.get(number));
    Ok(TaskHead {
        id: TaskId::from_bytes(copied_bytes(row, 0)?),
        context: copied_text(row, 8)?.parse().map_err(|_| wrong())?,
        agent: copied_text(row, 6)?.parse().map_err(|_| wrong())?,
        owner: copied_text(row, 7)?.parse().map_err(|_| wrong())?,
        state: state.copied().ok_or_else(wrong)?,
        created_at: Timestamp::from_millis(copied_integer(row, 3)?),
        updated_at: Timestamp::from_millis(copied_integer(row, 4)?),
        seq: copied_integer(row, 2)?.unsigned_abs(),
        parent,
    })
}

/// A number of a row.
///
/// # Errors
/// [`StoreError::Corrupt`] when there is something else.
pub fn copied_integer(row: &[Cell], at: usize) -> Result<i64, StoreError> {
    match row.get(at) {
        Some(Cell::Integer(number)) => Ok(*number),
        _ => Err(StoreError::Corrupt("a number of a row that was copied".into())),
    }
}

/// A text of a row.
///
/// # Errors
/// [`StoreError::Corrupt`] when there is something else.
pub fn copied_text(row: &[Cell], at: usize) -> Result<&str, StoreError> {
    match row.get(at) {
        Some(Cell::Text(text)) => Ok(text),
        _ => Err(StoreError::Corrupt("a text of a row that was copied".into())),
    }
}

/// Bytes of a row, if there are some.
///
/// # Errors
/// [`StoreError::Corrupt`] when there is something else.
pub fn copied_blob(row: &[Cell], at: usize) -> Result<Option<&[u8]>, StoreError> {
    match row.get(at) {
        Some(Cell::Bytes(bytes)) => Ok(Some(bytes)),
        Some(Cell::Null) => Ok(None),
        _ => Err(StoreError::Corrupt("the bytes of a row that was copied".into())),
    }
}

/// Bytes of a row that are so many.
///
/// # Errors
/// [`StoreError::Corrupt`] when there is something else.
pub fn copied_bytes<const N: usize>(row: &[Cell], at: usize) -> Result<[u8; N], StoreError> {
    let found = copied_blob(row, at)?.and_then(|bytes| bytes.try_into().ok());
    found.ok_or_else(|| StoreError::Corrupt("the bytes of a row that was copied".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[Vec<Cell>]) -> CopySum {
        let mut sum = CopySum::default();
        rows.iter().for_each(|row| sum.add(&COPY_TABLES[0], row));
        sum
    }

    #[test]
    fn a_sum_does_not_depend_on_the_order_of_rows_but_on_every_cell() {
        let (one, two) = (vec![Cell::Text("a".into()), Cell::Null], vec![Cell::Integer(1), Cell::Null]);
        assert_eq!(of(&[one.clone(), two.clone()]), of(&[two.clone(), one.clone()]));
        assert_ne!(of(std::slice::from_ref(&one)), of(&[vec![Cell::Bytes(b"a".to_vec()), Cell::Null]]));
        assert_ne!(of(&[one.clone(), one.clone()]), of(&[one, two]), "a row twice is not another row");
    }

    #[test]
    fn of_derived_columns_it_counts_that_they_are_there() {
        let turns = COPY_TABLES.last().unwrap();
        let sum = |question: Cell| {
            let mut sum = CopySum::default();
            let row: Vec<Cell> = (0..8).map(Cell::Integer).chain([question, Cell::Null]).collect();
            sum.add(turns, &row);
            sum
        };
        assert_eq!(sum(Cell::Text(" a".into())), sum(Cell::Text(" b".into())));
        assert_ne!(sum(Cell::Text(" a".into())), sum(Cell::Null));
    }
}

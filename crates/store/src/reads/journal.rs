//! Reads of the journal: its lines, and the end of its chain.
//!
//! Promises: lines come newest first. It writes no line: lines are written with the change that they are
//! about.

use crate::{JournalHead, JournalQuery, Reply, StoredLine};

/// What can be read of the journal.
pub trait JournalReads {
    /// Lines of the journal, newest first.
    fn journal(&self, query: JournalQuery) -> Reply<'_, Vec<StoredLine>>;

    /// The end of the journal's chain, to be signed; `None` without lines, and for stores that keep no chain.
    fn journal_head(&self) -> Reply<'_, Option<JournalHead>>;
}

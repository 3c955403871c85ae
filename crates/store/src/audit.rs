//! The audit trail as others see it: heads of the journal's chain, and what an audit found.
//!
//! Promises: values only. How the chain is made and checked is the store's own (`sqlite/chain`,
//! `sqlite/verify`).

use agentsite_protocol::Timestamp;

/// The end of the journal at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalHead {
    /// The last line.
    pub seq: u64,
    /// Its hash, which covers every line before it.
    pub hash: [u8; 32],
}

/// A head that the site has signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedHead {
    /// The line.
    pub seq: u64,
    /// When it was signed.
    pub at: Timestamp,
    /// The hash of the line.
    pub hash: [u8; 32],
    /// The signature, in the site's own form.
    pub signature: String,
}

/// What an audit read and found in order.
#[derive(Clone, Default)]
pub struct AuditReport {
    /// Lines of the journal.
    pub lines: u64,
    /// Signed heads, oldest first; their hashes fit the journal, their signatures are for the caller to
    /// check.
    pub heads: Vec<SignedHead>,
    /// Protected rows of other tables.
    pub rows: u64,
    /// Tasks.
    pub tasks: u64,
    /// Events of tasks.
    pub events: u64,
    /// The setting with the site's keys, to check signatures with; secret.
    pub identity: Option<String>,
}

/// Leaves out the site's keys.
impl std::fmt::Debug for AuditReport {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { lines, rows, tasks, events, .. } = self;
        write!(out, "AuditReport({lines} lines, {rows} rows, {tasks} tasks, {events} events)")
    }
}

//! Reads of records, the modest data of capabilities.
//!
//! Promises: a capability that keeps records needs no read of its own. See `records` for what a record is.

use crate::{RecordQuery, Reply, StoredRecord};

/// What can be read from the collections of records.
pub trait RecordReads {
    /// One record of a collection.
    fn record(&self, collection: &'static str, key: &str) -> Reply<'_, Option<StoredRecord>>;

    /// Records of a collection by key; a page has a bounded number of them.
    fn records(&self, query: RecordQuery) -> Reply<'_, Vec<StoredRecord>>;
}

//! Upkeep of a store: expiry, removal from all files, backup, sizes, and closing.
//!
//! Promises: upkeep goes in small portions and never delays changes for long. It does not decide what is old:
//! `Expiry` says so.

use std::path::Path;

use crate::{Expiry, Reply, StorageQuery, StorageUse, StoreStats};

/// How a store is kept in order: expiry, removal, backup, sizes, and its end.
pub trait Upkeep {
    /// Removes finished tasks by age and by number, oldest first, in small portions; gives how many went.
    fn expire(&self, expiry: Expiry) -> Reply<'_, usize>;

    /// Makes sure that what was removed is in none of the store's files any more: neither in the indexes of
    /// words nor in the log. Does nothing when nothing was removed since the last time.
    fn scrub(&self) -> Reply<'_, ()>;

    /// Writes a consistent copy of everything to a new file while the site runs.
    fn backup(&self, to: &Path) -> Reply<'_, ()>;

    /// Sizes and counts for people and metrics.
    fn stats(&self) -> Reply<'_, StoreStats>;

    /// How many bytes the accounts hold, and the limits.
    fn storage(&self, query: StorageQuery) -> Reply<'_, StorageUse>;

    /// Writes out what is queued and stops; later changes are refused with
    /// [`StoreError::Stopped`](crate::StoreError::Stopped).
    fn close(&self) -> Reply<'_, ()>;
}

//! Reads of registry entries: by id, by filter, by due time and by the shape of their names.
//!
//! Promises: lists are bounded and ordered by id. It does not decide who may see an entry.

use agentsite_protocol::Timestamp;
use agentsite_protocol::listing::ListingId;

use crate::{ListingFilter, NameHolder, Page, Registration, Reply};

/// What can be read about registry entries.
pub trait ListingReads {
    /// One entry of the hub.
    fn listing(&self, id: &ListingId) -> Reply<'_, Option<Registration>>;

    /// Entries of the hub that match, by id. `after` is a place in the order of ids, which callers send back:
    /// any text is one, and `next` of a page is the id of its last entry.
    fn listings(
        &self,
        filter: ListingFilter,
        after: Option<String>,
        limit: usize,
    ) -> Reply<'_, Page<Registration, String>>;

    /// How many entries of the hub match.
    fn count_listings(&self, filter: ListingFilter) -> Reply<'_, u64>;

    /// Those of these entries that exist, by id.
    fn listings_of(&self, ids: Vec<ListingId>) -> Reply<'_, Vec<Registration>>;

    /// Entries that are to be looked at by `now`, the longest overdue first.
    fn due_listings(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<Registration>>;

    /// When the next entry is to be looked at.
    fn next_due_listing(&self) -> Reply<'_, Option<Timestamp>>;

    /// Who has names of these shapes (see [`Registration::shape`]): at most a few for each, by id.
    fn name_holders(&self, shapes: Vec<String>) -> Reply<'_, Vec<NameHolder>>;
}

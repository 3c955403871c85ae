//! The verb of a site that goes through every agent of the hub, page by page.
//!
//! Promises: in the order of their names everywhere, each once, whether the site runs it or only knows it;
//! one who may not see an agent does not meet it. Entries that do not count (pending, suspended, lapsed) are
//! not here; their owners find them in the hub.

use agentsite_protocol::Caller;
use agentsite_protocol::listing::{Listing, Standing};
use agentsite_store::ListingFilter;

use super::{MAX_PAGE, Site};
use crate::SiteError;

impl Site {
    /// The agents after `after` that this caller may see, by their names everywhere; at most 500. Fewer than
    /// `limit` are the last ones.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    pub async fn listings_page(
        &self,
        caller: &Caller,
        base: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listing>, SiteError> {
        let limit = limit.clamp(1, MAX_PAGE);
        let counting = ListingFilter { standings: vec![Standing::Active], ..ListingFilter::default() };
        let page = self.hub_page(caller, counting, after.map(str::to_owned), limit).await?;
        let mut listings = self.listings(caller, base);
        listings.retain(|listing| after.is_none_or(|after| listing.id.as_str() > after));
        listings.extend(page.items);
        listings.sort_by(|one, other| one.id.cmp(&other.id));
        listings.truncate(limit);
        Ok(listings)
    }
}

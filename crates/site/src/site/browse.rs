//! The verb of a site that goes through every agent of the hub, page by page.
//!
//! Promises: in the order of their names everywhere, each once; one who may not see an agent does not meet it. So far these are the agents that the
//! site runs.

use agentsite_protocol::Caller;
use agentsite_protocol::listing::Listing;

use super::{MAX_PAGE, Site};
use crate::SiteError;

impl Site {
    /// The agents after `after` that this caller may see, by their names everywhere; at most 500. Fewer than `limit` are the last ones.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    #[expect(clippy::unused_async, reason = "agents known from elsewhere lie in the store")]
    pub async fn listings_page(
        &self,
        caller: &Caller,
        base: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listing>, SiteError> {
        let mut listings = self.listings(caller, base);
        listings.retain(|listing| after.is_none_or(|after| listing.id.as_str() > after));
        listings.sort_by(|one, other| one.id.cmp(&other.id));
        listings.truncate(limit.clamp(1, MAX_PAGE));
        Ok(listings)
    }
}

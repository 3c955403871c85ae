//! The agents that a site runs or knows, by name and page by page.
//!
//! Promises: in the order of their names everywhere, each once, whether the site runs it or only knows it;
//! one who may not see an agent does not meet it. Entries that do not count (pending, suspended, lapsed) are
//! not here; their owners find them in the registry.

use agentsite_protocol::Caller;
use agentsite_protocol::listing::{Listing, ListingId, Standing};
use agentsite_registry::sees;
use agentsite_store::ListingFilter;

use super::MAX_PAGE;
use super::finding::Search;
use crate::SiteError;

impl Search {
    /// The agents after `after` that this caller may see, by their names everywhere; at most 500. Fewer than
    /// `limit` are the last ones.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    pub async fn page(
        &self,
        caller: &Caller,
        base: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listing>, SiteError> {
        let limit = limit.clamp(1, MAX_PAGE);
        let counting = ListingFilter { standings: vec![Standing::Active], ..ListingFilter::default() };
        let page = self.registry.page(caller, counting, after.map(str::to_owned), limit).await?;
        let mut listings = self.listings(caller, base);
        listings.retain(|listing| after.is_none_or(|after| listing.id.as_str() > after));
        listings.extend(page.items);
        listings.sort_by(|one, other| one.id.cmp(&other.id));
        listings.truncate(limit);
        Ok(listings)
    }

    /// All agents that this caller may see, by name.
    #[must_use]
    pub fn listings(&self, caller: &Caller, base: &str) -> Vec<Listing> {
        self.local.list(caller).iter().map(|entry| self.own_listing(entry, base)).collect()
    }

    /// The agent of this name everywhere, if this caller may see it.
    fn own(&self, caller: &Caller, id: &ListingId, base: &str) -> Option<Listing> {
        self.listings(caller, base).into_iter().find(|listing| listing.id == *id)
    }

    /// The agent of this name everywhere, run here or known from elsewhere, if this caller may see it.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    pub async fn listing(
        &self,
        caller: &Caller,
        id: &ListingId,
        base: &str,
    ) -> Result<Option<Listing>, SiteError> {
        if let Some(own) = self.own(caller, id, base) {
            return Ok(Some(own));
        }
        self.registered(caller, id).await
    }

    /// The agent of this name that the site knows from elsewhere, if this caller may see it.
    async fn registered(&self, caller: &Caller, id: &ListingId) -> Result<Option<Listing>, SiteError> {
        let found = self.store.listing(id).await?.map(|entry| entry.listing);
        Ok(found.filter(|listing| sees(caller, listing)))
    }
}

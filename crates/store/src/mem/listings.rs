//! The entries of the hub in memory: one map by id.
//!
//! Promises: all guards of a change are checked, one after the other as if those before were done, before
//! anything is written.

use std::collections::BTreeMap;
use std::ops::Bound;

use agentsite_protocol::listing::ListingId;
use agentsite_protocol::{Principal, Timestamp};

use super::MemStore;
use crate::listing::HOLDERS;
use crate::query::MAX_PAGE;
use crate::storage::fixed;
use crate::{ListingChange, ListingFilter, ListingReads, NameHolder, Page, Registration, Reply, StoreError};

impl ListingReads for MemStore {
    fn listing(&self, id: &ListingId) -> Reply<'_, Option<Registration>> {
        self.reply(|content| content.listings.get(id))
    }

    fn listings(
        &self,
        filter: ListingFilter,
        after: Option<String>,
        limit: usize,
    ) -> Reply<'_, Page<Registration, String>> {
        self.reply(|content| content.listings.list(&filter, after.as_deref(), limit))
    }

    fn count_listings(&self, filter: ListingFilter) -> Reply<'_, u64> {
        self.reply(|content| content.listings.count(&filter))
    }

    fn listings_of(&self, ids: Vec<ListingId>) -> Reply<'_, Vec<Registration>> {
        self.reply(|content| content.listings.of(&ids))
    }

    fn due_listings(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<Registration>> {
        self.reply(|content| content.listings.due(now, limit))
    }

    fn next_due_listing(&self) -> Reply<'_, Option<Timestamp>> {
        self.reply(|content| content.listings.next_due())
    }

    fn name_holders(&self, shapes: Vec<String>) -> Reply<'_, Vec<NameHolder>> {
        self.reply(|content| content.listings.holders(&shapes))
    }
}

/// What an entry takes.
fn size(kept: &Registration) -> u64 {
    fixed::LISTING + serde_json::to_string(kept).map_or(0, |body| body.len() as u64)
}

#[derive(Default)]
pub(super) struct Listings(BTreeMap<ListingId, Registration>);

impl Listings {
    /// Refuses changes that do not fit.
    pub(super) fn guard<'a>(
        &self,
        changes: impl Iterator<Item = &'a ListingChange>,
    ) -> Result<(), StoreError> {
        let mut meanwhile: BTreeMap<&ListingId, Option<(&Principal, u64)>> = BTreeMap::new();
        for change in changes {
            let (id, (owner, expected)) = (change.id(), change.assumes());
            let kept = || self.0.get(id).map(|kept| (&kept.listing.owner, kept.revision));
            let found = meanwhile.get(id).copied().unwrap_or_else(kept);
            if found.is_some_and(|(of, _)| of != owner) {
                return Err(StoreError::Foreign(id.to_string()));
            }
            if found.map_or(0, |(_, revision)| revision) != expected {
                return Err(StoreError::Moved(id.to_string()));
            }
            meanwhile.insert(id, matches!(change, ListingChange::Put(_)).then_some((owner, expected + 1)));
        }
        Ok(())
    }

    /// Makes a change whose guard has been checked.
    pub(super) fn change(&mut self, change: ListingChange) {
        match change {
            ListingChange::Put(new) => drop(self.0.insert(new.listing.id.clone(), *new)),
            ListingChange::Remove { id, .. } => drop(self.0.remove(&id)),
        }
    }

    /// What each entry takes, by owner.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.values().map(|kept| (kept.listing.owner.as_str(), size(kept)))
    }

    /// What a change would add, and to whose storage.
    pub(super) fn adds<'a>(&self, change: &'a ListingChange) -> Option<(&'a str, u64)> {
        let ListingChange::Put(new) = change else { return None };
        let before = self.0.get(&new.listing.id).map_or(0, size);
        Some((new.listing.owner.as_str(), size(new).saturating_sub(before)))
    }

    pub(super) fn get(&self, id: &ListingId) -> Option<Registration> {
        self.0.get(id).cloned()
    }

    pub(super) fn list(
        &self,
        filter: &ListingFilter,
        after: Option<&str>,
        limit: usize,
    ) -> Page<Registration, String> {
        let limit = limit.clamp(1, MAX_PAGE);
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.0.range::<str, _>((from, Bound::Unbounded)).map(|(_, kept)| kept);
        let mut items: Vec<Registration> =
            rest.filter(|kept| filter.fits(&kept.listing)).take(limit + 1).cloned().collect();
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|kept| kept.listing.id.to_string());
        Page { items, next }
    }

    pub(super) fn count(&self, filter: &ListingFilter) -> u64 {
        self.0.values().filter(|kept| filter.fits(&kept.listing)).count() as u64
    }

    pub(super) fn of(&self, ids: &[ListingId]) -> Vec<Registration> {
        self.0.values().filter(|kept| ids.contains(&kept.listing.id)).cloned().collect()
    }

    pub(super) fn due(&self, now: Timestamp, limit: usize) -> Vec<Registration> {
        let mut due: Vec<&Registration> =
            self.0.values().filter(|kept| kept.due.is_some_and(|due| due <= now)).collect();
        due.sort_by_key(|kept| kept.due);
        due.into_iter().take(limit.min(MAX_PAGE)).cloned().collect()
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.0.values().filter_map(|kept| kept.due).min()
    }

    pub(super) fn holders(&self, shapes: &[String]) -> Vec<NameHolder> {
        let of_one = |shape: &String| {
            let same = self.0.values().filter(move |kept| kept.shape == *shape).take(HOLDERS);
            let holder = |kept: &Registration| NameHolder {
                shape: kept.shape.clone(),
                id: kept.listing.id.clone(),
                owner: kept.listing.owner.clone(),
            };
            same.map(holder).collect::<Vec<_>>()
        };
        shapes.iter().flat_map(of_one).collect()
    }
}

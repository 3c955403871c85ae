//! The entries of others in the index: those that are registered, kept in step with the store.
//!
//! Promises: what the registry has acknowledged is found by the next question, unless more changed at once
//! than the change feed keeps; then, and at every start, all entries are compared with the index in portions
//! between which questions are answered. Entries that do not count are not found.

use std::collections::{BTreeSet, HashMap, HashSet};

use agentsite_peers::{AgentCodes, PROTOCOL_MODEL, published_vectors};
use agentsite_protocol::Filter;
use agentsite_protocol::listing::{ListingId, Standing};
use agentsite_registry::{EntryChanges, EntryWatch};
use agentsite_search::{Audience, Entry, FindError, Finder, PublishedVectors};
use agentsite_store::{ListingFilter, Registration};

use super::{OWN, Search, TELL_EVERY, put_missing};
use crate::SiteError;
use crate::site::listings::searchable;

/// Entries compared at a time: a question waits no longer than these take.
const PORTION: usize = 256;

/// What is still to be brought into the index.
#[derive(Debug)]
pub(super) struct Registered {
    entries: EntryWatch,
    /// Changed, and not yet in the index.
    waiting: BTreeSet<ListingId>,
    /// Whether something may be missing, so that everything must be compared.
    behind: bool,
}

impl Registered {
    pub(super) fn new(entries: EntryWatch) -> Self {
        Self { entries, waiting: BTreeSet::new(), behind: true }
    }

    /// Notes what changed since it was last asked.
    async fn hear(&mut self) -> Result<(), SiteError> {
        match self.entries.look().await? {
            EntryChanges::Entries(ids) => self.waiting.extend(ids),
            EntryChanges::All => self.behind = true,
        }
        Ok(())
    }
}

impl Search {
    /// Puts into the index what changed among the entries of others since it was last looked; true when
    /// something did.
    pub(super) async fn settle_registered(&self) -> Result<bool, SiteError> {
        let mut registered = self.finding.registered.lock().await;
        registered.hear().await?;
        let changed = !registered.waiting.is_empty();
        while !registered.waiting.is_empty() {
            let ids: Vec<ListingId> = registered.waiting.iter().take(PORTION).cloned().collect();
            let put = self.counting(&self.store.listings_of(ids.clone()).await?).await?;
            let kept: HashSet<String> = put.iter().map(|entry| entry.id.clone()).collect();
            let gone = ids.iter().filter(|id| !kept.contains(id.as_str()));
            let gone: Vec<String> = gone.map(ListingId::to_string).collect();
            self.finding.apart(async move |finder| replace(finder, put, &gone).await).await?;
            for id in &ids {
                registered.waiting.remove(id);
            }
        }
        Ok(changed)
    }

    /// Compares every entry with the index if something may be missing, and takes out of it what nobody knows
    /// any more; true when it did.
    pub(super) async fn catch_up(&self) -> Result<bool, SiteError> {
        if !std::mem::take(&mut self.finding.registered.lock().await.behind) {
            return Ok(false);
        }
        let done = self.compare_all().await;
        if done.is_err() {
            self.finding.registered.lock().await.behind = true;
        }
        done.map(|()| true)
    }

    async fn compare_all(&self) -> Result<(), SiteError> {
        let filter = ListingFilter { standings: vec![Standing::Active], ..ListingFilter::default() };
        let of = self.store.count_listings(filter.clone()).await?;
        let (mut after, mut done) = (None, 0_usize);
        loop {
            // Held for a portion: what was read may not overtake a change that was read later.
            let registered = self.finding.registered.lock().await;
            let page = self.store.listings(filter.clone(), after, PORTION).await?;
            let put = self.counting(&page.items).await?;
            self.finding.apart(async move |finder| put_missing(finder, put).await).await?;
            drop(registered);
            let before = done;
            done += page.items.len();
            if done / TELL_EVERY > before / TELL_EVERY {
                tracing::info!(done, of, "Comparing the registry with its index.");
            }
            after = page.next;
            if after.is_none() {
                return self.drop_unregistered().await;
            }
        }
    }

    /// Those that count, as they are searched; with the vectors that their publishers made, where the index
    /// uses the same model.
    async fn counting(&self, entries: &[Registration]) -> Result<Vec<Entry>, SiteError> {
        let mut vectors = match self.finding.finder.model().as_str() {
            PROTOCOL_MODEL => published_vectors(&self.store, entries).await?,
            _ => HashMap::new(),
        };
        let entry = |entry: &Registration| Entry {
            vectors: vectors.remove(&entry.listing.id).map(|AgentCodes { model, agent, skills }| {
                PublishedVectors { model, whole: agent, passages: skills }
            }),
            ..searchable(&entry.listing)
        };
        Ok(active(entries).map(entry).collect())
    }

    /// Takes out of the index the entries of others that nobody knows any more or that no longer count.
    async fn drop_unregistered(&self) -> Result<(), SiteError> {
        let all = async |finder: &Finder| Ok(finder.matching(&Filter::default(), &Audience::everything()));
        let mut ids = self.finding.apart(all).await?;
        ids.retain(|id| !id.starts_with(OWN));
        for portion in ids.chunks(PORTION) {
            let registered = self.finding.registered.lock().await;
            let known = portion.iter().filter_map(|id| id.parse().ok()).collect();
            let known = self.store.listings_of(known).await?;
            let kept: HashSet<String> = active(&known).map(|entry| entry.listing.id.to_string()).collect();
            let gone: Vec<String> = portion.iter().filter(|id| !kept.contains(*id)).cloned().collect();
            self.finding.apart(async move |finder| replace(finder, Vec::new(), &gone).await).await?;
            drop(registered);
        }
        Ok(())
    }
}

async fn replace(finder: &Finder, put: Vec<Entry>, gone: &[String]) -> Result<(), FindError> {
    put_missing(finder, put).await?;
    if gone.is_empty() { Ok(()) } else { finder.remove(gone) }
}

/// Those that count.
fn active(entries: &[Registration]) -> impl Iterator<Item = &Registration> {
    entries.iter().filter(|entry| entry.listing.standing == Standing::Active)
}

//! EntryWatch: which entries changed since the last look, read from the change feed of the store.
//!
//! Promises: a change that was acknowledged, through any handle of the store, is in what the next look gives.
//! A watcher that is too far behind reads everything again. A look costs one comparison while nothing has
//! changed. It does not say how an entry changed, and keeps no entries.

use std::collections::BTreeSet;

use agentsite_protocol::listing::ListingId;
use agentsite_store::{Entity, FeedReader, SharedStore, StoreError, Topic, Touched};

/// What changed since the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryChanges {
    /// These entries were written or removed.
    Entries(BTreeSet<ListingId>),
    /// More than the feed keeps: read everything again.
    All,
}

/// A place in the feed of entries.
#[derive(Debug)]
pub struct EntryWatch(FeedReader);

impl EntryWatch {
    /// Begins now: what changed before is not in what it gives.
    pub(crate) fn new(store: SharedStore) -> Self {
        Self(FeedReader::new(store, Topic::Listings))
    }

    /// What changed since the last look. When it fails or is dropped, the next look gives the same again.
    ///
    /// # Errors
    /// What the store reports when its feed cannot be read.
    pub async fn look(&mut self) -> Result<EntryChanges, StoreError> {
        Ok(match self.0.look().await? {
            Touched::Entities(touched) => {
                EntryChanges::Entries(touched.into_iter().filter_map(entry).collect())
            }
            Touched::All => EntryChanges::All,
        })
    }

    /// Waits until there is something to look at; gives up when the store has closed. Safe to drop.
    pub async fn wait(&mut self) {
        self.0.wait().await;
    }
}

fn entry(entity: Entity) -> Option<ListingId> {
    if let Entity::Listing(id) = entity { Some(id) } else { None }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentsite_protocol::Principal;
    use agentsite_store::{Change, ListingChange, MemStore, Registration, Unjournaled};
    use serde_json::json;

    use super::*;

    fn id(number: usize) -> ListingId {
        ListingId::of("example.org", "agents", &number.to_string())
    }

    async fn put(store: &MemStore, numbers: std::ops::Range<usize>) {
        let entry = |number: usize| -> Registration {
            let listing = json!({
                "id": id(number), "name": "w", "description": "", "mediaType": "x", "local": false,
                "visibility": "public", "owner": Principal::admin(), "standing": "active", "proof": "none",
                "live": true, "trust": 0.5, "registeredAt": "2026-01-01T00:00:00Z",
                "updatedAt": "2026-01-01T00:00:00Z",
            });
            serde_json::from_value(json!({ "listing": listing, "revision": 1 })).unwrap()
        };
        let edits = numbers.map(|number| ListingChange::Put(Box::new(entry(number))));
        let store: SharedStore = Arc::new(store.clone());
        store.commit(Change::unjournaled(Unjournaled::EntryCheck).edits(edits)).await.unwrap();
    }

    #[tokio::test]
    async fn a_watcher_gets_what_another_handle_of_the_store_changed() {
        let store = MemStore::new();
        put(&store, 0..1).await;
        let mut watch = EntryWatch::new(Arc::new(store.clone()));
        assert_eq!(watch.look().await.unwrap(), EntryChanges::Entries(BTreeSet::new()), "from now on");
        let writing = tokio::spawn(async move { put(&store, 1..3).await });
        watch.wait().await;
        writing.await.unwrap();
        assert_eq!(watch.look().await.unwrap(), EntryChanges::Entries([id(1), id(2)].into()));
        assert_eq!(watch.look().await.unwrap(), EntryChanges::Entries(BTreeSet::new()));
    }

    #[tokio::test]
    async fn four_full_imports_are_named_one_by_one_and_more_are_read_again() {
        let store = MemStore::new();
        let mut watch = EntryWatch::new(Arc::new(store.clone()));
        for import in 0..4 {
            put(&store, import * 1_000..(import + 1) * 1_000).await;
        }
        let EntryChanges::Entries(changed) = watch.look().await.unwrap() else { panic!("not too many") };
        assert_eq!(changed.len(), 4_000);
        put(&store, 4_000..10_000).await;
        assert_eq!(watch.look().await.unwrap(), EntryChanges::All);
        assert_eq!(watch.look().await.unwrap(), EntryChanges::Entries(BTreeSet::new()));
    }
}

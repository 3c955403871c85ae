//! Records in memory: one map by collection and key.
//!
//! Promises: all guards of a change are checked before anything is written.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Bound;

use agentsite_protocol::{Principal, Timestamp};

use super::MemStore;
use crate::query::MAX_PAGE;
use crate::storage::fixed;
use crate::{Entity, RecordChange, RecordQuery, RecordReads, Reply, StoreError, StoredRecord, records};

impl RecordReads for MemStore {
    fn record(&self, collection: &'static str, key: &str) -> Reply<'_, Option<StoredRecord>> {
        self.reply(|content| content.records.get(collection, key))
    }

    fn records(&self, query: RecordQuery) -> Reply<'_, Vec<StoredRecord>> {
        self.reply(|content| content.records.list(&query))
    }
}

type RecordKey = (String, String);

#[derive(Default)]
pub(super) struct Records(BTreeMap<RecordKey, StoredRecord>);

fn place(collection: &str, key: &str) -> RecordKey {
    (collection.to_owned(), key.to_owned())
}

/// What a record takes.
fn size(record: &StoredRecord) -> u64 {
    fixed::SETTING + (record.key.len() + record.body.len()) as u64
}

impl Records {
    /// Refuses changes that do not fit.
    pub(super) fn guard<'a>(
        &self,
        changes: impl Iterator<Item = &'a RecordChange>,
    ) -> Result<(), StoreError> {
        let found = |collection: &str, key: &str| {
            Ok::<_, Infallible>(self.0.get(&place(collection, key)).map(|record| record.revision))
        };
        match records::guard(changes, found) {
            Ok(None) => Ok(()),
            Ok(Some(refusal)) => Err(refusal),
            Err(never) => match never {},
        }
    }

    /// Makes a change whose guard has been checked.
    pub(super) fn change(&mut self, change: RecordChange) {
        match change {
            RecordChange::Put { collection, record } => {
                drop(self.0.insert(place(collection, &record.key), record));
            }
            RecordChange::Remove { collection, key, .. } => drop(self.0.remove(&place(collection, &key))),
        }
    }

    pub(super) fn get(&self, collection: &str, key: &str) -> Option<StoredRecord> {
        self.0.get(&place(collection, key)).cloned()
    }

    pub(super) fn list(&self, query: &RecordQuery) -> Vec<StoredRecord> {
        let after = query.after.as_deref().unwrap_or_default();
        let from = place(query.collection, after);
        let from = if query.after.is_some() { Bound::Excluded(from) } else { Bound::Included(from) };
        let all = self.0.range((from, Bound::Unbounded));
        let of_collection = all.take_while(|((collection, _), _)| collection == query.collection);
        let wanted = of_collection
            .map(|(_, record)| record)
            .filter(|record| query.owner.as_ref().is_none_or(|owner| record.owner.as_ref() == Some(owner)));
        wanted.take(query.limit.min(MAX_PAGE)).cloned().collect()
    }

    /// Removes those whose time has come; gives which.
    pub(super) fn expire(&mut self, now: Timestamp) -> Vec<Entity> {
        let over = |record: &StoredRecord| record.expires_at.is_some_and(|end| end <= now);
        let gone = self.0.extract_if(.., |_, record| over(record));
        gone.map(|((collection, key), _)| Entity::Record { collection, key }).collect()
    }

    /// What each record takes, by owner.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.values().map(|record| (record.owner.as_ref().map_or("", Principal::as_str), size(record)))
    }

    /// What a change would add, and to whose storage.
    pub(super) fn adds<'a>(&self, change: &'a RecordChange) -> Option<(&'a Principal, u64)> {
        let RecordChange::Put { collection, record } = change else { return None };
        let before = self.0.get(&place(collection, &record.key)).map_or(0, size);
        Some((record.owner.as_ref()?, size(record).saturating_sub(before)))
    }
}

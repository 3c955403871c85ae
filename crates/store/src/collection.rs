//! Collection: the records of one capability, read and written as values.
//!
//! Promises: a capability that keeps its data here needs no table, no method of the store and no list of
//! ids. A record that cannot be read stays in the store, is left out of lists, and is named in the log. What
//! an earlier version kept in a setting is taken over in one commit. It keeps nothing in memory and does not
//! say what a value means.

use std::marker::PhantomData;

use agentsite_protocol::Principal;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{
    Admittance, Change, RecordChange, RecordQuery, SettingChange, SharedStore, StoreError, StoredRecord,
    Unjournaled,
};

/// Records that are read at once.
const PAGE: usize = 500;

/// The records of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Collection<T> {
    name: &'static str,
    kind: PhantomData<fn() -> T>,
}

/// A value with the revision of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revised<T> {
    /// The key of the record in its collection.
    pub key: String,
    /// How often the record was written; a change of it names this.
    pub revision: u64,
    /// What it holds.
    pub value: T,
}

impl<T: Serialize + DeserializeOwned> Collection<T> {
    /// The collection of this name; a name is used by one capability only.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, kind: PhantomData }
    }

    /// What it is called in the store.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Everything in it, by key.
    ///
    /// # Errors
    /// What the store reports when it cannot be read.
    pub async fn all(&self, store: &SharedStore) -> Result<Vec<Revised<T>>, StoreError> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = store.records(RecordQuery { after, ..RecordQuery::of(self.name, PAGE) }).await?;
            let Some(last) = page.last() else { return Ok(all) };
            after = Some(last.key.clone());
            all.extend(page.into_iter().filter_map(|record| self.read(record)));
        }
    }

    /// One of them.
    ///
    /// # Errors
    /// What the store reports when it cannot be read.
    pub async fn get(&self, store: &SharedStore, key: &str) -> Result<Option<Revised<T>>, StoreError> {
        Ok(store.record(self.name, key).await?.and_then(|record| self.read(record)))
    }

    fn read(&self, record: StoredRecord) -> Option<Revised<T>> {
        match serde_json::from_str(&record.body) {
            Ok(value) => Some(Revised { key: record.key, revision: record.revision, value }),
            Err(error) => {
                let (collection, key) = (self.name, record.key);
                tracing::warn!(collection, key, %error, "A record cannot be read and is left out.");
                None
            }
        }
    }

    /// The change that makes a record, or a new one of the revision after `before`; 0 when there is none.
    ///
    /// # Errors
    /// [`StoreError::Engine`] when the value has no JSON form.
    pub fn put(
        &self,
        key: &str,
        owner: Option<&Principal>,
        before: u64,
        value: &T,
    ) -> Result<RecordChange, StoreError> {
        let body = serde_json::to_string(value).map_err(|error| StoreError::Engine(error.to_string()))?;
        let record = StoredRecord::new(key, owner.cloned(), body);
        Ok(RecordChange::Put {
            collection: self.name,
            record: StoredRecord { revision: before + 1, ..record },
        })
    }

    /// The change that removes a record of this revision.
    #[must_use]
    pub fn remove(&self, key: &str, revision: u64) -> RecordChange {
        RecordChange::Remove { collection: self.name, key: key.to_owned(), revision }
    }

    /// Takes over what an earlier version kept in one setting for each id, named by `prefix`, with the ids in
    /// the setting `list`. What cannot be read stays where it is.
    ///
    /// # Errors
    /// What the store reports when it cannot be read or written.
    pub async fn adopt_listed(
        &self,
        store: &SharedStore,
        list: &str,
        prefix: &str,
        owner: impl Fn(&T) -> Principal,
    ) -> Result<(), StoreError> {
        let Some(ids) = store.setting(list).await? else { return Ok(()) };
        let (mut values, mut settings) = (Vec::new(), vec![list.to_owned()]);
        for id in ids.split_whitespace() {
            let setting = format!("{prefix}:{id}");
            let text = store.setting(&setting).await?.unwrap_or_default();
            if let Ok(value) = serde_json::from_str::<T>(&text) {
                values.push((id.to_owned(), Some(owner(&value)), value));
                settings.push(setting);
            }
        }
        self.adopt(store, values, settings).await
    }

    /// Takes over what an earlier version kept in settings: `values` become records, `settings` go.
    ///
    /// # Errors
    /// What the store reports when it cannot be written.
    pub async fn adopt(
        &self,
        store: &SharedStore,
        values: Vec<(String, Option<Principal>, T)>,
        settings: Vec<String>,
    ) -> Result<(), StoreError> {
        let records = values.iter().map(|(key, owner, value)| self.put(key, owner.as_ref(), 0, value));
        let gone = |name| SettingChange { name, value: None, owner: None };
        let change = Change::unjournaled(Unjournaled::Migration)
            .edits(records.collect::<Result<Vec<_>, _>>()?)
            .edits(settings.into_iter().map(gone))
            // The same data in another place is not new work.
            .admittance(Admittance::Always);
        store.commit(change).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::MemStore;

    const NUMBERS: Collection<u32> = Collection::new("numbers");

    async fn commit(store: &SharedStore, records: Vec<RecordChange>) {
        store.commit(Change::unjournaled(Unjournaled::Migration).edits(records)).await.unwrap();
    }

    #[tokio::test]
    async fn values_are_kept_by_revision_and_read_in_pages() {
        let store: SharedStore = Arc::new(MemStore::default());
        let count = 2 * u32::try_from(PAGE).unwrap() + 1;
        for number in 0..count {
            let put = NUMBERS.put(&format!("{number:05}"), None, 0, &number).unwrap();
            commit(&store, vec![put]).await;
        }
        let all = NUMBERS.all(&store).await.unwrap();
        assert_eq!(all.iter().map(|one| one.value).collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
        commit(&store, vec![NUMBERS.put("00001", None, 1, &7).unwrap(), NUMBERS.remove("00002", 1)]).await;
        let changed = Revised { key: "00001".into(), revision: 2, value: 7 };
        assert_eq!(NUMBERS.get(&store, "00001").await.unwrap(), Some(changed));
        assert_eq!(NUMBERS.get(&store, "00002").await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_left_out_and_left_alone() {
        let store: SharedStore = Arc::new(MemStore::default());
        const WORDS: Collection<String> = Collection::new("numbers");
        commit(&store, vec![WORDS.put("a", None, 0, &"x".into()).unwrap()]).await;
        assert_eq!(NUMBERS.all(&store).await.unwrap(), Vec::new());
        assert_eq!(WORDS.all(&store).await.unwrap().len(), 1);
    }
}

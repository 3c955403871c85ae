//! Cases about records: guards by revision, lists, owners and ends.
//!
//! What counts against the storage of an owner is in `storage`.

use agentsite_protocol::Principal;

use super::Fresh;
use super::samples::{at, bare};
use crate::{Expiry, RecordChange, RecordQuery, SharedStore, StoreError, StoredRecord};

const COLLECTION: &str = "things";

fn put(record: &StoredRecord) -> RecordChange {
    RecordChange::Put { collection: COLLECTION, record: record.clone() }
}

fn remove(key: &str, revision: u64) -> RecordChange {
    RecordChange::Remove { collection: COLLECTION, key: key.into(), revision }
}

async fn commit(store: &SharedStore, records: Vec<RecordChange>) -> Result<(), StoreError> {
    store.commit(bare().edits(records)).await
}

async fn keys(store: &SharedStore, query: RecordQuery) -> Vec<String> {
    store.records(query).await.unwrap().into_iter().map(|record| record.key).collect()
}

pub async fn a_record_is_put_read_and_removed(mut fresh: Fresh) {
    let store = fresh.store();
    let owner = Some("key:a".parse::<Principal>().unwrap());
    let first = StoredRecord { expires_at: Some(at(90)), ..StoredRecord::new("k", owner, "one".into()) };
    commit(&store, vec![put(&first)]).await.unwrap();
    assert_eq!(store.record(COLLECTION, "k").await.unwrap(), Some(first.clone()));
    assert_eq!(store.record("others", "k").await.unwrap(), None, "another collection");
    let second = first.next("two".into());
    commit(&store, vec![put(&second)]).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(store.record(COLLECTION, "k").await.unwrap(), Some(second));
    commit(&store, vec![remove("k", 2)]).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(store.record(COLLECTION, "k").await.unwrap(), None);
}

pub async fn a_record_is_changed_only_from_its_last_revision(mut fresh: Fresh) {
    let store = fresh.store();
    let first = StoredRecord::new("k", None, "one".into());
    commit(&store, vec![put(&first)]).await.unwrap();
    let other = StoredRecord::new("other", None, "x".into());
    let late = first.clone().next("late".into()).next("later".into());
    for wrong in [put(&first), put(&late), remove("k", 2), remove("never", 1)] {
        let refused = commit(&store, vec![put(&other), wrong.clone()]).await;
        assert!(matches!(refused, Err(StoreError::Moved(_))), "{wrong:?}: {refused:?}");
    }
    // Changes of one commit see those before them.
    let again = StoredRecord::new("k", None, "again".into());
    commit(&store, vec![remove("k", 1), put(&again), put(&again.clone().next("twice".into()))])
        .await
        .unwrap();
    let store = fresh.reread().await;
    assert_eq!(store.record(COLLECTION, "k").await.unwrap().unwrap().body, "twice");
    assert_eq!(store.record(COLLECTION, "other").await.unwrap(), None, "a refused change leaves nothing");
}

pub async fn records_are_listed_by_key_and_owner(mut fresh: Fresh) {
    let store = fresh.store();
    for (key, owner) in [("c", "key:a"), ("a", "key:b"), ("b", "key:a")] {
        let record = StoredRecord::new(key, Some(owner.parse().unwrap()), key.repeat(3));
        commit(&store, vec![put(&record)]).await.unwrap();
    }
    let elsewhere = RecordChange::Put { collection: "u", record: StoredRecord::new("z", None, "z".into()) };
    commit(&store, vec![elsewhere]).await.unwrap();
    let store = fresh.reread().await;
    let all = RecordQuery::of(COLLECTION, 10);
    assert_eq!(keys(&store, all.clone()).await, ["a", "b", "c"]);
    assert_eq!(keys(&store, RecordQuery { after: Some("a".into()), limit: 1, ..all.clone() }).await, ["b"]);
    assert_eq!(
        keys(&store, RecordQuery { owner: Some("key:a".parse::<Principal>().unwrap()), ..all }).await,
        ["b", "c"]
    );
}

pub async fn a_record_goes_when_its_time_has_come(mut fresh: Fresh) {
    let store = fresh.store();
    for (key, end) in [("early", Some(at(10))), ("late", Some(at(20))), ("always", None)] {
        let record = StoredRecord { expires_at: end, ..StoredRecord::new(key, None, "x".into()) };
        commit(&store, vec![put(&record)]).await.unwrap();
    }
    store.expire(Expiry { now: at(10), portion: 100, ..Expiry::default() }).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(keys(&store, RecordQuery::of(COLLECTION, 10)).await, ["always", "late"]);
}

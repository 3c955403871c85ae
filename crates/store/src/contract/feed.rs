//! Cases about the change feed: what commits touched, for readers that follow and for readers that fell
//! behind.

use agentsite_protocol::TaskState;

use super::Fresh;
use super::conversations::{put as put_talk, talk};
use super::keeping::key;
use super::listings::{entry, id, put as put_entry};
use super::samples::{Life, at, bare, task_id};
use crate::{
    ChangeCursor, Changes, Entity, Expiry, KeyChange, RecordChange, SettingChange, SharedStore, StoredRecord,
    Topic,
};

fn setting(name: String) -> SettingChange {
    SettingChange { name, value: Some("v".into()), owner: None }
}

/// Everything after a cursor, in pages of two, and where it ended.
async fn read(store: &SharedStore, topic: Topic, mut after: ChangeCursor) -> (Vec<Entity>, ChangeCursor) {
    let mut all = Vec::new();
    loop {
        match store.changes(topic, after, 2).await.unwrap() {
            Changes::Page { items, next } if items.is_empty() => return (all, next),
            Changes::Page { items, next } => {
                assert!(items.len() <= 2);
                all.extend(items);
                after = next;
            }
            Changes::Gap(_) => panic!("nothing is missing"),
        }
    }
}

pub async fn the_feed_says_what_commits_touched(fresh: Fresh) {
    let store = fresh.store();
    let begun = Topic::ALL.map(|topic| *store.watch(topic).borrow());
    let mut life = Life::new(1);
    let record = StoredRecord { expires_at: Some(at(5)), ..StoredRecord::new("k", None, "body".into()) };
    let put = RecordChange::Put { collection: "things", record };
    store.commit(life.open().edit(put).edit(setting("one".into()))).await.unwrap();
    let conversation = talk(7, "key:d", "a title");
    store.commit(put_talk(&conversation)).await.unwrap();
    store.commit(put_entry([entry("a", "key:c")])).await.unwrap();
    store.commit(bare().edit(KeyChange::Put(key("k1", 1)))).await.unwrap();
    store.commit(bare().edit(KeyChange::Used("k1".parse().unwrap(), at(2)))).await.unwrap();
    store.commit(bare().edit(KeyChange::Remove("k1".parse().unwrap()))).await.unwrap();
    store.commit(life.go(TaskState::Completed, 2, 1)).await.unwrap();
    store.expire(Expiry { now: at(9), before: at(9), ..Expiry::default() }).await.unwrap();
    // The task is gone, so it can be opened again; the entry is not, and what is refused is in no feed.
    let again = Life::new(1).open().edit(setting("two".into()));
    store
        .commit(again.edit(setting("three".into())).edit(KeyChange::Remove("k2".parse().unwrap())))
        .await
        .unwrap();
    assert!(store.commit(put_entry([entry("a", "key:c")])).await.is_err());
    let record = Entity::Record { collection: "things".into(), key: "k".into() };
    let (task, key) = (Entity::Task(task_id(1)), Entity::Key("k1".parse().unwrap()));
    let expected = [
        vec![key.clone(), key, Entity::Key("k2".parse().unwrap())],
        ["one", "two", "three"].map(|name| Entity::Setting(name.into())).to_vec(),
        vec![record.clone(), record],
        vec![Entity::Listing(id("a"))],
        vec![Entity::Conversation(conversation.id)],
        vec![task.clone(), task.clone(), task.clone(), task],
    ];
    for ((topic, begun), expected) in Topic::ALL.into_iter().zip(begun).zip(expected) {
        let (found, end) = read(&store, topic, begun).await;
        assert_eq!(found, expected, "{topic:?}");
        assert_eq!(end, *store.watch(topic).borrow(), "{topic:?}");
    }
}

pub async fn a_reader_that_fell_behind_gets_a_gap(fresh: Fresh) {
    let store = fresh.store();
    let (begun, most) = (*store.watch(Topic::Settings).borrow(), Topic::Settings.retained());
    store.commit(bare().edits((0..most).map(|number| setting(format!("s{number}"))))).await.unwrap();
    assert_eq!(read(&store, Topic::Settings, begun).await.0.len(), most);
    store.commit(bare().edit(setting("more".into()))).await.unwrap();
    let gap = store.changes(Topic::Settings, begun, 10).await.unwrap();
    let end = *store.watch(Topic::Settings).borrow();
    assert_eq!(gap, Changes::Gap(end));
    let (found, end) = read(&store, Topic::Settings, end).await;
    assert!(found.is_empty());
    // A cursor that no opening of this store gave is behind, too.
    let foreign = store.changes(Topic::Settings, ChangeCursor::default(), 10).await.unwrap();
    assert_eq!(foreign, Changes::Gap(end));
}

pub async fn those_who_wait_are_woken_by_a_commit(fresh: Fresh) {
    let store = fresh.store();
    let (mut keys, settings) = (store.watch(Topic::Keys), store.watch(Topic::Settings));
    let begun = *keys.borrow_and_update();
    let other = store.clone();
    let writing = tokio::spawn(async move { other.commit(bare().edit(KeyChange::Put(key("k1", 1)))).await });
    keys.changed().await.unwrap();
    assert_eq!(read(&store, Topic::Keys, begun).await.0, [Entity::Key("k1".parse().unwrap())]);
    assert!(!settings.has_changed().unwrap(), "only the topic that was touched");
    writing.await.unwrap().unwrap();
    // Whoever has heard of a commit finds it in the feed.
    let seen = *store.watch(Topic::Keys).borrow();
    store.commit(bare().edit(KeyChange::Remove("k1".parse().unwrap()))).await.unwrap();
    assert_ne!(*store.watch(Topic::Keys).borrow(), seen);
}

//! A backup of PostgreSQL is a sound file of SQLite that holds the same.
//!
//! It is audited, restored and read like any backup; what `restore` itself does is tested in the store.

use agentsite_protocol::TaskState;
use agentsite_store::contract::conversations::{end, put as put_talk, say, talk};
use agentsite_store::contract::keeping::key as api_key;
use agentsite_store::contract::listings::{entry, put as put_entry};
use agentsite_store::contract::rooms::RoomLife;
use agentsite_store::contract::samples::{
    Life, bare, delivery, in_lane, line, notice, push, receiver, sent, used,
};
use agentsite_store::{
    ConversationQuery, DeliveryChange, DeliveryQuery, JournalQuery, KeyChange, PushChange, RecordChange,
    RecordQuery, RoomMemberChange, SettingChange, SqliteStore, StoreMetrics, StoredRecord, TaskFilter,
    Upkeep as _,
};

use super::*;

/// A bit of everything.
pub(super) async fn fill(store: &dyn Store) {
    for number in 1..=30 {
        let mut life = Life::new(number).owner(if number % 2 == 0 { "key:a" } else { "anon:192.0.2.1" });
        let opened =
            sent(life.open(), &format!("m{number}"), 1).edit(PushChange::Put(life.head.id, receiver("r")));
        store.commit(opened).await.unwrap();
        let state = if number % 3 == 0 { TaskState::Working } else { TaskState::Completed };
        store.commit(life.go(state, 50, 2).edit(notice(number, &[2, 3]))).await.unwrap();
    }
    let mut conversation = talk(7, "key:a", "about the weather");
    store.commit(put_talk(&conversation)).await.unwrap();
    conversation.revision = 1;
    conversation.turns = 1;
    store.commit(say(&mut conversation, None, 100, "今天天气")).await.unwrap();
    store.commit(end(&mut conversation, 100, "it rains")).await.unwrap();
    store.commit(put_entry([entry("a", "key:c"), entry("b", "key:c")])).await.unwrap();
    store.commit(bare().edit(KeyChange::Put(api_key("k1", 1)))).await.unwrap();
    let setting = SettingChange { name: "secret".into(), value: Some("hidden".into()), owner: None };
    let record =
        RecordChange::Put { collection: "things", record: StoredRecord::new("k", None, "body".into()) };
    store.commit(bare().edit(setting).edit(record)).await.unwrap();
    store.commit(bare().edit(DeliveryChange::Add(in_lane("l", "first", 1)))).await.unwrap();
    store.commit(bare().edit(DeliveryChange::Add(in_lane("l", "second", 1)))).await.unwrap();
    store.commit(push(PushChange::Remove(Life::new(3).head.id, "r".into()))).await.unwrap();
    store.commit(bare().edit(DeliveryChange::Add(delivery("zero \0 byte", 1)))).await.unwrap();
    let mut room = RoomLife::new(3, "key:a");
    let mut opened = room.open();
    opened.snapshot = Some("{\"seq\":1}".into());
    opened.members.push(RoomMemberChange::Put {
        member: "agent:b".parse().unwrap(),
        joined: false,
        cursor: 1,
    });
    let front = room.head.hash;
    store.commit(bare().edit(opened)).await.unwrap();
    let said = [("key:a", "m1", "今天天气"), ("agent:b", "m1", "it rains in the harbour")];
    store.commit(bare().edit(room.say(&said))).await.unwrap();
    (room.head.first, room.head.front) = (2, front);
    store.commit(bare().edit(room.say(&[("site", "gap", "earlier messages are gone")]))).await.unwrap();
    store.commit(used("echo", 3, 5)).await.unwrap();
    for number in 1..=9 {
        store.commit(line(number, "a line\0")).await.unwrap();
    }
}

pub(super) async fn everything(store: &dyn Store) -> String {
    let mut told = format!("{:?}\n", store.tasks(TaskFilter::default(), None, 100).await.unwrap());
    for number in 1..=30 {
        let id = Life::new(number).head.id;
        told.push_str(&format!("{:?}\n{:?}\n", store.events(id, 0, 100).await, store.push_configs(id).await));
    }
    told.push_str(&format!(
        "{:?}\n",
        store.journal(JournalQuery { limit: 100, ..JournalQuery::default() }).await
    ));
    told.push_str(&format!("{:?}\n", store.journal_head().await));
    told.push_str(&format!(
        "{:?}\n",
        store.outbox(DeliveryQuery { limit: 500, ..DeliveryQuery::default() }).await
    ));
    told.push_str(&format!("{:?}\n{:?}\n", store.keys().await, store.setting("secret").await));
    told.push_str(&format!("{:?}\n", store.records(RecordQuery::of("things", 10)).await));
    for text in [None, Some("天气".to_owned()), Some("rain".to_owned()), Some("weather".to_owned())] {
        let query = ConversationQuery { owner: "key:a".parse().unwrap(), text };
        told.push_str(&format!("{:?}\n", store.conversations(query, None, 10).await));
    }
    let room = RoomLife::new(3, "key:a").head.id;
    told.push_str(&format!("{:?}\n{:?}\n", store.room(room).await, store.room_events(room, 0, 100).await));
    told.push_str(&format!("{:?}\n", store.room_members(room).await));
    for text in ["天气", "harb", "gone", "room"] {
        told.push_str(&format!("{:?}\n", store.search_room(room, text, 10).await));
    }
    let sums =
        store.storage(agentsite_store::StorageQuery { largest: 9, ..Default::default() }).await.unwrap();
    told.push_str(&format!("{} {:?}\n", sums.total, sums.largest));
    told.push_str(&format!("{:?}\n", store.listings(Default::default(), None, 10).await));
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_a_sound_file_that_holds_the_same() {
    let place = Place::new().await;
    let store = place.open().await;
    fill(&store).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    store.backup(&file).await.unwrap();
    assert!(store.backup(&file).await.is_err(), "it never replaces a file");
    let report = agentsite_store::audit(&file, Some(&key())).unwrap();
    assert_eq!((report.lines, report.tasks), (9, 31));
    let restored = folder.path().join("site.db");
    agentsite_store::restore(&file, &restored, |_| Ok(())).unwrap();
    let sqlite = SqliteStore::open(&restored, &key(), StoreMetrics::default()).unwrap();
    assert_eq!(everything(&store).await, everything(&sqlite).await);
    let repeat = sqlite.commit(sent(Life::new(99).owner("key:a").open(), "m2", 1)).await;
    assert!(matches!(repeat, Err(StoreError::Duplicate { same_body: true, .. })), "{repeat:?}");
}

//! Cases about storage: what is counted, for whom, and what goes first.
//!
//! They tell that the sums of the accounts equal a recount after every kind of change, and that removing
//! everything leaves nothing. What the limits refuse is tested beside `storage` and beside each store.

use agentsite_protocol::{Principal, TaskState};

use super::Fresh;
use super::conversations::{end, say, talk};
use super::listings::{entry, id, owner, put};
use super::samples::{Life, at, bare, in_lane, line, notice, outbox_change, push, receiver, sent, task_id};
use crate::{
    Change, ConversationChange, DeliveryChange, Disk, Expiry, JournalQuery, ListingChange, PushChange,
    RecordChange, SettingChange, SharedStore, StorageQuery, StorageUse, StoredRecord,
};

/// The sums, after a look whether they are those of a recount.
async fn counted(store: &SharedStore) -> StorageUse {
    let query = StorageQuery { largest: 20, ..StorageQuery::default() };
    let sums = StorageUse { disk: Disk::default(), ..store.storage(query.clone()).await.unwrap() };
    let recount = store.storage(StorageQuery { recount: true, ..query }).await.unwrap();
    assert_eq!(sums, recount);
    sums
}

async fn held(store: &SharedStore, account: &str) -> u64 {
    let all = counted(store).await.largest;
    all.iter().find(|(name, _)| name == account).map_or(0, |(_, bytes)| *bytes)
}

/// Everything that may go, goes.
async fn expire_all(store: &SharedStore) {
    let all = Expiry { now: at(1_000), before: at(1_000), keep: 0, portion: 100, ..Expiry::default() };
    store.expire(all).await.unwrap();
    store.expire(all).await.unwrap();
}

pub async fn everything_that_is_kept_is_counted_and_taken_off_again(mut fresh: Fresh) {
    let store = fresh.store();
    let grows = async |store: &SharedStore, change: Change, account: &str| {
        let before = held(store, account).await;
        store.commit(change).await.unwrap();
        assert!(held(store, account).await > before, "{account}");
    };
    let mut life = Life::new(1).owner("key:a");
    grows(&store, sent(life.open(), "m1", 1), "key:a").await;
    grows(&store, push(PushChange::Put(task_id(1), receiver("r"))), "key:a").await;
    grows(&store, bare().edit(notice(1, &[1])), "key:a").await;
    grows(&store, life.go(TaskState::Completed, 2, 2), "key:a").await;
    grows(&store, line(1, "something happened"), "journal").await;
    let row = DeliveryChange::Add(in_lane("x", "news", 0));
    grows(&store, outbox_change(row), "local").await;
    let setting = |value: Option<&str>| {
        let owner = Some("key:b".parse::<Principal>().unwrap());
        bare().edit(SettingChange { name: "query".into(), value: value.map(Into::into), owner })
    };
    grows(&store, setting(Some("short")), "key:b").await;
    grows(&store, setting(Some("something longer")), "key:b").await;
    let record = StoredRecord::new("k", Some("key:b".parse::<Principal>().unwrap()), "a body".into());
    let recorded = |record: StoredRecord| bare().edit(RecordChange::Put { collection: "things", record });
    grows(&store, recorded(record.clone()), "key:b").await;
    grows(&store, recorded(record.next("a longer body".into())), "key:b").await;
    grows(&store, put([entry("one", "key:c")]), "key:c").await;
    let mut talk = talk(7, "key:d", "a title");
    grows(&store, say(&mut talk, None, 7, "a question"), "key:d").await;
    grows(&store, end(&mut talk, 7, "an answer"), "key:d").await;

    let store = fresh.reread().await;
    counted(&store).await;
    store.commit(setting(None)).await.unwrap();
    let gone = RecordChange::Remove { collection: "things", key: "k".into(), revision: 2 };
    store.commit(bare().edit(gone)).await.unwrap();
    let gone = ListingChange::Remove { id: id("one"), owner: owner("key:c"), revision: 1 };
    store.commit(bare().edit(gone)).await.unwrap();
    store.commit(push(PushChange::Remove(task_id(1), "r".into()))).await.unwrap();
    store.commit(outbox_change(DeliveryChange::Done(2))).await.unwrap();
    let (id, owner, revision) = (talk.id, talk.owner.clone(), talk.revision);
    let gone = ConversationChange::Remove { id, owner, revision };
    store.commit(bare().edit(gone)).await.unwrap();
    expire_all(&store).await;
    let store = fresh.reread().await;
    let left = counted(&store).await;
    assert_eq!(
        left.largest.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["journal"],
        "{left:?}"
    );
}

pub async fn work_of_callers_without_a_key_goes_earlier(mut fresh: Fresh) {
    let store = fresh.store();
    for (number, owner) in
        [(1, "anon:192.0.2.1"), (2, "key:a"), (3, "anon:192.0.2.1#x"), (4, "anon:192.0.2.2")]
    {
        let change = Life::new(number).owner(owner).whole(TaskState::Completed, number as i64);
        store.commit(change).await.unwrap();
    }
    let sums = counted(&store).await;
    assert_eq!(sums.accounts, 3, "two callers at one address are one account: {sums:?}");
    let store = fresh.reread().await;
    let early = Expiry { anonymous_before: at(4), ..Expiry::default() };
    assert_eq!(store.expire(early).await.unwrap(), 2);
    assert_eq!(held(&store, "anon:192.0.2.1").await, 0);
    assert!(
        store.task(task_id(2)).await.unwrap().is_some() && store.task(task_id(4)).await.unwrap().is_some()
    );
}

pub async fn the_oldest_work_of_callers_without_a_key_makes_room(mut fresh: Fresh) {
    let store = fresh.store();
    for number in 1..=6 {
        let change = Life::new(number).owner("anon:192.0.2.1").whole(TaskState::Completed, number as i64);
        store.commit(change).await.unwrap();
    }
    let all = counted(&store).await.anonymous;
    let store = fresh.reread().await;
    let full = Expiry { anonymous_bytes: all / 2, anonymous_spare: at(3), ..Expiry::default() };
    assert_eq!(store.expire(full).await.unwrap(), 2, "the young ones are spared");
    assert_eq!(store.expire(Expiry { anonymous_spare: at(100), ..full }).await.unwrap(), 1);
    assert_eq!(counted(&store).await.anonymous, all / 2);
    assert!(store.task(task_id(4)).await.unwrap().is_some());
}

pub async fn the_journal_is_cut_to_its_size(mut fresh: Fresh) {
    let store = fresh.store();
    for number in 1..=10 {
        store.commit(line(number, "a line of the journal")).await.unwrap();
    }
    let all = counted(&store).await.journal;
    let store = fresh.reread().await;
    let cut = Expiry { journal_bytes: all / 2, ..Expiry::default() };
    store.expire(cut).await.unwrap();
    let left = store.journal(JournalQuery { limit: 50, ..JournalQuery::default() }).await.unwrap();
    assert_eq!(left.iter().map(|line| line.seq).collect::<Vec<_>>(), [10, 9, 8, 7, 6]);
    assert_eq!(counted(&store).await.journal, all / 2);
}

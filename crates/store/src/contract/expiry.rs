//! Cases about expiry: what goes, what stays, and in which portions.
//!
//! They tell that memory and disk stay bounded and that no work is lost for it.

use agentsite_protocol::{Principal, TaskState};

use super::Fresh;
use super::samples::{Life, at, bare, delivery, line, outbox_change, sent, task_id, task_of};
use crate::{DeliveryChange, DeliveryClaimRequest, Edit, Expiry, JournalQuery, SharedStore};

/// An expiry that removes nothing.
fn nothing() -> Expiry {
    Expiry {
        now: at(-1),
        before: at(-1),
        keep: usize::MAX,
        portion: 100,
        journal_before: at(-1),
        ..Expiry::default()
    }
}

async fn ended(store: &SharedStore, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        let change = Life::new(number).whole(TaskState::Completed, number as i64);
        store.commit(sent(change, &format!("m{number}"), 1)).await.unwrap();
    }
}

async fn left(store: &SharedStore) -> Vec<u64> {
    let mut left = Vec::new();
    for number in 1..=20 {
        if store.task(task_id(number)).await.unwrap().is_some() {
            left.push(number);
        }
    }
    left
}

pub async fn old_tasks_go_with_their_events_and_keys(mut fresh: Fresh) {
    let store = fresh.store();
    ended(&store, 1..=5).await;
    assert_eq!(store.expire(nothing()).await.unwrap(), 0);
    assert_eq!(store.expire(Expiry { before: at(4), ..nothing() }).await.unwrap(), 3);
    let store = fresh.reread().await;
    assert_eq!(left(&store).await, [4, 5]);
    assert!(store.events(task_id(3), 0, 10).await.unwrap().is_empty());
    assert_eq!(store.events(task_id(4), 0, 10).await.unwrap().len(), 3);
    let (owner, agent) = ("local".parse::<Principal>().unwrap(), "echo".parse().unwrap());
    assert_eq!(store.sent(&owner, &agent, &"m3".parse().unwrap()).await.unwrap(), None);
    assert_eq!(store.sent(&owner, &agent, &"m4".parse().unwrap()).await.unwrap(), Some(task_id(4)));
    // The same ids may come again, as if they had never been.
    ended(&store, 1..=3).await;
    assert_eq!(left(&store).await, [1, 2, 3, 4, 5]);
}

pub async fn lines_about_a_removed_task_stay_without_their_texts(mut fresh: Fresh) {
    let store = fresh.store();
    ended(&store, 1..=2).await;
    for number in 1..=2 {
        let mut change = line(number as i64, &format!("asked for thing {number}"));
        change.journal[0].task = Some(task_id(number));
        store.commit(change).await.unwrap();
    }
    assert_eq!(store.expire(Expiry { before: at(2), ..nothing() }).await.unwrap(), 1);
    let store = fresh.reread().await;
    let lines = store.journal(JournalQuery { limit: 9, ..JournalQuery::default() }).await.unwrap();
    let texts: Vec<(Option<_>, &str)> =
        lines.iter().map(|one| (one.line.task, one.line.text.as_str())).collect();
    assert_eq!(
        texts,
        [(Some(task_id(2)), "asked for thing 2"), (Some(task_id(1)), "(removed with its task)")]
    );
}

pub async fn a_task_goes_when_its_own_time_is_over(mut fresh: Fresh) {
    let store = fresh.store();
    ended(&store, 1..=2).await;
    for (number, expires_at) in [(3, 50), (4, 40), (5, 60)] {
        let mut change = Life::new(number).whole(TaskState::Completed, number as i64);
        task_of(&mut change).expires_at = Some(at(expires_at));
        store.commit(change).await.unwrap();
    }
    assert_eq!(store.expire(Expiry { now: at(39), ..nothing() }).await.unwrap(), 0);
    let store = fresh.reread().await;
    assert_eq!(store.expire(Expiry { now: at(50), portion: 1, ..nothing() }).await.unwrap(), 1);
    assert_eq!(left(&store).await, [1, 2, 3, 5]);
    assert_eq!(store.expire(Expiry { now: at(50), ..nothing() }).await.unwrap(), 1);
    // The rules for all tasks hold for those with a time of their own too, and no task goes twice.
    assert_eq!(store.expire(Expiry { now: at(60), before: at(6), ..nothing() }).await.unwrap(), 3);
    let store = fresh.reread().await;
    assert_eq!(left(&store).await, [0; 0]);
    ended(&store, 1..=2).await;
    assert_eq!(store.expire(Expiry { now: at(100), ..nothing() }).await.unwrap(), 0);
}

pub async fn tasks_beyond_the_number_go_oldest_first(mut fresh: Fresh) {
    let store = fresh.store();
    ended(&store, 1..=6).await;
    assert_eq!(store.expire(Expiry { keep: 4, ..nothing() }).await.unwrap(), 2);
    assert_eq!(store.expire(Expiry { keep: 4, ..nothing() }).await.unwrap(), 0);
    let store = fresh.reread().await;
    assert_eq!(left(&store).await, [3, 4, 5, 6]);
}

pub async fn open_tasks_never_expire(mut fresh: Fresh) {
    let store = fresh.store();
    let states = TaskState::ALL.into_iter().filter(|state| !state.is_terminal());
    for (number, state) in (1..).zip(states) {
        store.commit(Life::new(number).whole(state, 1)).await.unwrap();
    }
    ended(&store, 5..=5).await;
    let all = Expiry {
        now: at(1_000),
        before: at(1_000),
        keep: 0,
        portion: 100,
        journal_before: at(1_000),
        ..Expiry::default()
    };
    assert_eq!(store.expire(all).await.unwrap(), 1);
    let store = fresh.reread().await;
    assert_eq!(left(&store).await, [1, 2, 3, 4]);
    assert_eq!(store.events(task_id(1), 0, 10).await.unwrap().len(), 3);
}

pub async fn expiry_goes_in_portions(mut fresh: Fresh) {
    let store = fresh.store();
    ended(&store, 1..=7).await;
    let portion = Expiry { before: at(100), portion: 3, ..nothing() };
    let mut gone = Vec::new();
    for _ in 0..4 {
        gone.push(store.expire(portion).await.unwrap());
    }
    assert_eq!(gone, [3, 3, 1, 0]);
    let store = fresh.reread().await;
    assert_eq!(left(&store).await, [0; 0]);
}

pub async fn old_journal_lines_go_but_places_are_never_reused(mut fresh: Fresh) {
    let store = fresh.store();
    for number in 1..=4 {
        store.commit(line(number, "a line")).await.unwrap();
    }
    store.commit(outbox_change(DeliveryChange::Add(delivery("a", 0)))).await.unwrap();
    let id = store.claim(DeliveryClaimRequest::all(at(1), at(2), 5)).await.unwrap().rows[0].id;
    store.commit(outbox_change(DeliveryChange::Dead { id, error: "gone".into() })).await.unwrap();
    store.expire(Expiry { journal_before: at(3), ..nothing() }).await.unwrap();
    let store_later = fresh.reread().await;
    let seqs = async |store: &SharedStore| {
        let lines = store.journal(JournalQuery { limit: 10, ..JournalQuery::default() }).await.unwrap();
        lines.into_iter().map(|stored| stored.seq).collect::<Vec<_>>()
    };
    assert_eq!(seqs(&store_later).await, [4, 3]);
    assert_eq!(store_later.stats().await.unwrap().dead, 1);
    // All are old now, and so is what could not leave; the newest line stays to keep the count.
    let all = Expiry { journal_before: at(99), before: at(20_000), ..nothing() };
    store_later.expire(all).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(seqs(&store).await, [4]);
    assert_eq!(store.stats().await.unwrap().dead, 0);
    store.commit(line(200, "a new line")).await.unwrap();
    assert_eq!(seqs(&store).await, [5, 4]);
}

pub async fn a_forgotten_task_goes_when_it_has_ended(mut fresh: Fresh) {
    let store = fresh.store();
    ended(&store, 1..=3).await;
    store.commit(Life::new(4).open()).await.unwrap();
    let forget = [task_id(2), task_id(4), task_id(9)].map(Edit::Forget);
    store.commit(bare().edits(forget)).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(store.expire(Expiry { now: at(0), ..nothing() }).await.unwrap(), 1);
    assert_eq!(left(&store).await, [1, 3, 4]);
}

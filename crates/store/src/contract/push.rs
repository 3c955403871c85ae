//! Cases about the receivers of pushes: kept, told, removed.
//!
//! They tell that every event reaches exactly the receivers that a task had when it happened, and that
//! nothing of a task is left behind.

use agentsite_protocol::TaskState;

use super::Fresh;
use super::samples::{Life, at, notice, outbox_change, push, receiver, task_id};
use crate::{
    Change, DeliveryChange, DeliveryClaimRequest, DeliveryQuery, EventDeliveries, Expiry, PushChange,
    SharedStore,
};

/// Task `number` with these receivers, opened in one change.
async fn open_with(store: &SharedStore, number: u64, receivers: &[&str]) -> Life {
    let mut life = Life::new(number);
    let push = receivers.iter().map(|id| PushChange::Put(task_id(number), receiver(id)));
    let change = life.open().edits(push).edit(notice(number, &[1]));
    store.commit(change).await.unwrap();
    life
}

/// What lies in the outbox: lane and body.
async fn told(store: &SharedStore) -> Vec<(String, String)> {
    let rows = store.outbox(DeliveryQuery { limit: 100, ..DeliveryQuery::default() }).await.unwrap();
    rows.into_iter().map(|delivery| (delivery.row.lane.unwrap_or_default(), delivery.row.body)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(lane, body)| ((*lane).to_owned(), (*body).to_owned())).collect()
}

pub async fn receivers_are_kept_by_task(mut fresh: Fresh) {
    let store = fresh.store();
    open_with(&store, 1, &["b", "a"]).await;
    open_with(&store, 2, &["c"]).await;
    let mut other = receiver("a");
    other.url = "https://example.org/other".into();
    store.commit(push(PushChange::Put(task_id(1), other.clone()))).await.unwrap();
    // A task that is not there gets none.
    store.commit(push(PushChange::Put(task_id(9), other.clone()))).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(store.push_configs(task_id(1)).await.unwrap(), [other, receiver("b")]);
    assert_eq!(store.push_configs(task_id(2)).await.unwrap(), [receiver("c")]);
    assert!(store.push_configs(task_id(9)).await.unwrap().is_empty());
}

pub async fn every_receiver_of_the_moment_is_told(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = open_with(&store, 1, &["a"]).await;
    let mut other = open_with(&store, 2, &[]).await;
    let told_of = |change: Change, notice: EventDeliveries| change.edit(notice);
    store.commit(told_of(life.go(TaskState::Working, 2, 2), notice(1, &[2, 3]))).await.unwrap();
    store.commit(told_of(other.go(TaskState::Working, 2, 1), notice(2, &[2]))).await.unwrap();
    store.commit(push(PushChange::Put(task_id(1), receiver("b")))).await.unwrap();
    store.commit(told_of(life.go(TaskState::Completed, 3, 1), notice(1, &[4]))).await.unwrap();
    // A change that is refused tells nobody.
    let mut stale = life.clone();
    stale.head.seq += 5;
    assert!(store.commit(told_of(stale.go(TaskState::Failed, 4, 1), notice(1, &[5]))).await.is_err());
    let store = fresh.reread().await;
    let expected = [("a", "1"), ("a", "2"), ("a", "3"), ("a", "4"), ("b", "4")];
    assert_eq!(told(&store).await, pairs(&expected));
    let claims = store.claim(DeliveryClaimRequest::all(at(1), at(2), 9)).await.unwrap().rows;
    let first = &claims[0].row;
    assert_eq!((claims.len(), first.task, first.kind.as_str()), (2, Some(task_id(1)), EventDeliveries::KIND));
}

pub async fn a_removed_receiver_is_told_no_more(mut fresh: Fresh) {
    let store = fresh.store();
    open_with(&store, 1, &["a", "b"]).await;
    open_with(&store, 2, &["a"]).await;
    for _ in 0..2 {
        store.commit(push(PushChange::Remove(task_id(1), "a".into()))).await.unwrap();
    }
    let store = fresh.reread().await;
    assert_eq!(told(&store).await, pairs(&[("b", "1"), ("a", "1")]));
    assert_eq!(store.push_configs(task_id(1)).await.unwrap(), [receiver("b")]);
}

pub async fn receivers_go_with_their_task(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = open_with(&store, 1, &["a"]).await;
    store.commit(life.go(TaskState::Completed, 2, 1)).await.unwrap();
    let id = store.claim(DeliveryClaimRequest::all(at(1), at(2), 9)).await.unwrap().rows[0].id;
    store.commit(outbox_change(DeliveryChange::Dead { id, error: "gone".into() })).await.unwrap();
    let all = Expiry {
        before: at(1_000),
        keep: 0,
        portion: 100,
        journal_before: at(0),
        now: at(0),
        ..Expiry::default()
    };
    assert_eq!(store.expire(all).await.unwrap(), 1);
    let store = fresh.reread().await;
    assert!(store.push_configs(task_id(1)).await.unwrap().is_empty());
    assert!(told(&store).await.is_empty(), "what was given up goes with its task");
}

pub async fn a_task_stays_while_something_must_leave(mut fresh: Fresh) {
    let store = fresh.store();
    for number in 1..=3 {
        let mut life = open_with(&store, number, if number == 2 { &["a"] } else { &[] }).await;
        store.commit(life.go(TaskState::Completed, 2, 1)).await.unwrap();
    }
    let all = Expiry {
        before: at(1_000),
        keep: 0,
        portion: 100,
        journal_before: at(0),
        now: at(0),
        ..Expiry::default()
    };
    assert_eq!(store.expire(all).await.unwrap(), 2);
    let id = store.claim(DeliveryClaimRequest::all(at(1), at(2), 9)).await.unwrap().rows[0].id;
    store.commit(outbox_change(DeliveryChange::Done(id))).await.unwrap();
    let store = fresh.reread().await;
    assert!(store.task(task_id(2)).await.unwrap().is_some());
    assert_eq!(store.expire(all).await.unwrap(), 1);
}

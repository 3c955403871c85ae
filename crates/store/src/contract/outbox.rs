//! Cases about the outbox: claimed, leased, tried again, given up.
//!
//! They tell that nothing that must leave is forgotten, and that no two workers send it at once.

use super::Fresh;
use super::samples::{at, delivery, in_lane, outbox_change, task_id};
use crate::{
    ClaimTurn, DeliveryChange, DeliveryClaim, DeliveryClaimRequest, DeliveryQuery, DeliveryRequest,
    SharedStore,
};
use agentsite_protocol::Timestamp;

/// What a worker takes that knows no caps.
async fn take(store: &SharedStore, now: Timestamp, until: Timestamp, limit: usize) -> Vec<DeliveryClaim> {
    store.claim(DeliveryClaimRequest::all(now, until, limit)).await.unwrap().rows
}

/// The bodies of what can be claimed now.
async fn claimed(store: &SharedStore, now: i64) -> Vec<String> {
    let claims = take(store, at(now), at(now + 100), 50).await;
    claims.into_iter().map(|claim| claim.row.body).collect()
}

pub async fn a_claimed_row_is_hidden_until_its_lease_ends(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(outbox_change(DeliveryChange::Add(delivery("news", 10)))).await.unwrap();
    assert!(take(&store, at(9), at(20), 5).await.is_empty());
    let first = take(&store, at(10), at(20), 5).await;
    assert_eq!((first.len(), first[0].attempts, &first[0].row), (1, 0, &delivery("news", 10)));
    let store = fresh.reread().await;
    assert!(take(&store, at(19), at(30), 5).await.is_empty());
    // The worker never came back: the row is given again, and the lost attempt is counted.
    let second = take(&store, at(20), at(30), 5).await;
    assert_eq!((second[0].id, second[0].attempts), (first[0].id, 1));
    assert_eq!(second[0].row.deadline, at(10_000));
}

pub async fn rows_are_claimed_in_the_order_they_are_due(mut fresh: Fresh) {
    let store = fresh.store();
    for (body, due) in [("third", 3), ("first", 1), ("second", 1), ("later", 50)] {
        store.commit(outbox_change(DeliveryChange::Add(delivery(body, due)))).await.unwrap();
    }
    let store = fresh.reread().await;
    let bodies = async |limit| {
        let claims = take(&store, at(10), at(99), limit).await;
        claims.into_iter().map(|claim| claim.row.body).collect::<Vec<_>>()
    };
    assert_eq!(bodies(2).await, ["first", "second"]);
    assert_eq!(bodies(2).await, ["third"]);
    assert!(bodies(2).await.is_empty());
}

pub async fn a_retried_row_comes_again_and_a_dead_one_does_not(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(outbox_change(DeliveryChange::Add(delivery("a", 0)))).await.unwrap();
    store.commit(outbox_change(DeliveryChange::Add(delivery("b", 0)))).await.unwrap();
    let claims = take(&store, at(1), at(100), 5).await;
    let error = || "connection refused".to_owned();
    store
        .commit(outbox_change(DeliveryChange::Retry { id: claims[0].id, due: at(5), error: error() }))
        .await
        .unwrap();
    store.commit(outbox_change(DeliveryChange::Dead { id: claims[1].id, error: error() })).await.unwrap();
    let store = fresh.reread().await;
    let again = take(&store, at(1_000), at(2_000), 5).await;
    assert_eq!((again.len(), again[0].id, again[0].attempts), (1, claims[0].id, 1));
    // Somebody mends the receiver and asks for one more attempt.
    store
        .commit(outbox_change(DeliveryChange::Retry { id: claims[1].id, due: at(1_001), error: error() }))
        .await
        .unwrap();
    assert_eq!(take(&store, at(1_001), at(2_000), 5).await[0].id, claims[1].id);
}

pub async fn a_done_row_is_gone(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(outbox_change(DeliveryChange::Add(delivery("a", 0)))).await.unwrap();
    let id = take(&store, at(1), at(2), 5).await[0].id;
    store.commit(outbox_change(DeliveryChange::Done(id))).await.unwrap();
    store
        .commit(outbox_change(DeliveryChange::Retry { id, due: at(0), error: "late".into() }))
        .await
        .unwrap();
    let store = fresh.reread().await;
    assert!(take(&store, at(10), at(20), 5).await.is_empty());
    // Its id is not given to another row.
    store.commit(outbox_change(DeliveryChange::Add(delivery("b", 0)))).await.unwrap();
    assert_ne!(take(&store, at(10), at(20), 5).await[0].id, id);
}

pub async fn rows_of_a_lane_leave_one_after_the_other(mut fresh: Fresh) {
    let store = fresh.store();
    for (lane, body) in [("a", "a1"), ("b", "b1"), ("a", "a2"), ("a", "a3"), ("b", "b2")] {
        store.commit(outbox_change(DeliveryChange::Add(in_lane(lane, body, 0)))).await.unwrap();
    }
    let store = fresh.reread().await;
    let first = take(&store, at(1), at(50), 50).await;
    assert_eq!(first.iter().map(|claim| claim.row.body.as_str()).collect::<Vec<_>>(), ["a1", "b1"]);
    assert_eq!(first[0].row.lane.as_deref(), Some("a"));
    store.commit(outbox_change(DeliveryChange::Done(first[0].id))).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(claimed(&store, 2).await, ["a2"], "b1 is on its way and holds b2 back");
    // What must be tried again keeps its place.
    let retry = DeliveryChange::Retry { id: first[1].id, due: at(30), error: "no".into() };
    store.commit(outbox_change(retry)).await.unwrap();
    assert!(claimed(&store, 3).await.is_empty());
    assert_eq!(claimed(&store, 30).await, ["b1"]);
}

pub async fn a_dead_row_lets_the_next_one_go(mut fresh: Fresh) {
    let store = fresh.store();
    for body in ["1", "2", "3"] {
        store.commit(outbox_change(DeliveryChange::Add(in_lane("a", body, 0)))).await.unwrap();
    }
    let first = take(&store, at(1), at(50), 50).await[0].id;
    store.commit(outbox_change(DeliveryChange::Dead { id: first, error: "gone".into() })).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(claimed(&store, 2).await, ["2"]);
}

pub async fn a_deferred_row_counts_no_attempt(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(outbox_change(DeliveryChange::Add(delivery("a", 0)))).await.unwrap();
    let id = take(&store, at(1), at(50), 50).await[0].id;
    store.commit(outbox_change(DeliveryChange::Defer { id, due: at(5) })).await.unwrap();
    let store = fresh.reread().await;
    assert!(take(&store, at(4), at(50), 50).await.is_empty());
    let again = take(&store, at(5), at(50), 50).await;
    assert_eq!((again[0].id, again[0].attempts), (id, 0));
}

pub async fn a_replayed_row_goes_first_again_with_a_new_deadline(mut fresh: Fresh) {
    let store = fresh.store();
    for body in ["1", "2", "3"] {
        store.commit(outbox_change(DeliveryChange::Add(in_lane("a", body, 0)))).await.unwrap();
    }
    let first = take(&store, at(1), at(2), 50).await[0].id;
    store.commit(outbox_change(DeliveryChange::Dead { id: first, error: "gone".into() })).await.unwrap();
    let replay = DeliveryChange::Replay { id: first, due: at(10), deadline: at(20_000) };
    store.commit(outbox_change(replay)).await.unwrap();
    let store = fresh.reread().await;
    assert!(claimed(&store, 9).await.is_empty(), "the others wait behind it");
    let again = take(&store, at(10), at(99), 50).await;
    assert_eq!((again.len(), again[0].id, again[0].attempts), (1, first, 0));
    assert_eq!(again[0].row.deadline, at(20_000));
    store.commit(outbox_change(DeliveryChange::Done(first))).await.unwrap();
    assert_eq!(claimed(&store, 11).await, ["2"]);
}

pub async fn the_outbox_is_listed(mut fresh: Fresh) {
    let store = fresh.store();
    for body in ["1", "2", "3", "4"] {
        store.commit(outbox_change(DeliveryChange::Add(delivery(body, 0)))).await.unwrap();
    }
    let ids: Vec<u64> = take(&store, at(1), at(50), 2).await.iter().map(|claim| claim.id).collect();
    store.commit(outbox_change(DeliveryChange::Dead { id: ids[1], error: "gone".into() })).await.unwrap();
    let store = fresh.reread().await;
    let listed = async |query: DeliveryQuery| {
        let found = store.outbox(DeliveryQuery { limit: 3, ..query }).await.unwrap();
        found.into_iter().map(|delivery| delivery.row.body).collect::<Vec<_>>()
    };
    assert_eq!(listed(DeliveryQuery::default()).await, ["1", "2", "3"]);
    assert_eq!(listed(DeliveryQuery { after: Some(ids[1]), ..DeliveryQuery::default() }).await, ["3", "4"]);
    assert_eq!(
        listed(DeliveryQuery { dead: Some(false), ..DeliveryQuery::default() }).await,
        ["1", "3", "4"]
    );
    assert!(listed(DeliveryQuery { task: Some(task_id(2)), ..DeliveryQuery::default() }).await.is_empty());
    assert_eq!(listed(DeliveryQuery { task: Some(task_id(1)), ..DeliveryQuery::default() }).await.len(), 3);
    let one = DeliveryQuery { id: Some(ids[1]), dead: Some(true), limit: 1, ..DeliveryQuery::default() };
    let dead = store.outbox(one).await.unwrap().remove(0);
    assert_eq!((dead.attempts, dead.dead, dead.error.as_deref()), (1, true, Some("gone")));
}

pub async fn accounts_take_turns(mut fresh: Fresh) {
    let store = fresh.store();
    for number in 0..6 {
        let row = DeliveryRequest { account: "key:flood".into(), ..delivery(&format!("f{number}"), 0) };
        store.commit(outbox_change(DeliveryChange::Add(row))).await.unwrap();
    }
    for account in ["anon:192.0.2.1", "anon:192.0.2.2", "key:a", "key:z"] {
        let row = DeliveryRequest { account: account.into(), ..delivery(account, 1) };
        store.commit(outbox_change(DeliveryChange::Add(row))).await.unwrap();
    }
    let store = fresh.reread().await;
    let mut turn = ClaimTurn::default();
    let mut round = async |limit: usize, busy: &[(&str, usize)]| {
        let busy = busy.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let request = DeliveryClaimRequest {
            per_account: 2,
            per_anonymous: 1,
            busy,
            turn: std::mem::take(&mut turn),
            ..DeliveryClaimRequest::all(at(5), at(99), limit)
        };
        let claims = store.claim(request).await.unwrap();
        turn = claims.turn;
        claims.rows.into_iter().map(|claim| claim.row.body).collect::<Vec<_>>()
    };
    assert_eq!(round(2, &[]).await, ["key:a", "f0"], "one each, in order of names");
    assert_eq!(round(2, &[("key:flood", 1)]).await, ["key:z", "anon:192.0.2.1"]);
    let busy = [("key:flood", 1), ("anon:192.0.2.1", 1)];
    assert_eq!(round(9, &busy).await, ["f1"], "the flood is at its cap, and so are callers without a key");
    assert_eq!(round(9, &[("key:flood", 2)]).await, ["anon:192.0.2.2"]);
    assert!(round(9, &[("key:flood", 2)]).await.is_empty());
}

//! Cases about the outbox: claimed, leased, tried again, given up.
//!
//! They tell that nothing that must leave is forgotten, and that no two workers send it at once.

use super::Fresh;
use super::samples::{at, parcel, post};
use crate::OutboxChange;

pub(crate) async fn a_claimed_row_is_hidden_until_its_lease_ends(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(post(OutboxChange::Add(parcel("news", 10)))).await.unwrap();
    assert!(store.claim(at(9), at(20), 5).await.unwrap().is_empty());
    let first = store.claim(at(10), at(20), 5).await.unwrap();
    assert_eq!((first.len(), first[0].attempts, &first[0].row), (1, 0, &parcel("news", 10)));
    let store = fresh.reread().await;
    assert!(store.claim(at(19), at(30), 5).await.unwrap().is_empty());
    // The worker never came back: the row is given again, and the lost attempt is counted.
    let second = store.claim(at(20), at(30), 5).await.unwrap();
    assert_eq!((second[0].id, second[0].attempts), (first[0].id, 1));
    assert_eq!(second[0].row.deadline, at(10_000));
}

pub(crate) async fn rows_are_claimed_in_the_order_they_are_due(mut fresh: Fresh) {
    let store = fresh.store();
    for (body, due) in [("third", 3), ("first", 1), ("second", 1), ("later", 50)] {
        store.commit(post(OutboxChange::Add(parcel(body, due)))).await.unwrap();
    }
    let store = fresh.reread().await;
    let bodies = async |limit| {
        let claims = store.claim(at(10), at(99), limit).await.unwrap();
        claims.into_iter().map(|claim| claim.row.body).collect::<Vec<_>>()
    };
    assert_eq!(bodies(2).await, ["first", "second"]);
    assert_eq!(bodies(2).await, ["third"]);
    assert!(bodies(2).await.is_empty());
}

pub(crate) async fn a_retried_row_comes_again_and_a_dead_one_does_not(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(post(OutboxChange::Add(parcel("a", 0)))).await.unwrap();
    store.commit(post(OutboxChange::Add(parcel("b", 0)))).await.unwrap();
    let claims = store.claim(at(1), at(100), 5).await.unwrap();
    let error = || "connection refused".to_owned();
    store.commit(post(OutboxChange::Retry { id: claims[0].id, due: at(5), error: error() })).await.unwrap();
    store.commit(post(OutboxChange::Dead { id: claims[1].id, error: error() })).await.unwrap();
    let store = fresh.reread().await;
    let again = store.claim(at(1_000), at(2_000), 5).await.unwrap();
    assert_eq!((again.len(), again[0].id, again[0].attempts), (1, claims[0].id, 1));
    // Somebody mends the receiver and asks for one more attempt.
    store
        .commit(post(OutboxChange::Retry { id: claims[1].id, due: at(1_001), error: error() }))
        .await
        .unwrap();
    assert_eq!(store.claim(at(1_001), at(2_000), 5).await.unwrap()[0].id, claims[1].id);
}

pub(crate) async fn a_done_row_is_gone(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(post(OutboxChange::Add(parcel("a", 0)))).await.unwrap();
    let id = store.claim(at(1), at(2), 5).await.unwrap()[0].id;
    store.commit(post(OutboxChange::Done(id))).await.unwrap();
    store.commit(post(OutboxChange::Retry { id, due: at(0), error: "late".into() })).await.unwrap();
    let store = fresh.reread().await;
    assert!(store.claim(at(10), at(20), 5).await.unwrap().is_empty());
    // Its id is not given to another row.
    store.commit(post(OutboxChange::Add(parcel("b", 0)))).await.unwrap();
    assert_ne!(store.claim(at(10), at(20), 5).await.unwrap()[0].id, id);
}

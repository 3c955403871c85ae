//! What happens to keys at the same moment.
//! The store is the one in memory; each story interleaves two uses of one key.

use std::sync::Arc;

use agentsite_protocol::Scope;
use agentsite_store::MemStore;

use super::*;
use crate::World;

async fn keys() -> (Arc<Keys>, SharedStore) {
    let store: SharedStore = Arc::new(MemStore::new());
    (Arc::new(Keys::open(store.clone(), World::system().ids(), [0; 32]).await.unwrap()), store)
}

#[tokio::test]
async fn a_use_that_is_noted_after_the_revocation_does_not_bring_the_key_back() {
    let (keys, store) = keys().await;
    let made = keys.make("admin", "k", vec![Scope::Call], None).await.unwrap();
    let session = keys.begin_session(&made.secret, "a browser").await.unwrap();
    // A request was recognised, then its key is revoked, then the use is noted.
    let used = [keys.proven(&made.secret).unwrap(), keys.proven(&session.secret).unwrap()];
    assert!(keys.revoke("admin", &made.record.id).await.unwrap());
    for record in &used {
        keys.note_use(record, keys.ids.clock().now()).await;
    }
    for secret in [&made.secret, &session.secret] {
        assert!(matches!(keys.caller(secret).await, Err(SiteError::BadKey)));
    }
    assert!(keys.list().is_empty());
    assert!(Keys::open(store, World::system().ids(), [0; 32]).await.unwrap().list().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_that_come_during_a_revocation_do_not_undo_it() {
    let (keys, store) = keys().await;
    for _ in 0..100 {
        let made = keys.make("admin", "k", vec![Scope::Call], None).await.unwrap();
        let asking = (0..8).map(|_| {
            let (keys, secret) = (keys.clone(), made.secret.clone());
            tokio::spawn(async move { while keys.caller(&secret).await.is_ok() {} })
        });
        let asking: Vec<_> = asking.collect();
        assert!(keys.revoke("admin", &made.record.id).await.unwrap());
        for one in asking {
            one.await.unwrap();
        }
        assert!(keys.known(&made.record.id).is_none());
    }
    assert!(Keys::open(store, World::system().ids(), [0; 32]).await.unwrap().list().is_empty());
}

#[tokio::test]
async fn a_link_works_once_whichever_process_it_reaches() {
    let (here, store) = keys().await;
    let there = Keys::open(store, World::system().ids(), [0; 32]).await.unwrap();
    let link = here.new_sign_in();
    let (one, other) = futures::join!(here.sign_in(&link, "one"), there.sign_in(&link, "other"));
    assert_eq!([&one, &other].iter().filter(|begun| begun.is_ok()).count(), 1, "{one:?} {other:?}");
    let begun = one.or(other).unwrap();
    assert!(here.caller(&begun.secret).await.unwrap().is_admin());
    assert!(there.caller(&begun.secret).await.unwrap().is_admin());
    assert!(matches!(here.sign_in(&link, "again").await, Err(SiteError::BadKey)));
}

#[tokio::test]
async fn a_process_that_joins_others_gets_an_admin_token_of_its_own() {
    let (here, store) = keys().await;
    let there = Keys::open(store, World::system().ids(), [0; 32]).await.unwrap();
    let first = here.ensure_admin_token(None, Vec::new(), false).await.unwrap().unwrap();
    there.follow().await.unwrap();
    let second = there.ensure_admin_token(None, Vec::new(), true).await.unwrap().unwrap();
    assert_ne!(first, second);
    for token in [&first, &second] {
        assert!(here.caller(token).await.unwrap().is_admin());
        assert!(there.ensure_admin_token(Some(token), Vec::new(), true).await.unwrap().is_none());
    }
    // Without other processes, a lost token is replaced.
    let third = there.ensure_admin_token(None, Vec::new(), false).await.unwrap().unwrap();
    assert!(matches!(here.caller(&first).await, Err(SiteError::BadKey)));
    assert!(here.caller(&third).await.unwrap().is_admin());
}

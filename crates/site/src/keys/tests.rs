//! What happens to keys at the same moment.
//! The store is the one in memory; each story interleaves two uses of one key.

use std::sync::Arc;

use agentsite_protocol::Scope;
use agentsite_store::MemStore;

use super::*;
use crate::World;

async fn keys() -> (Arc<Keys>, SharedStore) {
    let store: SharedStore = Arc::new(MemStore::new());
    (Arc::new(Keys::open(store.clone(), World::system().ids()).await.unwrap()), store)
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
    assert!(Keys::open(store, World::system().ids()).await.unwrap().list().is_empty());
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
    assert!(Keys::open(store, World::system().ids()).await.unwrap().list().is_empty());
}

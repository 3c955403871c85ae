//! Cases about what a site keeps beside tasks: keys, settings, usage, sizes.
//!
//! They tell that each of these is written in a change like everything else.

use agentsite_protocol::{KeyId, Scope, TaskState, Usage};

use super::Fresh;
use super::samples::{Life, at, bare, delivery, line, outbox_change, used};
use crate::{Change, DeliveryChange, DeliveryClaimRequest, KeyChange, KeyRecord, SettingChange};

/// A key by its id and the moment it was made.
pub fn key(id: &str, made: i64) -> KeyRecord {
    KeyRecord {
        id: id.parse().unwrap(),
        hash: [made as u8; 32],
        label: "the build server".into(),
        scopes: vec![Scope::Call, Scope::CallAgent("calc".parse().unwrap())],
        created_at: at(made),
        expires_at: Some(at(1_000)),
        last_used_at: None,
        session: false,
        of: None,
    }
}

fn keys(changes: Vec<KeyChange>) -> Change {
    bare().edits(changes)
}

pub async fn keys_are_put_used_and_removed(mut fresh: Fresh) {
    let store = fresh.store();
    let (early, mut late) = (
        key("zz", 1),
        KeyRecord {
            session: true,
            of: Some("zz".parse().unwrap()),
            expires_at: None,
            scopes: vec![],
            ..key("aa", 2)
        },
    );
    let puts =
        vec![KeyChange::Put(late.clone()), KeyChange::Put(early.clone()), KeyChange::Put(key("gone", 3))];
    store.commit(keys(puts)).await.unwrap();
    let gone: KeyId = "gone".parse().unwrap();
    let later = vec![
        KeyChange::Used(late.id.clone(), at(60)),
        KeyChange::Remove(gone.clone()),
        KeyChange::Used(gone.clone(), at(61)),
    ];
    store.commit(keys(later)).await.unwrap();
    late.last_used_at = Some(at(60));
    let store = fresh.reread().await;
    assert_eq!(store.keys().await.unwrap(), [early.clone(), late.clone()]);
    assert_eq!(store.key(late.id.clone()).await.unwrap(), Some(late));
    assert_eq!(store.key(gone).await.unwrap(), None);
    let renamed = KeyRecord { label: "another".into(), ..early };
    store.commit(keys(vec![KeyChange::Put(renamed.clone())])).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(store.key(renamed.id.clone()).await.unwrap(), Some(renamed));
}

pub async fn a_key_is_never_written_with_its_hash(mut fresh: Fresh) {
    fresh.store().commit(keys(vec![KeyChange::Put(key("zz", 171))])).await.unwrap();
    let store = fresh.reread().await;
    let written = serde_json::to_string(&store.keys().await.unwrap()).unwrap();
    assert!(
        written.contains("the build server") && !written.contains("hash") && !written.contains("171,171"),
        "{written}"
    );
}

pub async fn settings_are_written_and_removed(mut fresh: Fresh) {
    let set = |name: &str, value: Option<&str>| SettingChange {
        name: name.into(),
        value: value.map(Into::into),
        owner: None,
    };
    let settings = vec![set("identity", Some("one")), set("identity", Some("two")), set("token", Some("x"))];
    let store = fresh.store();
    store.commit(bare().edits(settings)).await.unwrap();
    store.commit(bare().edits([set("token", None), set("never", None)])).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(store.setting("identity").await.unwrap().as_deref(), Some("two"));
    assert_eq!(store.setting("token").await.unwrap(), None);
}

pub async fn usage_adds_up_and_never_overflows(mut fresh: Fresh) {
    let store = fresh.store();
    for change in [used("echo", 7, 10), used("echo", 7, 5), used("echo", 8, 1), used("calc", 7, u64::MAX)] {
        store.commit(change).await.unwrap();
    }
    store.commit(used("calc", 7, u64::MAX)).await.unwrap();
    let store = fresh.reread().await;
    let echo = "echo".parse().unwrap();
    let sum = store.usage(&echo, 7).await.unwrap();
    assert_eq!(sum, Usage { input_tokens: 15, output_tokens: 4, turns: 2, calls: 0 });
    assert_eq!(store.usage(&echo, 8).await.unwrap().input_tokens, 1);
    assert_eq!(store.usage(&echo, 9).await.unwrap(), Usage::default());
    assert_eq!(store.usage(&"calc".parse().unwrap(), 7).await.unwrap().input_tokens, i64::MAX as u64);
}

pub async fn stats_count_what_is_there(mut fresh: Fresh) {
    let store = fresh.store();
    let posted = [
        outbox_change(DeliveryChange::Add(delivery("a", 0))),
        outbox_change(DeliveryChange::Add(delivery("b", 0))),
    ];
    let lives = [
        Life::new(1).open(),
        Life::new(2).whole(TaskState::Completed, 3),
        line(1, "a"),
        line(2, "b"),
        line(3, "c"),
    ];
    for change in posted.into_iter().chain(lives) {
        store.commit(change).await.unwrap();
    }
    let id = store.claim(DeliveryClaimRequest::all(at(1), at(2), 1)).await.unwrap().rows[0].id;
    store.commit(outbox_change(DeliveryChange::Dead { id, error: "no such host".into() })).await.unwrap();
    let store = fresh.reread().await;
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.tasks, stats.open_tasks, stats.journal_lines), (2, 1, 3));
    assert_eq!((stats.outbox, stats.dead), (1, 1));
}

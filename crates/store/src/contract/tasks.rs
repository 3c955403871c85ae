//! Cases about single tasks: atomicity, guards, order, events.
//!
//! They tell what a site may rely on when it decides, commits and answers.

use agentsite_protocol::{Principal, TaskState};

use super::Fresh;
use super::samples::{Life, at, delivery, line, opening, sent, task_id, task_of, used};
use crate::{Change, DeliveryChange, DeliveryClaimRequest, JournalQuery, Store, StoreError};

/// Everything of `change` beside the task itself.
fn with_all(mut change: Change) -> Change {
    change.journal = line(1, "local asked echo").journal;
    change.edit(DeliveryChange::Add(delivery("news", 0))).edits(used("echo", 7, 10).edits)
}

/// How many lines, rows of the outbox and tokens are there.
async fn traces(store: &dyn Store) -> (usize, u64, u64) {
    let lines = store.journal(JournalQuery { limit: 10, ..JournalQuery::default() }).await.unwrap();
    let usage = store.usage(&"echo".parse().unwrap(), 7).await.unwrap();
    (lines.len(), store.stats().await.unwrap().outbox, usage.input_tokens)
}

pub async fn a_change_is_applied_whole_or_not_at_all(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = Life::new(1);
    store.commit(with_all(sent(life.open(), "m1", 1))).await.unwrap();
    let store_later = fresh.reread().await;
    assert_eq!(store_later.task(task_id(1)).await.unwrap(), Some(life.head.clone()));
    assert_eq!(traces(&*store_later).await, (1, 1, 10));
    // The second one is refused by its guard, and nothing of it is there.
    let repeat = with_all(sent(Life::new(2).open(), "m1", 1));
    assert!(matches!(store_later.commit(repeat).await, Err(StoreError::Duplicate { .. })));
    let store = fresh.reread().await;
    assert_eq!(store.task(task_id(2)).await.unwrap(), None);
    assert_eq!(traces(&*store).await, (1, 1, 10));
}

pub async fn a_stale_change_leaves_nothing(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = Life::new(1);
    store.commit(life.open()).await.unwrap();
    let mut rival = life.clone();
    store.commit(life.go(TaskState::Working, 5, 2)).await.unwrap();
    let refused = store.commit(with_all(rival.go(TaskState::Canceled, 6, 1))).await;
    let Err(StoreError::Stale { task, expected: 1, found: 3 }) = refused else { panic!("{refused:?}") };
    assert_eq!(task, task_id(1));
    // A task that must not exist, does; one that must, does not.
    assert!(matches!(store.commit(opening(1)).await, Err(StoreError::Stale { expected: 0, found: 3, .. })));
    let mut unknown = Life::new(9);
    unknown.open();
    let refused = store.commit(unknown.go(TaskState::Working, 7, 1)).await;
    assert!(matches!(refused, Err(StoreError::Stale { expected: 1, found: 0, .. })), "{refused:?}");
    let store = fresh.reread().await;
    assert_eq!(store.task(task_id(1)).await.unwrap(), Some(life.head));
    assert_eq!(traces(&*store).await, (0, 0, 0));
}

pub async fn a_repeated_message_is_told_from_an_id_used_twice(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = Life::new(1);
    store.commit(sent(life.open(), "m1", 1)).await.unwrap();
    store.commit(sent(life.go(TaskState::Submitted, 2, 1), "m2", 2)).await.unwrap();
    let store = fresh.reread().await;
    for (message, body, same) in [("m1", 1, true), ("m1", 9, false), ("m2", 2, true)] {
        let refused = store.commit(sent(Life::new(2).open(), message, body)).await;
        let Err(StoreError::Duplicate { task, same_body }) = refused else { panic!("{refused:?}") };
        assert_eq!((task, same_body), (task_id(1), same), "{message}");
    }
    // Being a repeat is said before being stale: the sender of a repeat always looks at an old task.
    let mut old = Life::new(1);
    old.open();
    let refused = store.commit(sent(old.go(TaskState::Submitted, 2, 1), "m2", 2)).await;
    assert!(matches!(refused, Err(StoreError::Duplicate { same_body: true, .. })), "{refused:?}");
    let (owner, agent) = ("local".parse::<Principal>().unwrap(), "echo".parse().unwrap());
    assert_eq!(store.sent(&owner, &agent, &"m2".parse().unwrap()).await.unwrap(), Some(task_id(1)));
    assert_eq!(store.sent(&owner, &agent, &"m3".parse().unwrap()).await.unwrap(), None);
}

pub async fn messages_of_others_are_no_repeats(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(sent(Life::new(1).open(), "m1", 1)).await.unwrap();
    store.commit(sent(Life::new(2).owner("key:a").open(), "m1", 1)).await.unwrap();
    store.commit(sent(Life::new(3).agent("calc").open(), "m1", 1)).await.unwrap();
    let store = fresh.reread().await;
    let found = store
        .sent(&"key:a".parse::<Principal>().unwrap(), &"echo".parse().unwrap(), &"m1".parse().unwrap())
        .await;
    assert_eq!(found.unwrap(), Some(task_id(2)));
}

pub async fn changes_take_effect_in_the_order_of_enqueueing(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = Life::new(1);
    let mut durables = vec![store.enqueue(life.open()).await.unwrap()];
    for step in 0..300 {
        let mut change = life.go(TaskState::Working, step, 1);
        change.journal = line(step, &format!("step {step}")).journal;
        durables.push(store.enqueue(change).await.unwrap());
    }
    for durable in durables {
        durable.await.unwrap();
    }
    let store = fresh.reread().await;
    let lines = store.journal(JournalQuery { limit: 1_000, ..JournalQuery::default() }).await.unwrap();
    let texts: Vec<String> = lines.into_iter().rev().map(|stored| stored.line.text).collect();
    let told: Vec<String> = (0..300).map(|step| format!("step {step}")).collect();
    assert_eq!(texts, told);
    assert_eq!(store.task(task_id(1)).await.unwrap(), Some(life.head));
}

pub async fn one_of_eight_writers_wins_each_number(mut fresh: Fresh) {
    const ROUNDS: u64 = 20;
    let store = fresh.store();
    store.commit(opening(1)).await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let store = store.clone();
        writers.spawn(async move {
            let mut won = Vec::new();
            loop {
                let head = store.task(task_id(1)).await.unwrap().unwrap();
                if head.seq > ROUNDS {
                    return won;
                }
                let mut life = Life { head };
                match store.commit(life.go(TaskState::Working, writer, 1)).await {
                    Ok(()) => won.push(life.head.seq),
                    Err(StoreError::Stale { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    let mut won: Vec<u64> = writers.join_all().await.into_iter().flatten().collect();
    won.sort_unstable();
    let all: Vec<u64> = (2..=ROUNDS + 1).collect();
    assert_eq!(won, all);
    let store = fresh.reread().await;
    let events = store.events(task_id(1), 0, usize::MAX).await.unwrap();
    assert!(events.iter().map(|event| event.seq).eq(1..=ROUNDS + 1));
}

pub async fn events_are_read_from_a_cursor_in_whole_commits(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = Life::new(1);
    let mut written = Vec::new();
    for mut change in [life.open(), life.go(TaskState::Working, 2, 4), life.go(TaskState::Completed, 3, 2)] {
        written.extend(task_of(&mut change).events.clone());
        store.commit(change).await.unwrap();
    }
    store.commit(opening(2)).await.unwrap();
    let store = fresh.reread().await;
    let read = async |after, limit| store.events(task_id(1), after, limit).await.unwrap();
    assert_eq!(read(0, 100).await, written);
    assert_eq!(read(0, 1).await, written[..1]);
    // The second commit is numbers 2 to 5; it comes whole, or whole from the cursor on.
    assert_eq!(read(0, 2).await, written[..5]);
    assert_eq!(read(1, 1).await, written[1..5]);
    assert_eq!(read(3, 1).await, written[3..5]);
    assert_eq!(read(5, 100).await, written[5..]);
    assert!(read(7, 100).await.is_empty());
    assert!(read(u64::MAX, 100).await.is_empty());
    assert!(store.events(task_id(3), 0, 100).await.unwrap().is_empty());
}

pub async fn histories_come_whole_until_there_are_enough_events(mut fresh: Fresh) {
    let store = fresh.store();
    for number in [1, 3] {
        let mut life = Life::new(number);
        store.commit(life.open()).await.unwrap();
        store.commit(life.go(TaskState::Working, 5, 2)).await.unwrap();
    }
    let store = fresh.reread().await;
    let ids = vec![task_id(3), task_id(9), task_id(1)];
    let all = store.histories(ids.clone(), usize::MAX, 5).await.unwrap();
    assert_eq!(all.iter().map(|history| history.id).collect::<Vec<_>>(), ids);
    for history in &all {
        assert_eq!(history.events, store.events(history.id, 0, usize::MAX).await.unwrap());
        assert!(history.started.is_empty());
    }
    assert_eq!(all.iter().map(|history| history.events.len()).collect::<Vec<_>>(), [3, 0, 3]);
    assert_eq!(store.histories(ids.clone(), 4, 0).await.unwrap(), all);
    assert_eq!(store.histories(ids.clone(), 3, 0).await.unwrap(), all[..1]);
    assert_eq!(store.histories(ids, 0, 0).await.unwrap(), all[..1], "at least one");
    assert!(store.histories(Vec::new(), 5, 5).await.unwrap().is_empty());
}

pub async fn events_with_gaps_are_refused(fresh: Fresh) {
    let store = fresh.store();
    let broken = |edit: fn(&mut crate::TaskChange)| {
        let mut change = Life::new(1).whole(TaskState::Completed, 1);
        edit(task_of(&mut change));
        change
    };
    for change in [
        broken(|task| drop(task.events.remove(1))),
        broken(|task| task.events.swap(0, 1)),
        broken(|task| task.events.clear()),
        broken(|task| task.head.seq = 9),
        broken(|task| task.events[2].task = task_id(2)),
    ] {
        assert!(matches!(store.commit(change).await, Err(StoreError::Engine(_))));
    }
    assert_eq!(store.stats().await.unwrap().tasks, 0);
}

pub async fn a_task_keeps_its_owner(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = Life::new(1);
    store.commit(life.open()).await.unwrap();
    let mut thief = life.clone().owner("key:thief");
    assert!(matches!(store.commit(thief.go(TaskState::Working, 2, 1)).await, Err(StoreError::Engine(_))));
    let store = fresh.reread().await;
    assert_eq!(store.task(task_id(1)).await.unwrap(), Some(life.head));
}

pub async fn a_refused_change_does_not_touch_the_others(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = Life::new(1);
    let changes = [
        sent(life.open(), "m1", 1),
        with_all(opening(1)),
        with_all(sent(opening(2), "m1", 1)),
        opening(3),
        life.go(TaskState::Completed, 4, 1),
    ];
    let mut durables = Vec::new();
    for change in changes {
        durables.push(store.enqueue(change).await.unwrap());
    }
    let mut results = Vec::new();
    for durable in durables {
        results.push(durable.await);
    }
    assert!(matches!(results[1], Err(StoreError::Stale { expected: 0, found: 1, .. })), "{results:?}");
    assert!(matches!(results[2], Err(StoreError::Duplicate { same_body: true, .. })), "{results:?}");
    assert!(results[0].is_ok() && results[3].is_ok() && results[4].is_ok(), "{results:?}");
    let store = fresh.reread().await;
    assert_eq!(store.task(task_id(1)).await.unwrap(), Some(life.head));
    assert!(store.task(task_id(3)).await.unwrap().is_some());
    assert_eq!(traces(&*store).await, (0, 0, 0));
}

pub async fn a_dropped_durable_undoes_nothing(mut fresh: Fresh) {
    let store = fresh.store();
    drop(store.enqueue(opening(1)).await.unwrap());
    store.commit(opening(2)).await.unwrap();
    let store = fresh.reread().await;
    assert!(store.task(task_id(1)).await.unwrap().is_some());
}

pub async fn a_closed_store_refuses_everything(fresh: Fresh) {
    let store = fresh.store();
    let durable = store.enqueue(opening(1)).await.unwrap();
    store.close().await.unwrap();
    durable.await.unwrap();
    assert!(matches!(store.commit(opening(2)).await, Err(StoreError::Stopped(_))));
    assert!(matches!(store.task(task_id(1)).await, Err(StoreError::Stopped(_))));
    assert!(matches!(
        store.claim(DeliveryClaimRequest::all(at(0), at(1), 1)).await,
        Err(StoreError::Stopped(_))
    ));
    store.close().await.unwrap();
}

//! Cases about several processes on one store: numbers, leases, held tasks, death and take-over. They run on
//! the stores that can be shared.

use std::time::Duration;

use agentsite_protocol::TaskState;

use super::Fresh;
use super::samples::{Life, bare, sent, task_id, task_of};
use crate::{Changes, Entity, ProcessId, ProcessInfo, SettingChange, SharedStore, StoreError, Topic};

/// How long a process lives without a renewal.
const TTL: Duration = Duration::from_secs(60);

fn info(name: &str) -> ProcessInfo {
    ProcessInfo { name: name.into(), version: "1.0".into() }
}

async fn join(store: &SharedStore, name: &str) -> ProcessId {
    store.join(info(name), TTL).await.unwrap().expect("the store can be shared")
}

/// Two processes of one store.
async fn two(fresh: &Fresh) -> ((SharedStore, ProcessId), (SharedStore, ProcessId)) {
    let (one, two) = (fresh.store(), fresh.another().await);
    let numbers = (join(&one, "one").await, join(&two, "two").await);
    ((one, numbers.0), (two, numbers.1))
}

async fn renew(store: &SharedStore) -> Result<Vec<ProcessId>, StoreError> {
    let died = store.renew(TTL, None).await?;
    Ok(died.into_iter().map(|process| process.id).collect())
}

async fn living(store: &SharedStore) -> Vec<ProcessId> {
    store.processes().await.unwrap().into_iter().map(|process| process.id).collect()
}

/// Lets the time of every process pass except that of `other`; gives whom `other` declares dead.
async fn outlive(fresh: &Fresh, other: &SharedStore) -> Vec<ProcessId> {
    fresh.pass(TTL / 2).await;
    assert_eq!(renew(other).await.unwrap(), []);
    fresh.pass(TTL / 2).await;
    renew(other).await.unwrap()
}

fn setting(name: &str) -> SettingChange {
    SettingChange { name: name.into(), value: Some("v".into()), owner: None }
}

fn is_held(result: &Result<(), StoreError>, by: ProcessId) -> bool {
    matches!(result, Err(StoreError::Held { process, .. }) if *process == by)
}

pub async fn numbers_grow_and_are_never_used_again(fresh: Fresh) {
    let ((one, first), (_, second)) = two(&fresh).await;
    assert!(first < second && first.number() > 0);
    one.leave().await.unwrap();
    let third = join(&one, "one again").await;
    assert!(second < third);
    assert_eq!(living(&one).await, [second, third]);
}

pub async fn a_process_is_shown_with_what_it_has(fresh: Fresh) {
    let ((one, first), (other, second)) = two(&fresh).await;
    one.renew(TTL, Some("has agents".into())).await.unwrap();
    one.renew(TTL, None).await.unwrap();
    assert!(one.acquire("upkeep").await.unwrap());
    one.commit(Life::new(1).open()).await.unwrap();
    one.commit(Life::new(2).whole(TaskState::Completed, 9)).await.unwrap();
    let seen = other.processes().await.unwrap();
    let [a, b] = &seen[..] else { panic!("two processes: {seen:?}") };
    assert_eq!((a.id, &a.info, a.report.as_str()), (first, &info("one"), "has agents"));
    assert_eq!((a.leases.as_slice(), a.tasks), (&["upkeep".to_owned()][..], 1));
    assert!(a.joined_at <= a.renewed_at && a.until.since(a.renewed_at) == TTL);
    assert_eq!((b.id, b.report.as_str(), b.leases.len(), b.tasks), (second, "", 0, 0));
    assert!(one.renew(TTL, Some("x".repeat(1 << 20))).await.is_err(), "a report is bounded");
}

pub async fn a_process_that_renews_in_time_lives(fresh: Fresh) {
    let ((one, first), (other, second)) = two(&fresh).await;
    for _ in 0..3 {
        fresh.pass(TTL / 2).await;
        assert_eq!((renew(&one).await.unwrap(), renew(&other).await.unwrap()), (vec![], vec![]));
    }
    assert_eq!(living(&one).await, [first, second]);
    one.commit(bare().edit(setting("a"))).await.unwrap();
}

pub async fn a_dead_process_writes_nothing(fresh: Fresh) {
    let ((one, first), (other, second)) = two(&fresh).await;
    let mut life = Life::new(1);
    one.commit(life.open()).await.unwrap();
    assert_eq!(outlive(&fresh, &other).await, [first]);
    assert_eq!(living(&other).await, [second]);
    let late = life.go(TaskState::Working, 2, 1).edit(setting("late"));
    assert!(matches!(one.commit(late).await, Err(StoreError::Fenced)));
    assert!(matches!(one.commit(bare().edit(setting("late"))).await, Err(StoreError::Fenced)));
    assert!(matches!(renew(&one).await, Err(StoreError::Fenced)));
    assert!(matches!(one.acquire("upkeep").await, Err(StoreError::Fenced)));
    assert!(matches!(one.adopt(vec![task_id(1)]).await, Err(StoreError::Fenced)));
    assert_eq!(one.setting("late").await.unwrap(), None, "it may still read");
    assert_eq!(one.task(task_id(1)).await.unwrap().unwrap().seq, 1);
}

pub async fn each_death_is_given_once(fresh: Fresh) {
    let ((one, first), (other, _)) = two(&fresh).await;
    let third = fresh.another().await;
    join(&third, "three").await;
    one.commit(Life::new(1).open()).await.unwrap();
    fresh.pass(TTL / 2).await;
    renew(&other).await.unwrap();
    renew(&third).await.unwrap();
    fresh.pass(TTL / 2).await;
    let (a, b) = tokio::join!(renew(&other), renew(&third));
    assert_eq!([a.unwrap(), b.unwrap()].concat(), [first]);
}

pub async fn a_process_that_slept_goes_on_when_nobody_declared_it_dead(fresh: Fresh) {
    let (one, first) = (fresh.store(), join(&fresh.store(), "one").await);
    let mut life = Life::new(1);
    one.commit(life.open()).await.unwrap();
    fresh.pass(10 * TTL).await;
    one.commit(life.go(TaskState::Working, 2, 1)).await.unwrap();
    assert_eq!(renew(&one).await.unwrap(), []);
    assert_eq!(living(&one).await, [first]);
}

pub async fn a_process_that_was_late_itself_declares_none_dead(fresh: Fresh) {
    let ((one, first), (other, second)) = two(&fresh).await;
    fresh.pass(10 * TTL).await;
    assert_eq!(renew(&other).await.unwrap(), [], "the store may have been out of reach for both");
    assert_eq!(renew(&one).await.unwrap(), []);
    assert_eq!(living(&one).await, [first, second]);
    assert_eq!(outlive(&fresh, &other).await, [first]);
}

pub async fn a_released_task_is_free_although_it_is_live(fresh: Fresh) {
    let ((one, _), (other, second)) = two(&fresh).await;
    let mut life = Life::new(1);
    let mut change = life.open();
    task_of(&mut change).released = true;
    one.commit(change).await.unwrap();
    assert_eq!(one.orphans(None, 10).await.unwrap().len(), 1);
    assert_eq!(other.adopt(vec![task_id(1)]).await.unwrap().len(), 1);
    assert!(is_held(&one.commit(life.clone().go(TaskState::Working, 2, 1)).await, second));
    let mut change = life.go(TaskState::Working, 2, 1);
    task_of(&mut change).released = true;
    other.commit(change).await.unwrap();
    one.commit(life.go(TaskState::Completed, 3, 1)).await.unwrap();
}

pub async fn a_process_that_left_writes_nothing_until_it_joins_again(fresh: Fresh) {
    let ((one, first), (other, second)) = two(&fresh).await;
    one.commit(Life::new(1).open()).await.unwrap();
    one.leave().await.unwrap();
    assert_eq!(living(&other).await, [second]);
    assert_eq!(other.orphans(None, 10).await.unwrap().len(), 1);
    assert!(matches!(one.commit(Life::new(2).open()).await, Err(StoreError::Fenced)));
    one.leave().await.unwrap();
    let again = join(&one, "one").await;
    assert!(again > first);
    one.commit(Life::new(2).open()).await.unwrap();
}

pub async fn a_handle_that_joins_again_leaves_its_old_work(fresh: Fresh) {
    let ((one, first), (other, second)) = two(&fresh).await;
    one.commit(Life::new(1).open()).await.unwrap();
    assert!(one.acquire("upkeep").await.unwrap());
    let again = join(&one, "one").await;
    assert!(again > first);
    assert_eq!(living(&one).await, [second, again]);
    assert_eq!(other.orphans(None, 10).await.unwrap().len(), 1);
    assert!(other.acquire("upkeep").await.unwrap());
}

pub async fn live_tasks_are_held_by_who_writes_them(fresh: Fresh) {
    let ((one, first), (other, second)) = two(&fresh).await;
    let held = async |by: ProcessId| {
        one.processes().await.unwrap().into_iter().find(|process| process.id == by).unwrap().tasks
    };
    let mut life = Life::new(1);
    one.commit(life.open()).await.unwrap();
    one.commit(life.go(TaskState::Working, 2, 1)).await.unwrap();
    assert_eq!((held(first).await, held(second).await), (1, 0));
    // A task that waits for its caller is held by none, and whoever continues it holds it.
    one.commit(life.go(TaskState::InputRequired, 3, 1)).await.unwrap();
    assert_eq!((held(first).await, held(second).await), (0, 0));
    other.commit(life.go(TaskState::Working, 4, 1)).await.unwrap();
    assert_eq!((held(first).await, held(second).await), (0, 1));
    other.commit(life.go(TaskState::Completed, 5, 1)).await.unwrap();
    assert_eq!((held(first).await, held(second).await), (0, 0));
    assert!(one.orphans(None, 10).await.unwrap().is_empty());
}

pub async fn a_held_task_is_not_changed_by_others(fresh: Fresh) {
    let ((one, first), (other, _)) = two(&fresh).await;
    let mut life = Life::new(1);
    one.commit(life.open()).await.unwrap();
    let mut theirs = life.clone();
    let refused = other.commit(theirs.go(TaskState::Canceled, 2, 1).edit(setting("with it"))).await;
    assert!(is_held(&refused, first), "{refused:?}");
    assert_eq!(other.setting("with it").await.unwrap(), None);
    // Also from an old reading: the holder is what matters to who asks.
    one.commit(life.go(TaskState::Working, 2, 1)).await.unwrap();
    let refused = other.commit(Life { head: theirs.head.clone() }.go(TaskState::Canceled, 3, 1)).await;
    assert!(is_held(&refused, first), "{refused:?}");
    assert_eq!(outlive(&fresh, &other).await, [first]);
    other.commit(life.go(TaskState::Canceled, 3, 1)).await.unwrap();
}

pub async fn a_repeat_is_recognised_before_the_holder(fresh: Fresh) {
    let ((one, _), (other, _)) = two(&fresh).await;
    let mut life = Life::new(1);
    one.commit(sent(life.open(), "m1", 1)).await.unwrap();
    let repeat = other.commit(sent(life.go(TaskState::Working, 2, 1), "m1", 1)).await;
    assert!(matches!(repeat, Err(StoreError::Duplicate { same_body: true, .. })), "{repeat:?}");
}

pub async fn a_handle_that_has_not_joined_holds_nothing(fresh: Fresh) {
    let (one, other) = (fresh.store(), fresh.another().await);
    let first = join(&one, "one").await;
    let (mut life, mut theirs) = (Life::new(1), Life::new(2));
    one.commit(life.open()).await.unwrap();
    other.commit(theirs.open()).await.unwrap();
    assert!(is_held(&other.commit(life.go(TaskState::Working, 2, 1)).await, first));
    let free: Vec<_> = other.orphans(None, 10).await.unwrap().into_iter().map(|head| head.id).collect();
    assert_eq!(free, [task_id(2)]);
    assert!(matches!(other.adopt(vec![task_id(2)]).await, Err(StoreError::Fenced)));
    assert!(matches!(other.acquire("upkeep").await, Err(StoreError::Fenced)));
    other.leave().await.unwrap();
    one.commit(theirs.go(TaskState::Working, 3, 1)).await.unwrap();
    assert!(other.orphans(None, 10).await.unwrap().is_empty());
}

pub async fn one_of_several_gets_an_orphan(fresh: Fresh) {
    let ((one, first), (other, _)) = two(&fresh).await;
    let third = fresh.another().await;
    join(&third, "three").await;
    for number in 1..=20 {
        one.commit(Life::new(number).open()).await.unwrap();
    }
    one.commit(Life::new(21).whole(TaskState::Completed, 9)).await.unwrap();
    assert!(other.adopt(vec![task_id(1)]).await.unwrap().is_empty(), "it is held");
    one.leave().await.unwrap();
    let all: Vec<_> = (1..=22).map(task_id).collect();
    let (a, b) = tokio::join!(other.adopt(all.clone()), third.adopt(all.clone()));
    let mut got: Vec<_> = a.unwrap().into_iter().chain(b.unwrap()).map(|head| head.id).collect();
    got.sort_unstable();
    assert_eq!(got, all[..20], "each once, and only those that are live");
    assert!(other.orphans(None, 10).await.unwrap().is_empty());
    assert!(!living(&other).await.contains(&first));
}

pub async fn orphans_are_paged(fresh: Fresh) {
    let (store, other) = (fresh.store(), fresh.another().await);
    join(&other, "other").await;
    for number in 1..=5 {
        store.commit(Life::new(number).open()).await.unwrap();
    }
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = other.orphans(after, 2).await.unwrap();
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        found.extend(page.into_iter().map(|head| head.id));
    }
    assert_eq!(found, (1..=5).map(task_id).collect::<Vec<_>>());
}

pub async fn a_lease_has_one_holder(fresh: Fresh) {
    let ((one, _), (other, _)) = two(&fresh).await;
    let (a, b) = tokio::join!(one.acquire("upkeep"), other.acquire("upkeep"));
    assert_ne!(a.unwrap(), b.unwrap());
    one.release("upkeep").await.unwrap();
    other.release("upkeep").await.unwrap();
    assert!(one.acquire("upkeep").await.unwrap());
    assert!(one.acquire("upkeep").await.unwrap(), "it has it already");
    other.release("upkeep").await.unwrap();
    assert!(!other.acquire("upkeep").await.unwrap(), "nobody gives back what another has");
    assert!(other.acquire("retention").await.unwrap());
    assert!(one.acquire("").await.is_err() && one.acquire(&"x".repeat(1_000)).await.is_err());
}

pub async fn leases_go_with_their_process(fresh: Fresh) {
    let ((one, first), (other, _)) = two(&fresh).await;
    assert!(one.acquire("upkeep").await.unwrap());
    fresh.pass(TTL / 2).await;
    renew(&other).await.unwrap();
    fresh.pass(TTL / 2).await;
    assert!(!other.acquire("upkeep").await.unwrap(), "only a death that was declared frees it");
    assert_eq!(renew(&other).await.unwrap(), [first]);
    assert!(other.acquire("upkeep").await.unwrap());
    other.leave().await.unwrap();
    join(&one, "one").await;
    assert!(one.acquire("upkeep").await.unwrap());
}

pub async fn every_process_follows_the_feed(fresh: Fresh) {
    let ((one, _), (other, _)) = two(&fresh).await;
    let mut end = other.watch(Topic::Settings);
    let begun = *end.borrow_and_update();
    one.commit(bare().edit(setting("a"))).await.unwrap();
    let mut seen = Vec::new();
    let mut after = begun;
    while seen.is_empty() {
        end.changed().await.unwrap();
        match other.changes(Topic::Settings, after, 10).await.unwrap() {
            Changes::Page { items, next } => {
                seen.extend(items);
                after = next;
            }
            Changes::Gap(_) => panic!("nothing is missing"),
        }
    }
    assert_eq!(seen, [Entity::Setting("a".into())]);
    assert_eq!(other.setting("a").await.unwrap().as_deref(), Some("v"), "what the feed names can be read");
}

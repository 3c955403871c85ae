//! Several processes that write at the same time: dense numbers, one order, no deadlock.
//!
//! The ignored test prints how fast the writer is, for information.

use std::time::{Duration, Instant};

use agentsite_protocol::{JournalLine, TaskState};
use agentsite_store::contract::samples::{Life, SAMPLE, at, opening, sent, task_id};
use agentsite_store::{
    ChangeReads as _, Changes, Entity, ProcessInfo, ProcessReads as _, Store as _, TaskReads as _, Topic,
};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_of_two_processes_give_dense_numbers_and_one_order() {
    const ROUNDS: u64 = 15;
    const TASKS: u64 = 3;
    let place = Place::new().await;
    let stores = [Arc::new(place.open().await), Arc::new(place.open().await)];
    for task in 1..=TASKS {
        stores[0].commit(opening(task)).await.unwrap();
    }
    let begun = *stores[1].watch(Topic::Tasks).borrow();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8_usize {
        let store = stores[writer % 2].clone();
        writers.spawn(async move {
            let mut won = 0;
            for task in (1..=TASKS).cycle().skip(writer) {
                let head = store.task(task_id(task)).await.unwrap().unwrap();
                if head.seq > ROUNDS {
                    return won;
                }
                let mut life = Life { head };
                let told = JournalLine::new(SAMPLE, at(1), "local", format!("step of {task}"));
                match store.commit(life.go(TaskState::Working, 5, 1).line(told)).await {
                    Ok(()) => won += 1,
                    Err(StoreError::Stale { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            won
        });
    }
    let won: u64 = writers.join_all().await.into_iter().sum();
    let mut total = 0;
    for task in 1..=TASKS {
        let events = stores[0].events(task_id(task), 0, usize::MAX).await.unwrap();
        assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as u64));
        total += events.len() as u64 - 1;
    }
    assert_eq!(won, total);
    assert_eq!(stores[1].audit().await.unwrap().lines, total, "one chain, whoever appended");
    let Changes::Page { items, .. } = stores[1].changes(Topic::Tasks, begun, 1_000).await.unwrap() else {
        panic!("nothing is missing")
    };
    assert!(items.len() as u64 >= total && items.iter().all(|one| matches!(one, Entity::Task(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_declared_dead_while_it_writes_leaves_nothing_half_done() {
    let place = Place::new().await;
    let (one, two) = (Arc::new(place.open().await), place.open().await);
    let (info, ttl) = (ProcessInfo { name: "p".into(), version: "1".into() }, Duration::from_secs(60));
    one.join(info.clone(), ttl).await.unwrap();
    two.join(info, ttl).await.unwrap();
    let writer = tokio::spawn({
        let one = one.clone();
        async move {
            let mut made = 0;
            for number in 1.. {
                match one.commit(opening(number)).await {
                    Ok(()) => made = number,
                    Err(StoreError::Fenced) => return made,
                    Err(error) => panic!("{error}"),
                }
            }
            made
        }
    });
    // tidy: waits because the process is to be declared dead while it writes
    tokio::time::sleep(Duration::from_millis(50)).await;
    place.pass(ttl / 2).await;
    assert!(two.renew(ttl, None).await.unwrap().is_empty());
    place.pass(ttl / 2).await;
    assert_eq!(two.renew(ttl, None).await.unwrap().len(), 1);
    let made = writer.await.unwrap();
    let orphans = two.orphans(None, 1_000).await.unwrap();
    assert_eq!(orphans.len() as u64, made, "what was acknowledged is there, and nothing else");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_froze_in_a_commit_delays_neither_renewals_nor_other_deaths() {
    let place = Place::new().await;
    let stores = [place.open().await, place.open().await, place.open().await];
    let (info, ttl) = (ProcessInfo { name: "p".into(), version: "1".into() }, Duration::from_secs(60));
    let mut ids = Vec::new();
    for store in &stores {
        ids.push(store.join(info.clone(), ttl).await.unwrap().unwrap());
    }
    let [_, _, judge] = &stores;
    // The first one has its row locked, as in a commit, and does not go on.
    let frozen = place.admin().await;
    let lock = format!(
        "BEGIN; SELECT id FROM {}.processes WHERE id = {} FOR KEY SHARE",
        place.schema(),
        ids[0].number()
    );
    frozen.batch_execute(&lock).await.unwrap();
    place.pass(ttl / 2).await;
    assert!(judge.renew(ttl, None).await.unwrap().is_empty());
    place.pass(ttl / 2).await;
    let begun = Instant::now();
    let died = judge.renew(ttl, None).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(4), "far less than a statement waits for a lock otherwise");
    assert_eq!(
        died.iter().map(|view| view.id).collect::<Vec<_>>(),
        [ids[1]],
        "the other one is declared dead"
    );
    frozen.batch_execute("COMMIT").await.unwrap();
    let died = judge.renew(ttl, None).await.unwrap();
    assert_eq!(died.iter().map(|view| view.id).collect::<Vec<_>>(), [ids[0]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_froze_in_a_commit_is_declared_dead_as_soon_as_its_time_has_passed() {
    let place = Place::new().await;
    let (frozen, judge) = (place.open().await, place.open().await);
    let (info, ttl) = (ProcessInfo { name: "p".into(), version: "1".into() }, Duration::from_secs(60));
    let id = frozen.join(info.clone(), ttl).await.unwrap().unwrap();
    judge.join(info, ttl).await.unwrap();
    // A connection that has the name of the writer and the locks of a commit, and sends nothing more.
    let stalled = place.admin().await;
    let begin = format!(
        "SET search_path TO {}; SET application_name TO '{}'; BEGIN;
         SELECT id FROM processes WHERE id = {} FOR KEY SHARE; SELECT * FROM head FOR UPDATE",
        place.schema(),
        crate::processes::writer_name(id),
        id.number()
    );
    stalled.batch_execute(&begin).await.unwrap();
    place.pass(ttl / 2).await;
    assert!(judge.renew(ttl, None).await.unwrap().is_empty(), "not before its time");
    assert!(stalled.batch_execute("SELECT 1").await.is_ok(), "nor is its connection ended before");
    place.pass(ttl / 2).await;
    let died = judge.renew(ttl, None).await.unwrap();
    assert_eq!(died.iter().map(|view| view.id).collect::<Vec<_>>(), [id]);
    assert!(stalled.batch_execute("COMMIT").await.is_err(), "its transaction was ended");
    judge.commit(opening(1)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connection_that_writes_has_the_name_of_its_process() {
    let place = Place::new().await;
    let store = place.open().await;
    let info = ProcessInfo { name: "p".into(), version: "1".into() };
    for number in 1..=2 {
        let id = store.join(info.clone(), Duration::from_secs(60)).await.unwrap().unwrap();
        store.commit(opening(number)).await.unwrap();
        let named = format!(
            "SELECT pid FROM pg_stat_activity WHERE application_name = '{}'
               AND query_start > now() - interval '1 hour'",
            crate::processes::writer_name(id)
        );
        let rows = place.admin().await.query(&named, &[]).await.unwrap();
        assert!(!rows.is_empty(), "named after the process that it writes for, also after joining again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_reads_do_not_delay_a_renewal() {
    let place = Place::new().await;
    let store = place.open().await;
    let info = ProcessInfo { name: "p".into(), version: "1".into() };
    store.join(info, Duration::from_secs(60)).await.unwrap();
    let mut lent = Vec::new();
    for _ in 0..store.pool().most {
        lent.push(store.readers.lend().await.unwrap());
    }
    // All connections that read are in use.
    store.renew(Duration::from_secs(60), None).await.unwrap();
    assert_eq!(store.processes().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
// tidy: skipped because it prints a measurement and tests nothing
#[ignore = "prints the writer's speed for information; says nothing in an unoptimised build"]
async fn how_many_tasks_are_durable_in_a_second() {
    const CHANGES: u64 = 20_000;
    const FLIGHT: usize = 256;
    let place = Place::new().await;
    let store = place.open().await;
    let begun = Instant::now();
    let mut flight = std::collections::VecDeque::new();
    for number in 1..=CHANGES {
        let change = sent(Life::new(number).whole(TaskState::Completed, 1), &format!("message-{number}"), 1);
        let told = JournalLine::new(SAMPLE, at(1), "local", "local asked echo: hello; it was done in 2 ms");
        flight.push_back(store.enqueue(change.line(told)).await.unwrap());
        if flight.len() >= 2 * FLIGHT {
            for durable in flight.drain(..FLIGHT) {
                durable.await.unwrap();
            }
        }
    }
    for durable in flight {
        durable.await.unwrap();
    }
    let rate = CHANGES as f64 / begun.elapsed().as_secs_f64();
    println!("{rate:.0} tasks/s with at most {} in flight, {} commits", 2 * FLIGHT, store.writer.commits());
}

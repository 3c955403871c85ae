//! The database against the model: any history of several processes gives the same answers in memory and on
//! PostgreSQL.
//!
//! The histories are those of the contract. The ignored test does the same with the full number of them; it
//! is what `cargo xtask histories` runs.

use std::time::{Duration, Instant};

use agentsite_store::MemStore;
use agentsite_store::contract::history::{Operation, act, everything, histories};
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// Histories of the ordinary test: some seconds.
const CASES: u32 = 40;

/// Histories of the long test, unless `AGENTSITE_HISTORIES` says another number.
const ALL_CASES: u32 = 1_000;

/// Processes that share the store.
const PROCESSES: usize = 3;

async fn same_answers(place: &Place, history: &[(usize, Operation)]) {
    let first = MemStore::shared();
    let mems: Vec<MemStore> = std::iter::once(first.clone())
        .chain(std::iter::repeat_with(|| first.another()))
        .take(PROCESSES)
        .collect();
    let mut stores = Vec::new();
    for _ in 0..PROCESSES {
        stores.push(place.open().await);
    }
    for (moment, (by, operation)) in (0..).zip(history) {
        if let Operation::Pass { seconds } = operation {
            first.advance(Duration::from_secs(*seconds));
            place.pass(Duration::from_secs(*seconds)).await;
        }
        let (mem, pg) =
            (act(&mems[*by], moment, operation).await, act(&stores[*by], moment, operation).await);
        assert_eq!(mem, pg, "process {by}: {operation:?}");
    }
    assert_eq!(everything(&first).await, everything(&stores[1]).await);
    for store in stores {
        agentsite_store::Upkeep::close(&store).await.unwrap();
    }
}

fn check(cases: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let steps = std::cell::Cell::new(0);
    let done = runner.run(&histories(PROCESSES), |history| {
        runtime.block_on(async {
            let place = Place::new().await;
            same_answers(&place, &history).await;
        });
        steps.set(steps.get() + history.len());
        Ok(())
    });
    done.unwrap();
    println!("{cases} histories, {} steps, the same answers in memory and on PostgreSQL", steps.get());
}

#[test]
fn any_history_of_several_processes_reads_the_same_in_memory_and_on_postgresql() {
    check(CASES);
}

#[test]
// tidy: skipped because the ordinary test does the same with fewer histories
#[ignore = "a thousand histories take minutes; `cargo xtask histories` runs it"]
#[expect(clippy::disallowed_methods, reason = "xtask tells the number by the environment")]
fn a_thousand_histories_read_the_same_in_memory_and_on_postgresql() {
    let begun = Instant::now();
    let number = std::env::var("AGENTSITE_HISTORIES").ok();
    check(number.map_or(ALL_CASES, |number| number.parse().unwrap()));
    println!("in {:.0} s", begun.elapsed().as_secs_f64());
}

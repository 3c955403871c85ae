//! The file against the model: any sequence of changes gives the same answers in memory and on disk.
//!
//! The histories are those of the contract. The ignored test prints how fast the writer is, for information.

use agentsite_protocol::TaskState;
use proptest::prelude::*;

use super::*;
use crate::MemStore;
use crate::contract::history::{act, everything, histories};
use crate::contract::samples::line;

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_changes_reads_the_same_in_memory_and_on_disk(history in histories(1)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (_folder, path) = folder();
            let (mem, file) = (MemStore::new(), open(&path));
            for (moment, (_, operation)) in (0..).zip(&history) {
                let (expected, found) =
                    (act(&mem, moment, operation).await, act(&file, moment, operation).await);
                assert_eq!(expected, found, "{operation:?}");
            }
            assert_eq!(everything(&mem).await, everything(&file).await);
            file.close().await.unwrap();
            assert_eq!(everything(&mem).await, everything(&open(&path)).await);
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
// tidy: skipped because it prints a measurement and tests nothing
#[ignore = "prints the writer's speed for information; says nothing in an unoptimised build"]
async fn how_many_small_changes_are_durable_in_a_second() {
    const CHANGES: u64 = 40_000;
    const FLIGHT: usize = 128;
    let (_folder, path) = folder();
    let store = std::sync::Arc::new(open(&path));
    let begun = std::time::Instant::now();
    let mut flight = std::collections::VecDeque::new();
    for number in 1..=CHANGES {
        let mut change =
            sent(Life::new(number).whole(TaskState::Completed, 1), &format!("message-{number}"), 1);
        change.journal = line(number as i64, "local asked echo: hello; it was done in 2 ms").journal;
        change.journal[0].task = Some(task_id(number));
        flight.push_back(store.enqueue(change).await.unwrap());
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
    let bytes = store.stats().await.unwrap().bytes / CHANGES;
    if let Some(ticks) = writer_ticks() {
        println!("the writer's thread used {} us of CPU per change", ticks * 10_000 / CHANGES);
    }
    println!("{rate:.0} changes/s with at most {} in flight, {bytes} bytes each", 2 * FLIGHT);
}

/// CPU time of the writer's thread in hundredths of a second, where the system tells it.
fn writer_ticks() -> Option<u64> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let stats = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("stat")).ok());
    let stat = stats.into_iter().find(|stat| stat.contains("(store-writer)"))?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

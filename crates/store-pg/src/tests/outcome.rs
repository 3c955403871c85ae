//! Connections that are lost before, during and after a commit: nothing is lost and nothing is made twice.
//!
//! The cuts are real: a proxy between store and server, or the server ending its connections.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use agentsite_protocol::TaskState;
use agentsite_store::contract::samples::{Life, line, task_id, used};
use agentsite_store::{JournalQuery, JournalReads as _, Store as _, TaskReads as _};

use super::proxy::Proxy;
use super::*;
use crate::head::Trace;
use crate::writer::Sent;
use crate::writer::outcome::is_committed;

/// A commit as it goes over the wire: the statement and its end.
const COMMIT: &[u8] = b"COMMIT\0";

async fn cut_at_commit(forwards: bool) {
    let place = Place::new().await;
    let (_, server) = place.base().split_once("host=").unwrap();
    let proxy = Proxy::start(server.as_ref(), COMMIT, forwards);
    let url = place.url().replace(server, proxy.folder().to_str().unwrap());
    let store = PgStore::open(PgSettings::new(url, key())).await.unwrap();
    let mut life = Life::new(1);
    store.commit(life.open()).await.unwrap();
    proxy.arm();
    let change = life.go(TaskState::Working, 2, 3).edits(used_edits()).line(first_line());
    store.commit(change).await.unwrap();
    assert!(proxy.cut.load(Ordering::SeqCst), "the connection was cut during the commit");
    store.commit(life.go(TaskState::Completed, 3, 1)).await.unwrap();
    let events = store.events(task_id(1), 0, 100).await.unwrap();
    assert!(events.iter().map(|event| event.seq).eq(1..=5), "{events:?}");
    let lines = store.journal(JournalQuery { limit: 10, ..JournalQuery::default() }).await.unwrap();
    assert_eq!(lines.len(), 1);
    let usage = store.usage(&"echo".parse().unwrap(), 7).await.unwrap();
    assert_eq!(usage.input_tokens, 10, "added once");
    assert_eq!(store.audit().await.unwrap().lines, 1);
}

fn used_edits() -> Vec<agentsite_store::Edit> {
    agentsite_store::engine::Parts::of(used("echo", 7, 10)).unwrap().edits
}

fn first_line() -> agentsite_protocol::JournalLine {
    agentsite_store::engine::Parts::of(line(1, "it happened")).unwrap().journal.remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_was_lost_is_found_and_not_made_again() {
    cut_at_commit(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_never_arrived_is_made_again() {
    cut_at_commit(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_ended_by_the_server_lose_and_double_nothing() {
    let place = Place::new().await;
    let url = place.own_role().await;
    let store = PgStore::open(PgSettings::new(url, key())).await.unwrap();
    let (admin, role) = (place.admin().await, place.schema().to_owned());
    let ending = tokio::spawn(async move {
        for _ in 0..8 {
            // tidy: waits because connections are to be ended at moments that nothing else decides
            tokio::time::sleep(Duration::from_millis(60)).await;
            let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1";
            admin.query(sql, &[&role]).await.unwrap();
        }
    });
    let mut life = Life::new(1);
    store.commit(life.open()).await.unwrap();
    let mut steps = 1;
    while !ending.is_finished() {
        steps += 1;
        store.commit(life.go(TaskState::Working, steps, 1)).await.unwrap();
        assert_eq!(store.task(task_id(1)).await.unwrap().unwrap().seq, steps as u64);
    }
    ending.await.unwrap();
    let events = store.events(task_id(1), 0, usize::MAX).await.unwrap();
    assert!(events.iter().map(|event| event.seq).eq(1..=steps as u64));
    assert!(steps > 1, "some commits were made between the cuts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_another_transaction_is_not_taken_for_ours() {
    let place = Place::new().await;
    let store = place.open().await;
    store.commit(line(1, "it happened")).await.unwrap();
    store.commit(Life::new(1).open()).await.unwrap();
    let (admin, schema) = (place.admin().await, place.schema());
    let read = async |sql: String| admin.query_one(&sql, &[]).await.unwrap();
    let row = read(format!("SELECT seq, hash, xmin::text FROM {schema}.journal")).await;
    let (seq, hash, of_line): (i64, Vec<u8>, String) = (row.get(0), row.get(1), row.get(2));
    let row = read(format!("SELECT topic, last, entities[1], xmin::text FROM {schema}.feed")).await;
    let (topic, last, entity, of_entry): (i16, i64, String, String) =
        (row.get(0), row.get(1), row.get(2), row.get(3));
    let (target, until) = (Target::read(&place.url()).unwrap(), Instant::now());
    let tls = Tls::new(&target).unwrap();
    for (transaction, line, entry, expected) in [
        (&of_line, Some((seq, hash.clone())), None, true),
        // As after a failover: the number was given again, and what we wrote is not there.
        (&of_line, Some((seq, vec![0; hash.len()])), None, false),
        (&of_line, Some((seq + 1, hash.clone())), None, false),
        (&of_entry, None, Some((topic, last, entity.clone())), true),
        (&of_entry, None, Some((topic, last, "another".to_owned())), false),
        (&of_entry, None, Some((topic, last + 1, entity)), false),
    ] {
        let shown = format!("{line:?} {entry:?}");
        let sent = Sent { transaction: transaction.clone(), trace: Trace { line, entry }, pid: 0 };
        assert_eq!(is_committed(&target, &tls, &sent, until).await.unwrap(), expected, "{shown}");
    }
}

//! An upgrade while the site runs: programs of version N and N+1 work on one database.
//!
//! The rule that is proven: a step only adds, so that N continues when N+1 has migrated; what is no longer
//! needed goes one version later, by a step that names N+1 as the oldest that may open the result. The later
//! versions are steps of this test; the programs are handles that know so many steps.

use agentsite_protocol::TaskState;
use agentsite_store::contract::samples::{Life, opening, task_id};
use agentsite_store::{Store as _, TaskReads as _, Upkeep as _};

use super::*;
use crate::schema::{STEPS, Step};

/// What N+1 adds: a column that N does not write, a table and an index that N does not know.
const ADDS: &str = "ALTER TABLE tasks ADD COLUMN colour text NOT NULL DEFAULT 'none';
    CREATE TABLE shades (id bigint PRIMARY KEY, task bytea NOT NULL);
    CREATE INDEX tasks_colour ON tasks (colour) WHERE colour <> 'none';";

/// What N+2 removes, when no N runs any more: here an index that N+1 does without.
const REMOVES: &str = "DROP INDEX tasks_parent;";

/// The steps that N+1 knows, and those of N+2.
fn later() -> (Vec<Step>, Vec<Step>) {
    let now = PG_SCHEMA_VERSION;
    let next = [STEPS, &[Step { sql: ADDS, oldest_compatible: now }]].concat();
    let last = [&next[..], &[Step { sql: REMOVES, oldest_compatible: now + 1 }]].concat();
    (next, last)
}

async fn open_at(place: &Place, steps: &[Step]) -> Result<PgStore, StoreError> {
    PgStore::open_at(PgSettings::new(place.url(), key()), steps).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_present_version_goes_on_while_the_next_one_migrates_and_runs() {
    let place = Place::new().await;
    let (next, last) = later();
    let old = Arc::new(place.open().await);
    let (migrated, mut seen) = tokio::sync::watch::channel(false);
    let writing = tokio::spawn({
        let old = old.clone();
        async move {
            let (mut life, mut steps) = (Life::new(1), 1);
            old.commit(life.open()).await.unwrap();
            // Some before, during and after the migration.
            while !*seen.borrow_and_update() || steps < 20 {
                steps += 1;
                old.commit(life.go(TaskState::Working, steps, 1)).await.unwrap();
            }
            old.commit(life.go(TaskState::Completed, steps + 1, 1)).await.unwrap();
            steps as u64 + 1
        }
    });
    let new = open_at(&place, &next).await.unwrap();
    new.commit(opening(2)).await.unwrap();
    migrated.send_replace(true);
    let steps = writing.await.unwrap();

    let events = new.events(task_id(1), 0, usize::MAX).await.unwrap();
    assert!(events.iter().map(|event| event.seq).eq(1..=steps), "N+1 reads what N writes");
    assert!(old.task(task_id(2)).await.unwrap().is_some(), "N reads what N+1 writes");
    let again = place.open().await;
    again.commit(opening(3)).await.unwrap();
    assert_eq!(again.stats().await.unwrap().tasks, 3, "a process of N may still be started");
    assert_eq!(new.audit().await.unwrap().lines, old.audit().await.unwrap().lines);
    for store in [&*old, &again] {
        store.close().await.unwrap();
    }

    let refused = PG_SCHEMA_VERSION;
    let latest = open_at(&place, &last).await.unwrap();
    let tried = open_at(&place, STEPS).await;
    let expected = matches!(&tried, Err(StoreError::TooNew { found, known }) if *found == refused + 2 && *known == refused);
    assert!(expected, "N is refused once something it needs is gone: {tried:?}");
    new.commit(opening(4)).await.unwrap();
    assert!(open_at(&place, &next).await.is_ok(), "N+1 may still open what N+2 has changed");
    latest.close().await.unwrap();
    new.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_processes_that_start_at_once_migrate_once() {
    let place = Place::new().await;
    let (next, _) = later();
    place.open().await.close().await.unwrap();
    let opened = futures::future::join_all((0..3).map(|_| open_at(&place, &next))).await;
    for (number, store) in (1..).zip(opened) {
        let store = store.unwrap();
        store.commit(opening(number)).await.unwrap();
        store.close().await.unwrap();
    }
    let sql = format!("SELECT version FROM {}.schema_version", place.schema());
    let version: i64 = place.admin().await.query_one(&sql, &[]).await.unwrap().get(0);
    assert_eq!(version, PG_SCHEMA_VERSION + 1);
}

#[tokio::test]
async fn a_step_that_fails_is_named_and_leaves_the_database_as_it_was() {
    let place = Place::new().await;
    let old = place.open().await;
    let broken = "CREATE TABLE shades (id bigint); ALTER TABLE nothing ADD COLUMN x text;";
    let steps = [STEPS, &[Step { sql: broken, oldest_compatible: 1 }]].concat();
    let error = open_at(&place, &steps).await.unwrap_err().to_string();
    assert!(error.contains("\"nothing\" does not exist"), "{error}");
    old.commit(opening(1)).await.unwrap();
    let (next, _) = later();
    open_at(&place, &next).await.unwrap().commit(opening(2)).await.unwrap();
}

//! What only a store in a file must do: survive, refuse, notice damage, come back from a full disk.
//!
//! The contract runs here twice: on a store that stays open, and on one that is closed and opened again
//! before each read.

mod damage;
mod deletion;
mod model;
mod tampering;

use agentsite_protocol::{Principal, TaskEvent, TaskHead};
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::*;
use crate::contract::Fresh;
use crate::contract::samples::{Life, at, opening, sent, task_id};
use crate::{
    ConversationQuery, ConversationReads, DeliveryClaimRequest, DeliveryReads, Expiry, JournalQuery,
    JournalReads, KeyReads, KeyRecord, TaskReads, Upkeep,
};

/// The key of every store here.
const KEY: StoreKey = StoreKey::new([7; 32]);

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, &KEY, StoreMetrics::default()).unwrap()
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.db");
    (folder, path)
}

/// Lets a test change something at the writer's connection.
async fn look(store: &SqliteStore, look: fn(&rusqlite::Connection)) {
    let (answer, answered) = oneshot::channel();
    store.writer.queue(Job::Look { look, answer }).await.unwrap();
    let _ = answered.await;
}

mod kept_open {
    use super::*;
    use crate::contract::{alone_suite, contract_suite};

    contract_suite!(async || {
        let (folder, path) = folder();
        Fresh::of(open(&path)).keeping(folder)
    });
    alone_suite!(async || {
        let (folder, path) = folder();
        Fresh::of(open(&path)).keeping(folder)
    });
}

mod opened_again {
    use super::*;
    use crate::contract::contract_suite;

    contract_suite!(async || {
        let (folder, path) = folder();
        let again = path.clone();
        Fresh::of(open(&path)).keeping(folder).opening_again(Box::new(move |store| {
            let path = again.clone();
            Box::pin(async move {
                store.close().await.unwrap();
                std::sync::Arc::new(open(&path)) as crate::SharedStore
            })
        }))
    });
}

#[tokio::test]
async fn a_second_opening_is_refused_until_the_first_is_closed() {
    let (_folder, path) = folder();
    let first = open(&path);
    assert!(matches!(SqliteStore::open(&path, &KEY, StoreMetrics::default()), Err(StoreError::Locked)));
    assert!(matches!(restore(&path, &path, |_| Ok(())), Err(StoreError::Locked)));
    first.close().await.unwrap();
    open(&path);
    // Dropping closes too.
    open(&path);
}

#[tokio::test]
async fn a_file_of_a_later_version_is_refused_untouched() {
    let (_folder, path) = folder();
    drop(open(&path));
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    drop(db);
    let before = std::fs::read(&path).unwrap();
    let refused = SqliteStore::open(&path, &KEY, StoreMetrics::default()).unwrap_err();
    assert!(matches!(refused, StoreError::TooNew { found, known } if found == known + 1), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_file_of_the_first_version_gets_an_outbox_in_order() {
    let (_folder, path) = folder();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(schema::FIRST).unwrap();
    db.pragma_update(None, "application_id", schema::APPLICATION_ID).unwrap();
    db.pragma_update(None, "user_version", 1).unwrap();
    let row = "INSERT INTO outbox (due, deadline, kind, body) VALUES (?1, ?1, 'push', 'old')";
    db.execute(row, [at(1).as_millis()]).unwrap();
    drop(db);
    let store = open(&path);
    let claims = store.claim(DeliveryClaimRequest::all(at(2), at(3), 5)).await.unwrap().rows;
    assert_eq!((claims.len(), claims[0].row.body.as_str(), claims[0].row.lane.as_deref()), (1, "old", None));
    store.commit(opening(1)).await.unwrap();
    assert!(store.push_configs(task_id(1)).await.unwrap().is_empty());
}

#[tokio::test]
async fn conversations_of_the_former_owner_local_belong_to_the_admins() {
    let (_folder, path) = folder();
    let db = rusqlite::Connection::open(&path).unwrap();
    schema::take_steps_below(&db, 8);
    let row = "INSERT INTO conversations (id, owner, title, named, pinned, agent, created_at, updated_at, revision, head, turns)
               VALUES (zeroblob(16), 'local', 'old', 0, 0, 'echo', 1, 1, 1, NULL, 0)";
    db.execute(row, []).unwrap();
    drop(db);
    let store = open(&path);
    let query = crate::ConversationQuery { owner: agentsite_protocol::Principal::admin(), text: None };
    assert_eq!(store.conversations(query, None, 5).await.unwrap().items.len(), 1);
}

#[test]
fn a_cached_statement_is_planned_once_whatever_is_bound_to_it() {
    let (_folder, path) = folder();
    drop(open(&path));
    let db = super::file::connect(&path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    for sql in [
        "SELECT id FROM push_configs WHERE task = ?1 ORDER BY id",
        "SELECT row, seq, state, updated_at, seal FROM tasks WHERE id = ?1",
        "SELECT owner, revision FROM conversations WHERE id = ?1",
    ] {
        for number in 0..5_u8 {
            let mut find = db.prepare_cached(sql).unwrap();
            assert!(find.query([[number; 16].as_slice()]).unwrap().next().unwrap().is_none());
        }
        let planned_again = db.prepare_cached(sql).unwrap().get_status(rusqlite::StatementStatus::RePrepare);
        assert_eq!(planned_again, 0, "{sql}");
    }
}

#[tokio::test]
async fn what_is_no_database_of_ours_is_refused_with_a_sentence() {
    let (folder, path) = folder();
    std::fs::write(&path, b"this is a diary, not a database".repeat(1_000)).unwrap();
    let refused = SqliteStore::open(&path, &KEY, StoreMetrics::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt(_)), "{refused}");
    assert!(refused.to_string().contains("agentsite restore"), "{refused}");
    let foreign = folder.path().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE photos (x)").unwrap();
    let refused = SqliteStore::open(&foreign, &KEY, StoreMetrics::default()).unwrap_err();
    assert!(refused.to_string().contains("another program"), "{refused}");
    let missing = folder.path().join("no/such/folder/site.db");
    let refused = SqliteStore::open(&missing, &KEY, StoreMetrics::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Engine(_)), "{refused}");
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let (_folder, path) = folder();
    std::fs::write(&path, b"").unwrap();
    open(&path).commit(opening(1)).await.unwrap();
    assert!(open(&path).task(task_id(1)).await.unwrap().is_some());
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill() {
    let (folder, path) = folder();
    let store = open(&path);
    for number in 1..=40 {
        store.commit(sent(Life::new(number).open(), &format!("m{number}"), 1)).await.unwrap();
        // The files as a kill at this moment would leave them.
        if number % 10 == 0 {
            let killed = folder.path().join(format!("killed-{number}.db"));
            std::fs::copy(&path, &killed).unwrap();
            std::fs::copy(sidecar::sidecar(&path, "-wal"), sidecar::sidecar(&killed, "-wal")).unwrap();
            let found = open(&killed);
            assert_eq!(found.open_tasks().await.unwrap().len() as u64, number);
            assert_eq!(found.events(task_id(number), 0, 10).await.unwrap().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_torn_end_of_the_log_costs_only_the_last_commit() {
    let (folder, path) = folder();
    let store = open(&path);
    for number in 1..=10 {
        store.commit(opening(number)).await.unwrap();
    }
    let torn = folder.path().join("torn.db");
    std::fs::copy(&path, &torn).unwrap();
    let log = std::fs::read(sidecar::sidecar(&path, "-wal")).unwrap();
    std::fs::write(sidecar::sidecar(&torn, "-wal"), &log[..log.len() - 100]).unwrap();
    let found = open(&torn);
    assert_eq!(found.open_tasks().await.unwrap().len(), 9);
    found.commit(opening(10)).await.unwrap();
}

#[tokio::test]
async fn a_full_disk_refuses_changes_and_is_forgotten_when_there_is_room() {
    let (_folder, path) = folder();
    let store = open(&path);
    store.commit(opening(1)).await.unwrap();
    look(&store, |db| db.pragma_update(None, "max_page_count", 1).unwrap()).await;
    let mut number = 2;
    let refused = loop {
        match store.commit(sent(opening(number), &format!("m{number}"), 1)).await {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StoreError::Full), "{refused}");
    // Reading goes on, and nothing of the refused change is there.
    assert!(store.task(task_id(1)).await.unwrap().is_some());
    assert!(store.task(task_id(number)).await.unwrap().is_none());
    look(&store, |db| db.pragma_update(None, "max_page_count", 1 << 30).unwrap()).await;
    store.commit(sent(opening(number), &format!("m{number}"), 1)).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(open(&path).open_tasks().await.unwrap().len() as u64, number);
}

#[tokio::test]
async fn a_failed_commit_stops_the_store_and_says_why() {
    let (_folder, path) = folder();
    let store = open(&path);
    store.commit(opening(1)).await.unwrap();
    look(&store, |db| db.execute_batch("DROP TABLE journal").unwrap()).await;
    let refused = store.commit(crate::contract::samples::line(1, "lost")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Engine(_)), "{refused}");
    let later = store.commit(opening(2)).await.unwrap_err();
    assert!(matches!(&later, StoreError::Stopped(why) if why.contains("journal")), "{later}");
    assert!(store.task(task_id(1)).await.unwrap().is_some());
    store.close().await.unwrap();
}

#[tokio::test]
async fn the_log_is_copied_into_the_file_before_it_grows_large() {
    let (_folder, path) = folder();
    let store = open(&path);
    let long = "x".repeat(200_000);
    for number in 0..100 {
        store.commit(crate::contract::samples::line(number, &long)).await.unwrap();
    }
    let log = std::fs::metadata(sidecar::sidecar(&path, "-wal")).unwrap().len();
    assert!(log < 8 << 20, "20 MB were written and the log has {log} bytes");
    store.close().await.unwrap();
    assert_eq!(std::fs::metadata(sidecar::sidecar(&path, "-wal")).map_or(0, |log| log.len()), 0);
}

#[tokio::test]
async fn changes_larger_than_the_queue_are_written_and_larger_than_a_row_refused() {
    let (_folder, path) = folder();
    let store = open(&path);
    let large = "x".repeat(40 << 20);
    store.commit(crate::contract::samples::line(1, &large)).await.unwrap();
    let lines = store.journal(JournalQuery { limit: 1, ..JournalQuery::default() }).await.unwrap();
    assert_eq!(lines[0].line.text.len(), large.len());
    let refused = store.commit(crate::contract::samples::line(2, &large.repeat(2))).await.unwrap_err();
    assert!(refused.to_string().contains("at most"), "{refused}");
}

#[tokio::test]
async fn message_keys_are_found_wherever_they_have_settled() {
    let (_folder, path) = folder();
    let store = open(&path);
    let mut durables = Vec::new();
    for number in 1..=5_000 {
        let change = sent(
            Life::new(number).whole(agentsite_protocol::TaskState::Completed, 1),
            &format!("m{number}"),
            1,
        );
        durables.push(store.enqueue(change).await.unwrap());
    }
    for durable in durables {
        durable.await.unwrap();
    }
    for number in [1, 2_500, 5_000] {
        let refused = store.commit(sent(Life::new(9_999).open(), &format!("m{number}"), 1)).await;
        let Err(StoreError::Duplicate { task, same_body: true }) = refused else { panic!("{refused:?}") };
        assert_eq!(task, task_id(number));
    }
    let all = Expiry {
        now: at(100),
        before: at(100),
        keep: 0,
        portion: 10_000,
        journal_before: at(0),
        ..Expiry::default()
    };
    assert_eq!(store.expire(all).await.unwrap(), 5_000);
    store.close().await.unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    let sql = "SELECT (SELECT count(*) FROM sent) + (SELECT count(*) FROM sent_recent) + (SELECT count(*) FROM task_events)";
    assert_eq!(db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

#[tokio::test]
async fn a_backup_opens_as_a_store_with_the_same_content() {
    let (folder, path) = folder();
    let store = open(&path);
    let mut life = Life::new(1);
    store.commit(sent(life.whole(agentsite_protocol::TaskState::Completed, 5), "m1", 1)).await.unwrap();
    let copy = folder.path().join("copy.db");
    store.backup(&copy).await.unwrap();
    store.commit(opening(2)).await.unwrap();
    let refused = store.backup(&copy).await.unwrap_err();
    assert!(refused.to_string().contains("exists already"), "{refused}");
    let copied = open(&copy);
    assert_eq!(copied.task(task_id(1)).await.unwrap(), Some(life.head));
    let events = store.events(task_id(1), 0, 10).await.unwrap();
    assert_eq!(copied.events(task_id(1), 0, 10).await.unwrap(), events);
    assert!(copied.task(task_id(2)).await.unwrap().is_none());
    let refused = copied.commit(sent(opening(3), "m1", 1)).await;
    assert!(matches!(refused, Err(StoreError::Duplicate { .. })));
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("part")), "{names:?}");
}

#[tokio::test]
async fn a_restored_backup_takes_the_place_of_the_database_which_is_kept() {
    let (folder, path) = folder();
    let copy = folder.path().join("copy.db");
    let store = open(&path);
    store.commit(opening(1)).await.unwrap();
    store.backup(&copy).await.unwrap();
    store.commit(opening(2)).await.unwrap();
    assert!(matches!(restore(&copy, &path, |_| Ok(())), Err(StoreError::Locked)));
    drop(store);
    restore(&copy, &path, |_| Ok(())).unwrap();
    let store = open(&path);
    assert!(store.task(task_id(1)).await.unwrap().is_some());
    assert!(store.task(task_id(2)).await.unwrap().is_none());
    store.commit(opening(3)).await.unwrap();
    let kept = open(&folder.path().join("site.db.before-restore"));
    assert!(kept.task(task_id(2)).await.unwrap().is_some());
}

#[tokio::test]
async fn an_unfit_backup_is_refused_and_changes_nothing() {
    let (folder, path) = folder();
    open(&path).commit(opening(1)).await.unwrap();
    let unfit = folder.path().join("unfit.db");
    for content in [&b""[..], b"no database at all, but long enough to look at. ".repeat(100).as_slice()] {
        std::fs::write(&unfit, content).unwrap();
        assert!(matches!(restore(&unfit, &path, |_| Ok(())), Err(StoreError::Corrupt(_))));
    }
    assert!(matches!(restore(&folder.path().join("missing"), &path, |_| Ok(())), Err(StoreError::Engine(_))));
    assert!(matches!(restore(&path, &path, |_| Ok(())), Err(StoreError::Engine(_))));
    assert!(open(&path).task(task_id(1)).await.unwrap().is_some());
    assert!(!folder.path().join("site.db.restoring").exists());
}

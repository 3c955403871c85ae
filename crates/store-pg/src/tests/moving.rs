//! Data moves between the engines and is the same afterwards, whatever breaks the move off on its way.
//!
//! Every move is the one that `agentsite migrate` makes: a source, a sink, `copying::copy`. That the binary
//! refuses, resumes and reports is tested with the real one.

use std::path::{Path, PathBuf};

use agentsite_protocol::TaskState;
use agentsite_store::contract::history;
use agentsite_store::contract::samples::{Life, bare, delivery, sent};
use agentsite_store::copying::{
    self, COPY_TABLES, Cell, CopyPhase, CopyReport, CopyTable, RowSource, TableCopy,
};
use agentsite_store::{
    ConversationQuery, DeliveryChange, ProcessInfo, ProcessReads as _, SqliteSink, SqliteSource, SqliteStore,
    StoreMetrics, Upkeep as _,
};
use proptest::test_runner::{Config, TestRunner};

use super::backup::{everything, fill};
use super::*;

/// Random histories that are moved to and fro.
const CASES: u32 = 24;

/// How long a process of these tests lives.
const TTL: std::time::Duration = std::time::Duration::from_secs(60);

fn open_file(path: &Path) -> SqliteStore {
    SqliteStore::open(path, &key(), StoreMetrics::default()).unwrap()
}

async fn filled(folder: &Path) -> PathBuf {
    let path = folder.join("site.db");
    let store = open_file(&path);
    fill(&store).await;
    store.close().await.unwrap();
    path
}

async fn copy(source: &mut dyn RowSource, sink: &mut dyn copying::RowSink) -> CopyReport {
    let report = copying::copy(source, sink, &mut |_| {}).await.unwrap();
    assert_eq!(report.difference(), None, "{report:?}");
    report
}

async fn into_database(from: &Path, place: &Place) -> CopyReport {
    let mut source = SqliteSource::open(from, &key()).unwrap();
    let mut sink = PgSink::open(&place.url(), &key()).await.unwrap();
    assert!(!sink.holds_data());
    sink.prepare(false).await.unwrap();
    copy(&mut source, &mut sink).await
}

async fn into_file(place: &Place, to: &Path) -> CopyReport {
    let mut source = PgSource::open(&place.url(), &key()).await.unwrap();
    let mut sink = SqliteSink::place(to, &key()).unwrap();
    copy(&mut source, &mut sink).await
}

fn sums(report: &CopyReport) -> Vec<(&str, copying::CopySum)> {
    report.tables.iter().map(|TableCopy { table, to, .. }| (*table, *to)).collect()
}

/// What a store must still be able to do: numbers continue, repeats are known, words are found.
async fn goes_on(store: &dyn Store) {
    let repeat = store.commit(sent(Life::new(99).owner("key:a").open(), "m2", 1)).await;
    assert!(matches!(repeat, Err(StoreError::Duplicate { same_body: true, .. })), "{repeat:?}");
    let mut life = Life::new(200).owner("key:a");
    store.commit(sent(life.open(), "after", 1)).await.unwrap();
    store.commit(life.go(TaskState::Completed, 90, 2)).await.unwrap();
    store.commit(bare().edit(DeliveryChange::Add(delivery("later", 1)))).await.unwrap();
    assert_eq!(store.events(life.head.id, 0, 10).await.unwrap().len(), 3);
    let query = ConversationQuery { owner: "key:a".parse().unwrap(), text: Some("天气".into()) };
    assert_eq!(store.conversations(query, None, 10).await.unwrap().items.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_moves_into_a_database_and_back_and_is_the_same() {
    let (folder, place) = (tempfile::tempdir().unwrap(), Place::new().await);
    let path = filled(folder.path()).await;
    let before = std::fs::read(&path).unwrap();
    let there = into_database(&path, &place).await;
    assert_eq!(std::fs::read(&path).unwrap(), before, "the source is not touched");
    let (file, database) = (open_file(&path), place.open().await);
    assert_eq!(everything(&file).await, everything(&database).await);
    let audited = database.audit().await.unwrap();
    assert_eq!((audited.lines, audited.tasks), (9, 31));
    let recounted = database
        .storage(agentsite_store::StorageQuery { recount: true, ..Default::default() })
        .await
        .unwrap();
    assert_eq!(database.storage(Default::default()).await.unwrap().total, recounted.total);
    database.close().await.unwrap();

    let back = folder.path().join("back.db");
    let report = into_file(&place, &back).await;
    assert_eq!(sums(&there), sums(&report));
    agentsite_store::audit(&back, Some(&key())).unwrap();
    let (again, database) = (open_file(&back), place.open().await);
    assert_eq!(everything(&file).await, everything(&again).await);
    for store in [&file as &dyn Store, &database, &again] {
        goes_on(store).await;
    }
    assert_eq!(everything(&file).await, everything(&database).await, "the same numbers are given");
    assert_eq!(everything(&file).await, everything(&again).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_moves_into_another_one_and_a_file_into_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path()).await;
    let (one, two) = (Place::new().await, Place::new().await);
    let first = into_database(&path, &one).await;
    let mut source = PgSource::open(&one.url(), &key()).await.unwrap();
    let mut sink = PgSink::open(&two.url(), &key()).await.unwrap();
    sink.prepare(false).await.unwrap();
    assert_eq!(sums(&first), sums(&copy(&mut source, &mut sink).await));
    let mut source = SqliteSource::open(&path, &key()).unwrap();
    let mut sink = SqliteSink::place(&folder.path().join("other.db"), &key()).unwrap();
    assert_eq!(sums(&first), sums(&copy(&mut source, &mut sink).await));
}

/// A source that fails after some pages.
struct Failing {
    source: SqliteSource,
    left: usize,
}

impl RowSource for Failing {
    fn begin<'a>(&'a mut self, table: &'static CopyTable) -> Reply<'a, ()> {
        self.source.begin(table)
    }

    fn next(&mut self) -> Reply<'_, Vec<Vec<Cell>>> {
        if self.left == 0 {
            return Box::pin(async { Err(StoreError::Engine("broken off".into())) });
        }
        self.left -= 1;
        self.source.next()
    }

    fn end(&mut self) -> Reply<'_, ()> {
        self.source.end()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_is_broken_off_anywhere_is_incomplete_and_continues() {
    let (folder, place) = (tempfile::tempdir().unwrap(), Place::new().await);
    let path = filled(folder.path()).await;
    let mut skipped = 0;
    for left in 0.. {
        let mut source = Failing { source: SqliteSource::open(&path, &key()).unwrap(), left };
        let mut sink = PgSink::open(&place.url(), &key()).await.unwrap();
        assert!(!sink.holds_data(), "a part of a copy is no data of a site");
        sink.prepare(false).await.unwrap();
        let mut steps = Vec::new();
        let copied = copying::copy(&mut source, &mut sink, &mut |step| steps.push(step)).await;
        if let Ok(report) = copied {
            assert_eq!(report.difference(), None);
            skipped = steps.iter().filter(|step| step.doing == CopyPhase::Comparing).count();
            break;
        }
        drop(sink);
        let refused = PgStore::open(PgSettings::new(place.url(), key())).await.unwrap_err();
        assert!(matches!(refused, StoreError::Incomplete), "after {left} pages: {refused}");
        let refused = PgSource::open(&place.url(), &key()).await.unwrap_err();
        assert!(matches!(refused, StoreError::Incomplete), "after {left} pages: {refused}");
    }
    assert!(skipped >= COPY_TABLES.len() / 2, "tables that were whole are not written again: {skipped}");
    let (file, database) = (open_file(&path), place.open().await);
    assert_eq!(everything(&file).await, everything(&database).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_has_changed_since_is_copied_as_it_is_now() {
    let (folder, place) = (tempfile::tempdir().unwrap(), Place::new().await);
    let path = filled(folder.path()).await;
    let mut source = Failing { source: SqliteSource::open(&path, &key()).unwrap(), left: 12 };
    let mut sink = PgSink::open(&place.url(), &key()).await.unwrap();
    sink.prepare(false).await.unwrap();
    copying::copy(&mut source, &mut sink, &mut |_| {}).await.unwrap_err();
    drop((source, sink));
    let store = open_file(&path);
    goes_on(&store).await;
    store.close().await.unwrap();
    into_database(&path, &place).await;
    let (file, database) = (open_file(&path), place.open().await);
    assert_eq!(everything(&file).await, everything(&database).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_not_complete_is_refused_until_it_is() {
    let (folder, place) = (tempfile::tempdir().unwrap(), Place::new().await);
    let path = filled(folder.path()).await;
    into_database(&path, &place).await;
    let to = folder.path().join("half.db");
    let sink = SqliteSink::place(&to, &key()).unwrap();
    let refused = SqliteStore::open(&to, &key(), StoreMetrics::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Locked), "{refused}");
    drop(sink);
    let refused = SqliteStore::open(&to, &key(), StoreMetrics::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Incomplete), "{refused}");
    into_file(&place, &to).await;
    assert_eq!(everything(&open_file(&to)).await, everything(&open_file(&path)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_in_use_or_holds_other_data_or_has_another_key_is_refused() {
    let (folder, place) = (tempfile::tempdir().unwrap(), Place::new().await);
    let path = filled(folder.path()).await;
    let empty = PgSource::open(&place.url(), &key()).await.unwrap_err().to_string();
    assert!(empty.contains("holds no data of a site"), "{empty}");

    let other = StoreKey::new([8; 32]);
    assert!(matches!(SqliteSource::open(&path, &other).unwrap_err(), StoreError::WrongKey));
    let running = open_file(&path);
    assert!(matches!(SqliteSource::open(&path, &key()).unwrap_err(), StoreError::Locked));
    running.close().await.unwrap();
    drop(running);

    let site = place.open().await;
    site.join(ProcessInfo { name: "one".into(), version: "1".into() }, TTL).await.unwrap();
    for refused in [
        PgSink::open(&place.url(), &key()).await.map(drop).unwrap_err().to_string(),
        PgSource::open(&place.url(), &key()).await.map(drop).unwrap_err().to_string(),
    ] {
        assert!(refused.contains("a site is running on this database (process one)"), "{refused}");
    }
    fill(&site).await;
    site.leave().await.unwrap();
    let mut sink = PgSink::open(&place.url(), &key()).await.unwrap();
    assert!(sink.holds_data());
    let taken = sink.prepare(false).await.unwrap_err().to_string();
    assert!(taken.contains("already holds the data of a site"), "{taken}");
    drop(sink);
    assert!(matches!(PgSource::open(&place.url(), &other).await.unwrap_err(), StoreError::WrongKey));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_moved_aside_for_a_restore_stays_readable() {
    let (folder, place) = (tempfile::tempdir().unwrap(), Place::new().await);
    let path = filled(folder.path()).await;
    let site = place.open().await;
    goes_on_alone(&site).await;
    site.close().await.unwrap();
    let mut source = SqliteSource::open(&path, &key()).unwrap();
    let mut sink = PgSink::open(&place.url(), &key()).await.unwrap();
    sink.prepare(true).await.unwrap();
    copy(&mut source, &mut sink).await;
    drop((source, sink));
    let kept = format!("{}_before_restore", place.schema());
    let admin = place.admin().await;
    let tasks: i64 =
        admin.query_one(&format!("SELECT count(*) FROM {kept}.tasks"), &[]).await.unwrap().get(0);
    assert_eq!(tasks, 1);
    admin.batch_execute(&format!("DROP SCHEMA {kept} CASCADE")).await.unwrap();
    assert_eq!(everything(&place.open().await).await, everything(&open_file(&path)).await);
}

async fn goes_on_alone(store: &dyn Store) {
    store.commit(Life::new(7).owner("key:z").open()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_process_starts_while_data_is_moved_away() {
    let (folder, place) = (tempfile::tempdir().unwrap(), Place::new().await);
    let path = filled(folder.path()).await;
    into_database(&path, &place).await;
    let source = PgSource::open(&place.url(), &key()).await.unwrap();
    let refused = PgStore::open(PgSettings::new(place.url(), key())).await.unwrap_err().to_string();
    assert!(refused.contains("another agentsite copies"), "{refused}");
    drop(source);
    place.open().await.close().await.unwrap();
}

#[test]
fn any_history_is_the_same_after_it_has_moved_and_moved_back() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let histories = history::histories(1);
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let done = runner.run(&histories, |history| {
        runtime.block_on(async {
            let (folder, place) = (tempfile::tempdir().unwrap(), Place::new().await);
            let (path, back) = (folder.path().join("site.db"), folder.path().join("back.db"));
            let store = open_file(&path);
            for (moment, (_, operation)) in (0..).zip(&history) {
                history::act(&store, moment, operation).await;
            }
            let before = history::content(&store).await;
            store.close().await.unwrap();
            drop(store);
            into_database(&path, &place).await;
            let database = place.open().await;
            assert_eq!(before, history::content(&database).await);
            database.close().await.unwrap();
            into_file(&place, &back).await;
            assert_eq!(before, history::content(&open_file(&back)).await);
        });
        Ok(())
    });
    done.unwrap();
}

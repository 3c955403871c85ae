//! What people can do wrong with a database, each answered by a sentence that says what to do; and what a
//! key, a schema and a changed row have to do with it.

use agentsite_store::contract::samples::{line, opening};
use agentsite_store::{JournalReads as _, Store as _, Upkeep as _};

use super::*;

#[tokio::test]
async fn what_is_wrong_with_a_login_or_a_database_is_said_with_the_way_out() {
    let place = Place::new().await;
    let (admin, schema) = (place.admin().await, place.schema());
    let guarded = "DO $$ BEGIN IF to_regrole('guarded') IS NULL THEN CREATE ROLE guarded LOGIN PASSWORD 'right'; END IF; END $$";
    admin.batch_execute(guarded).await.unwrap();
    let mine = place.own_role().await;
    let wrong = refused(&place.url().replace("postgres@", "guarded:wrong@")).await;
    assert!(wrong.contains("check user and password"), "{wrong}");
    let missing = refused(&place.url().replace("/postgres?", "/nowhere?")).await;
    assert!(missing.contains("createdb"), "{missing}");
    let unreachable = refused("postgres://postgres@127.0.0.1:1/postgres").await;
    assert!(unreachable.contains("does not answer") && unreachable.contains("start it"), "{unreachable}");
    for (change, words) in
        [("SET default_transaction_read_only TO on", "read-only"), ("CONNECTION LIMIT 0", "max_connections")]
    {
        admin.batch_execute(&format!("ALTER ROLE {schema} {change}")).await.unwrap();
        let error = refused(&mine).await;
        assert!(error.contains(words), "{error}");
        admin
            .batch_execute(&format!("ALTER ROLE {schema} RESET ALL; ALTER ROLE {schema} CONNECTION LIMIT -1"))
            .await
            .unwrap();
    }
    admin.batch_execute(&format!("CREATE SCHEMA {schema}")).await.unwrap();
    let rights = refused(&mine).await;
    assert!(rights.contains("grant the user"), "{rights}");
    admin.batch_execute(&format!("GRANT ALL ON SCHEMA {schema} TO {schema}")).await.unwrap();
    PgStore::open(PgSettings::new(&mine, key())).await.unwrap().close().await.unwrap();
}

#[tokio::test]
async fn another_key_is_recognised() {
    let place = Place::new().await;
    place.open().await.close().await.unwrap();
    let other = PgStore::open(PgSettings::new(place.url(), StoreKey::new([8; 32]))).await;
    assert!(matches!(other, Err(StoreError::WrongKey)), "{other:?}");
}

#[tokio::test]
async fn a_later_schema_is_worked_on_when_it_only_adds_and_refused_otherwise() {
    let place = Place::new().await;
    let old = place.open().await;
    let (admin, schema) = (place.admin().await, place.schema());
    let later = format!(
        "ALTER TABLE {schema}.tasks ADD COLUMN later text; CREATE TABLE {schema}.later (id int);
         UPDATE {schema}.schema_version SET version = 99, oldest_compatible = {PG_SCHEMA_VERSION}"
    );
    admin.batch_execute(&later).await.unwrap();
    old.commit(opening(1)).await.unwrap();
    let again = place.open().await;
    again.commit(opening(2)).await.unwrap();
    assert_eq!(again.stats().await.unwrap().tasks, 2);
    admin.batch_execute(&format!("UPDATE {schema}.schema_version SET oldest_compatible = 99")).await.unwrap();
    let refused = PgStore::open(PgSettings::new(place.url(), key())).await;
    assert!(matches!(refused, Err(StoreError::TooNew { found: 99, .. })), "{refused:?}");
}

#[tokio::test]
async fn a_changed_or_removed_line_of_the_journal_is_named() {
    let place = Place::new().await;
    let store = place.open().await;
    for number in 1..=5 {
        store.commit(line(number, "what happened")).await.unwrap();
    }
    assert_eq!(store.audit().await.unwrap().lines, 5);
    assert_eq!(store.journal_head().await.unwrap().unwrap().seq, 5);
    let (admin, schema) = (place.admin().await, place.schema());
    for (change, line) in [
        (format!("UPDATE {schema}.journal SET actor = 'other' WHERE seq = 3"), 3),
        (format!("DELETE FROM {schema}.journal WHERE seq = 2"), 2),
    ] {
        admin.batch_execute(&change).await.unwrap();
        let found = store.audit().await.unwrap_err().to_string();
        assert!(found.contains(&format!("journal line {line} was")), "{found}");
    }
}

#[tokio::test]
async fn the_doctor_reads_the_server() {
    let place = Place::new().await;
    let store = place.open().await;
    let report = store.check().await.unwrap();
    assert!(report.version.starts_with(|first: char| first.is_ascii_digit()), "{report:?}");
    assert!(report.may_create && !report.read_only && report.used_connections > 0, "{report:?}");
    assert!(store.pool().opened > 0 && store.pool().busy == 0);
}

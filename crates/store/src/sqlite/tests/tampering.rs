//! Edits of the file by another program, and flipped bits in the file and its log: named, or harmless.
//!
//! The attacker has the files, but not the key.

use agentsite_protocol::{JournalLine, JournalSubject, KeyId, PushConfig, Scope, Timestamp};

use super::damage::Dice;
use super::*;
use crate::contract::rooms::RoomLife;
use crate::contract::samples::{SAMPLE, bare};
use crate::{KeyChange, SettingChange};

/// A file with some of everything; gives nothing because the tests look for the names below.
async fn filled(path: &Path) {
    let store = open(path);
    for number in 1..=20 {
        let mut life = Life::new(number);
        let text = format!("asked for thing {number}");
        let line = JournalLine::new(SAMPLE, at(number as i64), "owner", text);
        let line = line.about_task(task_id(number), None);
        let mut opened = sent(life.open(), &format!("m{number}"), 1);
        opened.journal.push(line);
        store.commit(opened).await.unwrap();
        store.commit(life.go(agentsite_protocol::TaskState::Completed, number as i64, 4)).await.unwrap();
    }
    for name in ["first", "second", "third"] {
        let setting =
            SettingChange { name: name.into(), value: Some(format!("secret of {name}")), owner: None };
        store.commit(bare().edit(setting).edit(KeyChange::Put(key(name)))).await.unwrap();
    }
    store.close().await.unwrap();
}

fn key(name: &str) -> KeyRecord {
    KeyRecord {
        id: name.parse::<KeyId>().unwrap(),
        hash: [3; 32],
        label: name.into(),
        scopes: vec![Scope::Call],
        created_at: at(1),
        expires_at: None,
        last_used_at: None,
        session: false,
        of: None,
    }
}

fn edit(path: &Path, sql: &str) {
    let db = rusqlite::Connection::open(path).unwrap();
    assert!(db.execute(sql, []).unwrap() > 0, "{sql}");
}

/// Everything that the audit covers, as text.
fn content(path: &Path) -> String {
    let db = rusqlite::Connection::open(path).unwrap();
    let mut all = String::new();
    for sql in [
        "SELECT quote(seq) || quote(at) || quote(actor) || quote(task) || quote(text) FROM journal ORDER BY seq",
        "SELECT quote(id) || quote(hash) || quote(label) || quote(scopes) FROM keys ORDER BY id",
        "SELECT quote(name) || quote(value) FROM settings ORDER BY name",
        "SELECT quote(id) || quote(state) || quote(seq) || quote(owner) || quote(agent) FROM tasks ORDER BY row",
        "SELECT quote(task) || quote(first_seq) || quote(body) FROM task_events ORDER BY row",
    ] {
        let mut find = db.prepare(sql).unwrap();
        let mut rows = find.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            all.push_str(&row.get::<_, String>(0).unwrap());
        }
    }
    all
}

fn audited(path: &Path) -> Result<crate::AuditReport, String> {
    audit(path, Some(&KEY)).map_err(|error| error.to_string())
}

#[tokio::test]
async fn an_untouched_file_passes_open_closed_and_as_a_backup() {
    let (folder, path) = folder();
    filled(&path).await;
    let report = audited(&path).unwrap();
    assert_eq!((report.lines, report.tasks, report.events > 20), (20, 20, true), "{report:?}");
    let store = open(&path);
    assert_eq!(audited(&path).unwrap().lines, 20);
    let copy = folder.path().join("copy.db");
    store.backup(&copy).await.unwrap();
    assert_eq!(audited(&copy).unwrap().lines, 20);
}

#[tokio::test]
async fn every_edit_of_a_row_is_found_and_named() {
    let (_folder, path) = folder();
    filled(&path).await;
    let sound = std::fs::read(&path).unwrap();
    for (sql, named) in [
        ("UPDATE journal SET text = 'asked for nothing' WHERE seq = 7", "journal line 7"),
        ("UPDATE journal SET actor = 'somebody' WHERE seq = 8", "journal line 8"),
        ("UPDATE journal SET at = at + 1 WHERE seq = 1", "journal line 1"),
        ("DELETE FROM journal WHERE seq = 9", "journal line 9"),
        ("DELETE FROM journal WHERE seq <= 3", "journal line 1"),
        ("DELETE FROM journal WHERE seq >= 15", "journal line 15"),
        (
            "INSERT INTO journal (seq, at, actor, text) VALUES (21, 1, 'site', 'all is well')",
            "journal line 21",
        ),
        ("UPDATE journal SET text = '', digest = zeroblob(32) WHERE seq = 4", "journal line 4"),
        (
            "UPDATE journal SET seq = CASE seq WHEN 5 THEN 1006 ELSE 1005 END WHERE seq IN (5, 6)",
            "journal line 5",
        ),
        ("UPDATE keys SET scopes = 'admin' WHERE id = 'first'", "row first of the table keys"),
        ("UPDATE keys SET hash = zeroblob(32) WHERE id = 'second'", "row second of the table keys"),
        ("DELETE FROM keys WHERE id = 'third'", "row third of the table keys"),
        (
            "INSERT INTO keys SELECT 'mine', hash, label, 'admin', created_at, expires_at, last_used_at, session, of_key FROM keys LIMIT 1",
            "row mine of the table keys",
        ),
        (
            "UPDATE settings SET value = (SELECT value FROM settings WHERE name = 'second') WHERE name = 'first'",
            "row first of the table settings",
        ),
        ("DELETE FROM settings WHERE name = 'first'", "row first of the table settings"),
        (
            "UPDATE row_macs SET mac = zeroblob(16) WHERE key = 'first' AND source = 1",
            "row first of the table keys",
        ),
        ("UPDATE tasks SET owner = 'mallory' WHERE row = 3", "task"),
        ("UPDATE tasks SET owner = 'key:mallory' WHERE row = 3", "task"),
        ("UPDATE tasks SET state = 6 WHERE row = 3", "task"),
        ("UPDATE task_events SET body = replace(body, 'a', 'b') WHERE row = 5", "events"),
        ("DELETE FROM task_events WHERE row = 5", "task"),
        ("DELETE FROM tasks WHERE row = 6", "task_events"),
        ("DELETE FROM meta WHERE name = 'audit'", "missing"),
    ] {
        std::fs::write(&path, &sound).unwrap();
        edit(&path, sql);
        let found = audited(&path).unwrap_err();
        assert!(found.contains(named), "{sql}: {found}");
    }
}

#[tokio::test]
async fn a_store_with_edited_keys_or_settings_is_not_opened_until_the_operator_accepts() {
    let (_folder, path) = folder();
    filled(&path).await;
    let sound = std::fs::read(&path).unwrap();
    for sql in [
        "UPDATE keys SET scopes = 'admin' WHERE id = 'first'",
        "DELETE FROM settings WHERE name = 'first'",
        "DELETE FROM row_macs WHERE source = 1",
    ] {
        std::fs::write(&path, &sound).unwrap();
        edit(&path, sql);
        let refused = SqliteStore::open(&path, &KEY, StoreMetrics::default()).unwrap_err();
        assert!(matches!(refused, StoreError::Tampered(_)), "{sql}: {refused}");
        accept(&path, &KEY).unwrap();
        open(&path);
        audited(&path).unwrap();
    }
}

#[tokio::test]
async fn a_revoked_key_that_is_put_back_with_its_code_is_found() {
    let (_folder, path) = folder();
    filled(&path).await;
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE aside AS SELECT * FROM keys; CREATE TABLE aside_macs AS SELECT * FROM row_macs;",
    )
    .unwrap();
    drop(db);
    let store = open(&path);
    store.commit(bare().edit(KeyChange::Remove("first".parse().unwrap()))).await.unwrap();
    store.close().await.unwrap();
    edit(&path, "INSERT INTO keys SELECT * FROM aside WHERE id = 'first'");
    edit(&path, "INSERT INTO row_macs SELECT * FROM aside_macs WHERE key = 'first' AND source = 1");
    let refused = SqliteStore::open(&path, &KEY, StoreMetrics::default()).unwrap_err();
    assert!(refused.to_string().contains("table keys"), "{refused}");
}

#[tokio::test]
async fn secrets_are_not_in_the_file_and_open_with_their_key_alone() {
    let (folder, path) = folder();
    filled(&path).await;
    let store = open(&path);
    let config = PushConfig {
        id: "c".into(),
        url: "https://receiver.example".into(),
        token: "hush-hush".into(),
        ..PushConfig::default()
    };
    let push = crate::PushChange::Put(task_id(1), config.clone());
    store.commit(bare().edit(push)).await.unwrap();
    assert_eq!(store.push_configs(task_id(1)).await.unwrap(), [config]);
    assert_eq!(store.setting("first").await.unwrap().as_deref(), Some("secret of first"));
    for secret in ["secret of", "hush-hush", "receiver.example"] {
        assert_eq!(super::deletion::files_with(folder.path(), secret), Vec::<String>::new(), "{secret}");
    }
    store.close().await.unwrap();
    let wrong = StoreKey::new([8; 32]);
    let refused = SqliteStore::open(&path, &wrong, StoreMetrics::default()).unwrap_err();
    assert!(matches!(refused, StoreError::WrongKey), "{refused}");
    assert!(matches!(audit(&path, Some(&wrong)), Err(StoreError::WrongKey)));
    open(&path);
}

#[tokio::test]
async fn a_backup_carries_the_key_only_when_it_lies_with_the_data() {
    for travels in [true, false] {
        let (folder, path) = folder();
        filled(&path).await;
        let key = if travels { KEY.in_backups() } else { KEY };
        let store = SqliteStore::open(&path, &key, StoreMetrics::default()).unwrap();
        let copy = folder.path().join("copy.db");
        store.backup(&copy).await.unwrap();
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&copy).unwrap().permissions()) & 0o777,
            0o600
        );
        assert_eq!(audit(&copy, None).is_ok(), travels);
        let elsewhere = folder.path().join("elsewhere.db");
        let mut found = None;
        restore(&copy, &elsewhere, |key| {
            found = Some(key);
            Ok(())
        })
        .unwrap();
        assert_eq!(found.is_some(), travels);
        let stays = super::deletion::holds(&elsewhere, KEY.bytes());
        assert!(!stays, "the key does not stay in the database");
        let store = SqliteStore::open(&elsewhere, &KEY, StoreMetrics::default()).unwrap();
        assert_eq!(store.setting("first").await.unwrap().as_deref(), Some("secret of first"));
    }
}

#[tokio::test]
async fn a_file_of_an_earlier_version_is_sealed_when_it_is_opened() {
    let (folder, path) = folder();
    let db = rusqlite::Connection::open(&path).unwrap();
    schema::take_steps_below(&db, schema::AUDITED);
    db.execute("INSERT INTO settings (name, value) VALUES ('identity', 'plain old seed')", []).unwrap();
    for seq in 5..=9 {
        let sql = "INSERT INTO journal (seq, at, actor, text) VALUES (?1, 1, 'site', 'an old line')";
        db.execute(sql, [seq]).unwrap();
    }
    drop(db);
    let store = open(&path);
    assert_eq!(store.setting("identity").await.unwrap().as_deref(), Some("plain old seed"));
    let line = JournalLine::new(SAMPLE, at(2), "site", "a new line");
    store.commit(Change::new(line)).await.unwrap();
    store.scrub().await.unwrap();
    assert_eq!(super::deletion::files_with(folder.path(), "plain old seed"), Vec::<String>::new());
    store.close().await.unwrap();
    assert_eq!(audited(&path).unwrap().lines, 6);
}

#[tokio::test]
async fn the_chain_of_a_file_without_kinds_goes_on_with_them() {
    let (_folder, path) = folder();
    let mut db = rusqlite::Connection::open(&path).unwrap();
    schema::take_steps_below(&db, schema::AUDITED);
    let sql =
        "INSERT INTO journal (seq, at, actor, agent, text) VALUES (?1, 1, 'echo', 'echo', 'an old line')";
    for seq in 1..=3 {
        db.execute(sql, [seq]).unwrap();
    }
    schema::migrate_to(&mut db, &Vault::new(&KEY), 10).unwrap();
    drop(db);
    assert_eq!(audited(&path).unwrap().lines, 3, "before the first start of this version, too");
    let store = open(&path);
    let key = JournalSubject::Key("abc".parse().unwrap());
    let line = JournalLine::new(SAMPLE, at(2), "site", "a new line").about(key.clone());
    store.commit(Change::new(line)).await.unwrap();
    let lines = store.journal(JournalQuery { limit: 9, ..JournalQuery::default() }).await.unwrap();
    let found: Vec<_> = lines.iter().map(|one| (one.line.kind.clone(), one.line.subject.clone())).collect();
    let old = (None, JournalSubject::Agent("echo".parse().unwrap()));
    assert_eq!(found, [(Some(SAMPLE), key), old.clone(), old.clone(), old]);
    store.close().await.unwrap();
    assert_eq!(audited(&path).unwrap().lines, 4);
    for sql in [
        "UPDATE journal SET kind = 'task.completed' WHERE seq = 4",
        "UPDATE journal SET kind = NULL, subject = NULL WHERE seq = 4",
        "UPDATE journal SET kind = 'task.completed' WHERE seq = 1",
    ] {
        let before = std::fs::read(&path).unwrap();
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        assert!(audited(&path).is_err(), "{sql}");
        std::fs::write(&path, before).unwrap();
    }
}

#[tokio::test]
async fn a_flipped_bit_in_the_log_is_reported_and_nothing_acknowledged_is_lost_silently() {
    let (folder, path) = folder();
    let store = open(&path);
    for number in 1..=30 {
        store.commit(sent(Life::new(number).open(), &format!("m{number}"), 1)).await.unwrap();
    }
    // As a kill leaves it: the log is not copied into the file.
    let copy = folder.path().join("killed");
    std::fs::create_dir(&copy).unwrap();
    for ending in ["", "-wal", "-head"] {
        std::fs::copy(sidecar::sidecar(&path, ending), copy.join(format!("site.db{ending}"))).unwrap();
    }
    drop(store);
    let killed = copy.join("site.db");
    let (database, log) =
        (std::fs::read(&killed).unwrap(), std::fs::read(sidecar::sidecar(&killed, "-wal")).unwrap());
    let head = std::fs::read(sidecar::sidecar(&killed, "-head")).unwrap();
    let put_back = |log: &[u8]| {
        for entry in std::fs::read_dir(&copy).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        std::fs::write(&killed, &database).unwrap();
        std::fs::write(sidecar::sidecar(&killed, "-wal"), log).unwrap();
        std::fs::write(sidecar::sidecar(&killed, "-head"), &head).unwrap();
    };
    put_back(&log);
    open(&killed);
    let mut dice = Dice(2);
    let (mut noticed, rounds) = (0, 60);
    for round in 0..rounds {
        let mut flipped = log.clone();
        let place = dice.roll(flipped.len());
        flipped[place] ^= 1 << dice.roll(8);
        put_back(&flipped);
        match SqliteStore::open(&killed, &KEY, StoreMetrics::default()) {
            Err(StoreError::Corrupt(what)) => {
                assert!(what.contains("write-ahead log"), "{what}");
                noticed += 1;
            }
            Err(other) => panic!("round {round}: {other}"),
            Ok(store) => {
                for number in 1..=30 {
                    assert!(
                        store.task(task_id(number)).await.unwrap().is_some(),
                        "round {round}, byte {place}"
                    );
                }
            }
        }
    }
    println!("{noticed} of {rounds} flips in the log were reported, the others changed nothing");
    put_back(&log[..log.len() / 2]);
    assert!(matches!(SqliteStore::open(&killed, &KEY, StoreMetrics::default()), Err(StoreError::Corrupt(_))));
    std::fs::remove_file(sidecar::sidecar(&killed, "-wal")).unwrap();
    assert!(matches!(SqliteStore::open(&killed, &KEY, StoreMetrics::default()), Err(StoreError::Corrupt(_))));
    accept(&killed, &KEY).unwrap();
    open(&killed);
}

#[tokio::test]
async fn an_older_copy_in_the_place_of_the_database_is_found() {
    let (_folder, path) = folder();
    filled(&path).await;
    let older = std::fs::read(&path).unwrap();
    let store = open(&path);
    let line = JournalLine::new(SAMPLE, Timestamp::from_millis(1), "site", "more");
    store.commit(Change::new(line)).await.unwrap();
    store.close().await.unwrap();
    std::fs::write(&path, older).unwrap();
    let refused = SqliteStore::open(&path, &KEY, StoreMetrics::default()).unwrap_err();
    assert!(refused.to_string().contains("older copy"), "{refused}");
}

#[tokio::test]
async fn flipped_bits_in_the_file_are_found_by_the_audit_or_change_nothing_that_it_covers() {
    let (folder, path) = folder();
    filled(&path).await;
    let sound = std::fs::read(&path).unwrap();
    let flipped = folder.path().join("flipped.db");
    let before = content(&path);
    let mut dice = Dice(3);
    let mut found = 0;
    for round in 0..300 {
        let mut bytes = sound.clone();
        let place = dice.roll(bytes.len());
        bytes[place] ^= 1 << dice.roll(8);
        std::fs::write(&flipped, &bytes).unwrap();
        match audit(&flipped, Some(&KEY)) {
            Err(_) => found += 1,
            Ok(_) => assert_eq!(content(&flipped), before, "round {round}, byte {place}"),
        }
    }
    println!("the audit found {found} of 300 flipped bits; the others changed nothing");
    assert!(found > 5, "{found}");
}

#[tokio::test]
async fn a_changed_or_removed_event_of_a_room_is_named() {
    let changes = [
        ("UPDATE room_events SET body = replace(body, 'hello', 'hullo')", "event 2 of room"),
        ("DELETE FROM room_events WHERE seq = 3", "event 3 of room"),
        ("UPDATE rooms SET seq = 2", "rooms"),
        ("UPDATE room_members SET delivered = 9", "room_members"),
    ];
    for (sql, named) in changes {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.db");
        let store = open(&path);
        let mut room = RoomLife::new(1, "key:a");
        store.commit(bare().edit(room.open())).await.unwrap();
        store
            .commit(bare().edit(room.say(&[("key:a", "m1", "hello"), ("key:a", "m2", "you")])))
            .await
            .unwrap();
        store.close().await.unwrap();
        assert_eq!(audited(&path).unwrap().events, 3);
        edit(&path, sql);
        let error = audited(&path).unwrap_err();
        assert!(error.contains(named), "{sql}: {error}");
    }
}

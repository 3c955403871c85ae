//! Edits of the database behind the site's back, and flipped bits in it and its log: found, and the first bad
//! row is named.
//!
//! The attacker has the files and sqlite, but not the key.

use std::path::Path;

use serde_json::json;

use super::{is_full, report};
use crate::site::TestSite;

/// A sequence of numbers that look random and are the same on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

fn edit(site: &TestSite, sql: &str) {
    let db = rusqlite::Connection::open(site.data().join("site.db")).unwrap();
    db.execute_batch(sql).unwrap();
}

/// A stopped site with tasks, keys and a signed journal.
fn filled() -> TestSite {
    let mut site = TestSite::started();
    for number in 0..8 {
        site.run(&["call", "echo", &format!("hello {number}")]).ok();
    }
    site.run(&["key", "new", "--label", "first"]).ok();
    site.run(&["key", "new", "--label", "second"]).ok();
    site.stop();
    site
}

/// What is put back before each attack: the files of the data folder.
fn saved(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let files =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn put_back(folder: &Path, saved: &[(std::path::PathBuf, Vec<u8>)]) {
    for (path, _) in saved_names(folder) {
        std::fs::remove_file(path).unwrap();
    }
    saved.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
}

fn saved_names(folder: &Path) -> Vec<(std::path::PathBuf, ())> {
    let files =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files.map(|path| (path, ())).collect()
}

#[test]
fn every_edit_is_found_and_the_first_bad_row_is_named() {
    let site = filled();
    let verified = site.run(&["audit", "verify", "--json"]).ok().json();
    assert_eq!(
        (verified["ok"].clone(), verified["signedHeads"].as_u64() > Some(0)),
        (json!(true), true),
        "{verified}"
    );
    let whole = saved(&site.data());
    let edits = [
        ("UPDATE journal SET text = 'nothing happened' WHERE seq = 3", "journal line 3"),
        ("DELETE FROM journal WHERE seq = 4", "journal line 4"),
        ("DELETE FROM journal WHERE seq > 5", "journal line 6"),
        ("INSERT INTO journal (at, actor, text) VALUES (1, 'site', 'invented')", "journal line"),
        (
            "UPDATE journal SET seq = -seq WHERE seq IN (2, 3); UPDATE journal SET seq = CASE seq WHEN -2 THEN 3 ELSE 2 END WHERE seq < 0",
            "journal line 2",
        ),
        ("UPDATE journal_heads SET signature = 'x'", "journal_heads"),
        ("DELETE FROM journal_heads", "journal_heads"),
        ("UPDATE keys SET scopes = 'admin'", "table keys"),
        ("DELETE FROM keys WHERE label = 'first'", "table keys"),
        (
            "INSERT INTO keys SELECT 'evil', hash, label, scopes, created_at, expires_at, last_used_at, session, of_key FROM keys LIMIT 1",
            "row evil of the table keys",
        ),
        ("DELETE FROM settings WHERE name = 'secret'", "row secret of the table settings"),
        (
            "UPDATE settings SET value = zeroblob(64) WHERE name = 'secret'",
            "row secret of the table settings",
        ),
        ("DELETE FROM records WHERE collection = 'identity'", "of the table records"),
        ("UPDATE records SET body = zeroblob(64) WHERE collection = 'identity'", "of the table records"),
        ("UPDATE records SET revision = revision + 1 WHERE collection = 'identity'", "of the table records"),
        ("UPDATE tasks SET owner = 'mallory' WHERE row = 2", "task"),
        ("UPDATE task_events SET body = replace(body, 'hello', 'hullo') WHERE row = 2", "events"),
        ("DELETE FROM tasks WHERE row = 2", "task"),
    ];
    let mut named = 0;
    for (sql, expected) in edits {
        put_back(&site.data(), &whole);
        edit(&site, sql);
        let said = site.run(&["audit", "verify"]);
        assert_eq!(said.code(), 1, "{sql}: {said:?}");
        assert!(said.err().contains(expected), "{sql}: {said:?}");
        named += 1;
    }
    report(
        "tampering",
        "edit, delete, insert and reorder rows",
        format!("{named} of {} found and named", edits.len()),
    );
    put_back(&site.data(), &whole);
    site.run(&["audit", "verify"]).ok();
}

#[test]
fn a_site_with_an_edited_key_does_not_start_and_says_what_to_do() {
    let site = filled();
    edit(&site, "UPDATE keys SET scopes = 'admin' WHERE label = 'first'");
    let mut serve = site.serve_command();
    let said = serve.output().unwrap();
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        !said.status.success() && words.contains("table keys") && words.contains("agentsite audit accept"),
        "{words}"
    );
    site.run(&["audit", "accept"]).ok();
    site.run(&["audit", "verify"]).ok();
}

#[test]
fn flipped_bits_in_the_database_and_its_log_are_found_or_harmless() {
    let rounds = if is_full() { 400 } else { 30 };
    let mut site = filled();
    // A kill leaves a log.
    site.start();
    for number in 0..8 {
        site.run(&["call", "echo", &format!("again {number}")]).ok();
    }
    site.kill();
    let whole = saved(&site.data());
    let before = site.run(&["audit", "verify", "--json"]).ok().json();
    let mut dice = Dice(7);
    for name in ["site.db", "site.db-wal"] {
        let sound = &whole.iter().find(|(path, _)| path.ends_with(name)).unwrap().1;
        let (mut found, mut harmless) = (0, 0);
        for round in 0..rounds {
            put_back(&site.data(), &whole);
            let mut bytes = sound.clone();
            let place = dice.roll(bytes.len());
            bytes[place] ^= 1 << dice.roll(8);
            std::fs::write(site.data().join(name), bytes).unwrap();
            let said = site.run(&["audit", "verify", "--json"]);
            if said.code() == 0 {
                let now = said.json();
                for count in ["journalLines", "tasks", "events", "rows"] {
                    assert_eq!(now[count], before[count], "{name}, round {round}, byte {place}: {count}");
                }
                harmless += 1;
            } else {
                assert!(!said.out().is_empty(), "{said:?}");
                found += 1;
            }
        }
        report(
            "tampering",
            &format!("flip single bits of {name}"),
            format!("{found} reported, {harmless} harmless, 0 swallowed, of {rounds}"),
        );
    }
}

#[test]
fn a_backup_is_verified_as_it_is() {
    let site = filled();
    site.run(&["backup", "whole.backup"]).ok();
    let verified = site.run(&["audit", "verify", "whole.backup", "--json"]).ok().json();
    assert_eq!((&verified["ok"], &verified["file"]), (&json!(true), &json!("whole.backup")), "{verified}");
    edit(&site, "UPDATE journal SET text = 'nothing happened' WHERE seq = 3");
    site.run(&["backup", "edited.backup"]).ok();
    let said = site.run(&["audit", "verify", "edited.backup"]);
    assert_eq!(said.code(), 1, "{said:?}");
    assert!(said.err().contains("edited.backup: journal line 3"), "{said:?}");
    let left = std::fs::read_dir(site.data()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| name != ".auditing"), "no copy is left");
    let bytes = std::fs::read(site.path().join("whole.backup")).unwrap();
    std::fs::write(site.path().join("cut.backup"), &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(site.run(&["audit", "verify", "cut.backup"]).code(), 1);
}

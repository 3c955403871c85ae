//! Flipped bits: noticed or harmless, never believed.
//!
//! Each round flips one bit somewhere in the file and reads everything; the rounds are the same on every run.

use super::*;

/// A sequence of numbers that look random and are the same on every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

const TASKS: u64 = 60;

async fn written(path: &Path) -> Vec<(TaskHead, Vec<TaskEvent>)> {
    let store = open(path);
    let mut all = Vec::new();
    for number in 1..=TASKS {
        let mut life = Life::new(number);
        store.commit(sent(life.open(), &format!("m{number}"), 1)).await.unwrap();
        store.commit(life.go(agentsite_protocol::TaskState::Completed, number as i64, 4)).await.unwrap();
        all.push((life.head, store.events(task_id(number), 0, 100).await.unwrap()));
    }
    store.close().await.unwrap();
    all
}

#[tokio::test]
async fn a_flipped_bit_never_changes_a_task_or_an_event() {
    let (folder, path) = folder();
    let all = written(&path).await;
    let sound = std::fs::read(&path).unwrap();
    let flipped = folder.path().join("flipped.db");
    let mut dice = Dice(1);
    // Rounds in which something refused to be read, and rounds in which a task could no longer be found.
    let (mut noticed, mut unfound) = (0, 0);
    for round in 0..200 {
        let mut bytes = sound.clone();
        let at = dice.roll(bytes.len());
        bytes[at] ^= 1 << dice.roll(8);
        std::fs::write(&flipped, &bytes).unwrap();
        let Ok(store) = SqliteStore::open(&flipped, &KEY, StoreMetrics::default()) else {
            noticed += 1;
            continue;
        };
        let (mut refused, mut missing) = (false, false);
        for (head, events) in &all {
            match store.task(head.id).await {
                Ok(Some(found)) => assert_eq!(found, *head, "round {round}, byte {at}"),
                Ok(None) => missing = true,
                Err(_) => refused = true,
            }
            match store.events(head.id, 0, 100).await {
                Ok(found) if found.is_empty() => missing = true,
                Ok(found) => assert_eq!(found, *events, "round {round}, byte {at}"),
                Err(_) => refused = true,
            }
        }
        noticed += usize::from(refused);
        unfound += usize::from(missing && !refused);
        drop(store);
        for ending in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(sidecar::sidecar(&flipped, ending));
        }
    }
    println!("of 200 flips {noticed} were noticed on reading, {unfound} hid a task without being noticed");
    assert!(noticed > 10, "only {noticed} of 200 flips were noticed");
}

#[tokio::test]
async fn a_damaged_page_is_found_when_the_site_was_not_stopped_in_good_order() {
    let (_folder, path) = folder();
    written(&path).await;
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("UPDATE meta SET value = 0 WHERE name = 'clean'", []).unwrap();
    let page: i64 = db
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'task_events'", [], |row| row.get(0))
        .unwrap();
    drop(db);
    let mut bytes = std::fs::read(&path).unwrap();
    let start = (page as usize - 1) * file::PAGE as usize;
    bytes[start..start + 64].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    let refused = SqliteStore::open(&path, &KEY, StoreMetrics::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt(_)), "{refused}");
}

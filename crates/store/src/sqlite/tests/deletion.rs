//! What was deleted is in no file: the raw bytes of everything beside the database are searched for it.
//!
//! Short and long texts, tasks and conversations; what stays must still be found.

use agentsite_protocol::JournalLine;

use super::*;
use crate::contract::conversations as talks;
use crate::contract::samples::{SAMPLE, bare, task_of};
use crate::{ConversationChange, Edit, Expiry};

/// Whether a file holds these bytes.
pub(super) fn holds(path: &Path, wanted: &[u8]) -> bool {
    std::fs::read(path).unwrap().windows(wanted.len()).any(|part| part == wanted)
}

/// The files of a folder in which a word stands.
pub(super) fn files_with(folder: &Path, word: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = files.filter(|path| path.is_file() && holds(path, word.as_bytes()));
    found.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

/// Words that stand nowhere else: short ones share pages, long ones have pages of their own.
fn words(number: u64) -> String {
    let marker = format!("zanzibar{number:04}quokka");
    if number.is_multiple_of(3) { format!("{marker} ").repeat(2_000) } else { marker }
}

fn expiry() -> Expiry {
    let long_ago = at(-1_000_000_000_000);
    Expiry { now: at(1_000), before: long_ago, portion: 500, journal_before: long_ago, ..Expiry::default() }
}

#[tokio::test]
async fn deleted_tasks_are_in_no_file_and_the_journal_still_fits() {
    let (folder, path) = folder();
    let store = open(&path);
    for number in 1..=120 {
        let mut life = Life::new(number);
        let mut change = life.whole(agentsite_protocol::TaskState::Completed, number as i64);
        let task = task_of(&mut change);
        let kind = agentsite_protocol::TaskEventKind::Said {
            message: agentsite_protocol::Message::text(
                "m".parse().unwrap(),
                agentsite_protocol::Role::User,
                words(number),
            ),
        };
        task.events[1].kind = kind;
        let line = JournalLine::new(SAMPLE, at(1), "owner", format!("asked: {}", &words(number)[..18]));
        change.journal.push(line.about_task(task_id(number), None));
        store.commit(change).await.unwrap();
    }
    let gone = |number: u64| number.is_multiple_of(2);
    let forget = (1..=120).filter(|number| gone(*number)).map(task_id).map(Edit::Forget);
    store.commit(bare().edits(forget)).await.unwrap();
    assert_eq!(store.expire(expiry()).await.unwrap(), 60);
    store.scrub().await.unwrap();
    for number in 1..=120 {
        let found = files_with(folder.path(), &words(number)[..18]);
        assert_eq!(found.is_empty(), gone(number), "{number}: {found:?}");
    }
    let lines = store.journal(JournalQuery { limit: 200, ..JournalQuery::default() }).await.unwrap();
    let removed = lines.iter().filter(|stored| stored.line.text == REDACTED).count();
    assert_eq!((lines.len(), removed), (120, 60));
    store.close().await.unwrap();
    audit(&path, Some(&KEY)).unwrap();
}

#[tokio::test]
async fn deleted_conversations_are_in_no_file_not_even_in_the_index_of_words() {
    let (folder, path) = folder();
    let store = open(&path);
    let mut all = Vec::new();
    for number in 1..=40 {
        let mut talk = talks::talk(number, "key:ann", &format!("title{number:03}wombat"));
        let said = talks::say(&mut talk, None, 1_000 + number, &format!("{} question", words(number)));
        store.commit(said).await.unwrap();
        let ended = talks::end(&mut talk, 1_000 + number, &format!("answer{number:03}numbat"));
        store.commit(ended).await.unwrap();
        all.push(talk);
    }
    for talk in all.iter().step_by(2) {
        let remove =
            ConversationChange::Remove { id: talk.id, owner: talk.owner.clone(), revision: talk.revision };
        store.commit(bare().edit(remove)).await.unwrap();
    }
    let _ = store.expire(expiry()).await.unwrap();
    let _ = store.expire(expiry()).await.unwrap();
    store.scrub().await.unwrap();
    for (place, number) in (1..=40_u64).enumerate() {
        for word in [
            words(number)[..18].to_owned(),
            format!("title{number:03}wombat"),
            format!("answer{number:03}numbat"),
        ] {
            // The index keeps words without the beginning that they share with the word before.
            let ending = &word[word.len() - 9..];
            let found = files_with(folder.path(), ending);
            if place % 2 == 0 {
                assert!(found.is_empty(), "{word}: {found:?}");
            } else {
                let query = ConversationQuery {
                    owner: "key:ann".parse::<Principal>().unwrap(),
                    text: Some(word.clone()),
                };
                assert_eq!(store.conversations(query, None, 9).await.unwrap().items.len(), 1, "{word}");
            }
        }
    }
}

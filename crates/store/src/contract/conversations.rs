//! Cases about conversations: kept, guarded, branched, searched, removed.
//!
//! They tell that a turn comes with its task in one commit, that paths are read from any place, and that the
//! tasks of a conversation live as long as it and no longer. What a turn means is not looked at.

use agentsite_protocol::{ConversationId, Principal, TaskId, TaskState, Timestamp};

use super::Fresh;
use super::samples::{Life, at, bare, task_id};
use crate::{
    Change, Conversation, ConversationChange, ConversationMatch, ConversationQuery, Edit, Expiry,
    SharedStore, Spot, StoreError, Turn,
};

fn id(number: u64) -> ConversationId {
    ConversationId::from_bytes(*task_id(number).as_bytes())
}

/// A new conversation of somebody.
pub fn talk(number: u64, owner: &str, title: &str) -> Conversation {
    Conversation {
        id: id(number),
        owner: owner.parse().unwrap(),
        title: title.into(),
        named: false,
        pinned: false,
        agent: "echo".parse().unwrap(),
        created_at: at(number as i64),
        updated_at: at(number as i64),
        revision: 1,
        head: None,
        turns: 0,
    }
}

pub fn put(conversation: &Conversation) -> Change {
    bare().edit(ConversationChange::Put(Box::new(conversation.clone())))
}

/// Adds a turn with its task, whose number is also its time.
pub fn say(talk: &mut Conversation, parent: Option<u64>, number: u64, words: &str) -> Change {
    let mut life = Life::new(number).owner(talk.owner.as_str());
    talk.revision += u64::from(talk.turns > 0 || talk.revision > 1);
    talk.turns += 1;
    talk.head = Some(task_id(number));
    talk.updated_at = at(number as i64);
    let turn = Turn {
        task: task_id(number),
        conversation: talk.id,
        parent: parent.map(task_id),
        agent: "echo".parse().unwrap(),
        message: format!("m{number}").parse().unwrap(),
        context: "c".parse().unwrap(),
        at: at(number as i64),
    };
    let said = ConversationChange::Said {
        conversation: Box::new(talk.clone()),
        turn: Box::new(turn),
        words: words.into(),
    };
    life.open().edit(said)
}

/// Ends the task of a turn.
pub fn end(talk: &mut Conversation, number: u64, words: &str) -> Change {
    let mut life = Life::new(number).owner(talk.owner.as_str());
    life.open();
    talk.revision += 1;
    let ended =
        ConversationChange::Ended { task: task_id(number), words: words.into(), at: at(number as i64) };
    life.go(TaskState::Completed, number as i64, 1).edit(ended)
}

async fn all(store: &SharedStore, owner: &str, text: Option<&str>) -> Vec<ConversationMatch> {
    let query = ConversationQuery { owner: owner.parse().unwrap(), text: text.map(Into::into) };
    store.conversations(query, None, 100).await.unwrap().items
}

fn titles(found: &[ConversationMatch]) -> Vec<&str> {
    found.iter().map(|one| one.conversation.title.as_str()).collect()
}

async fn path(store: &SharedStore, from: u64, limit: usize) -> Vec<TaskId> {
    store.path(task_id(from), limit).await.unwrap().iter().map(|place| place.turn.task).collect()
}

fn ids(numbers: &[u64]) -> Vec<TaskId> {
    numbers.iter().copied().map(task_id).collect()
}

pub async fn a_conversation_is_put_read_and_listed(mut fresh: Fresh) {
    let store = fresh.store();
    let mut one = talk(1, "key:a", "one");
    store.commit(put(&one)).await.unwrap();
    (one.revision, one.title, one.named) = (2, "renamed".into(), true);
    store.commit(put(&one)).await.unwrap();
    store.commit(put(&talk(2, "key:a", "two"))).await.unwrap();
    store.commit(put(&talk(3, "key:b", "of another"))).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(store.conversation(id(1)).await.unwrap(), Some(one));
    assert_eq!(store.conversation(id(9)).await.unwrap(), None);
    assert_eq!(titles(&all(&store, "key:a", None).await), ["two", "renamed"]);
    assert_eq!(store.count_conversations(&"key:a".parse::<Principal>().unwrap()).await.unwrap(), 2);
}

pub async fn pinned_ones_come_first_and_pages_join(mut fresh: Fresh) {
    let store = fresh.store();
    for number in 1..=7 {
        let pinned = number % 3 == 0;
        store
            .commit(put(&Conversation { pinned, ..talk(number, "key:a", &number.to_string()) }))
            .await
            .unwrap();
    }
    let store = fresh.reread().await;
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let query = ConversationQuery { owner: "key:a".parse::<Principal>().unwrap(), text: None };
        let page = store.conversations(query, after, 2).await.unwrap();
        seen.extend(page.items.into_iter().map(|found| found.conversation.title));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["6", "3", "7", "5", "4", "2", "1"]);
}

pub async fn a_conversation_keeps_its_owner_and_a_change_from_an_old_reading_is_refused(fresh: Fresh) {
    let store = fresh.store();
    store.commit(put(&talk(1, "key:a", "one"))).await.unwrap();
    let stale = |refusal: Result<(), StoreError>| matches!(refusal, Err(StoreError::Moved(_)));
    assert!(stale(store.commit(put(&talk(1, "key:a", "again"))).await));
    assert!(stale(store.commit(put(&Conversation { revision: 3, ..talk(1, "key:a", "x") })).await));
    assert!(stale(store.commit(put(&Conversation { revision: 2, ..talk(2, "key:a", "x") })).await));
    let foreign = store.commit(put(&Conversation { revision: 2, ..talk(1, "key:b", "mine") })).await;
    assert!(matches!(foreign, Err(StoreError::Foreign(_))), "{foreign:?}");
    let gone =
        ConversationChange::Remove { id: id(1), owner: "key:a".parse::<Principal>().unwrap(), revision: 4 };
    assert!(stale(store.commit(bare().edit(gone)).await));
    assert_eq!(titles(&all(&store, "key:a", None).await), ["one"]);
}

pub async fn a_turn_comes_with_its_task_or_not_at_all(fresh: Fresh) {
    let store = fresh.store();
    let mut one = talk(1, "key:a", "one");
    store.commit(say(&mut one, None, 1, "hello")).await.unwrap();
    let mut stale = Conversation { revision: 1, turns: 0, ..one.clone() };
    assert!(store.commit(say(&mut stale, Some(1), 2, "late")).await.is_err());
    assert_eq!(store.task(task_id(2)).await.unwrap(), None);
    let mut lost = one.clone();
    assert!(store.commit(say(&mut lost, Some(7), 3, "after nothing")).await.is_err());
    assert_eq!(store.task(task_id(3)).await.unwrap(), None);
    assert_eq!(store.turn(task_id(1)).await.unwrap().unwrap().conversation, id(1));
    assert_eq!(store.turn(task_id(2)).await.unwrap(), None);
    assert_eq!(store.conversation(id(1)).await.unwrap(), Some(one));
}

/// 1 - 2 - 3, 2' (4) - 5 beside 2, and 6 beside 1.
async fn tree(store: &SharedStore) -> Conversation {
    let mut one = talk(1, "key:a", "tree");
    for (parent, number) in [(None, 1), (Some(1), 2), (Some(2), 3), (Some(1), 4), (Some(4), 5), (None, 6)] {
        store.commit(say(&mut one, parent, number, "words")).await.unwrap();
    }
    one
}

pub async fn a_path_is_read_backwards_with_its_branches(mut fresh: Fresh) {
    tree(&fresh.store()).await;
    let store = fresh.reread().await;
    assert_eq!(path(&store, 5, 9).await, ids(&[5, 4, 1]));
    assert_eq!(path(&store, 3, 2).await, ids(&[3, 2]), "a page");
    assert_eq!(path(&store, 6, 9).await, ids(&[6]));
    assert!(path(&store, 7, 9).await.is_empty());
    let places = store.path(task_id(5), 9).await.unwrap();
    let siblings: Vec<Vec<TaskId>> = places.iter().map(|place| place.siblings.clone()).collect();
    assert_eq!(siblings, [ids(&[5]), ids(&[2, 4]), ids(&[1, 6])]);
    assert_eq!((places[0].turn.parent, places[2].turn.parent), (Some(task_id(4)), None));
}

pub async fn the_end_of_a_branch_is_its_newest_way(fresh: Fresh) {
    let store = fresh.store();
    tree(&store).await;
    for (from, to) in [(1, 5), (2, 3), (4, 5), (6, 6)] {
        assert_eq!(store.leaf(task_id(from)).await.unwrap(), Some(task_id(to)), "{from}");
    }
    assert_eq!(store.leaf(task_id(7)).await.unwrap(), None);
}

pub async fn all_turns_come_in_the_order_they_were_said(fresh: Fresh) {
    let store = fresh.store();
    tree(&store).await;
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = store.turns(id(1), after, 4).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.task);
        seen.extend(page.iter().map(|turn| turn.task));
    }
    assert_eq!(seen, ids(&[1, 2, 3, 4, 5, 6]));
}

pub async fn words_are_found_in_titles_questions_and_answers(mut fresh: Fresh) {
    let store = fresh.store();
    let (mut one, mut two) = (talk(1, "key:a", "Holiday plans"), talk(2, "key:a", "Cooking"));
    store.commit(say(&mut one, None, 1, "Where is it warm in March?")).await.unwrap();
    store.commit(end(&mut one, 1, "In Sicily, and 西班牙南部 too.")).await.unwrap();
    store.commit(say(&mut two, None, 2, "A recipe for arancini")).await.unwrap();
    store.commit(end(&mut two, 2, "They are from Sicily.")).await.unwrap();
    store.commit(say(&mut two, Some(2), 3, "in MARCH?")).await.unwrap();
    let store = fresh.reread().await;
    let found = all(&store, "key:a", Some("sicily")).await;
    assert_eq!(titles(&found), ["Cooking", "Holiday plans"]);
    assert_eq!(found[1].spot, Some(Spot::Answer(task_id(1))));
    assert_eq!(all(&store, "key:a", Some("march")).await[0].spot, Some(Spot::Question(task_id(3))));
    assert_eq!(all(&store, "key:a", Some("holi")).await[0].spot, Some(Spot::Title));
    assert_eq!(titles(&all(&store, "key:a", Some("warm march")).await), ["Holiday plans"]);
    assert_eq!(titles(&all(&store, "key:a", Some("班牙")).await), ["Holiday plans"]);
    for nothing in ["nowhere", "\" * (", "warm arancini"] {
        assert!(all(&store, "key:a", Some(nothing)).await.is_empty(), "{nothing}");
    }
    (one.title, one.named, one.revision) = ("Winter".into(), true, one.revision + 1);
    store.commit(put(&one)).await.unwrap();
    assert!(all(&store, "key:a", Some("holiday")).await.is_empty());
    assert_eq!(all(&store, "key:a", Some("winter")).await.len(), 1);
    let read = store.conversation(id(2)).await.unwrap().unwrap();
    assert_eq!(read.revision, two.revision, "the end of a turn counts");
}

pub async fn nobody_finds_the_words_of_another(fresh: Fresh) {
    let store = fresh.store();
    let mut one = talk(1, "key:a", "secret");
    store.commit(say(&mut one, None, 1, "secret")).await.unwrap();
    assert_eq!(all(&store, "key:a", Some("secret")).await.len(), 1);
    assert!(all(&store, "key:b", Some("secret")).await.is_empty());
}

/// Everything that may go, goes.
async fn expire(store: &SharedStore) -> usize {
    let all = Expiry {
        now: Timestamp::from_millis(i64::MAX),
        before: Timestamp::from_millis(i64::MAX),
        keep: 0,
        portion: 2,
        journal_before: at(0),
        ..Expiry::default()
    };
    let mut gone = 0;
    loop {
        let portion = store.expire(all).await.unwrap();
        gone += portion;
        if portion < 2 {
            return gone;
        }
    }
}

pub async fn a_conversation_keeps_its_tasks(mut fresh: Fresh) {
    let store = fresh.store();
    let mut one = talk(1, "key:a", "one");
    store.commit(say(&mut one, None, 1, "hello")).await.unwrap();
    store.commit(end(&mut one, 1, "hi")).await.unwrap();
    store.commit(Life::new(2).owner("key:a").whole(TaskState::Completed, 2)).await.unwrap();
    let filter = crate::TaskFilter::default();
    assert_eq!(store.tasks(filter.clone(), None, 9).await.unwrap().items.len(), 2);
    assert_eq!(store.count_tasks(filter).await.unwrap(), 2);
    store.commit(bare().edit(Edit::Forget(task_id(1)))).await.unwrap();
    assert_eq!(expire(&store).await, 1);
    let store = fresh.reread().await;
    assert!(store.task(task_id(1)).await.unwrap().is_some());
    assert!(store.task(task_id(2)).await.unwrap().is_none());
}

pub async fn a_removed_conversation_goes_with_its_tasks(mut fresh: Fresh) {
    let store = fresh.store();
    let mut one = tree(&store).await;
    for number in 1..=5 {
        store.commit(end(&mut one, number, "answer")).await.unwrap();
    }
    let gone = ConversationChange::Remove { id: id(1), owner: one.owner.clone(), revision: one.revision };
    store.commit(bare().edit(gone)).await.unwrap();
    assert!(
        all(&store, "key:a", None).await.is_empty() && all(&store, "key:a", Some("words")).await.is_empty()
    );
    assert_eq!(store.conversation(id(1)).await.unwrap(), None);
    assert_eq!(store.turn(task_id(1)).await.unwrap(), None);
    assert!(path(&store, 5, 9).await.is_empty() && store.turns(id(1), None, 9).await.unwrap().is_empty());
    let store = fresh.reread().await;
    assert_eq!(expire(&store).await, 5);
    assert!(store.task(task_id(5)).await.unwrap().is_none());
    assert!(store.task(task_id(6)).await.unwrap().is_some(), "it has not ended");
    store.commit(end(&mut one, 6, "late")).await.unwrap();
    assert_eq!(expire(&store).await, 1);
    assert_eq!(store.stats().await.unwrap().tasks, 0);
}

//! Cases about rooms: logs without gaps, messages that come once, members with cursors, trimming, search.
//!
//! They tell what a store must keep of a room. What events mean is not looked at.

use agentsite_protocol::room::{ChainHash, Envelope, MemberId, MessageType, RoomEvent, RoomState};
use agentsite_protocol::{RoomId, Timestamp};

use super::Fresh;
use super::samples::{at, bare, task_id};
use crate::{
    Change, Entity, RoomChange, RoomCursorChange, RoomHead, RoomMemberChange, RoomMemberRow, RoomRow,
    SharedStore, StoreError, Topic, Unjournaled,
};

fn id(number: u64) -> RoomId {
    RoomId::from_bytes(*task_id(number).as_bytes())
}

fn member(name: &str) -> MemberId {
    name.parse().unwrap()
}

/// A room on its way.
#[derive(Debug, Clone)]
pub struct RoomLife {
    pub head: RoomHead,
}

impl RoomLife {
    /// A room that nothing was said in.
    pub fn new(number: u64, owner: &str) -> Self {
        let start = ChainHash::start(id(number));
        Self {
            head: RoomHead {
                id: id(number),
                owner: owner.parse().unwrap(),
                title: format!("room {number}"),
                state: RoomState::Discussion,
                seq: 0,
                first: 1,
                front: start,
                hash: start,
                created_at: at(number as i64),
                updated_at: at(number as i64),
                deadline: None,
            },
        }
    }

    /// The change with which members say something, each `(sender, message id, text)`.
    pub fn say(&mut self, said: &[(&str, &str, &str)]) -> RoomChange {
        let (expect_seq, expect_hash) = (self.head.seq, self.head.hash);
        let mut events = Vec::new();
        for (sender, message, text) in said {
            self.head.seq += 1;
            self.head.updated_at = self.head.updated_at.plus(std::time::Duration::from_millis(1));
            let event = event(&self.head, sender, message, text);
            let body = String::from_utf8(event.canonical().unwrap()).unwrap();
            self.head.hash = self.head.hash.next(body.as_bytes());
            events.push(RoomRow {
                seq: self.head.seq,
                at: self.head.updated_at,
                sender: event.envelope.sender_id.clone(),
                message: event.envelope.id.clone(),
                digest: event.envelope.digest().unwrap(),
                hash: self.head.hash,
                signature: vec![self.head.seq as u8; 64],
                body,
            });
        }
        let (members, snapshot) = (Vec::new(), None);
        RoomChange { head: self.head.clone(), expect_seq, expect_hash, events, members, snapshot }
    }

    /// The first event, with which its owner joins.
    pub fn open(&mut self) -> RoomChange {
        let owner = self.head.owner.to_string();
        let mut change = self.say(&[(&owner, "open", "")]);
        change.members = vec![put(&owner, true, 0)];
        change
    }
}

fn event(head: &RoomHead, sender: &str, message: &str, text: &str) -> RoomEvent {
    let (room, at) = (head.id, head.updated_at);
    let mut envelope = Envelope::discuss(message.parse().unwrap(), room, member(sender), at, text);
    if text.is_empty() {
        envelope.kind = MessageType::Created;
    }
    RoomEvent { room, seq: head.seq, at, state: head.state, envelope, effects: Vec::new() }
}

fn put(name: &str, joined: bool, cursor: u64) -> RoomMemberChange {
    RoomMemberChange::Put { member: member(name), joined, cursor }
}

fn log(change: RoomChange) -> Change {
    Change::unjournaled(Unjournaled::RoomLog).edit(change)
}

async fn numbers(store: &SharedStore, number: u64, after: u64, limit: usize) -> Vec<u64> {
    store.room_events(id(number), after, limit).await.unwrap().iter().map(|event| event.seq).collect()
}

pub async fn a_room_is_opened_continued_and_read(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = RoomLife::new(1, "key:a");
    store.commit(log(life.open())).await.unwrap();
    life.head.title = "renamed \0".into();
    life.head.deadline = Some(at(99));
    let said = life.say(&[("key:a", "m1", "hello"), ("agent:b", "m1", "hi")]);
    let events = said.events.clone();
    store.commit(log(said)).await.unwrap();
    let store = fresh.reread().await;
    let room = store.room(id(1)).await.unwrap().unwrap();
    assert_eq!((room.head, room.snapshot), (life.head.clone(), None));
    assert_eq!(store.room_events(id(1), 1, 10).await.unwrap(), events);
    assert_eq!(numbers(&store, 1, 0, 2).await, [1, 2], "a page");
    assert_eq!(numbers(&store, 2, 0, 2).await, [0; 0], "another room");
    assert_eq!(events[0].event().unwrap().envelope.plain_text(), "hello");
    let mut with_snapshot = life.say(&[("key:a", "m2", "x")]);
    with_snapshot.snapshot = Some("{}".into());
    store.commit(log(with_snapshot)).await.unwrap();
    store.commit(log(life.say(&[("key:a", "m3", "y")]))).await.unwrap();
    let room = fresh.reread().await.room(id(1)).await.unwrap().unwrap();
    assert_eq!(room.snapshot, Some((4, "{}".into())));
}

pub async fn of_two_changes_that_meet_one_is_refused(fresh: Fresh) {
    let store = fresh.store();
    let mut life = RoomLife::new(1, "key:a");
    store.commit(log(life.open())).await.unwrap();
    let mut other = life.clone();
    store.commit(log(life.say(&[("key:a", "m1", "one")]))).await.unwrap();
    let refused = store.commit(log(other.say(&[("key:b", "m1", "two")]))).await;
    assert!(matches!(refused, Err(StoreError::Moved(_))), "{refused:?}");
    let again = store.commit(log(RoomLife::new(1, "key:a").open())).await;
    assert!(matches!(again, Err(StoreError::Moved(_))), "a room is opened once: {again:?}");
    let mut foreign = life.clone();
    foreign.head.owner = "key:b".parse().unwrap();
    let refused = store.commit(log(foreign.say(&[("key:b", "m9", "mine")]))).await;
    assert!(matches!(refused, Err(StoreError::Foreign(_))), "{refused:?}");
    assert_eq!(numbers(&store, 1, 0, 10).await, [1, 2]);
    let mut gap = life.say(&[("key:a", "m2", "x")]);
    gap.events[0].seq += 1;
    assert!(matches!(store.commit(log(gap)).await, Err(StoreError::Engine(_))));
    let mut broken = life.clone().say(&[("key:a", "m2", "x")]);
    broken.events[0].body.push(' ');
    assert!(matches!(store.commit(log(broken)).await, Err(StoreError::Engine(_))));
}

pub async fn one_of_eight_writers_wins_each_event(fresh: Fresh) {
    let store = fresh.store();
    store.commit(log(RoomLife::new(1, "key:a").open())).await.unwrap();
    let write = |writer: u64| {
        let store = store.clone();
        async move {
            for number in 0..5 {
                loop {
                    let head = store.room(id(1)).await.unwrap().unwrap().head;
                    let (sender, message) = (format!("agent:w{writer}"), format!("m{number}"));
                    let said = RoomLife { head }.say(&[(&sender, &message, "text")]);
                    match store.commit(log(said)).await {
                        Ok(()) => break,
                        Err(StoreError::Moved(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
    };
    futures::future::join_all((0..8).map(write)).await;
    let events = store.room_events(id(1), 0, 100).await.unwrap();
    assert!(events.iter().map(|event| event.seq).eq(1..=41), "dense");
    let mut hash = ChainHash::start(id(1));
    for event in &events {
        hash = hash.next(event.body.as_bytes());
        assert_eq!(event.hash, hash, "event {}", event.seq);
    }
}

pub async fn a_message_of_a_sender_is_kept_once(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = RoomLife::new(1, "key:a");
    store.commit(log(life.open())).await.unwrap();
    let said = life.say(&[("agent:b", "m1", "one")]);
    let digest = said.events[0].digest;
    store.commit(log(said)).await.unwrap();
    let store = fresh.reread().await;
    let find = |sender: &str, message: &str| {
        let (sender, message) = (member(sender), message.parse().unwrap());
        let store = store.clone();
        async move { store.room_message(id(1), &sender, &message).await.unwrap() }
    };
    assert_eq!(find("agent:b", "m1").await, Some((2, digest)));
    assert_eq!(find("agent:c", "m1").await, None, "the id of another sender");
    let refused = store.commit(log(life.clone().say(&[("agent:b", "m1", "again")]))).await;
    assert!(matches!(refused, Err(StoreError::Moved(_))), "{refused:?}");
    store.commit(log(life.say(&[("agent:c", "m1", "mine")]))).await.unwrap();
    let mut elsewhere = RoomLife::new(2, "key:a");
    store.commit(log(elsewhere.open())).await.unwrap();
    store.commit(log(elsewhere.say(&[("agent:b", "m1", "there")]))).await.unwrap();
}

pub async fn members_come_go_and_read_on(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = RoomLife::new(1, "key:a");
    let mut opened = life.open();
    opened.members.push(put("agent:b", false, 0));
    store.commit(log(opened)).await.unwrap();
    let mut joined = life.say(&[("agent:b", "m1", "I come")]);
    joined.members = vec![put("agent:b", true, 7), put("agent:c", true, 2)];
    store.commit(log(joined)).await.unwrap();
    for (name, delivered, processed) in [("agent:b", 2, 1), ("agent:b", 1, 0), ("agent:x", 9, 9)] {
        let cursor = RoomCursorChange { room: id(1), member: member(name), delivered, processed };
        store.commit(Change::unjournaled(Unjournaled::RoomLog).edit(cursor)).await.unwrap();
    }
    let store = fresh.reread().await;
    let row = |name: &str, joined, delivered, processed| RoomMemberRow {
        member: member(name),
        joined,
        delivered,
        processed,
    };
    let expected = [row("agent:b", true, 2, 1), row("agent:c", true, 2, 2), row("key:a", true, 0, 0)];
    assert_eq!(store.room_members(id(1)).await.unwrap(), expected);
    let mut left = life.say(&[("agent:c", "m1", "I go")]);
    left.members = vec![RoomMemberChange::Remove(member("agent:c"))];
    store.commit(log(left)).await.unwrap();
    assert_eq!(store.room_members(id(1)).await.unwrap().len(), 2);
    let none = store.rooms_of(&member("agent:c"), None, 10).await.unwrap();
    assert!(none.items.is_empty(), "a member that is gone has no room");
}

pub async fn rooms_of_a_member_come_newest_first_in_pages(mut fresh: Fresh) {
    let store = fresh.store();
    for number in 1..=5 {
        store.commit(log(RoomLife::new(number, "key:a").open())).await.unwrap();
    }
    store.commit(log(RoomLife::new(9, "key:b").open())).await.unwrap();
    let store = fresh.reread().await;
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = store.rooms_of(&member("key:a"), after, 2).await.unwrap();
        seen.extend(page.items.iter().map(|head| head.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, [5, 4, 3, 2, 1].map(id));
}

pub async fn rooms_come_up_when_their_deadline_has_passed(mut fresh: Fresh) {
    let store = fresh.store();
    for (number, deadline) in [(1, Some(30)), (2, Some(10)), (3, None), (4, Some(50))] {
        let mut life = RoomLife::new(number, "key:a");
        life.head.deadline = deadline.map(at);
        store.commit(log(life.open())).await.unwrap();
    }
    let store = fresh.reread().await;
    assert_eq!(store.rooms_due(at(30), 10).await.unwrap(), [2, 1].map(id));
    assert_eq!(store.rooms_due(at(99), 1).await.unwrap(), [2].map(id));
    assert!(store.rooms_due(Timestamp::from_millis(0), 10).await.unwrap().is_empty());
}

pub async fn what_was_trimmed_is_gone_and_named(mut fresh: Fresh) {
    let store = fresh.store();
    let mut life = RoomLife::new(1, "key:a");
    store.commit(log(life.open())).await.unwrap();
    let said = life.say(&[("key:a", "m1", "apples"), ("key:a", "m2", "pears"), ("key:a", "m3", "plums")]);
    let front = said.events[1].hash;
    store.commit(log(said)).await.unwrap();
    let before = store.storage(Default::default()).await.unwrap().total;
    (life.head.first, life.head.front) = (4, front);
    store.commit(log(life.say(&[("site", "gap", "earlier messages are gone")]))).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(numbers(&store, 1, 0, 10).await, [4, 5]);
    let head = store.room(id(1)).await.unwrap().unwrap().head;
    assert_eq!((head.first, head.front), (4, front));
    assert!(store.search_room(id(1), "pears", 10).await.unwrap().is_empty());
    assert_eq!(store.search_room(id(1), "plums", 10).await.unwrap(), [4]);
    let after = store.storage(Default::default()).await.unwrap().total;
    assert!(after < before, "{after} is less than {before}");
    let counted = store.storage(crate::StorageQuery { recount: true, ..Default::default() }).await.unwrap();
    assert_eq!(counted.total, after, "the sums are those of a recount");
}

pub async fn messages_are_found_by_their_words_in_their_room(mut fresh: Fresh) {
    let store = fresh.store();
    let (mut one, mut two) = (RoomLife::new(1, "key:a"), RoomLife::new(2, "key:a"));
    for life in [&mut one, &mut two] {
        store.commit(log(life.open())).await.unwrap();
    }
    let said = one.say(&[
        ("key:a", "m1", "The tram to the harbour"),
        ("key:a", "m2", "今天天气很好"),
        ("key:a", "m3", "harbours and trams"),
    ]);
    store.commit(log(said)).await.unwrap();
    store.commit(log(two.say(&[("key:a", "m1", "the tram elsewhere")]))).await.unwrap();
    let store = fresh.reread().await;
    let find = |text: &'static str| {
        let store = store.clone();
        async move { store.search_room(id(1), text, 10).await.unwrap() }
    };
    assert_eq!(find("TRAM harb").await, [4, 2], "the newest first");
    assert_eq!(find("天气").await, [3]);
    assert!(find("elsewhere").await.is_empty());
    assert!(find("\" * (").await.is_empty());
}

pub async fn the_feed_names_rooms_with_new_events(fresh: Fresh) {
    let store = fresh.store();
    let begun = *store.watch(Topic::Rooms).borrow();
    let mut life = RoomLife::new(1, "key:a");
    store.commit(log(life.open())).await.unwrap();
    let cursor = RoomCursorChange { room: id(1), member: member("key:a"), delivered: 1, processed: 1 };
    store.commit(bare().edit(cursor)).await.unwrap();
    let changes = store.changes(Topic::Rooms, begun, 10).await.unwrap();
    let crate::Changes::Page { items, .. } = changes else { panic!("a gap after two commits") };
    assert_eq!(items, [Entity::Room(id(1))]);
}

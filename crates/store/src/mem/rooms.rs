//! Rooms in memory: a map of them, each with its log and its members.
//!
//! Promises: all guards of a change are checked before anything is written. It has no index: every search
//! looks at everything.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use agentsite_protocol::room::{ChainHash, MemberId};
use agentsite_protocol::{MessageId, RoomId, Timestamp};

use super::MemStore;
use crate::query::MAX_PAGE;
use crate::room::event_bytes;
use crate::storage::fixed;
use crate::words::SearchPhrases;
use crate::{
    Page, Reply, RoomChange, RoomCursorChange, RoomHead, RoomMemberChange, RoomMemberRow, RoomPosition,
    RoomReads, RoomRow, StoreError, StoredRoom,
};

impl RoomReads for MemStore {
    fn room(&self, id: RoomId) -> Reply<'_, Option<StoredRoom>> {
        self.reply(|content| content.rooms.get(id))
    }

    fn room_events(&self, id: RoomId, after: u64, limit: usize) -> Reply<'_, Vec<RoomRow>> {
        self.reply(|content| content.rooms.events(id, after, limit))
    }

    fn room_message(
        &self,
        id: RoomId,
        sender: &MemberId,
        message: &MessageId,
    ) -> Reply<'_, Option<(u64, ChainHash)>> {
        self.reply(|content| content.rooms.message(id, sender, message))
    }

    fn room_members(&self, id: RoomId) -> Reply<'_, Vec<RoomMemberRow>> {
        self.reply(|content| content.rooms.members(id))
    }

    fn rooms_of(
        &self,
        member: &MemberId,
        after: Option<RoomPosition>,
        limit: usize,
    ) -> Reply<'_, Page<RoomHead, RoomPosition>> {
        self.reply(|content| content.rooms.of(member, after, limit))
    }

    fn rooms_due(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<RoomId>> {
        self.reply(|content| content.rooms.due(now, limit))
    }

    fn search_room(&self, id: RoomId, text: &str, limit: usize) -> Reply<'_, Vec<u64>> {
        self.reply(|content| content.rooms.search(id, text, limit))
    }
}

#[derive(Default)]
pub(super) struct Rooms(BTreeMap<RoomId, MemRoom>);

struct MemRoom {
    head: RoomHead,
    events: Vec<RoomRow>,
    members: BTreeMap<MemberId, RoomMemberRow>,
    snapshot: Option<(u64, String)>,
}

impl Rooms {
    /// Refuses changes that do not fit.
    pub(super) fn guard<'a>(&self, changes: impl Iterator<Item = &'a RoomChange>) -> Result<(), StoreError> {
        for change in changes {
            let id = change.head.id;
            let kept = self.0.get(&id);
            let seq = kept.map_or(0, |kept| kept.head.seq);
            let hash = kept.map_or_else(|| ChainHash::start(id), |kept| kept.head.hash);
            let owned = kept.is_none_or(|kept| kept.head.owner == change.head.owner);
            let repeated = |event: &RoomRow| self.message(id, &event.sender, &event.message).is_some();
            if !owned {
                return Err(StoreError::Foreign(id.to_string()));
            }
            if (seq, hash) != (change.expect_seq, change.expect_hash) || change.events.iter().any(repeated) {
                return Err(StoreError::Moved(id.to_string()));
            }
        }
        Ok(())
    }

    /// Makes a change whose guard has been checked.
    pub(super) fn change(&mut self, change: RoomChange) {
        let RoomChange { head, events, members, snapshot, .. } = change;
        let room = self.0.entry(head.id).or_insert_with(|| MemRoom {
            head: head.clone(),
            events: Vec::new(),
            members: BTreeMap::new(),
            snapshot: None,
        });
        room.snapshot = snapshot.map(|text| (head.seq, text)).or_else(|| room.snapshot.take());
        room.events.extend(events);
        room.events.retain(|event| event.seq >= head.first);
        room.head = head;
        for member in members {
            match member {
                RoomMemberChange::Put { member, joined, cursor } => {
                    let (delivered, processed) = (cursor, cursor);
                    let new = RoomMemberRow { member: member.clone(), joined, delivered, processed };
                    room.members.entry(member).or_insert(new).joined = joined;
                }
                RoomMemberChange::Remove(member) => drop(room.members.remove(&member)),
            }
        }
    }

    /// Moves the cursors of a member.
    pub(super) fn move_cursor(&mut self, change: &RoomCursorChange) {
        let room = self.0.get_mut(&change.room);
        if let Some(member) = room.and_then(|room| room.members.get_mut(&change.member)) {
            member.delivered = member.delivered.max(change.delivered);
            member.processed = member.processed.max(change.processed);
        }
    }

    /// What each room takes, by owner.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.values().map(|room| {
            let events: u64 = room.events.iter().map(|event| event_bytes(event.body.len())).sum();
            (room.head.owner.as_str(), fixed::ROOM + events)
        })
    }

    fn get(&self, id: RoomId) -> Option<StoredRoom> {
        self.0.get(&id).map(|room| StoredRoom { head: room.head.clone(), snapshot: room.snapshot.clone() })
    }

    fn events(&self, id: RoomId, after: u64, limit: usize) -> Vec<RoomRow> {
        let events = self.0.get(&id).into_iter().flat_map(|room| &room.events);
        events.filter(|event| event.seq > after).take(limit.clamp(1, MAX_PAGE)).cloned().collect()
    }

    fn message(&self, id: RoomId, sender: &MemberId, message: &MessageId) -> Option<(u64, ChainHash)> {
        let mut events = self.0.get(&id)?.events.iter();
        let found = events.find(|event| event.sender == *sender && event.message == *message);
        found.map(|event| (event.seq, event.digest))
    }

    fn members(&self, id: RoomId) -> Vec<RoomMemberRow> {
        self.0.get(&id).into_iter().flat_map(|room| room.members.values()).cloned().collect()
    }

    fn of(
        &self,
        member: &MemberId,
        after: Option<RoomPosition>,
        limit: usize,
    ) -> Page<RoomHead, RoomPosition> {
        let own = self.0.values().filter(|room| room.members.contains_key(member));
        let mut heads: Vec<RoomHead> = own.map(|room| room.head.clone()).collect();
        heads.retain(|head| after.is_none_or(|after| RoomPosition::of(head) < after));
        heads.sort_by_key(|head| Reverse(RoomPosition::of(head)));
        Page::of_rooms(heads, limit)
    }

    fn due(&self, now: Timestamp, limit: usize) -> Vec<RoomId> {
        let heads = self.0.values().map(|room| &room.head);
        let mut due: Vec<(Timestamp, RoomId)> = heads
            .filter_map(|head| Some((head.deadline.filter(|deadline| *deadline <= now)?, head.id)))
            .collect();
        due.sort();
        due.into_iter().take(limit.clamp(1, MAX_PAGE)).map(|(_, id)| id).collect()
    }

    fn search(&self, id: RoomId, text: &str, limit: usize) -> Vec<u64> {
        let Some(wanted) = SearchPhrases::read(text) else { return Vec::new() };
        let events = self.0.get(&id).into_iter().flat_map(|room| room.events.iter().rev());
        let fitting = events.filter(|event| wanted.fits(&event.words())).map(|event| event.seq);
        fitting.take(limit.clamp(1, MAX_PAGE)).collect()
    }
}

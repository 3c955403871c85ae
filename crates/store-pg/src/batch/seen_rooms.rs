//! The rooms that a batch has seen, and the guards of their changes.
//!
//! Promises: the row of a room is locked while its events are decided, so that its numbers have no gaps in
//! whichever process; every accepted change is noted, so that the next one is decided after it.

use std::collections::{HashMap, HashSet};

use agentsite_protocol::RoomId;
use agentsite_protocol::room::ChainHash;
use agentsite_store::{Edit, RoomChange, StoreError};
use tokio_postgres::{Error, Row};

use crate::ready::{Ready, ReadyEdit};
use crate::session::Session;

const LOCK: &str = "SELECT id, seq, hash, owner, first FROM rooms WHERE id = ANY($1) ORDER BY id FOR UPDATE";
const MESSAGES: &str = "SELECT e.room, e.sender, e.message FROM room_events e
    JOIN unnest($1::bytea[], $2::text[], $3::text[]) AS n (room, sender, message)
    ON e.room = n.room AND e.sender = n.sender AND e.message = n.message";

/// The rooms that guards look at.
#[derive(Debug, Default)]
pub(crate) struct SeenRooms {
    rooms: HashMap<RoomId, SeenRoom>,
    /// Messages that are there: room, sender, id.
    messages: HashSet<(RoomId, String, String)>,
}

#[derive(Debug)]
struct SeenRoom {
    seq: u64,
    hash: ChainHash,
    owner: String,
    first: u64,
}

impl SeenRooms {
    /// Locks and reads what the guards of these changes look at, when there are any.
    pub(super) async fn load<'a>(
        &mut self,
        session: &Session,
        edits: impl Iterator<Item = &'a ReadyEdit>,
    ) -> Result<(), Error> {
        let changes: Vec<&RoomChange> = edits
            .filter_map(|edit| match edit {
                ReadyEdit::Other(Edit::Room(change)) => Some(&**change),
                _ => None,
            })
            .collect();
        if changes.is_empty() {
            return Ok(());
        }
        let mut ids: Vec<&[u8]> = changes.iter().map(|change| change.head.id.as_bytes().as_slice()).collect();
        ids.sort_unstable();
        ids.dedup();
        for row in session.query(LOCK, &[&ids]).await? {
            let hash = row
                .get::<_, &[u8]>(2)
                .try_into()
                .map_or(ChainHash::from_bytes([0; 32]), ChainHash::from_bytes);
            let room = SeenRoom {
                seq: row.get::<_, i64>(1).cast_unsigned(),
                hash,
                owner: row.get(3),
                first: row.get::<_, i64>(4).cast_unsigned(),
            };
            self.rooms.insert(room_id(&row), room);
        }
        let (mut rooms, mut senders, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        for change in &changes {
            for event in &change.events {
                rooms.push(change.head.id.as_bytes().as_slice());
                senders.push(event.sender.as_str());
                messages.push(event.message.as_str());
            }
        }
        // Asked after the lock, so that what another process has appended is seen.
        for row in session.query(MESSAGES, &[&rooms, &senders, &messages]).await? {
            self.messages.insert((room_id(&row), row.get(1), row.get(2)));
        }
        Ok(())
    }

    /// Refuses changes of rooms that do not fit.
    pub(super) fn guard(&self, ready: &Ready) -> Result<(), StoreError> {
        for edit in ready.others() {
            let Edit::Room(change) = edit else { continue };
            let id = change.head.id;
            let kept = self.rooms.get(&id);
            if kept.is_some_and(|kept| kept.owner != change.head.owner.as_str()) {
                return Err(StoreError::Foreign(id.to_string()));
            }
            let found = kept.map_or((0, ChainHash::start(id)), |kept| (kept.seq, kept.hash));
            let repeated = change.events.iter().any(|event| {
                self.messages.contains(&(id, event.sender.to_string(), event.message.to_string()))
            });
            if repeated || found != (change.expect_seq, change.expect_hash) {
                return Err(StoreError::Moved(id.to_string()));
            }
        }
        Ok(())
    }

    /// Notes a change whose guard has been checked; gives the first event that was kept before it.
    pub(super) fn accept(&mut self, change: &RoomChange) -> u64 {
        let head = &change.head;
        for event in &change.events {
            self.messages.insert((head.id, event.sender.to_string(), event.message.to_string()));
        }
        let (owner, first) = (head.owner.to_string(), head.first);
        let after = SeenRoom { seq: head.seq, hash: head.hash, owner, first };
        self.rooms.insert(head.id, after).map_or(1, |before| before.first)
    }

    /// The owner of a room that was read or accepted.
    pub(super) fn owner(&self, id: RoomId) -> Option<&str> {
        self.rooms.get(&id).map(|kept| kept.owner.as_str())
    }
}

/// The room that a row begins with.
pub(super) fn room_id(row: &Row) -> RoomId {
    RoomId::from_bytes(row.get::<_, &[u8]>(0).try_into().unwrap_or_default())
}

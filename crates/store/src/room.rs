//! Room: the log of a room on disk, who takes part, and how far each has read.
//!
//! Promises: a change names the number and the hash that it was decided on, so that of two that meet one is
//! refused and numbers have no gaps; every event carries the hash of all before it and the signature of the
//! site. A message of one sender is in a room once for as long as its event is kept. Cursors of members only
//! grow. A snapshot saves folding the log; what was trimmed is named by the head. It does not know SQL, and
//! what events mean is decided by `agentsite_protocol::room`.

use agentsite_protocol::room::{ChainHash, MemberId, RoomEvent, RoomState};
use agentsite_protocol::{MessageId, Principal, RoomId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::conversation::INDEXED_BYTES;
use crate::query::MAX_PAGE;
use crate::{Page, StoreError};

/// The columns of a room that list and find it; derived from its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomHead {
    /// Its id.
    pub id: RoomId,
    /// Whose storage it counts on: the principal that created it.
    pub owner: Principal,
    /// Its title.
    pub title: String,
    /// Where it is in its course.
    pub state: RoomState,
    /// Number of its last event.
    pub seq: u64,
    /// Number of the first event that is kept.
    pub first: u64,
    /// The hash before the first event that is kept.
    pub front: ChainHash,
    /// The hash of its last event.
    pub hash: ChainHash,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its last event was taken.
    pub updated_at: Timestamp,
    /// When it continues without its members; none once it has ended.
    pub deadline: Option<Timestamp>,
}

/// One event of a room as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomRow {
    /// Its number.
    pub seq: u64,
    /// When it was taken.
    pub at: Timestamp,
    /// Who sent the message.
    pub sender: MemberId,
    /// The sender's id of it.
    pub message: MessageId,
    /// The hash of the message, to tell a repetition from an id used twice.
    pub digest: ChainHash,
    /// The hash of this event and all before it.
    pub hash: ChainHash,
    /// The site's signature of that hash.
    pub signature: Vec<u8>,
    /// The event in its canonical form.
    pub body: String,
}

impl RoomRow {
    /// Reads the event.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the body is not one.
    pub fn event(&self) -> Result<RoomEvent, StoreError> {
        RoomEvent::read(self.body.as_bytes())
            .map_err(|error| StoreError::Corrupt(format!("event {} of a room: {error}", self.seq)))
    }

    /// The words by which it is found: the beginning of what was said.
    #[must_use]
    pub fn words(&self) -> String {
        words_of(&self.body)
    }
}

/// The words by which an event with this body is found.
#[must_use]
pub fn words_of(body: &str) -> String {
    let said = RoomEvent::read(body.as_bytes()).map(|event| event.envelope.plain_text());
    let mut text = said.unwrap_or_default();
    text.truncate(text.floor_char_boundary(INDEXED_BYTES));
    text
}

/// A member and how far it has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomMemberRow {
    /// Who.
    pub member: MemberId,
    /// Whether it has joined; otherwise it is invited.
    pub joined: bool,
    /// The last event that was delivered to it.
    pub delivered: u64,
    /// The last event that it has processed.
    pub processed: u64,
}

/// What happens to a member of a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoomMemberChange {
    /// It is invited or has joined. A member that is there keeps its cursors.
    Put {
        /// Who.
        member: MemberId,
        /// Whether it has joined.
        joined: bool,
        /// What a new member counts as read: everything before it came, or nothing.
        cursor: u64,
    },
    /// It is gone.
    Remove(MemberId),
}

/// New events of one room.
#[derive(Debug, Clone)]
pub struct RoomChange {
    /// The head after the events. Events before its `first` are removed.
    pub head: RoomHead,
    /// The last event before these; 0 when the room must not exist yet.
    pub expect_seq: u64,
    /// The hash of that event; the start of the chain for a new room.
    pub expect_hash: ChainHash,
    /// The events, numbered on from `expect_seq` without gaps; at least one.
    pub events: Vec<RoomRow>,
    /// Who comes and goes by them.
    pub members: Vec<RoomMemberChange>,
    /// The room after the events, so that it need not be folded from the first one.
    pub snapshot: Option<String>,
}

impl RoomChange {
    /// Refuses events that leave a gap, break the chain or do not lead to the head; that is a fault of the
    /// caller's code, never of its data.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let wrong = |what: &str| Err(StoreError::Engine(format!("a change of room {} {what}", self.head.id)));
        if self.events.is_empty() {
            return wrong("carries no events");
        }
        let dense = (self.expect_seq + 1..).zip(&self.events).all(|(seq, event)| event.seq == seq);
        if !dense || self.head.seq != self.expect_seq + self.events.len() as u64 {
            return wrong("carries events that do not lead to its head");
        }
        let mut hash = self.expect_hash;
        for event in &self.events {
            hash = hash.next(event.body.as_bytes());
            if event.hash != hash {
                return wrong("breaks the chain of its events");
            }
        }
        if hash != self.head.hash || self.head.first == 0 || self.head.first > self.head.seq {
            return wrong("has a head that its events do not lead to");
        }
        Ok(())
    }

    /// Bytes that it adds to the storage of its owner.
    pub(crate) fn adds(&self) -> u64 {
        let first = if self.expect_seq == 0 { crate::storage::fixed::ROOM } else { 0 };
        first + self.events.iter().map(|event| event_bytes(event.body.len())).sum::<u64>()
    }
}

/// Bytes that an event with a body of this length takes.
#[must_use]
pub const fn event_bytes(body: usize) -> u64 {
    crate::storage::fixed::ROOM_EVENT + body as u64
}

/// How far a member has read. Cursors only grow; one of a member that is gone changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomCursorChange {
    /// The room.
    pub room: RoomId,
    /// The member.
    pub member: MemberId,
    /// The last event that was delivered to it.
    pub delivered: u64,
    /// The last event that it has processed.
    pub processed: u64,
}

/// A room as it is read: its head, and the newest snapshot with the number of its last event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRoom {
    /// The head.
    pub head: RoomHead,
    /// The snapshot.
    pub snapshot: Option<(u64, String)>,
}

/// Position in a list of rooms: by last change and id, both descending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RoomPosition {
    /// The last change of the last one of the page.
    pub updated_at: Timestamp,
    /// Its id.
    pub id: RoomId,
}

impl RoomPosition {
    /// The position of a room.
    #[must_use]
    pub fn of(head: &RoomHead) -> Self {
        Self { updated_at: head.updated_at, id: head.id }
    }
}

impl Page<RoomHead, RoomPosition> {
    /// Cuts a sorted list, which may be longer than asked for, to one page with the position of the next.
    #[must_use]
    pub fn of_rooms(mut items: Vec<RoomHead>, limit: usize) -> Self {
        let limit = limit.clamp(1, MAX_PAGE);
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(RoomPosition::of);
        Self { items, next }
    }
}

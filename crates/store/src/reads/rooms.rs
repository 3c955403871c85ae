//! Reads of rooms, their logs and their members.
//!
//! Promises: lists are bounded; a page of a log costs its own length wherever it begins. It does not decide
//! who may read a room.

use agentsite_protocol::room::{ChainHash, MemberId};
use agentsite_protocol::{MessageId, RoomId, Timestamp};

use crate::{Page, Reply, RoomHead, RoomMemberRow, RoomPosition, RoomRow, StoredRoom};

/// What can be read about rooms.
pub trait RoomReads {
    /// One room with its newest snapshot.
    fn room(&self, id: RoomId) -> Reply<'_, Option<StoredRoom>>;

    /// Events of a room after a number, in order; fewer when they are large. Those before the head's `first`
    /// are gone.
    fn room_events(&self, id: RoomId, after: u64, limit: usize) -> Reply<'_, Vec<RoomRow>>;

    /// The number and the hash of a message that is kept.
    fn room_message(
        &self,
        id: RoomId,
        sender: &MemberId,
        message: &MessageId,
    ) -> Reply<'_, Option<(u64, ChainHash)>>;

    /// Members and invitations of a room, by id.
    fn room_members(&self, id: RoomId) -> Reply<'_, Vec<RoomMemberRow>>;

    /// Rooms that someone is a member of or invited to, the last changed first.
    fn rooms_of(
        &self,
        member: &MemberId,
        after: Option<RoomPosition>,
        limit: usize,
    ) -> Reply<'_, Page<RoomHead, RoomPosition>>;

    /// Rooms whose deadline has passed, the earliest first.
    fn rooms_due(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<RoomId>>;

    /// Numbers of the events of a room in which all of these words occur, the newest first.
    fn search_room(&self, id: RoomId, text: &str, limit: usize) -> Reply<'_, Vec<u64>>;
}

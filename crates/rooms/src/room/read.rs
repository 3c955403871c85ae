//! Reading: pages from a cursor, what was read, following, searching.
//!
//! Promises: a member reads from its joining on, or everything when the room is open about its history; what
//! is no longer kept is named by a gap, never passed over. A watch is a cursor and a wake-up: a slow follower
//! costs nothing but its own reads.

use agentsite_protocol::room::{HistoryAccess, MemberId, RoomEvent};
use agentsite_protocol::{Caller, RoomId};
use agentsite_store::{Change, RoomCursorChange, RoomRow, StoreError, Unjournaled};
use serde::Serialize;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::error::RoomError;
use super::handle::Rooms;

/// Most events of one page, whatever is asked for.
const MAX_PAGE: usize = 500;

/// Longest search, in bytes.
const MAX_SEARCH: usize = 200;

/// Events of a room after a cursor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoomPage {
    /// The events, in order without gaps.
    pub events: Vec<RoomEvent>,
    /// Numbers that the reader asked for and that are no longer kept: the first and the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<(u64, u64)>,
    /// The last event of the room.
    pub head: u64,
    /// Where the next page begins.
    pub next: u64,
}

impl Rooms {
    /// Events after a number.
    ///
    /// # Errors
    /// [`RoomError::NoSuchRoom`].
    pub async fn read(
        &self,
        caller: &Caller,
        id: RoomId,
        after: u64,
        limit: usize,
    ) -> Result<RoomPage, RoomError> {
        let (_, joined, live) = self.joined(caller, id).await?;
        let open = live.room.settings.history == HistoryAccess::Full;
        let begin = if open { 0 } else { joined.joined - 1 };
        let after = after.max(begin);
        let gap = (live.head.first > after + 1).then(|| (after + 1, live.head.first - 1));
        let from = after.max(live.head.first - 1);
        let rows = self.0.store.room_events(id, from, limit.clamp(1, MAX_PAGE)).await?;
        let events = rows.iter().map(RoomRow::event).collect::<Result<Vec<_>, StoreError>>()?;
        let next = events.last().map_or(from, |event| event.seq);
        Ok(RoomPage { events, gap, head: live.head.seq.max(next), next })
    }

    /// Notes how far the caller has got: what was delivered to it and what it has processed.
    ///
    /// # Errors
    /// [`RoomError::NoSuchRoom`], [`RoomError::Invalid`] beyond the end of the room.
    pub async fn ack(
        &self,
        caller: &Caller,
        id: RoomId,
        delivered: u64,
        processed: u64,
    ) -> Result<(), RoomError> {
        let (member, _, live) = self.joined(caller, id).await?;
        if delivered.max(processed) > live.head.seq {
            return Err(RoomError::Invalid(format!("the room has {} events, not more", live.head.seq)));
        }
        let delivered = delivered.max(processed);
        let cursor = RoomCursorChange { room: id, member, delivered, processed };
        Ok(self.0.store.commit(Change::unjournaled(Unjournaled::RoomLog).edit(cursor)).await?)
    }

    /// Follows a room from a cursor.
    ///
    /// # Errors
    /// [`RoomError::NoSuchRoom`].
    pub async fn follow(&self, caller: &Caller, id: RoomId, after: u64) -> Result<RoomWatch, RoomError> {
        let wakeups = self.0.feed.subscribe();
        self.joined(caller, id).await?;
        Ok(RoomWatch { rooms: self.clone(), caller: caller.clone(), id, after, wakeups })
    }

    /// Events in which all of these words occur, the newest first.
    ///
    /// # Errors
    /// [`RoomError::NoSuchRoom`], [`RoomError::Invalid`].
    pub async fn search(
        &self,
        caller: &Caller,
        id: RoomId,
        text: &str,
        limit: usize,
    ) -> Result<Vec<RoomEvent>, RoomError> {
        let (_, joined, live) = self.joined(caller, id).await?;
        if text.len() > MAX_SEARCH {
            return Err(RoomError::Invalid(format!("a search may have {MAX_SEARCH} bytes")));
        }
        let open = live.room.settings.history == HistoryAccess::Full;
        let begin = if open { 0 } else { joined.joined };
        let mut found = Vec::new();
        for seq in self.0.store.search_room(id, text, limit.clamp(1, MAX_PAGE)).await? {
            if seq >= begin
                && let Some(row) = self.0.store.room_events(id, seq - 1, 1).await?.first()
            {
                found.push(row.event()?);
            }
        }
        Ok(found)
    }
}

/// Follows a room.
#[derive(Debug)]
pub struct RoomWatch {
    rooms: Rooms,
    caller: Caller,
    id: RoomId,
    after: u64,
    wakeups: Receiver<Option<RoomId>>,
}

impl RoomWatch {
    /// The next events; waits for them. `None` once the caller does not belong to the room any more, or the
    /// site stops. Cancellation safe: the cursor moves with what is returned.
    pub async fn next(&mut self) -> Option<RoomPage> {
        loop {
            let page = self.rooms.read(&self.caller, self.id, self.after, MAX_PAGE).await.ok()?;
            if !page.events.is_empty() || page.gap.is_some() {
                self.after = page.next;
                return Some(page);
            }
            loop {
                match self.wakeups.recv().await {
                    Ok(Some(room)) if room != self.id => {}
                    Ok(_) | Err(RecvError::Lagged(_)) => break,
                    Err(RecvError::Closed) => return None,
                }
            }
        }
    }
}

/// Marks events as processed by an agent that was not addressed in them.
pub(crate) fn passed(room: RoomId, member: &MemberId, seq: u64) -> RoomCursorChange {
    RoomCursorChange { room, member: member.clone(), delivered: seq, processed: seq }
}

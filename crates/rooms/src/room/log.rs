//! The log of rooms: how a decision becomes events on disk.
//!
//! Promises: events of a room are decided one after the other on its last state, also while earlier ones are
//! still on their way to the disk, so that many messages share one commit; nothing is acknowledged before it
//! is on disk. When another process was first, the room is read again and the message is decided again. The
//! rooms that are held in memory are bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agentsite_protocol::room::{
    ChainHash, HistoryAccess, ROOM_EVENT_DOMAIN, Room, RoomEffect, RoomEvent, RoomRefusal,
};
use agentsite_protocol::{Ids, JournalLine, JournalSubject, Principal, RoomId, SigningKey, Timestamp};
use agentsite_store::{
    Change, RoomChange, RoomHead, RoomMemberChange, RoomRow, SharedStore, StoreError, Unjournaled,
};

use super::error::RoomError;
use super::kinds;

/// How often a message is decided anew when other processes write to the same room.
const TRIES: usize = 32;

/// Events after which the room itself is written, so that it is folded from so few.
const SNAPSHOT: u64 = 256;

/// Rooms that are held in memory; one with a thousand members takes some hundred kilobytes.
const MAX_LIVE: usize = 1_024;

/// Events that are read at once when a room is folded.
const PAGE: usize = 500;

/// A room as this process has last decided on it.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) room: Room,
    pub(crate) head: RoomHead,
}

type Cell = Arc<tokio::sync::Mutex<Option<Live>>>;

/// The logs of a site's rooms.
#[derive(Debug)]
pub(crate) struct RoomLogs {
    pub(crate) store: SharedStore,
    pub(crate) ids: Ids,
    key: SigningKey,
    // A std lock: it is held for a look into the map, never across an await.
    live: Mutex<HashMap<RoomId, Cell>>,
}

impl RoomLogs {
    pub(crate) fn new(store: SharedStore, ids: Ids, key: SigningKey) -> Self {
        Self { store, ids, key, live: Mutex::default() }
    }

    /// A room as it is now.
    pub(crate) async fn get(&self, id: RoomId) -> Result<Live, RoomError> {
        let cell = self.cell(id);
        let mut slot = cell.lock().await;
        // Another process may have written since; one look at the head tells.
        let stored = self.store.room(id).await?.ok_or_else(|| no_room(id))?;
        let fresh = slot.as_ref().filter(|live| live.head.seq >= stored.head.seq);
        match fresh {
            Some(live) => Ok(live.clone()),
            None => Ok(slot.insert(self.load(id).await?).clone()),
        }
    }

    /// Opens a room with its first event.
    pub(crate) async fn open(&self, owner: &Principal, event: &RoomEvent) -> Result<Live, RoomError> {
        let room = Room::open(event).map_err(|error| RoomError::Invalid(error.to_string()))?;
        let start = ChainHash::start(event.room);
        let head = RoomHead {
            id: event.room,
            owner: owner.clone(),
            title: room.title.clone(),
            state: event.state,
            seq: 0,
            first: 1,
            front: start,
            hash: start,
            created_at: event.at,
            updated_at: event.at,
            deadline: None,
        };
        let (change, live) = self.change(&head, room, std::slice::from_ref(event))?;
        self.store.commit(self.written(change, std::slice::from_ref(event))).await?;
        Ok(live)
    }

    /// Decides on a room and waits until the events are on disk; an empty decision changes nothing.
    pub(crate) async fn decide(
        &self,
        id: RoomId,
        decision: impl Fn(&Room, Timestamp) -> Result<Vec<RoomEvent>, RoomRefusal>,
    ) -> Result<Vec<RoomEvent>, RoomError> {
        for _ in 0..TRIES {
            let cell = self.cell(id);
            let mut slot = cell.lock().await;
            if slot.is_none() {
                *slot = Some(self.load(id).await?);
            }
            let Some(live) = slot.as_ref() else { continue };
            let events = match decision(&live.room, self.ids.clock().now()) {
                Ok(events) if events.is_empty() => return Ok(events),
                Ok(events) => events,
                // What refuses it may be gone by what another process has written.
                Err(refusal) if self.is_behind(live).await? => {
                    *slot = None;
                    drop(refusal);
                    continue;
                }
                Err(refusal) => return Err(refusal.into()),
            };
            let mut room = live.room.clone();
            for event in &events {
                room.apply(event).map_err(|error| RoomError::Invalid(error.to_string()))?;
            }
            let (change, next) = self.change(&live.head, room, &events)?;
            // The place in the order is fixed here; the next message is decided after this one.
            let durable = match self.store.enqueue(self.written(change, &events)).await {
                Ok(durable) => durable,
                Err(error) => {
                    *slot = None;
                    return Err(error.into());
                }
            };
            *slot = Some(next);
            drop(slot);
            match durable.await {
                Ok(()) => return Ok(events),
                Err(error) => {
                    *cell.lock().await = None;
                    if !matches!(error, StoreError::Moved(_)) {
                        return Err(error.into());
                    }
                }
            }
        }
        Err(RoomError::Busy)
    }

    async fn is_behind(&self, live: &Live) -> Result<bool, RoomError> {
        let stored = self.store.room(live.head.id).await?;
        Ok(stored.is_some_and(|stored| stored.head.seq > live.head.seq))
    }

    fn cell(&self, id: RoomId) -> Cell {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if live.len() >= MAX_LIVE && !live.contains_key(&id) {
            live.retain(|_, cell| Arc::strong_count(cell) > 1);
        }
        live.entry(id).or_default().clone()
    }

    /// Folds a room from its snapshot and the events after it.
    async fn load(&self, id: RoomId) -> Result<Live, RoomError> {
        let corrupt = |what: String| RoomError::Store(StoreError::Corrupt(format!("room {id}: {what}")));
        let stored = self.store.room(id).await?.ok_or_else(|| no_room(id))?;
        let mut room = match &stored.snapshot {
            Some((_, text)) => Some(Room::from_snapshot(text).map_err(corrupt)?),
            None => None,
        };
        loop {
            let after = room.as_ref().map_or(0, |room| room.seq);
            let page = self.store.room_events(id, after, PAGE).await?;
            for row in page.iter().take_while(|row| row.seq <= stored.head.seq) {
                let event = row.event()?;
                match &mut room {
                    Some(room) => room.apply(&event).map_err(|error| corrupt(error.to_string()))?,
                    None => room = Some(Room::open(&event).map_err(|error| corrupt(error.to_string()))?),
                }
            }
            let read = room.as_ref().map_or(0, |room| room.seq);
            if read >= stored.head.seq {
                break;
            }
            if page.is_empty() {
                return Err(corrupt("events are missing".into()));
            }
        }
        let room = room.ok_or_else(|| corrupt("it has no events".into()))?;
        Ok(Live { room, head: stored.head })
    }

    /// The change that appends these events, and the room after it.
    fn change(
        &self,
        before: &RoomHead,
        room: Room,
        events: &[RoomEvent],
    ) -> Result<(RoomChange, Live), RoomError> {
        let mut rows = Vec::with_capacity(events.len());
        let mut hash = before.hash;
        let invalid = |error: agentsite_protocol::NoCanonicalForm| RoomError::Invalid(error.to_string());
        for event in events {
            let bytes = event.canonical().map_err(invalid)?;
            hash = hash.next(&bytes);
            rows.push(RoomRow {
                seq: event.seq,
                at: event.at,
                sender: event.envelope.sender_id.clone(),
                message: event.envelope.id.clone(),
                digest: event.envelope.body_digest().map_err(invalid)?,
                hash,
                signature: self.key.sign_statement(ROOM_EVENT_DOMAIN, hash.as_bytes()).to_vec(),
                body: String::from_utf8(bytes).expect("canonical JSON is UTF-8"),
            });
        }
        let head = RoomHead {
            title: room.title.clone(),
            state: room.state(),
            seq: room.seq,
            hash,
            updated_at: room.updated_at,
            deadline: room.next_deadline().map(|deadline| deadline.at),
            ..before.clone()
        };
        let snapshot = (head.seq / SNAPSHOT != before.seq / SNAPSHOT).then(|| room.snapshot());
        let members = events.iter().flat_map(|event| member_changes(event, &room)).collect();
        let change = RoomChange {
            head: head.clone(),
            expect_seq: before.seq,
            expect_hash: before.hash,
            events: rows,
            members,
            snapshot,
        };
        Ok((change, Live { room, head }))
    }

    fn written(&self, change: RoomChange, events: &[RoomEvent]) -> Change {
        let lines: Vec<JournalLine> = events.iter().filter_map(line).collect();
        Change::of_lines(lines, Unjournaled::RoomLog).edit(change)
    }
}

pub(crate) fn no_room(id: RoomId) -> RoomError {
    RoomError::NoSuchRoom(id.to_string())
}

/// Who comes and goes by an event.
fn member_changes(event: &RoomEvent, room: &Room) -> Vec<RoomMemberChange> {
    let full = room.settings.history == HistoryAccess::Full;
    let cursor = if full { 0 } else { event.seq - 1 };
    let change = |effect: &RoomEffect| match effect {
        RoomEffect::Invited { member, .. } => {
            Some(RoomMemberChange::Put { member: member.clone(), joined: false, cursor })
        }
        RoomEffect::Joined { member, .. } => {
            Some(RoomMemberChange::Put { member: member.clone(), joined: true, cursor })
        }
        RoomEffect::Uninvited { member } | RoomEffect::Left { member, .. } => {
            Some(RoomMemberChange::Remove(member.clone()))
        }
        _ => None,
    };
    event.effects.iter().filter_map(change).collect()
}

/// The line that people read about an event, for those that they must find in the journal. It has no words of
/// the message.
fn line(event: &RoomEvent) -> Option<JournalLine> {
    let (kind, text) = event.effects.iter().find_map(|effect| match effect {
        RoomEffect::Opened { .. } => Some((kinds::CREATED, "created the room".to_owned())),
        RoomEffect::Invited { member, .. } => Some((kinds::MEMBERS, format!("invited {member}"))),
        RoomEffect::Uninvited { member } => {
            Some((kinds::MEMBERS, format!("the invitation of {member} is over")))
        }
        RoomEffect::Joined { member, .. } => Some((kinds::MEMBERS, format!("{member} joined"))),
        RoomEffect::Left { member, .. } => Some((kinds::MEMBERS, format!("{member} left"))),
        RoomEffect::RoleSet { member, role } => {
            Some((kinds::MEMBERS, format!("{member} is now {}", role.word())))
        }
        RoomEffect::Configured { .. } | RoomEffect::Titled { .. } => {
            Some((kinds::CONFIGURED, "changed the rules or the title".to_owned()))
        }
        RoomEffect::Concluded { .. } => Some((kinds::ENDED, "concluded the room".to_owned())),
        RoomEffect::Aborted { .. } => Some((kinds::ENDED, "ended the room without an answer".to_owned())),
        RoomEffect::Archived { .. } => Some((kinds::ENDED, "closed the room".to_owned())),
        RoomEffect::Reopened => Some((kinds::ENDED, "reopened the room".to_owned())),
        _ => None,
    })?;
    let line = JournalLine::new(kind, event.at, event.envelope.sender_id.as_str(), text);
    Some(line.about(JournalSubject::Other(format!("room:{}", event.room))))
}

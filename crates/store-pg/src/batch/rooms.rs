//! Rooms of a batch: what will be written of them, gathered by table.
//!
//! Promises: each head is written once in its last state, events are appended in the order of the changes. A
//! canonical body has no zero byte, so it is stored as it is. Guards are in `seen_rooms`.

use std::collections::BTreeMap;

use agentsite_protocol::room::MemberId;
use agentsite_protocol::{RoomId, Timestamp};
use agentsite_store::engine::{room_adds, room_event_bytes, words};
use agentsite_store::{RoomChange, RoomCursorChange, RoomHead, RoomMemberChange};
use futures::future::{BoxFuture, try_join_all};
use tokio_postgres::Error;

use super::seen::{Seen, account};
use super::seen_rooms::room_id;
use crate::session::Session;
use crate::text;
use crate::words::terms;

const HEADS: &str = "INSERT INTO rooms (id, owner, title, state, seq, first, front, hash, created_at, updated_at, deadline)
    SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bytea[],
        $8::bytea[], $9::bigint[], $10::bigint[], $11::bigint[])
    ON CONFLICT (id) DO UPDATE SET title = excluded.title, state = excluded.state, seq = excluded.seq,
        first = excluded.first, front = excluded.front, hash = excluded.hash, updated_at = excluded.updated_at,
        deadline = excluded.deadline";
const EVENTS: &str = "INSERT INTO room_events (room, seq, at, sender, message, digest, hash, signature, body)
    SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bytea[], $7::bytea[],
        $8::bytea[], $9::text[])";
const WORDS: &str = "INSERT INTO room_words (room, seq, words, terms)
    SELECT n.room, n.seq, n.words, array_to_tsvector(string_to_array(n.terms, ' '))
    FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::text[]) AS n (room, seq, words, terms)";
const TRIM: &str = "DELETE FROM room_events e USING unnest($1::bytea[], $2::bigint[]) AS n (room, first)
    WHERE e.room = n.room AND e.seq < n.first RETURNING e.room, octet_length(e.body)";
const TRIM_WORDS: &str = "DELETE FROM room_words w USING unnest($1::bytea[], $2::bigint[]) AS n (room, first)
    WHERE w.room = n.room AND w.seq < n.first";
const LEAVE: &str = "DELETE FROM room_members m USING unnest($1::bytea[], $2::text[]) AS n (room, member)
    WHERE m.room = n.room AND m.member = n.member";
const JOIN: &str = "INSERT INTO room_members (room, member, joined, delivered, processed)
    SELECT n.room, n.member, n.joined, n.cursor, n.cursor
    FROM unnest($1::bytea[], $2::text[], $3::boolean[], $4::bigint[]) AS n (room, member, joined, cursor)
    ON CONFLICT (room, member) DO UPDATE SET joined = excluded.joined";
const CURSORS: &str = "UPDATE room_members m SET delivered = greatest(m.delivered, n.delivered),
        processed = greatest(m.processed, n.processed)
    FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::bigint[]) AS n (room, member, delivered, processed)
    WHERE m.room = n.room AND m.member = n.member";
const SNAPSHOTS: &str = "INSERT INTO room_snapshots (room, seq, body)
    SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::text[])
    ON CONFLICT (room) DO UPDATE SET seq = excluded.seq, body = excluded.body";

/// Rows of rooms to be written.
#[derive(Debug, Default)]
pub(crate) struct RoomWrites {
    heads: BTreeMap<RoomId, RoomHead>,
    events: EventColumns,
    words: WordColumns,
    /// Rooms whose front moves, with the first event that is kept.
    trims: BTreeMap<RoomId, u64>,
    members: BTreeMap<(RoomId, MemberId), MemberWrite>,
    cursors: BTreeMap<(RoomId, MemberId), (u64, u64)>,
    snapshots: BTreeMap<RoomId, (u64, String)>,
}

/// What becomes of a member.
#[derive(Debug, Clone, Copy)]
struct MemberWrite {
    /// Whether a row that is there goes first.
    leaves: bool,
    /// Whether it has joined, and the cursor of a new one; none when it is gone.
    joins: Option<(bool, u64)>,
}

#[derive(Debug, Default)]
struct EventColumns {
    room: Vec<Vec<u8>>,
    seq: Vec<i64>,
    at: Vec<i64>,
    sender: Vec<String>,
    message: Vec<String>,
    digest: Vec<Vec<u8>>,
    hash: Vec<Vec<u8>>,
    signature: Vec<Vec<u8>>,
    body: Vec<String>,
}

#[derive(Debug, Default)]
struct WordColumns {
    room: Vec<Vec<u8>>,
    seq: Vec<i64>,
    words: Vec<String>,
    terms: Vec<Option<String>>,
}

impl RoomWrites {
    /// New events of a room whose guard has been checked.
    pub(super) fn room(&mut self, change: &RoomChange, seen: &mut Seen) {
        let head = &change.head;
        seen.accounts.add(head.owner.account(), room_adds(change));
        for event in &change.events {
            self.events.push(head.id, event);
            self.words.push(head.id, event.seq, &event.words());
        }
        if head.first > seen.rooms.accept(change) {
            self.trims.insert(head.id, head.first);
        }
        for member in &change.members {
            self.member(head.id, member);
        }
        if let Some(snapshot) = &change.snapshot {
            self.snapshots.insert(head.id, (head.seq, snapshot.clone()));
        }
        self.heads.insert(head.id, head.clone());
    }

    fn member(&mut self, room: RoomId, change: &RoomMemberChange) {
        match change {
            RoomMemberChange::Put { member, joined, cursor } => {
                let place = (room, member.clone());
                let before = self.members.get(&place).copied();
                let leaves = before.is_some_and(|before| before.leaves);
                let cursor = before.and_then(|before| before.joins).map_or(*cursor, |(_, cursor)| cursor);
                self.members.insert(place, MemberWrite { leaves, joins: Some((*joined, cursor)) });
            }
            RoomMemberChange::Remove(member) => {
                let place = (room, member.clone());
                self.cursors.remove(&place);
                self.members.insert(place, MemberWrite { leaves: true, joins: None });
            }
        }
    }

    /// How far a member has read.
    pub(super) fn cursor(&mut self, change: &RoomCursorChange) {
        let cursors = self.cursors.entry((change.room, change.member.clone())).or_default();
        *cursors = (cursors.0.max(change.delivered), cursors.1.max(change.processed));
    }

    /// Writes what was decided so far.
    pub(super) async fn flush(&mut self, session: &Session, seen: &mut Seen) -> Result<(), Error> {
        let Self { heads, events, words, trims, members, cursors, snapshots } = std::mem::take(self);
        let mut sent: Vec<BoxFuture<'_, Result<(), Error>>> = Vec::new();
        if !heads.is_empty() {
            sent.push(Box::pin(put_heads(session, &heads)));
            sent.push(Box::pin(events.write(session)));
            sent.push(Box::pin(words.write(session)));
            sent.push(Box::pin(put_members(session, &members)));
            sent.push(Box::pin(put_snapshots(session, &snapshots)));
        }
        // After the members, whose rows it changes: statements are sent in this order.
        if !cursors.is_empty() {
            sent.push(Box::pin(put_cursors(session, &cursors)));
        }
        try_join_all(sent).await?;
        if !trims.is_empty() {
            trim(session, &trims, seen).await?;
        }
        Ok(())
    }
}

impl EventColumns {
    fn push(&mut self, room: RoomId, event: &agentsite_store::RoomRow) {
        self.room.push(room.as_bytes().to_vec());
        self.seq.push(number(event.seq));
        self.at.push(event.at.as_millis());
        self.sender.push(event.sender.to_string());
        self.message.push(event.message.to_string());
        self.digest.push(event.digest.as_bytes().to_vec());
        self.hash.push(event.hash.as_bytes().to_vec());
        self.signature.push(event.signature.clone());
        self.body.push(event.body.clone());
    }

    async fn write(&self, session: &Session) -> Result<(), Error> {
        let Self { room, seq, at, sender, message, digest, hash, signature, body } = self;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 9] =
            [room, seq, at, sender, message, digest, hash, signature, body];
        session.execute(EVENTS, &values).await.map(drop)
    }
}

impl WordColumns {
    fn push(&mut self, room: RoomId, seq: u64, said: &str) {
        if said.is_empty() {
            return;
        }
        let all: Vec<String> = words(said).collect();
        self.room.push(room.as_bytes().to_vec());
        self.seq.push(number(seq));
        self.terms.push(terms(&all).map(|terms| terms.join(" ")));
        self.words.push(crate::words::spaced(all.into_iter()));
    }

    async fn write(&self, session: &Session) -> Result<(), Error> {
        if self.room.is_empty() {
            return Ok(());
        }
        let Self { room, seq, words, terms } = self;
        session.execute(WORDS, &[room, seq, words, terms]).await.map(drop)
    }
}

/// Makes events that were copied findable: rooms, numbers and what was said.
pub(crate) async fn note_words(session: &Session, said: &[(RoomId, u64, String)]) -> Result<(), Error> {
    let mut columns = WordColumns::default();
    for (room, seq, text) in said {
        columns.push(*room, *seq, text);
    }
    columns.write(session).await
}

async fn put_heads(session: &Session, heads: &BTreeMap<RoomId, RoomHead>) -> Result<(), Error> {
    let all = || heads.values();
    let ids: Vec<&[u8]> = all().map(|head| head.id.as_bytes().as_slice()).collect();
    let owners: Vec<&str> = all().map(|head| head.owner.as_str()).collect();
    let titles: Vec<String> = all().map(|head| text::put(&head.title).into_owned()).collect();
    let states: Vec<&str> = all().map(|head| head.state.word()).collect();
    let seqs: Vec<i64> = all().map(|head| number(head.seq)).collect();
    let firsts: Vec<i64> = all().map(|head| number(head.first)).collect();
    let fronts: Vec<&[u8]> = all().map(|head| head.front.as_bytes().as_slice()).collect();
    let hashes: Vec<&[u8]> = all().map(|head| head.hash.as_bytes().as_slice()).collect();
    let created: Vec<i64> = all().map(|head| head.created_at.as_millis()).collect();
    let updated: Vec<i64> = all().map(|head| head.updated_at.as_millis()).collect();
    let deadlines: Vec<Option<i64>> = all().map(|head| head.deadline.map(Timestamp::as_millis)).collect();
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 11] =
        [&ids, &owners, &titles, &states, &seqs, &firsts, &fronts, &hashes, &created, &updated, &deadlines];
    session.execute(HEADS, &values).await.map(drop)
}

async fn put_members(
    session: &Session,
    members: &BTreeMap<(RoomId, MemberId), MemberWrite>,
) -> Result<(), Error> {
    let leaving = members.iter().filter(|(_, write)| write.leaves).map(|(place, _)| place);
    let (rooms, names): (Vec<&[u8]>, Vec<&str>) = leaving.map(column).unzip();
    if !rooms.is_empty() {
        session.execute(LEAVE, &[&rooms, &names]).await?;
    }
    let joining: Vec<_> = members.iter().filter_map(|(place, write)| Some((place, write.joins?))).collect();
    let (rooms, names): (Vec<&[u8]>, Vec<&str>) = joining.iter().map(|(place, _)| column(place)).unzip();
    let joined: Vec<bool> = joining.iter().map(|(_, (joined, _))| *joined).collect();
    let cursors: Vec<i64> = joining.iter().map(|(_, (_, cursor))| number(*cursor)).collect();
    if rooms.is_empty() {
        return Ok(());
    }
    session.execute(JOIN, &[&rooms, &names, &joined, &cursors]).await.map(drop)
}

async fn put_cursors(
    session: &Session,
    cursors: &BTreeMap<(RoomId, MemberId), (u64, u64)>,
) -> Result<(), Error> {
    let (rooms, names): (Vec<&[u8]>, Vec<&str>) = cursors.keys().map(column).unzip();
    let delivered: Vec<i64> = cursors.values().map(|(delivered, _)| number(*delivered)).collect();
    let processed: Vec<i64> = cursors.values().map(|(_, processed)| number(*processed)).collect();
    session.execute(CURSORS, &[&rooms, &names, &delivered, &processed]).await.map(drop)
}

async fn put_snapshots(session: &Session, snapshots: &BTreeMap<RoomId, (u64, String)>) -> Result<(), Error> {
    if snapshots.is_empty() {
        return Ok(());
    }
    let rooms: Vec<&[u8]> = snapshots.keys().map(|id| id.as_bytes().as_slice()).collect();
    let seqs: Vec<i64> = snapshots.values().map(|(seq, _)| number(*seq)).collect();
    let bodies: Vec<String> = snapshots.values().map(|(_, body)| text::put(body).into_owned()).collect();
    session.execute(SNAPSHOTS, &[&rooms, &seqs, &bodies]).await.map(drop)
}

/// Removes the events before the first ones that are kept, and what they took.
async fn trim(session: &Session, trims: &BTreeMap<RoomId, u64>, seen: &mut Seen) -> Result<(), Error> {
    let rooms: Vec<&[u8]> = trims.keys().map(|id| id.as_bytes().as_slice()).collect();
    let firsts: Vec<i64> = trims.values().map(|first| number(*first)).collect();
    session.execute(TRIM_WORDS, &[&rooms, &firsts]).await?;
    for row in session.query(TRIM, &[&rooms, &firsts]).await? {
        let body = usize::try_from(row.get::<_, i32>(1)).unwrap_or(0);
        if let Some(owner) = seen.rooms.owner(room_id(&row)).map(account) {
            seen.accounts.take(&owner, room_event_bytes(body));
        }
    }
    Ok(())
}

fn column((room, member): &(RoomId, MemberId)) -> (&[u8], &str) {
    (room.as_bytes().as_slice(), member.as_str())
}

/// A count as a column holds it; no real count comes near the end.
fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

//! Rooms on disk: heads, logs in the order of arrival, members with cursors, snapshots, and words.
//!
//! Promises: guards are checked before anything of a change is written; a page of a log is one stretch of one
//! index. Ids of messages are indexed by room and sender, so that the time-ordered ids of one sender share
//! pages. The index of words holds no text.

use agentsite_protocol::room::{ChainHash, MemberId, RoomState};
use agentsite_protocol::{MessageId, RoomId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::SqliteStore;
use super::accounts::Books;
use super::conversations::mark;
use super::fault::{damaged, principal};
use super::seal::{number, time};
use crate::conversation::SEARCHED;
use crate::query::MAX_PAGE;
use crate::room::event_bytes;
use crate::storage::fixed;
use crate::words::{SearchPhrases, spaced};
use crate::{
    Page, Reply, RoomChange, RoomCursorChange, RoomHead, RoomMemberChange, RoomMemberRow, RoomPosition,
    RoomReads, RoomRow, StoreError, StoredRoom,
};

/// The columns of a head.
const HEAD: &str = "r.id, r.owner, r.title, r.state, r.seq, r.first, r.front, r.hash, r.created_at, r.updated_at, r.deadline";

/// The columns of an event.
const EVENT: &str = "e.seq, e.at, e.sender, e.message, e.digest, e.hash, e.signature, e.body";

/// Bytes after which a page of a log ends, so that a reader never holds more than a few large messages.
const PAGE_BYTES: usize = 4 << 20;

impl RoomReads for SqliteStore {
    fn room(&self, id: RoomId) -> Reply<'_, Option<StoredRoom>> {
        self.readers.read(move |db| one(db, id))
    }

    fn room_events(&self, id: RoomId, after: u64, limit: usize) -> Reply<'_, Vec<RoomRow>> {
        self.readers.read(move |db| events(db, id, after, limit))
    }

    fn room_message(
        &self,
        id: RoomId,
        sender: &MemberId,
        message: &MessageId,
    ) -> Reply<'_, Option<(u64, ChainHash)>> {
        let (sender, message) = (sender.clone(), message.clone());
        self.readers.read(move |db| Ok(find_message(db, id, &sender, &message)?))
    }

    fn room_members(&self, id: RoomId) -> Reply<'_, Vec<RoomMemberRow>> {
        self.readers.read(move |db| members(db, id))
    }

    fn rooms_of(
        &self,
        member: &MemberId,
        after: Option<RoomPosition>,
        limit: usize,
    ) -> Reply<'_, Page<RoomHead, RoomPosition>> {
        let member = member.clone();
        self.readers.read(move |db| of_member(db, &member, after, limit))
    }

    fn rooms_due(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<RoomId>> {
        self.readers.read(move |db| due(db, now, limit))
    }

    fn search_room(&self, id: RoomId, text: &str, limit: usize) -> Reply<'_, Vec<u64>> {
        let text = text.to_owned();
        self.readers.read(move |db| search(db, id, &text, limit))
    }
}

/// A change with the words of its events, which are read from them before the writer is asked.
#[derive(Debug)]
pub(super) struct ReadyRoom {
    pub(super) change: RoomChange,
    words: Vec<String>,
}

impl ReadyRoom {
    pub(super) fn new(change: RoomChange) -> Self {
        let words = change.events.iter().map(RoomRow::words).collect();
        Self { change, words }
    }

    /// About how many bytes it will write.
    pub(super) fn cost(&self) -> usize {
        let bodies: usize = self.change.events.iter().map(|event| event.body.len()).sum();
        bodies + self.change.snapshot.as_ref().map_or(0, String::len)
    }
}

/// Why these changes must not be made, if so.
pub(super) fn refusal<'a>(
    db: &Connection,
    changes: impl Iterator<Item = &'a ReadyRoom>,
) -> rusqlite::Result<Option<StoreError>> {
    for ReadyRoom { change, .. } in changes {
        let id = change.head.id;
        let sql = "SELECT seq, hash, owner FROM rooms WHERE id = ?1";
        let read =
            |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?, principal(row, 2)?));
        let found = db.prepare_cached(sql)?.query_row([id.as_bytes().as_slice()], read).optional()?;
        if found.as_ref().is_some_and(|(_, _, owner)| *owner != change.head.owner) {
            return Ok(Some(StoreError::Foreign(id.to_string())));
        }
        let (seq, hash) = found.map_or((0, *ChainHash::start(id).as_bytes()), |(seq, hash, _)| (seq, hash));
        let mut moved = seq != number(change.expect_seq) || hash != *change.expect_hash.as_bytes();
        for event in &change.events {
            moved = moved || find_message(db, id, &event.sender, &event.message)?.is_some();
        }
        if moved {
            return Ok(Some(StoreError::Moved(id.to_string())));
        }
    }
    Ok(None)
}

/// Makes a change whose guard has been checked.
pub(super) fn change(db: &Connection, ready: &ReadyRoom, books: &mut Books) -> rusqlite::Result<()> {
    let ReadyRoom { change, words } = ready;
    let room = put_head(db, &change.head)?;
    let account = change.head.owner.account();
    books.accounts.add(account, change.adds());
    let sql = "INSERT INTO room_events (room, seq, at, sender, message, digest, hash, signature, body)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    for (event, words) in change.events.iter().zip(words) {
        let row = db.prepare_cached(sql)?.insert(params![
            room,
            number(event.seq),
            event.at.as_millis(),
            event.sender.as_str(),
            event.message.as_str(),
            event.digest.as_bytes().as_slice(),
            event.hash.as_bytes().as_slice(),
            event.signature,
            event.body,
        ])?;
        note_words(db, row, change.head.id, words)?;
    }
    trim(db, room, &change.head, books)?;
    for member in &change.members {
        change_member(db, room, member)?;
    }
    if let Some(snapshot) = &change.snapshot {
        let sql = "INSERT OR REPLACE INTO room_snapshots (room, seq, body) VALUES (?1, ?2, ?3)";
        db.prepare_cached(sql)?.execute(params![room, number(change.head.seq), snapshot])?;
    }
    Ok(())
}

/// Moves the cursors of a member.
pub(super) fn move_cursor(db: &Connection, change: &RoomCursorChange) -> rusqlite::Result<()> {
    let sql = "UPDATE room_members SET delivered = max(delivered, ?3), processed = max(processed, ?4)
               WHERE room = (SELECT row FROM rooms WHERE id = ?1) AND member = ?2
               AND (delivered < ?3 OR processed < ?4)";
    db.prepare_cached(sql)?.execute(params![
        change.room.as_bytes().as_slice(),
        change.member.as_str(),
        number(change.delivered),
        number(change.processed),
    ])?;
    Ok(())
}

fn put_head(db: &Connection, head: &RoomHead) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO rooms (id, owner, title, state, seq, first, front, hash, created_at, updated_at, deadline)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
               ON CONFLICT (id) DO UPDATE SET title = excluded.title, state = excluded.state, seq = excluded.seq,
                   first = excluded.first, front = excluded.front, hash = excluded.hash,
                   updated_at = excluded.updated_at, deadline = excluded.deadline
               RETURNING row";
    db.prepare_cached(sql)?.query_row(
        params![
            head.id.as_bytes().as_slice(),
            head.owner.as_str(),
            head.title,
            head.state.word(),
            number(head.seq),
            number(head.first),
            head.front.as_bytes().as_slice(),
            head.hash.as_bytes().as_slice(),
            head.created_at.as_millis(),
            head.updated_at.as_millis(),
            head.deadline.map(Timestamp::as_millis),
        ],
        |row| row.get(0),
    )
}

/// Removes the events before the first one that is kept.
fn trim(db: &Connection, room: i64, head: &RoomHead, books: &mut Books) -> rusqlite::Result<()> {
    let sql = "SELECT row, octet_length(body) FROM room_events WHERE room = ?1 AND seq < ?2";
    let mut find = db.prepare_cached(sql)?;
    let old = find.query_map([room, number(head.first)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let old: Vec<(i64, i64)> = old.collect::<rusqlite::Result<_>>()?;
    for (row, body) in old {
        db.prepare_cached("DELETE FROM room_words WHERE rowid = ?1")?.execute([row])?;
        db.prepare_cached("DELETE FROM room_events WHERE row = ?1")?.execute([row])?;
        books.accounts.take(head.owner.account(), fixed::ROOM_EVENT + body.unsigned_abs());
    }
    debug_assert_eq!(event_bytes(0), fixed::ROOM_EVENT, "one size of an event");
    Ok(())
}

fn change_member(db: &Connection, room: i64, change: &RoomMemberChange) -> rusqlite::Result<()> {
    match change {
        RoomMemberChange::Put { member, joined, cursor } => {
            let sql = "INSERT INTO room_members (room, member, joined, delivered, processed)
                       VALUES (?1, ?2, ?3, ?4, ?4) ON CONFLICT (room, member) DO UPDATE SET joined = excluded.joined";
            let values = params![room, member.as_str(), joined, number(*cursor)];
            db.prepare_cached(sql)?.execute(values)?;
        }
        RoomMemberChange::Remove(member) => {
            let sql = "DELETE FROM room_members WHERE room = ?1 AND member = ?2";
            db.prepare_cached(sql)?.execute(params![room, member.as_str()])?;
        }
    }
    Ok(())
}

/// Makes an event findable by what was said.
pub(super) fn note_words(db: &Connection, row: i64, room: RoomId, words: &str) -> rusqlite::Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO room_words (rowid, owner, words) VALUES (?1, ?2, ?3)";
    db.prepare_cached(sql)?.execute(params![row, mark(&room.to_string()), spaced(words)])?;
    Ok(())
}

fn find_message(
    db: &Connection,
    id: RoomId,
    sender: &MemberId,
    message: &MessageId,
) -> rusqlite::Result<Option<(u64, ChainHash)>> {
    let sql = "SELECT e.seq, e.digest FROM rooms r JOIN room_events e ON e.room = r.row
               WHERE r.id = ?1 AND e.sender = ?2 AND e.message = ?3";
    let values = params![id.as_bytes().as_slice(), sender.as_str(), message.as_str()];
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?.unsigned_abs(), ChainHash::from_bytes(row.get(1)?)));
    db.prepare_cached(sql)?.query_row(values, read).optional()
}

fn one(db: &Connection, id: RoomId) -> Result<Option<StoredRoom>, StoreError> {
    let sql = format!(
        "SELECT {HEAD}, s.seq, s.body FROM rooms r LEFT JOIN room_snapshots s ON s.room = r.row WHERE r.id = ?1"
    );
    let mut find = db.prepare_cached(&sql)?;
    let mut rows = find.query([id.as_bytes().as_slice()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let snapshot = row.get::<_, Option<i64>>(11)?.map(i64::unsigned_abs).zip(row.get(12)?);
    Ok(Some(StoredRoom { head: head(row)?, snapshot }))
}

fn events(db: &Connection, id: RoomId, after: u64, limit: usize) -> Result<Vec<RoomRow>, StoreError> {
    let sql = format!(
        "SELECT {EVENT} FROM rooms r CROSS JOIN room_events e INDEXED BY room_events_seq ON e.room = r.row
         WHERE r.id = ?1 AND e.seq > ?2 ORDER BY e.seq LIMIT ?3"
    );
    let mut find = db.prepare_cached(&sql)?;
    let most = number(limit.clamp(1, MAX_PAGE) as u64);
    let mut rows = find.query(params![id.as_bytes().as_slice(), number(after), most])?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while bytes < PAGE_BYTES
        && let Some(row) = rows.next()?
    {
        let event = event(row)?;
        bytes += event.body.len();
        found.push(event);
    }
    Ok(found)
}

fn members(db: &Connection, id: RoomId) -> Result<Vec<RoomMemberRow>, StoreError> {
    let sql = "SELECT m.member, m.joined, m.delivered, m.processed FROM rooms r
               CROSS JOIN room_members m ON m.room = r.row WHERE r.id = ?1 ORDER BY m.member";
    let mut find = db.prepare_cached(sql)?;
    let mut rows = find.query([id.as_bytes().as_slice()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let member = row.get_ref(0)?.as_str().ok().and_then(|text| text.parse().ok());
        found.push(RoomMemberRow {
            member: member.ok_or_else(|| damaged(format!("a member of room {id}")))?,
            joined: row.get(1)?,
            delivered: row.get::<_, i64>(2)?.unsigned_abs(),
            processed: row.get::<_, i64>(3)?.unsigned_abs(),
        });
    }
    Ok(found)
}

fn of_member(
    db: &Connection,
    member: &MemberId,
    after: Option<RoomPosition>,
    limit: usize,
) -> Result<Page<RoomHead, RoomPosition>, StoreError> {
    let past =
        if after.is_some() { "AND (r.updated_at, r.id) < (?3, ?4)" } else { "AND ?3 = ?3 AND ?4 = ?4" };
    let sql = format!(
        "SELECT {HEAD} FROM room_members m INDEXED BY room_members_member CROSS JOIN rooms r ON r.row = m.room
         WHERE m.member = ?1 {past} ORDER BY r.updated_at DESC, r.id DESC LIMIT ?2"
    );
    let (updated_at, id) =
        after.map_or((0, Vec::new()), |after| (after.updated_at.as_millis(), after.id.as_bytes().to_vec()));
    let most = number(limit.clamp(1, MAX_PAGE) as u64 + 1);
    let mut find = db.prepare_cached(&sql)?;
    let mut rows = find.query(params![member.as_str(), most, updated_at, id])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(head(row)?);
    }
    Ok(Page::of_rooms(found, limit))
}

fn due(db: &Connection, now: Timestamp, limit: usize) -> Result<Vec<RoomId>, StoreError> {
    let sql = "SELECT id FROM rooms INDEXED BY rooms_deadline
               WHERE deadline IS NOT NULL AND deadline <= ?1 ORDER BY deadline, id LIMIT ?2";
    let mut find = db.prepare_cached(sql)?;
    let most = number(limit.clamp(1, MAX_PAGE) as u64);
    let rows = find.query_map([now.as_millis(), most], |row| row.get(0).map(RoomId::from_bytes))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn search(db: &Connection, id: RoomId, text: &str, limit: usize) -> Result<Vec<u64>, StoreError> {
    let Some(wanted) = SearchPhrases::read(text) else { return Ok(Vec::new()) };
    let wanted = format!("(owner : \"{}\") AND {}", mark(&id.to_string()), wanted.query());
    let sql = "SELECT e.seq FROM room_words w JOIN room_events e ON e.row = w.rowid
               WHERE room_words MATCH ?1 ORDER BY w.rowid DESC LIMIT ?2";
    let mut find = db.prepare_cached(sql)?;
    let most = number(limit.clamp(1, SEARCHED) as u64);
    let rows = find.query_map(params![wanted, most], |row| row.get::<_, i64>(0))?;
    let found = rows.collect::<rusqlite::Result<Vec<i64>>>()?;
    Ok(found.into_iter().map(i64::unsigned_abs).collect())
}

fn head(row: &Row<'_>) -> Result<RoomHead, StoreError> {
    let id = RoomId::from_bytes(row.get(0)?);
    let state = row.get_ref(3)?.as_str().ok().and_then(RoomState::from_word);
    Ok(RoomHead {
        id,
        owner: principal(row, 1)?,
        title: row.get(2)?,
        state: state.ok_or_else(|| damaged(format!("the state of room {id}")))?,
        seq: row.get::<_, i64>(4)?.unsigned_abs(),
        first: row.get::<_, i64>(5)?.unsigned_abs(),
        front: ChainHash::from_bytes(row.get(6)?),
        hash: ChainHash::from_bytes(row.get(7)?),
        created_at: time(row.get(8)?),
        updated_at: time(row.get(9)?),
        deadline: row.get::<_, Option<i64>>(10)?.map(time),
    })
}

fn event(row: &Row<'_>) -> Result<RoomRow, StoreError> {
    let seq = row.get::<_, i64>(0)?.unsigned_abs();
    let wrong = || damaged(format!("event {seq} of a room"));
    Ok(RoomRow {
        seq,
        at: time(row.get(1)?),
        sender: row.get_ref(2)?.as_str().ok().and_then(|text| text.parse().ok()).ok_or_else(wrong)?,
        message: row.get_ref(3)?.as_str().ok().and_then(|text| text.parse().ok()).ok_or_else(wrong)?,
        digest: ChainHash::from_bytes(row.get(4)?),
        hash: ChainHash::from_bytes(row.get(5)?),
        signature: row.get(6)?,
        body: row.get(7)?,
    })
}

/// Follows the chain of every room; gives how many events there are.
pub(super) fn check_chains(db: &Connection) -> Result<u64, StoreError> {
    let mut find = db.prepare(&format!("SELECT {HEAD}, r.row FROM rooms r ORDER BY r.row"))?;
    let mut events = db.prepare("SELECT seq, hash, body FROM room_events WHERE room = ?1 ORDER BY seq")?;
    let mut rows = find.query([])?;
    let mut checked = 0;
    while let Some(row) = rows.next()? {
        let head = head(row)?;
        let (mut seq, mut hash) = (head.first - 1, head.front);
        let mut found = events.query([row.get::<_, i64>(11)?])?;
        while let Some(event) = found.next()? {
            let body = event.get_ref(2)?.as_bytes().map_err(|_| damaged("an event of a room"))?;
            (seq, hash) = (seq + 1, hash.next(body));
            let same = event.get::<_, i64>(0)?.unsigned_abs() == seq
                && event.get_ref(1)?.as_blob().ok() == Some(hash.as_bytes().as_slice());
            if !same {
                return Err(altered(head.id, seq));
            }
            checked += 1;
        }
        if (seq, hash) != (head.seq, head.hash) {
            return Err(altered(head.id, seq + 1));
        }
    }
    Ok(checked)
}

fn altered(room: RoomId, seq: u64) -> StoreError {
    StoreError::Tampered(format!("event {seq} of room {room} was changed or removed outside of agentsite"))
}

//! Rooms in the database: reads, the search for words in them, and the check of their chains.
//!
//! Promises: the same answers as in every engine; a page of a log is one stretch of its primary key. Writing
//! is in `batch`.

use agentsite_protocol::room::{ChainHash, MemberId, RoomState};
use agentsite_protocol::{MessageId, RoomId, Timestamp};
use agentsite_store::engine::{MAX_PAGE, SEARCHED, SearchPhrases};
use agentsite_store::{
    Page, Reply, RoomHead, RoomMemberRow, RoomPosition, RoomReads, RoomRow, StoreError, StoredRoom,
};
use tokio_postgres::Row;

use crate::fault::{damaged, principal, told};
use crate::list::Where;
use crate::session::Session;
use crate::words::{index_query, patterns};
use crate::{PgStore, text};

/// The columns of a head.
const HEAD: &str = "r.id, r.owner, r.title, r.state, r.seq, r.first, r.front, r.hash, r.created_at, r.updated_at, r.deadline";

/// The columns of an event.
const EVENT: &str = "seq, at, sender, message, digest, hash, signature, body";

/// Bytes after which a page of a log ends, so that a reader never holds more than a few large messages.
const PAGE_BYTES: usize = 4 << 20;

/// Events that the check of a chain reads at once.
const CHECKED: i64 = 500;

const SEARCH: &str =
    "SELECT seq FROM room_words WHERE room = $1 AND (terms @@ $2::text::tsquery OR terms IS NULL)
    AND words LIKE ALL ($3) ORDER BY seq DESC LIMIT $4";

impl RoomReads for PgStore {
    fn room(&self, id: RoomId) -> Reply<'_, Option<StoredRoom>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {HEAD}, s.seq, s.body FROM rooms r LEFT JOIN room_snapshots s ON s.room = r.id WHERE r.id = $1"
            );
            let Some(row) = self.readers.first(&sql, &[&id.as_bytes().as_slice()]).await? else {
                return Ok(None);
            };
            let seq: Option<i64> = row.get(11);
            let body: Option<String> = row.get(12);
            let snapshot = seq.map(i64::cast_unsigned).zip(body.map(text::got));
            Ok(Some(StoredRoom { head: head(&row)?, snapshot }))
        })
    }

    fn room_events(&self, id: RoomId, after: u64, limit: usize) -> Reply<'_, Vec<RoomRow>> {
        Box::pin(async move {
            let sql =
                format!("SELECT {EVENT} FROM room_events WHERE room = $1 AND seq > $2 ORDER BY seq LIMIT $3");
            let most = bound(limit.clamp(1, MAX_PAGE));
            let after = i64::try_from(after).unwrap_or(i64::MAX);
            let rows = self.readers.query(&sql, &[&id.as_bytes().as_slice(), &after, &most]).await?;
            let (mut found, mut bytes) = (Vec::with_capacity(rows.len()), 0);
            for row in &rows {
                if bytes >= PAGE_BYTES {
                    break;
                }
                let event = event(row)?;
                bytes += event.body.len();
                found.push(event);
            }
            Ok(found)
        })
    }

    fn room_message(
        &self,
        id: RoomId,
        sender: &MemberId,
        message: &MessageId,
    ) -> Reply<'_, Option<(u64, ChainHash)>> {
        let (sender, message) = (sender.to_string(), message.to_string());
        Box::pin(async move {
            let sql = "SELECT seq, digest FROM room_events WHERE room = $1 AND sender = $2 AND message = $3";
            let row = self.readers.first(sql, &[&id.as_bytes().as_slice(), &sender, &message]).await?;
            row.map(|row| Ok((row.get::<_, i64>(0).cast_unsigned(), hash(&row, 1)?))).transpose()
        })
    }

    fn room_members(&self, id: RoomId) -> Reply<'_, Vec<RoomMemberRow>> {
        Box::pin(async move {
            let sql = "SELECT member, joined, delivered, processed FROM room_members WHERE room = $1 ORDER BY member";
            let rows = self.readers.query(sql, &[&id.as_bytes().as_slice()]).await?;
            let member = |row: &Row| {
                let member = row.get::<_, &str>(0).parse();
                Ok(RoomMemberRow {
                    member: member.map_err(|_| damaged(format!("a member of room {id}")))?,
                    joined: row.get(1),
                    delivered: row.get::<_, i64>(2).cast_unsigned(),
                    processed: row.get::<_, i64>(3).cast_unsigned(),
                })
            };
            rows.iter().map(member).collect()
        })
    }

    fn rooms_of(
        &self,
        member: &MemberId,
        after: Option<RoomPosition>,
        limit: usize,
    ) -> Reply<'_, Page<RoomHead, RoomPosition>> {
        let member = member.to_string();
        Box::pin(async move {
            let mut fits = Where::default();
            fits.and("m.member = ?", member);
            if let Some(after) = after {
                fits.and_row(
                    "(r.updated_at, r.id) <",
                    vec![Box::new(after.updated_at.as_millis()), Box::new(after.id.as_bytes().to_vec())],
                );
            }
            let sql = format!(
                "SELECT {HEAD} FROM room_members m JOIN rooms r ON r.id = m.room WHERE {}
                 ORDER BY r.updated_at DESC, r.id DESC LIMIT {}",
                fits.conditions(),
                limit.clamp(1, MAX_PAGE) + 1
            );
            let rows = self.readers.query(&sql, &fits.values()).await?;
            Ok(Page::of_rooms(rows.iter().map(head).collect::<Result<_, _>>()?, limit))
        })
    }

    fn rooms_due(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<RoomId>> {
        Box::pin(async move {
            let sql = "SELECT id FROM rooms WHERE deadline IS NOT NULL AND deadline <= $1 ORDER BY deadline, id LIMIT $2";
            let most = bound(limit.clamp(1, MAX_PAGE));
            let rows = self.readers.query(sql, &[&now.as_millis(), &most]).await?;
            rows.iter().map(|row| room_id(row, 0)).collect()
        })
    }

    fn search_room(&self, id: RoomId, text: &str, limit: usize) -> Reply<'_, Vec<u64>> {
        let wanted = SearchPhrases::read(text);
        Box::pin(async move {
            let Some(wanted) = wanted else { return Ok(Vec::new()) };
            let most = bound(limit.clamp(1, SEARCHED));
            let (query, patterns) = (index_query(&wanted), patterns(&wanted));
            let rows =
                self.readers.query(SEARCH, &[&id.as_bytes().as_slice(), &query, &patterns, &most]).await?;
            Ok(rows.iter().map(|row| row.get::<_, i64>(0).cast_unsigned()).collect())
        })
    }
}

/// Follows the chain of every room; gives how many events there are.
pub(crate) async fn follow(session: &Session) -> Result<u64, StoreError> {
    let fault = |error: tokio_postgres::Error| told(&error);
    let sql = format!("SELECT {HEAD} FROM rooms r WHERE r.id > $1 ORDER BY r.id LIMIT {CHECKED}");
    let (mut checked, mut last) = (0, Vec::<u8>::new());
    loop {
        let rows = session.query(&sql, &[&last]).await.map_err(fault)?;
        for row in &rows {
            checked += follow_room(session, &head(row)?).await?;
        }
        match rows.last() {
            Some(row) => last = row.get(0),
            None => return Ok(checked),
        }
    }
}

async fn follow_room(session: &Session, head: &RoomHead) -> Result<u64, StoreError> {
    let sql = "SELECT seq, hash, body FROM room_events WHERE room = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    let altered = |seq: u64| {
        StoreError::Tampered(format!(
            "event {seq} of room {} was changed or removed outside of agentsite",
            head.id
        ))
    };
    let (mut seq, mut hash, mut after) = (head.first - 1, head.front, -1_i64);
    loop {
        let room = head.id.as_bytes().as_slice();
        let rows = session.query(sql, &[&room, &after, &CHECKED]).await.map_err(|error| told(&error))?;
        for row in &rows {
            after = row.get(0);
            (seq, hash) = (seq + 1, hash.next(row.get::<_, &str>(2).as_bytes()));
            if after.cast_unsigned() != seq || row.get::<_, &[u8]>(1) != hash.as_bytes() {
                return Err(altered(seq));
            }
        }
        if rows.is_empty() {
            break;
        }
    }
    if (seq, hash) == (head.seq, head.hash) { Ok(seq + 1 - head.first) } else { Err(altered(seq + 1)) }
}

fn bound(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn room_id(row: &Row, at: usize) -> Result<RoomId, StoreError> {
    let bytes: &[u8] = row.get(at);
    bytes.try_into().map(RoomId::from_bytes).map_err(|_| damaged("the id of a room"))
}

fn hash(row: &Row, at: usize) -> Result<ChainHash, StoreError> {
    let bytes: &[u8] = row.get(at);
    bytes.try_into().map(ChainHash::from_bytes).map_err(|_| damaged("a hash of a room"))
}

fn head(row: &Row) -> Result<RoomHead, StoreError> {
    let id = room_id(row, 0)?;
    let state = RoomState::from_word(row.get(3));
    Ok(RoomHead {
        id,
        owner: principal(row.get(1))?,
        title: text::got(row.get(2)),
        state: state.ok_or_else(|| damaged(format!("the state of room {id}")))?,
        seq: row.get::<_, i64>(4).cast_unsigned(),
        first: row.get::<_, i64>(5).cast_unsigned(),
        front: hash(row, 6)?,
        hash: hash(row, 7)?,
        created_at: Timestamp::from_millis(row.get(8)),
        updated_at: Timestamp::from_millis(row.get(9)),
        deadline: row.get::<_, Option<i64>>(10).map(Timestamp::from_millis),
    })
}

fn event(row: &Row) -> Result<RoomRow, StoreError> {
    let seq = row.get::<_, i64>(0).cast_unsigned();
    let wrong = || damaged(format!("event {seq} of a room"));
    Ok(RoomRow {
        seq,
        at: Timestamp::from_millis(row.get(1)),
        sender: row.get::<_, &str>(2).parse().map_err(|_| wrong())?,
        message: row.get::<_, &str>(3).parse().map_err(|_| wrong())?,
        digest: hash(row, 4)?,
        hash: hash(row, 5)?,
        signature: row.get(6),
        body: row.get(7),
    })
}

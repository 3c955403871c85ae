//! Conversations and their turns on disk, and the words by which they are found.
//!
//! Promises: a page of a path is as many seeks as it has turns, wherever in the path it lies; a page of the
//! list is one stretch of one index. Guards are checked before anything of a change is written. A removed
//! conversation is gone for readers at once; its turns go in portions with the next expiries. The index of
//! words holds no text: passages are made by the owner of the tasks.

use std::collections::HashMap;

use agentsite_protocol::{ConversationId, Principal, TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::{Digest, Sha256};

use super::SqliteStore;
use super::accounts::{Books, account};
use super::fault::{damaged, principal};
use super::seal::{number, time};
use crate::conversation::{MAX_SIBLINGS, SEARCHED};
use crate::query::MAX_PAGE;
use crate::storage::fixed;
use crate::words::{SearchPhrases, spaced};
use crate::{
    Conversation, ConversationChange, ConversationCursor, ConversationMatch, ConversationQuery,
    ConversationReads, Page, Reply, Spot, StoreError, Turn, TurnPosition,
};

const COLUMNS: &str = "id, owner, title, named, pinned, agent, created_at, updated_at, revision, head, turns";

const TURN: &str = "t.task, c.id, p.task, t.agent, t.message, t.context, t.at";

impl ConversationReads for SqliteStore {
    fn conversation(&self, id: ConversationId) -> Reply<'_, Option<Conversation>> {
        self.readers.read(move |db| one(db, id))
    }

    fn conversations(
        &self,
        query: ConversationQuery,
        after: Option<ConversationCursor>,
        limit: usize,
    ) -> Reply<'_, Page<ConversationMatch, ConversationCursor>> {
        self.readers.read(move |db| list(db, &query, after, limit))
    }

    fn count_conversations(&self, owner: &Principal) -> Reply<'_, u64> {
        let owner = owner.clone();
        self.readers.read(move |db| count(db, &owner))
    }

    fn turn(&self, task: TaskId) -> Reply<'_, Option<Turn>> {
        self.readers.read(move |db| turn(db, task))
    }

    fn path(&self, from: TaskId, limit: usize) -> Reply<'_, Vec<TurnPosition>> {
        self.readers.read(move |db| path(db, from, limit))
    }

    fn turns(&self, id: ConversationId, after: Option<TaskId>, limit: usize) -> Reply<'_, Vec<Turn>> {
        self.readers.read(move |db| turns(db, id, after, limit))
    }

    fn leaf(&self, from: TaskId) -> Reply<'_, Option<TaskId>> {
        self.readers.read(move |db| leaf(db, from))
    }
}

/// Why these changes must not be made, if so.
pub(super) fn refusal<'a>(
    db: &Connection,
    changes: impl Iterator<Item = &'a ConversationChange>,
) -> rusqlite::Result<Option<StoreError>> {
    let mut meanwhile: HashMap<ConversationId, Option<(Principal, u64)>> = HashMap::new();
    for change in changes {
        let Some((id, owner, expected, stays)) = change.assumes() else { continue };
        let found = match meanwhile.remove(&id) {
            Some(found) => found,
            None => guarded(db, id)?,
        };
        if found.as_ref().is_some_and(|(of, _)| of != owner) {
            return Ok(Some(StoreError::Foreign(id.to_string())));
        }
        if found.map_or(0, |(_, revision)| revision) != expected {
            return Ok(Some(StoreError::Moved(id.to_string())));
        }
        if let ConversationChange::Said { turn, .. } = change
            && let Some(parent) = turn.parent
            && turn_of(db, parent)?.is_none_or(|of| of != id)
        {
            return Ok(Some(StoreError::Moved(id.to_string())));
        }
        meanwhile.insert(id, stays.then(|| (owner.clone(), expected + 1)));
    }
    Ok(None)
}

/// Whose a conversation is and how often it was changed, removed ones included.
fn guarded(db: &Connection, id: ConversationId) -> rusqlite::Result<Option<(Principal, u64)>> {
    let mut find = db.prepare_cached("SELECT owner, revision FROM conversations WHERE id = ?1")?;
    let read = |row: &Row<'_>| Ok((principal(row, 0)?, row.get::<_, i64>(1)?.unsigned_abs()));
    find.query_row([id.as_bytes().as_slice()], read).optional()
}

/// The conversation of a turn.
fn turn_of(db: &Connection, task: TaskId) -> rusqlite::Result<Option<ConversationId>> {
    let sql = "SELECT c.id FROM turns t JOIN conversations c ON c.row = t.conversation WHERE t.task = ?1";
    let found = db.prepare_cached(sql)?.query_row([task.as_bytes().as_slice()], |row| row.get(0));
    Ok(found.optional()?.map(ConversationId::from_bytes))
}

/// What a change would add, and to whose storage; answers are counted when they are there.
pub(super) fn adds(change: &ConversationChange) -> Option<(&Principal, u64)> {
    let new = |conversation: &Conversation| match conversation.revision {
        1 => fixed::CONVERSATION + conversation.title.len() as u64,
        _ => 0,
    };
    match change {
        ConversationChange::Put(conversation) => Some((&conversation.owner, new(conversation))),
        ConversationChange::Said { conversation, words, .. } => {
            Some((&conversation.owner, new(conversation) + fixed::TURN + words.len() as u64))
        }
        ConversationChange::Ended { .. } | ConversationChange::Remove { .. } => None,
    }
}

/// Makes one change whose guard has been checked.
pub(super) fn change(
    db: &Connection,
    change: &ConversationChange,
    books: &mut Books,
) -> rusqlite::Result<()> {
    match change {
        ConversationChange::Put(new) => put(db, new, books).map(drop),
        ConversationChange::Said { conversation, turn, words } => {
            let row = put(db, conversation, books)?;
            books.accounts.add(conversation.owner.account(), fixed::TURN + words.len() as u64);
            let sql = "INSERT INTO turns (conversation, parent, task, at, agent, context, message, bytes)
                       VALUES (?1, ifnull((SELECT row FROM turns WHERE task = ?2), 0), ?3, ?4, ?5, ?6, ?7, ?8)";
            let turn_row = db.prepare_cached(sql)?.insert(params![
                row,
                turn.parent.as_ref().map(|id| id.as_bytes().as_slice()),
                turn.task.as_bytes().as_slice(),
                turn.at.as_millis(),
                turn.agent.as_str(),
                turn.context.as_str(),
                turn.message.as_str(),
                number(words.len() as u64),
            ])?;
            index(db, "turn_words", turn_row * 2, &conversation.owner, words)
        }
        ConversationChange::Ended { task, words, at } => end(db, *task, words, *at, books),
        ConversationChange::Remove { id, .. } => {
            let sql =
                "UPDATE conversations SET gone = 1, revision = revision + 1 WHERE id = ?1 RETURNING row";
            let row: i64 = db.prepare_cached(sql)?.query_row([id.as_bytes().as_slice()], |row| row.get(0))?;
            db.prepare_cached("DELETE FROM title_words WHERE rowid = ?1")?.execute([row])?;
            Ok(())
        }
    }
}

/// Writes a conversation and gives its row.
fn put(db: &Connection, new: &Conversation, books: &mut Books) -> rusqlite::Result<i64> {
    let id = new.id.as_bytes().as_slice();
    let sql = "SELECT row, title FROM conversations WHERE id = ?1";
    let before: Option<(i64, String)> =
        db.prepare_cached(sql)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let sql = "INSERT INTO conversations (id, owner, title, named, pinned, agent, created_at, updated_at, revision, head, turns)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
               ON CONFLICT (id) DO UPDATE SET title = excluded.title, named = excluded.named, pinned = excluded.pinned,
                   agent = excluded.agent, updated_at = excluded.updated_at, revision = excluded.revision,
                   head = excluded.head, turns = excluded.turns
               RETURNING row";
    let row = db.prepare_cached(sql)?.query_row(
        params![
            id,
            new.owner.as_str(),
            new.title,
            new.named,
            new.pinned,
            new.agent.as_str(),
            new.created_at.as_millis(),
            new.updated_at.as_millis(),
            number(new.revision),
            new.head.as_ref().map(|head| head.as_bytes().as_slice()),
            number(new.turns),
        ],
        |row| row.get(0),
    )?;
    let account = new.owner.account();
    if let Some((_, title)) = &before {
        books.accounts.take(account, title.len() as u64);
        books.accounts.add(account, new.title.len() as u64);
    } else {
        books.accounts.add(account, fixed::CONVERSATION + new.title.len() as u64);
    }
    if before.as_ref().is_none_or(|(_, title)| *title != new.title) {
        if before.is_some() {
            db.prepare_cached("DELETE FROM title_words WHERE rowid = ?1")?.execute([row])?;
        }
        index(db, "title_words", row, &new.owner, &new.title)?;
    }
    Ok(row)
}

/// Notes that the task of a turn has ended.
fn end(db: &Connection, task: TaskId, words: &str, at: Timestamp, books: &mut Books) -> rusqlite::Result<()> {
    let sql = "SELECT t.row, c.row, c.owner FROM turns t JOIN conversations c ON c.row = t.conversation
               WHERE t.task = ?1 AND c.gone = 0";
    let found = db.prepare_cached(sql)?.query_row([task.as_bytes().as_slice()], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, principal(row, 2)?))
    });
    let Some((turn, conversation, owner)) = found.optional()? else { return Ok(()) };
    let sql =
        "UPDATE conversations SET revision = revision + 1, updated_at = max(updated_at, ?2) WHERE row = ?1";
    db.prepare_cached(sql)?.execute([conversation, at.as_millis()])?;
    db.prepare_cached("DELETE FROM turn_words WHERE rowid = ?1")?.execute([turn * 2 + 1])?;
    // A turn ends again when its task went on; what the earlier answer took stays counted until the turn
    // goes.
    let sql = "UPDATE turns SET bytes = bytes + ?2 WHERE row = ?1";
    db.prepare_cached(sql)?.execute([turn, number(words.len() as u64)])?;
    books.accounts.add(owner.account(), words.len() as u64);
    index(db, "turn_words", turn * 2 + 1, &owner, words)
}

/// Makes a text findable under a number.
fn index(db: &Connection, table: &str, row: i64, owner: &Principal, words: &str) -> rusqlite::Result<()> {
    if words.is_empty() { Ok(()) } else { note_words(db, table, row, owner, words) }
}

/// The same, and an empty text has its number, too.
pub(super) fn note_words(
    db: &Connection,
    table: &str,
    row: i64,
    owner: &Principal,
    words: &str,
) -> rusqlite::Result<()> {
    let sql = format!("INSERT INTO {table} (rowid, owner, words) VALUES (?1, ?2, ?3)");
    db.prepare_cached(&sql)?.execute(params![row, mark(owner.as_str()), spaced(words)])?;
    Ok(())
}

/// An owner as one word of the index, so that a search looks at no other owner's.
pub(super) fn mark(owner: &str) -> String {
    let digest = Sha256::digest(owner.as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Removes up to `portion` turns of removed conversations and lets go of their tasks, which from then on go
/// when they have ended.
pub(super) fn release(db: &Connection, portion: usize, books: &mut Books) -> rusqlite::Result<()> {
    let mut left = portion;
    while left > 0 {
        let sql = "SELECT row, owner, octet_length(title) FROM conversations INDEXED BY conversations_gone
                   WHERE gone = 1 LIMIT 1";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let gone: Option<(i64, String, i64)> = db.prepare_cached(sql)?.query_row([], read).optional()?;
        let Some((gone, owner, title)) = gone else { return Ok(()) };
        let account = account(Some(&owner));
        let sql = "SELECT row, task, bytes FROM turns WHERE conversation = ?1 LIMIT ?2";
        let mut find = db.prepare_cached(sql)?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let turns = find.query_map([gone, number(left as u64)], read)?;
        let turns: Vec<(i64, [u8; 16], i64)> = turns.collect::<rusqlite::Result<_>>()?;
        for (turn, task, bytes) in &turns {
            books.accounts.take(&account, fixed::TURN + bytes.unsigned_abs());
            db.prepare_cached("DELETE FROM turn_words WHERE rowid IN (?1, ?1 + 1)")?.execute([turn * 2])?;
            let sql = "UPDATE tasks SET kept = 0 WHERE id = ?1";
            db.prepare_cached(sql)?.execute([task.as_slice()])?;
            let sql = "INSERT OR REPLACE INTO task_expiry (task, expires_at) SELECT row, 0 FROM tasks WHERE id = ?1";
            db.prepare_cached(sql)?.execute([task.as_slice()])?;
            db.prepare_cached("DELETE FROM turns WHERE row = ?1")?.execute([turn])?;
        }
        if turns.len() < left {
            db.prepare_cached("DELETE FROM conversations WHERE row = ?1")?.execute([gone])?;
            books.accounts.take(&account, fixed::CONVERSATION + title.unsigned_abs());
        }
        left -= turns.len();
    }
    Ok(())
}

pub(super) fn one(db: &Connection, id: ConversationId) -> Result<Option<Conversation>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM conversations WHERE id = ?1 AND gone = 0");
    let mut find = db.prepare_cached(&sql)?;
    let mut rows = find.query([id.as_bytes().as_slice()])?;
    rows.next()?.map(conversation).transpose()
}

pub(super) fn list(
    db: &Connection,
    query: &ConversationQuery,
    after: Option<ConversationCursor>,
    limit: usize,
) -> Result<Page<ConversationMatch, ConversationCursor>, StoreError> {
    let moment = db.unchecked_transaction()?;
    if let Some(text) = &query.text {
        return Ok(Page::of(search(&moment, &query.owner, text)?, after, limit));
    }
    let past = if after.is_some() {
        "AND (pinned, updated_at, id) < (?3, ?4, ?5)"
    } else {
        "AND ?3 = ?3 AND ?4 = ?4 AND ?5 = ?5"
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM conversations INDEXED BY conversations_owner WHERE owner = ?1 AND gone = 0 {past}
         ORDER BY pinned DESC, updated_at DESC, id DESC LIMIT ?2"
    );
    let mut find = moment.prepare_cached(&sql)?;
    let (pinned, updated_at, id) = after.map_or((false, 0, Vec::new()), |after| {
        (after.pinned, after.updated_at.as_millis(), after.id.as_bytes().to_vec())
    });
    let most = number(limit.clamp(1, MAX_PAGE) as u64 + 1);
    let mut rows = find.query(params![query.owner.as_str(), most, pinned, updated_at, id])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        items.push(ConversationMatch { conversation: conversation(row)?, spot: None });
    }
    Ok(Page::of(items, None, limit))
}

/// The conversations in which the words stand: those with the newest turns that fit, and those whose title
/// does.
fn search(db: &Connection, owner: &Principal, text: &str) -> Result<Vec<ConversationMatch>, StoreError> {
    let Some(wanted) = SearchPhrases::read(text) else { return Ok(Vec::new()) };
    // The words of conversations that were an admin's before version 8 still bear the former name.
    let marks: Vec<String> = owner.stored_forms().map(|form| format!("\"{}\"", mark(form))).collect();
    let marks = format!("owner : ({})", marks.join(" OR "));
    let wanted = format!("({marks}) AND {}", wanted.query());
    let mut spots: HashMap<i64, Spot> = HashMap::new();
    let sql =
        "SELECT w.rowid & 1, t.task, t.conversation FROM turn_words w JOIN turns t ON t.row = w.rowid / 2
               WHERE turn_words MATCH ?1 ORDER BY w.rowid DESC LIMIT ?2";
    let mut find = db.prepare_cached(sql)?;
    let mut rows = find.query(params![wanted, number(SEARCHED as u64)])?;
    while let Some(row) = rows.next()? {
        let task = TaskId::from_bytes(row.get(1)?);
        let spot = if row.get::<_, bool>(0)? { Spot::Answer(task) } else { Spot::Question(task) };
        spots.entry(row.get(2)?).or_insert(spot);
    }
    let sql = "SELECT rowid FROM title_words WHERE title_words MATCH ?1 ORDER BY rowid DESC LIMIT ?2";
    let mut find = db.prepare_cached(sql)?;
    let mut rows = find.query(params![wanted, number(SEARCHED as u64)])?;
    while let Some(row) = rows.next()? {
        spots.entry(row.get(0)?).or_insert(Spot::Title);
    }
    let sql = format!("SELECT {COLUMNS} FROM conversations WHERE row = ?1 AND owner = ?2 AND gone = 0");
    let mut find = db.prepare_cached(&sql)?;
    let mut found = Vec::new();
    for (at, spot) in spots {
        let mut rows = find.query(params![at, owner.as_str()])?;
        if let Some(row) = rows.next()? {
            found.push(ConversationMatch { conversation: conversation(row)?, spot: Some(spot) });
        }
    }
    Ok(found)
}

pub(super) fn count(db: &Connection, owner: &Principal) -> Result<u64, StoreError> {
    let sql =
        "SELECT count(*) FROM conversations INDEXED BY conversations_owner WHERE owner = ?1 AND gone = 0";
    Ok(db.prepare_cached(sql)?.query_row([owner.as_str()], |row| row.get::<_, i64>(0))?.unsigned_abs())
}

pub(super) fn turn(db: &Connection, task: TaskId) -> Result<Option<Turn>, StoreError> {
    let moment = db.unchecked_transaction()?;
    let Some((row, ..)) = place(&moment, task)? else { return Ok(None) };
    Ok(Some(read(&moment, row)?.0))
}

/// The row of a turn whose conversation is there, and the rows of its parent and its conversation.
fn place(db: &Connection, task: TaskId) -> Result<Option<(i64, i64, i64)>, StoreError> {
    let sql =
        "SELECT t.row, t.parent, t.conversation FROM turns t JOIN conversations c ON c.row = t.conversation
               WHERE t.task = ?1 AND c.gone = 0";
    let found = db
        .prepare_cached(sql)?
        .query_row([task.as_bytes().as_slice()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    Ok(found.optional()?)
}

/// The turn of a row, and the rows of its parent and its conversation.
fn read(db: &Connection, row: i64) -> Result<(Turn, i64, i64), StoreError> {
    let sql = format!(
        "SELECT {TURN}, t.parent, t.conversation FROM turns t JOIN conversations c ON c.row = t.conversation
         LEFT JOIN turns p ON p.row = t.parent WHERE t.row = ?1"
    );
    let mut find = db.prepare_cached(&sql)?;
    let mut rows = find.query([row])?;
    let found = rows.next()?.ok_or_else(|| damaged(format!("turn {row} is missing")))?;
    Ok((spoken(found)?, found.get(7)?, found.get(8)?))
}

pub(super) fn path(db: &Connection, from: TaskId, limit: usize) -> Result<Vec<TurnPosition>, StoreError> {
    let moment = db.unchecked_transaction()?;
    let Some((mut row, ..)) = place(&moment, from)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let sql = "SELECT task FROM turns WHERE conversation = ?1 AND parent = ?2 ORDER BY row LIMIT ?3";
    let mut beside = moment.prepare_cached(sql)?;
    while row != 0 && found.len() < limit.clamp(1, MAX_PAGE) {
        let (turn, parent, conversation) = read(&moment, row)?;
        let siblings = beside
            .query_map([conversation, parent, number(MAX_SIBLINGS as u64)], |row| {
                row.get(0).map(TaskId::from_bytes)
            })?
            .collect::<rusqlite::Result<_>>()?;
        found.push(TurnPosition { turn, siblings });
        row = parent;
    }
    Ok(found)
}

pub(super) fn turns(
    db: &Connection,
    id: ConversationId,
    after: Option<TaskId>,
    limit: usize,
) -> Result<Vec<Turn>, StoreError> {
    let sql = format!(
        "SELECT {TURN} FROM conversations c CROSS JOIN turns t INDEXED BY turns_conversation ON t.conversation = c.row
         LEFT JOIN turns p ON p.row = t.parent WHERE c.id = ?1 AND c.gone = 0 AND t.row > ifnull((SELECT row FROM turns WHERE task = ?2), 0)
         ORDER BY t.row LIMIT ?3"
    );
    let after = after.as_ref().map(|task| task.as_bytes().as_slice());
    let mut find = db.prepare_cached(&sql)?;
    let mut rows =
        find.query(params![id.as_bytes().as_slice(), after, number(limit.clamp(1, MAX_PAGE) as u64)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(spoken(row)?);
    }
    Ok(found)
}

pub(super) fn leaf(db: &Connection, from: TaskId) -> Result<Option<TaskId>, StoreError> {
    let moment = db.unchecked_transaction()?;
    let Some((mut row, _, conversation)) = place(&moment, from)? else { return Ok(None) };
    let mut newest =
        moment.prepare_cached("SELECT max(row) FROM turns WHERE conversation = ?1 AND parent = ?2")?;
    while let Some(child) = newest.query_row([conversation, row], |row| row.get::<_, Option<i64>>(0))? {
        row = child;
    }
    let task = moment
        .prepare_cached("SELECT task FROM turns WHERE row = ?1")?
        .query_row([row], |row| row.get(0).map(TaskId::from_bytes))?;
    Ok(Some(task))
}

fn conversation(row: &Row<'_>) -> Result<Conversation, StoreError> {
    let id = ConversationId::from_bytes(row.get(0)?);
    let agent = row.get_ref(5)?.as_str().ok().and_then(|name| name.parse().ok());
    Ok(Conversation {
        id,
        owner: principal(row, 1)?,
        title: row.get(2)?,
        named: row.get(3)?,
        pinned: row.get(4)?,
        agent: agent.ok_or_else(|| damaged(format!("the agent of conversation {id}")))?,
        created_at: time(row.get(6)?),
        updated_at: time(row.get(7)?),
        revision: row.get::<_, i64>(8)?.unsigned_abs(),
        head: row.get::<_, Option<[u8; 16]>>(9)?.map(TaskId::from_bytes),
        turns: row.get::<_, i64>(10)?.unsigned_abs(),
    })
}

/// Reads a turn from the columns of [`TURN`].
fn spoken(row: &Row<'_>) -> Result<Turn, StoreError> {
    let task = TaskId::from_bytes(row.get(0)?);
    let wrong = || damaged(format!("turn {task} of a conversation"));
    Ok(Turn {
        task,
        conversation: ConversationId::from_bytes(row.get(1)?),
        parent: row.get::<_, Option<[u8; 16]>>(2)?.map(TaskId::from_bytes),
        agent: row.get_ref(3)?.as_str().ok().and_then(|name| name.parse().ok()).ok_or_else(wrong)?,
        message: row.get_ref(4)?.as_str().ok().and_then(|id| id.parse().ok()).ok_or_else(wrong)?,
        context: row.get_ref(5)?.as_str().ok().and_then(|id| id.parse().ok()).ok_or_else(wrong)?,
        at: time(row.get(6)?),
    })
}

//! The tables, and how a file of an older version becomes one of this.
//!
//! Promises: each step runs in one transaction that also raises the version, so a kill between steps leaves a
//! file that the next start carries on with. A file of a later version is refused untouched. Tables are
//! written for appending: rows in the order of arrival, and as few indexes as the lists need, because each
//! costs time in every commit.

use std::cmp::Ordering;

use rusqlite::{Connection, TransactionBehavior};

use super::audit;
use super::fault::damaged;
use super::vault::Vault;
use crate::StoreError;

/// The newest schema this program knows.
pub const SCHEMA_VERSION: i64 = STEPS.len() as i64;

/// Marks the file as ours for tools such as file(1): "AgSt".
pub(super) const APPLICATION_ID: i64 = 0x4167_5374;

/// The steps from an empty file to the newest schema. A released step never changes; a new version adds one
/// at the end.
const STEPS: &[&str] = &[
    FIRST,
    TASK_EXPIRY,
    PUSH,
    LISTINGS,
    CONVERSATIONS,
    SESSIONS,
    SHARES,
    ONE_ADMIN,
    AUDIT,
    RECORDS,
    KINDS,
    ROOMS,
];

/// The version from which on secrets are encrypted and rows are authenticated.
pub(super) const AUDITED: i64 = 9;

/// Version 1.
///
/// An open task stands in `tasks_open` only; the indexes of the lists are written once, when it ends, and
/// expiry reads them from the other end. All new events of a commit are one row, so that reading them is one
/// seek. Keys of messages are hashes and would scatter over the whole file: they gather in `sent_recent`, and
/// the writer moves them in order when there are enough to share pages.
pub(super) const FIRST: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY) WITHOUT ROWID;

CREATE TABLE tasks (
    row INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    state INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    seal INTEGER NOT NULL,
    parent BLOB,
    agent TEXT NOT NULL,
    owner TEXT NOT NULL,
    context TEXT NOT NULL
);
CREATE UNIQUE INDEX tasks_id ON tasks (id);
CREATE INDEX tasks_open ON tasks (created_at) WHERE state < 4;
CREATE INDEX tasks_ended ON tasks (updated_at, agent) WHERE state >= 4;
CREATE INDEX tasks_owner ON tasks (owner, updated_at) WHERE state >= 4;
CREATE INDEX tasks_context ON tasks (context, updated_at) WHERE state >= 4;
CREATE INDEX tasks_parent ON tasks (parent, updated_at) WHERE state >= 4 AND parent IS NOT NULL;

CREATE TABLE task_events (
    row INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    seal INTEGER NOT NULL,
    sent BLOB,
    body TEXT NOT NULL
);
CREATE INDEX task_events_task ON task_events (task, last_seq);

CREATE TABLE sent_recent (key BLOB PRIMARY KEY, events INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE sent (key BLOB PRIMARY KEY, events INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    agent TEXT,
    task BLOB,
    text TEXT NOT NULL
);
CREATE INDEX journal_task ON journal (task) WHERE task IS NOT NULL;

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    due INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    task BLOB,
    kind TEXT NOT NULL,
    error TEXT,
    body TEXT NOT NULL
);
CREATE INDEX outbox_due ON outbox (due) WHERE dead = 0;

CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL,
    label TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    session INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE usage (
    agent TEXT NOT NULL,
    day INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (agent, day)
) WITHOUT ROWID;
";

/// Version 2: tasks whose callers said how long they are kept. Few have such a time, so it costs the others
/// nothing here.
const TASK_EXPIRY: &str = "
CREATE TABLE task_expiry (task INTEGER PRIMARY KEY, expires_at INTEGER NOT NULL);
CREATE INDEX task_expiry_at ON task_expiry (expires_at);
";

/// Version 3: receivers of pushes, and an outbox whose rows leave in order.
///
/// `held` marks a row of a lane that has another one before it, so that the rows that may leave are one short
/// stretch of one index, however many wait behind a receiver that is down.
const PUSH: &str = "
CREATE TABLE push_configs (
    task BLOB NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, id)
) WITHOUT ROWID;

ALTER TABLE outbox ADD COLUMN lane TEXT;
ALTER TABLE outbox ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
CREATE INDEX outbox_ready ON outbox (due) WHERE dead = 0 AND held = 0;
CREATE INDEX outbox_task ON outbox (task, lane, id) WHERE task IS NOT NULL;
CREATE INDEX outbox_dead ON outbox (id) WHERE dead = 1;
";

/// Version 4: the hub's entries.
///
/// The body is the whole entry; the other columns are what lists ask for. Pages go by id, so that a page
/// costs the same at the beginning and at the end of a million.
const LISTINGS: &str = "
CREATE TABLE listings (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    owner TEXT NOT NULL,
    standing INTEGER NOT NULL,
    visibility INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    due INTEGER,
    shape TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE UNIQUE INDEX listings_id ON listings (id);
CREATE INDEX listings_owner ON listings (owner, id);
CREATE INDEX listings_due ON listings (due) WHERE due IS NOT NULL;
CREATE INDEX listings_shape ON listings (shape, id);
";

/// Version 5: conversations.
///
/// A turn's parent is the row of another one, so that a path is walked by rows; 0 stands for none. The words
/// of a question lie in `turn_words` at twice the row of the turn, those of its answer behind it; both
/// indexes hold no text. Tasks that a conversation keeps stand apart in the index that expiry reads, so that
/// it never walks over them.
const CONVERSATIONS: &str = "
CREATE TABLE conversations (
    row INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    named INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    head BLOB,
    turns INTEGER NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX conversations_id ON conversations (id);
CREATE INDEX conversations_owner ON conversations (owner, pinned, updated_at, id) WHERE gone = 0;
CREATE INDEX conversations_gone ON conversations (gone) WHERE gone = 1;

CREATE TABLE turns (
    row INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    task BLOB NOT NULL,
    at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    context TEXT NOT NULL,
    message TEXT NOT NULL
);
CREATE UNIQUE INDEX turns_task ON turns (task);
CREATE INDEX turns_parent ON turns (conversation, parent);
CREATE INDEX turns_conversation ON turns (conversation);

CREATE VIRTUAL TABLE title_words USING fts5
    (owner, words, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE turn_words USING fts5
    (owner, words, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');

ALTER TABLE tasks ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
DROP INDEX tasks_ended;
CREATE INDEX tasks_ended ON tasks (kept, updated_at, agent) WHERE state >= 4;
";

/// Version 6: sessions that stand for a key, so that they end with it.
const SESSIONS: &str = "
ALTER TABLE keys ADD COLUMN of_key TEXT;
";

/// Version 7: what each account holds, and an outbox whose accounts take turns.
///
/// The sums in `storage` are as of the rows that `meta` names: events and journal lines that came later are
/// added up when the file is opened, so that ordinary work does not write them (see `accounts`). Tasks of
/// callers without a key stand in an index of their own, because they go earlier than others.
const SHARES: &str = "
CREATE TABLE storage (account TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;

ALTER TABLE outbox ADD COLUMN account TEXT NOT NULL DEFAULT '';
UPDATE outbox SET account = ifnull((SELECT owner FROM tasks WHERE tasks.id = outbox.task), '');
DROP INDEX outbox_ready;
CREATE INDEX outbox_turn ON outbox (account, due, id) WHERE dead = 0 AND held = 0;

ALTER TABLE turns ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE settings ADD COLUMN owner TEXT;
CREATE INDEX tasks_anonymous ON tasks (updated_at, id)
    WHERE state >= 4 AND kept = 0 AND owner >= 'anon:' AND owner < 'anon;';
";

/// Version 8: an admin is one owner, wherever the admin calls from. Tasks keep what they were sealed with;
/// admins see all of them.
const ONE_ADMIN: &str = "
UPDATE conversations SET owner = 'admin' WHERE owner = 'local';
";

/// Version 9: secrets are encrypted, rows have codes and the journal is a chain (see `audit` and `chain`).
///
/// A line's text stands in its hash by a digest with the salt; a line whose text was removed keeps the digest
/// instead of both.
const AUDIT: &str = "
ALTER TABLE journal ADD COLUMN salt BLOB;
ALTER TABLE journal ADD COLUMN digest BLOB;
ALTER TABLE journal ADD COLUMN hash BLOB;
CREATE TABLE journal_heads (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    hash BLOB NOT NULL,
    signature TEXT NOT NULL
);
CREATE TABLE row_macs (
    source INTEGER NOT NULL,
    key BLOB NOT NULL,
    mac BLOB NOT NULL,
    PRIMARY KEY (source, key)
) WITHOUT ROWID;
";

/// Version 10: modest data of capabilities (see `records`); bodies are encrypted like settings.
const RECORDS: &str = "
CREATE TABLE records (
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    owner TEXT,
    revision INTEGER NOT NULL,
    expires_at INTEGER,
    body BLOB NOT NULL,
    PRIMARY KEY (collection, key)
) WITHOUT ROWID;
CREATE INDEX records_owner ON records (collection, owner) WHERE owner IS NOT NULL;
CREATE INDEX records_end ON records (expires_at) WHERE expires_at IS NOT NULL;
";

/// Version 11: what kind of event a journal line tells of, and what it is about unless its task or its agent
/// says so. Older lines have neither and keep their hashes (see `chain`).
const KINDS: &str = "
ALTER TABLE journal ADD COLUMN kind TEXT;
ALTER TABLE journal ADD COLUMN subject TEXT;
";

/// Version 12: rooms.
///
/// The log is written for appending; one index gives the order within a room, the other finds a message of a
/// sender again. Events are a chain of hashes with signatures and therefore have no codes; heads, members and
/// snapshots have (see `audit`).
const ROOMS: &str = "
CREATE TABLE rooms (
    row INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    state TEXT NOT NULL,
    seq INTEGER NOT NULL,
    first INTEGER NOT NULL,
    front BLOB NOT NULL,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deadline INTEGER
);
CREATE UNIQUE INDEX rooms_id ON rooms (id);
CREATE INDEX rooms_deadline ON rooms (deadline, id) WHERE deadline IS NOT NULL;

CREATE TABLE room_events (
    row INTEGER PRIMARY KEY,
    room INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    sender TEXT NOT NULL,
    message TEXT NOT NULL,
    digest BLOB NOT NULL,
    hash BLOB NOT NULL,
    signature BLOB NOT NULL,
    body TEXT NOT NULL
);
CREATE UNIQUE INDEX room_events_seq ON room_events (room, seq);
CREATE UNIQUE INDEX room_events_message ON room_events (room, sender, message);

CREATE TABLE room_members (
    room INTEGER NOT NULL,
    member TEXT NOT NULL,
    joined INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    processed INTEGER NOT NULL,
    PRIMARY KEY (room, member)
) WITHOUT ROWID;
CREATE INDEX room_members_member ON room_members (member, room);

CREATE TABLE room_snapshots (room INTEGER PRIMARY KEY, seq INTEGER NOT NULL, body TEXT NOT NULL);

CREATE VIRTUAL TABLE room_words USING fts5
    (owner, words, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');
";

/// Brings an empty file to the version before `version`, as an earlier program would have left it.
#[cfg(test)]
pub(super) fn take_steps_below(db: &Connection, version: i64) {
    for step in STEPS.iter().take(usize::try_from(version - 1).unwrap()) {
        db.execute_batch(step).unwrap();
    }
    db.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    db.pragma_update(None, "user_version", version - 1).unwrap();
}

/// The version of a file, after a look at whose file it is.
///
/// # Errors
/// [`StoreError::Corrupt`] when it is no database or another program's, [`StoreError::TooNew`] when it is of
/// a later version.
pub(super) fn version(db: &Connection) -> Result<i64, StoreError> {
    let found: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let empty = tables == 0 && found == 0;
    if !empty && application != APPLICATION_ID {
        return Err(damaged("it is the database of another program"));
    }
    if found > SCHEMA_VERSION {
        return Err(StoreError::TooNew { found, known: SCHEMA_VERSION });
    }
    if found < 0 || (tables == 0) != (found == 0) {
        return Err(damaged(format!("its schema version {found} does not fit its {tables} tables")));
    }
    Ok(found)
}

/// Takes the steps that the file has not taken yet. Codes of rows cover all columns, so they are checked
/// before the first step and computed anew with each.
pub(super) fn migrate(db: &mut Connection, vault: &Vault) -> Result<(), StoreError> {
    migrate_to(db, vault, STEPS.len())
}

/// Takes the steps up to a version.
pub(super) fn migrate_to(db: &mut Connection, vault: &Vault, last: usize) -> Result<(), StoreError> {
    let found = version(db)?;
    if (AUDITED..SCHEMA_VERSION).contains(&found) {
        audit::check_all(db, vault)?;
    }
    for (at, step) in STEPS.iter().enumerate().take(last).skip(usize::try_from(found).unwrap_or(0)) {
        let new = at as i64 + 1;
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        match new.cmp(&AUDITED) {
            Ordering::Less => {}
            Ordering::Equal => audit::seal_all(&transaction, vault)?,
            Ordering::Greater => audit::seal_rows(&transaction, vault)?,
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", new)?;
        transaction.commit()?;
        tracing::info!(version = new, "the database has a new schema");
    }
    Ok(())
}

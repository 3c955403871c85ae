//! Reads and locks the rows that the guards of a batch look at.
//!
//! Promises: few statements for the whole batch, sent together; rows are locked in sorted order, so that two
//! processes wait for each other in one direction only. The row of the own process is locked against being
//! declared dead until the transaction ends, so that a dead process writes nothing.

use std::collections::{BTreeSet, HashMap};

use agentsite_protocol::{ConversationId, PushConfig, TaskId};
use agentsite_store::engine::{self, Accounts, SEAL, fixed};
use agentsite_store::{ConversationChange, Edit, ProcessId, PushChange, StorageLimits};
use futures::future::{try_join, try_join3, try_join5};
use tokio_postgres::{Error, Row};

use super::Asked;
use super::seen::{Seen, SeenRow, SeenTask};
use crate::ready::ReadyEdit;
use crate::session::Session;
use crate::text;

const FENCE: &str = "SELECT id FROM processes WHERE id = ANY($1) ORDER BY id FOR KEY SHARE";
const LIVING: &str = "SELECT id FROM processes";
const TASKS: &str =
    "SELECT id, seq, root, owner, holder FROM tasks WHERE id = ANY($1) ORDER BY id FOR UPDATE";
const SENT: &str = "SELECT key, task, body_hash FROM sent WHERE key = ANY($1)";
const RECEIVERS: &str = "SELECT task, id, octet_length(body)::bigint FROM push_configs WHERE task = ANY($1)";
const RECORDS: &str = "SELECT r.collection, r.key, r.owner, r.revision, octet_length(r.body)::bigint FROM records r
    JOIN unnest($1::text[], $2::text[]) AS w (collection, key) ON w.collection = r.collection AND w.key = r.key
    ORDER BY r.collection, r.key FOR UPDATE OF r";
const SETTINGS: &str = "SELECT name, owner, octet_length(value)::bigint FROM settings WHERE name = ANY($1) ORDER BY name FOR UPDATE";
const LISTINGS: &str = "SELECT id, owner, revision, octet_length(body)::bigint FROM listings WHERE id = ANY($1) ORDER BY id FOR UPDATE";
const TURNS: &str = "SELECT task, conversation FROM turns WHERE task = ANY($1)";
const CONVERSATIONS: &str =
    "SELECT id, owner, revision, octet_length(replace(title, chr(26), ''))::bigint FROM conversations
    WHERE id = ANY($1) OR id IN (SELECT conversation FROM turns WHERE task = ANY($2)) ORDER BY id FOR UPDATE";
const ACCOUNTS: &str = "SELECT account, bytes FROM storage WHERE account = ANY($1)";
const SUMS: &str = "SELECT anonymous, total FROM head";

/// The statements of every batch, to be prepared beforehand.
pub(crate) const STATEMENTS: &[&str] = &[
    FENCE,
    LIVING,
    TASKS,
    SENT,
    RECEIVERS,
    RECORDS,
    SETTINGS,
    LISTINGS,
    TURNS,
    CONVERSATIONS,
    ACCOUNTS,
    SUMS,
];

/// The keys of the rows that a batch looks at, sorted.
#[derive(Default)]
struct Wanted<'a> {
    processes: BTreeSet<i64>,
    tasks: BTreeSet<&'a [u8]>,
    sent: BTreeSet<[u8; 16]>,
    receivers: BTreeSet<&'a [u8]>,
    records: BTreeSet<(String, String)>,
    settings: BTreeSet<String>,
    listings: BTreeSet<&'a str>,
    conversations: BTreeSet<Vec<u8>>,
    /// Turns whose conversations are looked at, too.
    turns: BTreeSet<&'a [u8]>,
}

impl<'a> Wanted<'a> {
    fn of(asked: &'a [Asked<'_>]) -> Self {
        let mut wanted = Self::default();
        for one in asked {
            wanted.processes.extend(one.by.map(|process| process.number().cast_signed()));
            for edit in &one.ready.edits {
                wanted.add(edit);
            }
        }
        wanted
    }

    fn add(&mut self, edit: &'a ReadyEdit) {
        match edit {
            ReadyEdit::Task(task) => {
                self.tasks.insert(task.change.head.id.as_bytes());
                self.sent.extend(task.sent);
            }
            ReadyEdit::Listing { change, .. } => {
                self.listings.insert(engine::listing_guard(change).0);
            }
            ReadyEdit::Other(Edit::Push(change)) => {
                let (PushChange::Put(task, PushConfig { .. }) | PushChange::Remove(task, _)) = &**change;
                self.tasks.insert(task.as_bytes());
                self.receivers.insert(task.as_bytes());
            }
            ReadyEdit::Other(Edit::Notify(notify)) => {
                self.tasks.insert(notify.task.as_bytes());
                self.receivers.insert(notify.task.as_bytes());
            }
            ReadyEdit::Other(Edit::Record(change)) => {
                let (collection, key, ..) = engine::record_guard(change);
                self.records.insert((collection.to_owned(), text::put(key).into_owned()));
            }
            ReadyEdit::Other(Edit::Setting(change)) => {
                self.settings.insert(text::put(&change.name).into_owned());
            }
            ReadyEdit::Other(Edit::Conversation(change)) => {
                let id = engine::conversation_guard(change).map(|(id, ..)| id.as_bytes().to_vec());
                self.conversations.extend(id);
                match change {
                    ConversationChange::Said { turn, .. } => {
                        self.turns.extend(turn.parent.as_ref().map(|id| id.as_bytes().as_slice()));
                    }
                    ConversationChange::Ended { task, .. } => {
                        self.turns.insert(task.as_bytes());
                    }
                    ConversationChange::Put(_) | ConversationChange::Remove { .. } => {}
                }
            }
            ReadyEdit::Other(_) => {}
        }
    }
}

fn list<T: Clone>(set: &BTreeSet<T>) -> Vec<T> {
    set.iter().cloned().collect()
}

/// Begins the transaction and reads.
pub(super) async fn load(
    session: &Session,
    limits: StorageLimits,
    asked: &[Asked<'_>],
) -> Result<Seen, Error> {
    let wanted = Wanted::of(asked);
    let mut seen = Seen::new(limits);
    let (processes, tasks, receivers) =
        (list(&wanted.processes), list(&wanted.tasks), list(&wanted.receivers));
    let sent: Vec<&[u8]> = wanted.sent.iter().map(<[u8; 16]>::as_slice).collect();
    // Nothing is awaited before all of them are sent; the server answers in this order.
    let ((_, fenced, living, tasks, sent), receivers) = try_join(
        try_join5(
            session.batch("BEGIN"),
            session.query(FENCE, &[&processes]),
            session.query(LIVING, &[]),
            session.query(TASKS, &[&tasks]),
            session.query(SENT, &[&sent]),
        ),
        if_any(session, RECEIVERS, &receivers),
    )
    .await?;
    take_processes(&mut seen, &wanted, &fenced, &living);
    for row in tasks {
        take_task(&mut seen, &row);
    }
    for row in sent {
        seen.sent.insert(bytes16(&row, 0), (TaskId::from_bytes(bytes16(&row, 1)), row.get(2)));
    }
    for row in receivers {
        let task = TaskId::from_bytes(bytes16(&row, 0));
        let bytes = fixed::RECEIVER + sealed_bytes(&row, 2);
        seen.receivers.entry(task).or_default().insert(text::got(row.get(1)), bytes);
    }
    load_rare(session, &wanted, &mut seen).await?;
    seen.rooms.load(session, asked.iter().flat_map(|one| &one.ready.edits)).await?;
    if limits != StorageLimits::default() {
        load_sums(session, limits, asked, &mut seen).await?;
    }
    Ok(seen)
}

/// Asks only when there is something to ask for.
async fn if_any(session: &Session, sql: &str, keys: &[&[u8]]) -> Result<Vec<Row>, Error> {
    if keys.is_empty() { Ok(Vec::new()) } else { session.query(sql, &[&keys]).await }
}

fn take_processes(seen: &mut Seen, wanted: &Wanted<'_>, fenced: &[Row], living: &[Row]) {
    let number = |row: &Row| row.get::<_, i64>(0).cast_unsigned();
    seen.living.extend(living.iter().map(number));
    // The locked rows decide about the own process: it may have died between the two statements.
    for process in &wanted.processes {
        seen.living.remove(&process.cast_unsigned());
    }
    seen.living.extend(fenced.iter().map(number));
}

fn take_task(seen: &mut Seen, row: &Row) {
    let holder: Option<i64> = row.get(4);
    let task = SeenTask {
        seq: row.get::<_, i64>(1).cast_unsigned(),
        root: row.get(2),
        owner: row.get(3),
        holder: holder.map(|number| ProcessId::new(number.cast_unsigned())),
    };
    seen.tasks.insert(TaskId::from_bytes(bytes16(row, 0)), task);
}

/// Rows of records, settings, entries and conversations, when the batch looks at any.
async fn load_rare(session: &Session, wanted: &Wanted<'_>, seen: &mut Seen) -> Result<(), Error> {
    if !wanted.records.is_empty() {
        let (collections, keys): (Vec<&str>, Vec<&str>) =
            wanted.records.iter().map(|(collection, key)| (collection.as_str(), key.as_str())).unzip();
        for row in session.query(RECORDS, &[&collections, &keys]).await? {
            let key = text::got(row.get(1));
            let bytes = fixed::SETTING + key.len() as u64 + sealed_bytes(&row, 4);
            let revision = row.get::<_, i64>(3).cast_unsigned();
            let kept = SeenRow { owner: owner(&row, 2), revision, bytes };
            seen.records.insert((row.get(0), key), kept);
        }
    }
    if wanted.settings.is_empty()
        && wanted.listings.is_empty()
        && wanted.conversations.is_empty()
        && wanted.turns.is_empty()
    {
        return Ok(());
    }
    let (settings, listings) = (list(&wanted.settings), list(&wanted.listings));
    let (conversations, turns) = (list(&wanted.conversations), list(&wanted.turns));
    let (settings, listings, conversations) = try_join3(
        session.query(SETTINGS, &[&settings]),
        session.query(LISTINGS, &[&listings]),
        session.query(CONVERSATIONS, &[&conversations, &turns]),
    )
    .await?;
    for row in settings {
        let name = text::got(row.get(0));
        let bytes = fixed::SETTING + name.len() as u64 + sealed_bytes(&row, 2);
        seen.settings.insert(name, SeenRow { owner: owner(&row, 1), revision: 0, bytes });
    }
    for row in listings {
        let kept = plain_row(&row, fixed::LISTING);
        seen.listings.insert(row.get(0), kept);
    }
    for row in conversations {
        let kept = plain_row(&row, fixed::CONVERSATION);
        seen.conversations.insert(ConversationId::from_bytes(bytes16(&row, 0)), kept);
    }
    if !turns.is_empty() {
        for row in session.query(TURNS, &[&turns]).await? {
            let conversation = ConversationId::from_bytes(bytes16(&row, 1));
            seen.turns.insert(TaskId::from_bytes(bytes16(&row, 0)), conversation);
        }
    }
    Ok(())
}

/// The sums of the accounts that would grow. They are not locked: of several processes that add at the same
/// moment each may go beyond a limit by one group of changes.
async fn load_sums(
    session: &Session,
    limits: StorageLimits,
    asked: &[Asked<'_>],
    seen: &mut Seen,
) -> Result<(), Error> {
    let grown: BTreeSet<String> =
        asked.iter().flat_map(|one| seen.growth(one.ready)).map(|(account, _)| account).collect();
    let rows = session.query(ACCOUNTS, &[&list(&grown)]).await?;
    let held: HashMap<String, u64> =
        rows.iter().map(|row| (row.get(0), row.get::<_, i64>(1).cast_unsigned())).collect();
    let sums = session.first(SUMS, &[]).await?;
    let (anonymous, total): (i64, i64) = sums.map_or((0, 0), |row| (row.get(0), row.get(1)));
    seen.accounts = Accounts::of(limits, held, anonymous.cast_unsigned(), total.cast_unsigned());
    Ok(())
}

/// A row of id, owner, revision and the length of its text.
fn plain_row(row: &Row, fixed: u64) -> SeenRow {
    let revision = row.get::<_, i64>(2).cast_unsigned();
    SeenRow { owner: row.get(1), revision, bytes: fixed + row.get::<_, i64>(3).cast_unsigned() }
}

fn owner(row: &Row, at: usize) -> String {
    row.get::<_, Option<String>>(at).unwrap_or_default()
}

/// The length of a value without its seal.
fn sealed_bytes(row: &Row, at: usize) -> u64 {
    row.get::<_, i64>(at).cast_unsigned().saturating_sub(SEAL as u64)
}

/// Sixteen bytes of a column; a shorter value never fits any key.
pub(crate) fn bytes16(row: &Row, at: usize) -> [u8; 16] {
    row.get::<_, &[u8]>(at).try_into().unwrap_or_default()
}

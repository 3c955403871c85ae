//! What a batch will write, gathered by table, and the few statements that write it.
//!
//! Promises: each row is written once, in its last state, however often the batch changed it; events, keys of
//! messages and rows of the outbox are appended in the order of the changes. The statements of a flush are
//! sent together. Sums of usage are written at the end, under the lock of the head row (see `head`), because
//! all processes add to the same ones.

use std::collections::BTreeMap;

use agentsite_protocol::{TaskHead, TaskId, Timestamp, Usage};
use agentsite_store::engine::{self, Vault, fixed, record_place, state_number};
use agentsite_store::{DeliveryChange, EventDeliveries, ProcessId, RecordChange, UsageChange};
use futures::future::{BoxFuture, try_join_all};
use tokio_postgres::Error;

use super::guards::event_bytes;
use super::outbox::OutboxWrites;
use super::rooms::RoomWrites;
use super::seen::{Seen, SeenRow, SeenTask, account, column};
use crate::ready::ReadyTask;
use crate::session::Session;
use crate::text;

const OPEN: &str = "INSERT INTO tasks (id, state, seq, created_at, updated_at, root, parent, agent, owner, context, kept, holder, expires_at)
    SELECT * FROM unnest($1::bytea[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[],
        $8::text[], $9::text[], $10::text[], $11::boolean[], $12::bigint[], $13::bigint[])";
const CONTINUE: &str = "UPDATE tasks t SET state = n.state, seq = n.seq, updated_at = n.updated_at, holder = n.holder,
        expires_at = coalesce(n.expires_at, t.expires_at), kept = t.kept OR n.kept
    FROM unnest($1::bytea[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[])
        AS n (id, state, seq, updated_at, holder, expires_at, kept) WHERE t.id = n.id";
const EVENTS: &str = "INSERT INTO task_events (task, first_seq, last_seq, sent, body)
    SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bytea[], $5::text[])";
const SENT: &str =
    "INSERT INTO sent (key, task, body_hash) SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[])";
const RECORDS: &str = "INSERT INTO records (collection, key, owner, revision, expires_at, body)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bytea[])
    ON CONFLICT (collection, key) DO UPDATE SET owner = excluded.owner, revision = excluded.revision,
        expires_at = excluded.expires_at, body = excluded.body";
const NO_RECORDS: &str = "DELETE FROM records r USING unnest($1::text[], $2::text[]) AS n (collection, key)
    WHERE r.collection = n.collection AND r.key = n.key";

/// The statements of a flush, to be prepared beforehand.
pub(crate) const STATEMENTS: &[&str] = &[OPEN, CONTINUE, EVENTS, SENT, RECORDS, NO_RECORDS];

/// Rows to be written.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    tasks: BTreeMap<TaskId, TaskRow>,
    events: Events,
    records: BTreeMap<(String, String), Option<RecordRow>>,
    pub(super) outbox: OutboxWrites,
    pub(super) rooms: RoomWrites,
    /// Written at the end; see `head`.
    pub(crate) usage: BTreeMap<(String, i64), Usage>,
}

#[derive(Debug)]
struct TaskRow {
    head: TaskHead,
    root: i64,
    kept: bool,
    holder: Option<i64>,
    expires_at: Option<i64>,
    /// Whether the database has no row of it yet.
    new: bool,
}

/// New rows of events, column by column.
#[derive(Debug, Default)]
struct Events {
    task: Vec<Vec<u8>>,
    first: Vec<i64>,
    last: Vec<i64>,
    sent: Vec<Option<Vec<u8>>>,
    body: Vec<String>,
    keys: Vec<Vec<u8>>,
    keys_task: Vec<Vec<u8>>,
    keys_hash: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct RecordRow {
    owner: Option<String>,
    revision: i64,
    expires_at: Option<i64>,
    body: Vec<u8>,
}

impl Writes {
    /// A task begins or continues.
    pub(crate) fn task(&mut self, task: &ReadyTask, by: Option<ProcessId>, seen: &mut Seen) {
        let head = &task.change.head;
        let holder = by.filter(|_| !head.state.is_settled() && !task.change.released);
        let id = head.id.as_bytes().to_vec();
        self.events.task.push(id.clone());
        self.events.first.push(number(task.change.expect_seq + 1));
        self.events.last.push(number(head.seq));
        self.events.sent.push(task.sent.map(|key| key.to_vec()));
        self.events.body.push(task.body.clone());
        if let (Some(key), Some(sent)) = (task.sent, &task.change.sent) {
            seen.sent.insert(key, (head.id, sent.body_hash.to_vec()));
            self.events.keys.push(key.to_vec());
            self.events.keys_task.push(id);
            self.events.keys_hash.push(sent.body_hash.to_vec());
        }
        seen.accounts.append(head.owner.account(), event_bytes(task));
        let (root, owner, seq) = (task.root, head.owner.to_string(), head.seq);
        let before = seen.tasks.insert(head.id, SeenTask { seq, root, owner, holder });
        let expires_at = task.change.expires_at.map(Timestamp::as_millis);
        let new = before.is_none();
        let holder = holder.map(|process| number(process.number()));
        let row = self.tasks.entry(head.id).or_insert_with(|| TaskRow {
            head: head.clone(),
            root,
            kept: false,
            holder,
            expires_at: None,
            new,
        });
        row.head = head.clone();
        row.holder = holder;
        row.kept |= task.kept;
        row.expires_at = expires_at.or(row.expires_at);
    }

    /// An agent has used something.
    pub(crate) fn usage(&mut self, change: &UsageChange) {
        self.usage.entry((change.agent.to_string(), change.day)).or_default().add(change.usage);
    }

    /// A record is written or goes.
    pub(crate) fn record(&mut self, change: &RecordChange, seen: &mut Seen, vault: &Vault) {
        let (collection, key, ..) = engine::record_guard(change);
        let place = (collection.to_owned(), key.to_owned());
        let before = seen.records.remove(&place);
        let (row, after) = match change {
            RecordChange::Put { record, .. } => {
                let bytes = fixed::SETTING + (record.key.len() + record.body.len()) as u64;
                let owner = column(record.owner.as_ref());
                let row = RecordRow {
                    owner: record.owner.as_ref().map(ToString::to_string),
                    revision: number(record.revision),
                    expires_at: record.expires_at.map(Timestamp::as_millis),
                    body: vault.seal(&record_place(collection, key), record.body.as_bytes()),
                };
                (Some(row), Some(SeenRow { owner, revision: record.revision, bytes }))
            }
            RecordChange::Remove { .. } => (None, None),
        };
        seen.replace(before.as_ref(), after.as_ref());
        if let Some(after) = after {
            seen.records.insert(place.clone(), after);
        }
        self.records.insert(place, row);
    }

    /// The outbox changes.
    pub(crate) fn delivery(&mut self, change: &DeliveryChange, seen: &mut Seen) {
        if let DeliveryChange::Add(row) = change {
            seen.accounts.add(&account(&row.account), fixed::DELIVERY + row.body.len() as u64);
        }
        self.outbox.change(change);
    }

    /// The receivers of a task are notified.
    pub(crate) fn notify(&mut self, notify: &EventDeliveries, seen: &mut Seen) {
        let Some(receivers) = seen.receivers.get(&notify.task) else { return };
        let of = seen.tasks.get(&notify.task).map_or("", |task| task.owner.as_str());
        let of = if of.is_empty() { String::new() } else { account(of) };
        let rows = receivers.keys().flat_map(|config| engine::deliveries(notify, &of, config));
        for row in rows.collect::<Vec<_>>() {
            self.delivery(&DeliveryChange::Add(row), seen);
        }
    }

    /// Writes everything that was gathered.
    pub(crate) async fn flush(&mut self, session: &Session, seen: &mut Seen) -> Result<(), Error> {
        let tasks = std::mem::take(&mut self.tasks);
        let (new, old): (Vec<&TaskRow>, Vec<&TaskRow>) = tasks.values().partition(|row| row.new);
        let (events, records) = (std::mem::take(&mut self.events), std::mem::take(&mut self.records));
        let mut sent: Vec<BoxFuture<'_, Result<u64, Error>>> = Vec::new();
        if !new.is_empty() {
            sent.push(Box::pin(open(session, &new)));
        }
        if !old.is_empty() {
            sent.push(Box::pin(go_on(session, &old)));
        }
        if !events.task.is_empty() {
            sent.push(Box::pin(append(session, &events)));
        }
        if !events.keys.is_empty() {
            sent.push(Box::pin(async {
                session.execute(SENT, &[&events.keys, &events.keys_task, &events.keys_hash]).await
            }));
        }
        if !records.is_empty() {
            sent.push(Box::pin(put_records(session, &records)));
        }
        try_join_all(sent).await?;
        self.rooms.flush(session, seen).await?;
        self.outbox.flush(session, seen).await
    }
}

async fn open(session: &Session, rows: &[&TaskRow]) -> Result<u64, Error> {
    let heads = || rows.iter().map(|row| &row.head);
    let ids: Vec<&[u8]> = heads().map(|head| head.id.as_bytes().as_slice()).collect();
    let states: Vec<i16> = heads().map(state).collect();
    let seqs: Vec<i64> = heads().map(|head| number(head.seq)).collect();
    let created: Vec<i64> = heads().map(|head| head.created_at.as_millis()).collect();
    let updated: Vec<i64> = heads().map(|head| head.updated_at.as_millis()).collect();
    let roots: Vec<i64> = rows.iter().map(|row| row.root).collect();
    let parents: Vec<Option<&[u8]>> =
        heads().map(|head| head.parent.as_ref().map(|id| id.as_bytes().as_slice())).collect();
    let agents: Vec<&str> = heads().map(|head| head.agent.as_str()).collect();
    let owners: Vec<&str> = heads().map(|head| head.owner.as_str()).collect();
    let contexts: Vec<&str> = heads().map(|head| head.context.as_str()).collect();
    let kept: Vec<bool> = rows.iter().map(|row| row.kept).collect();
    let holders: Vec<Option<i64>> = rows.iter().map(|row| row.holder).collect();
    let ends: Vec<Option<i64>> = rows.iter().map(|row| row.expires_at).collect();
    session
        .execute(
            OPEN,
            &[
                &ids, &states, &seqs, &created, &updated, &roots, &parents, &agents, &owners, &contexts,
                &kept, &holders, &ends,
            ],
        )
        .await
}

async fn go_on(session: &Session, rows: &[&TaskRow]) -> Result<u64, Error> {
    let ids: Vec<&[u8]> = rows.iter().map(|row| row.head.id.as_bytes().as_slice()).collect();
    let states: Vec<i16> = rows.iter().map(|row| state(&row.head)).collect();
    let seqs: Vec<i64> = rows.iter().map(|row| number(row.head.seq)).collect();
    let updated: Vec<i64> = rows.iter().map(|row| row.head.updated_at.as_millis()).collect();
    let holders: Vec<Option<i64>> = rows.iter().map(|row| row.holder).collect();
    let ends: Vec<Option<i64>> = rows.iter().map(|row| row.expires_at).collect();
    let kept: Vec<bool> = rows.iter().map(|row| row.kept).collect();
    session.execute(CONTINUE, &[&ids, &states, &seqs, &updated, &holders, &ends, &kept]).await
}

async fn append(session: &Session, events: &Events) -> Result<u64, Error> {
    let Events { task, first, last, sent, body, .. } = events;
    session.execute(EVENTS, &[task, first, last, sent, body]).await
}

async fn put_records(
    session: &Session,
    records: &BTreeMap<(String, String), Option<RecordRow>>,
) -> Result<u64, Error> {
    let gone: Vec<(&str, String)> = records
        .iter()
        .filter(|(_, row)| row.is_none())
        .map(|((collection, key), _)| (collection.as_str(), text::put(key).into_owned()))
        .collect();
    let put: Vec<(&(String, String), &RecordRow)> =
        records.iter().filter_map(|(place, row)| Some((place, row.as_ref()?))).collect();
    if !gone.is_empty() {
        let (collections, keys): (Vec<&str>, Vec<String>) = gone.into_iter().unzip();
        session.execute(NO_RECORDS, &[&collections, &keys]).await?;
    }
    if put.is_empty() {
        return Ok(0);
    }
    let collections: Vec<&str> = put.iter().map(|((collection, _), _)| collection.as_str()).collect();
    let keys: Vec<String> = put.iter().map(|((_, key), _)| text::put(key).into_owned()).collect();
    let owners: Vec<Option<&str>> = put.iter().map(|(_, row)| row.owner.as_deref()).collect();
    let revisions: Vec<i64> = put.iter().map(|(_, row)| row.revision).collect();
    let ends: Vec<Option<i64>> = put.iter().map(|(_, row)| row.expires_at).collect();
    let bodies: Vec<&[u8]> = put.iter().map(|(_, row)| row.body.as_slice()).collect();
    session.execute(RECORDS, &[&collections, &keys, &owners, &revisions, &ends, &bodies]).await
}

fn state(head: &TaskHead) -> i16 {
    i16::try_from(state_number(head.state)).unwrap_or(i16::MAX)
}

/// A count as a column holds it; no real count comes near the end.
pub(crate) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

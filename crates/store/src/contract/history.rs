//! Histories: random sequences of what processes do to a store, and everything that can be read afterwards.
//!
//! The store in memory is short enough to be read as the specification; each engine is held to it by the same
//! histories. A store of one process takes them too: there the verbs of processes do nothing.

use std::time::Duration;

use agentsite_protocol::{Principal, TaskState};
use proptest::prelude::*;

use super::conversations::{put as put_talk, say, talk};
use super::samples::{
    Life, at, bare, delivery, in_lane, line, notice, outbox_change, push, receiver, sent, task_id, used,
};
use crate::{
    Change, ConversationQuery, DeliveryChange, DeliveryClaimRequest, DeliveryQuery, Disk, Expiry,
    JournalQuery, ProcessInfo, PushChange, RecordChange, RecordQuery, SettingChange, StorageQuery,
    StorageUse, Store, StoreStats, StoredRecord, TaskFilter,
};

/// Most steps of a history.
const STEPS: usize = 60;

/// How long a process lives without a renewal.
const TTL: Duration = Duration::from_secs(60);

/// Two callers without a key at one address, a key and the local caller.
const OWNERS: [&str; 4] = ["local", "key:a", "anon:192.0.2.1#one", "anon:192.0.2.1#two"];

/// One thing that a process does to the store.
#[derive(Debug, Clone)]
pub enum Operation {
    Open { task: u64, owner: usize, message: Option<u8> },
    Go { task: u64, state: usize, events: usize, skip: u64, message: Option<u8> },
    Line { text: u8, task: Option<u64> },
    Enqueue { due: i64, lane: Option<bool> },
    Receiver { task: u64, other: bool, stays: bool },
    Claim { now: i64, limit: usize },
    Settle { id: u64, how: u8 },
    Use { tokens: u64 },
    Expire { before: i64, keep: usize, portion: usize, journal: i64, anonymous: i64, bytes: u64 },
    Setting { name: u8, owner: usize, length: Option<usize> },
    Record { key: u8, revision: u64, length: Option<usize> },
    Talk { number: u64, owner: usize },
    Say { number: u64, task: u64 },
    Join,
    Leave,
    Renew,
    Pass { seconds: u64 },
    Acquire { lease: bool },
    Adopt { task: u64 },
}

/// Histories of so many processes: who does what, in order.
pub fn histories(processes: usize) -> impl Strategy<Value = Vec<(usize, Operation)>> {
    proptest::collection::vec((0..processes, operation()), 1..STEPS)
}

fn operation() -> impl Strategy<Value = Operation> {
    let message = || proptest::option::of(0..6u8);
    prop_oneof![
        4 => (1..8u64, 0..4usize, message()).prop_map(|(task, owner, message)| Operation::Open { task, owner, message }),
        7 => (1..8u64, 0..8usize, 1..4usize, 0..10u64, message())
            .prop_map(|(task, state, events, skip, message)| Operation::Go { task, state, events, skip, message }),
        1 => (0..4u8, proptest::option::of(1..8u64)).prop_map(|(text, task)| Operation::Line { text, task }),
        2 => (0..50i64, proptest::option::of(any::<bool>())).prop_map(|(due, lane)| Operation::Enqueue { due, lane }),
        2 => (1..8u64, any::<bool>(), 0..4u8)
            .prop_map(|(task, other, stays)| Operation::Receiver { task, other, stays: stays > 0 }),
        2 => (0..60i64, 1..3usize).prop_map(|(now, limit)| Operation::Claim { now, limit }),
        2 => (1..9u64, 0..5u8).prop_map(|(id, how)| Operation::Settle { id, how }),
        1 => (0..1_000u64).prop_map(|tokens| Operation::Use { tokens }),
        1 => (0..40i64, 0..6usize, 1..4usize, 0..40i64, 0..40i64, 0..3_000u64)
            .prop_map(|(before, keep, portion, journal, anonymous, bytes)| Operation::Expire { before, keep, portion, journal, anonymous, bytes }),
        1 => (0..3u8, 0..4usize, proptest::option::of(0..90usize))
            .prop_map(|(name, owner, length)| Operation::Setting { name, owner, length }),
        2 => (0..3u8, 1..4u64, proptest::option::of(0..90usize))
            .prop_map(|(key, revision, length)| Operation::Record { key, revision, length }),
        1 => (1..3u64, 0..4usize).prop_map(|(number, owner)| Operation::Talk { number, owner }),
        1 => (1..3u64, 20..24u64).prop_map(|(number, task)| Operation::Say { number, task }),
        1 => Just(Operation::Join),
        1 => Just(Operation::Leave),
        1 => Just(Operation::Renew),
        1 => (1..50u64).prop_map(|seconds| Operation::Pass { seconds }),
        1 => any::<bool>().prop_map(|lease| Operation::Acquire { lease }),
        1 => (1..8u64).prop_map(|task| Operation::Adopt { task }),
    ]
}

fn lane_name(other: bool) -> &'static str {
    if other { "b" } else { "a" }
}

/// The change of an operation that is one.
async fn change_of(store: &dyn Store, moment: i64, operation: &Operation) -> Option<Change> {
    let maybe_sent = |change, message: &Option<u8>| match message {
        Some(message) => sent(change, &format!("m{message}"), message % 2),
        None => change,
    };
    Some(match operation {
        Operation::Open { task, owner, message } => {
            maybe_sent(Life::new(*task).owner(OWNERS[*owner]).open(), message)
        }
        Operation::Go { task, state, events, skip, message } => {
            let head = store.task(task_id(*task)).await.unwrap();
            let mut life = head.map_or_else(|| Life::new(*task), |head| Life { head });
            // Now and then from a number that is not the last.
            life.head.seq += u64::from(*skip == 0);
            let first = life.head.seq + 1;
            let change = maybe_sent(life.go(TaskState::ALL[*state], moment, *events), message);
            change.edit(notice(*task, &(first..=life.head.seq).collect::<Vec<_>>()))
        }
        Operation::Line { text, task } => {
            let mut told = crate::engine::Parts::of(line(moment, &format!("line {text}\0\u{1a}"))).unwrap();
            told.journal[0].task = task.map(task_id);
            told.journal[0].subject = told.journal[0].implied_subject();
            Change::new(told.journal.remove(0))
        }
        Operation::Enqueue { due, lane: None } => outbox_change(DeliveryChange::Add(delivery("news", *due))),
        Operation::Enqueue { due, lane: Some(lane) } => {
            outbox_change(DeliveryChange::Add(in_lane(lane_name(*lane), "news", *due)))
        }
        Operation::Receiver { task, other, stays: true } => {
            push(PushChange::Put(task_id(*task), receiver(lane_name(*other))))
        }
        Operation::Receiver { task, other, stays: false } => {
            push(PushChange::Remove(task_id(*task), lane_name(*other).into()))
        }
        Operation::Settle { id, how } => outbox_change(match how {
            0 => DeliveryChange::Done(*id),
            1 => DeliveryChange::Retry { id: *id, due: at(moment), error: "no".into() },
            2 => DeliveryChange::Defer { id: *id, due: at(moment) },
            3 => DeliveryChange::Replay { id: *id, due: at(moment), deadline: at(moment + 50) },
            _ => DeliveryChange::Dead { id: *id, error: "never".into() },
        }),
        Operation::Use { tokens } => used("echo", 1, *tokens),
        Operation::Setting { name, owner, length } => {
            let owner = (*owner > 0).then(|| OWNERS[*owner].parse().unwrap());
            let value = length.map(|length| "x".repeat(length));
            bare().edit(SettingChange { name: format!("s{name}"), value, owner })
        }
        Operation::Record { key, revision, length } => bare().edit(match length {
            Some(length) => {
                let owner = Some("key:a".parse().unwrap());
                let record = StoredRecord::new(format!("k{key}"), owner, "y".repeat(*length));
                RecordChange::Put {
                    collection: "things",
                    record: StoredRecord { revision: *revision, ..record },
                }
            }
            None => {
                RecordChange::Remove { collection: "things", key: format!("k{key}"), revision: *revision }
            }
        }),
        Operation::Talk { number, owner } => {
            put_talk(&talk(*number, OWNERS[*owner], &format!("talk {number}")))
        }
        Operation::Say { number, task } => {
            let id = talk(*number, "local", "").id;
            let mut now = store.conversation(id).await.unwrap()?;
            let parent = now.head.and_then(|head| (20..24).find(|number| task_id(*number) == head));
            // A conversation that was only put has had its first revision.
            now.turns = now.turns.max(1);
            say(&mut now, parent, *task, "天气 and words")
        }
        _ => return None,
    })
}

/// Does one thing and says what came of it, as text that must be the same for both stores.
pub async fn act(store: &dyn Store, moment: i64, operation: &Operation) -> String {
    if let Some(change) = change_of(store, moment, operation).await {
        return format!("{:?}", store.commit(change).await);
    }
    match operation {
        Operation::Claim { now, limit } => {
            format!("{:?}", store.claim(DeliveryClaimRequest::all(at(*now), at(now + 5), *limit)).await)
        }
        Operation::Expire { before, keep, portion, journal, anonymous, bytes } => {
            let expiry = Expiry {
                now: at(*before),
                before: at(*before),
                keep: *keep,
                portion: *portion,
                journal_before: at(*journal),
                journal_bytes: bytes / 4,
                anonymous_before: at(*anonymous),
                anonymous_bytes: *bytes,
                anonymous_spare: at(anonymous + 5),
            };
            format!("{:?}", store.expire(expiry).await)
        }
        Operation::Join => {
            let info = ProcessInfo { name: "p".into(), version: "1".into() };
            format!("{:?}", store.join(info, TTL).await)
        }
        Operation::Leave => format!("{:?}", store.leave().await),
        Operation::Renew => {
            let died = store.renew(TTL, None).await;
            format!(
                "{:?}",
                died.map(|all| all
                    .into_iter()
                    .map(|one| (one.id, one.leases, one.tasks))
                    .collect::<Vec<_>>())
            )
        }
        Operation::Acquire { lease } => format!("{:?}", store.acquire(lane_name(*lease)).await),
        Operation::Adopt { task } => {
            format!("{:?}", store.adopt(vec![task_id(*task), task_id(task + 1)]).await)
        }
        _ => String::new(),
    }
}

/// Everything that can be read, as one text. It claims what is due, so ask all stores equally often.
pub async fn everything(store: &dyn Store) -> String {
    let mut told = content(store).await;
    let claimed = DeliveryClaimRequest::all(at(99), at(99), 500);
    told.push_str(&format!("{:?}\n", store.claim(claimed).await));
    let processes = store.processes().await.unwrap();
    let shown: Vec<_> = processes.into_iter().map(|one| (one.id, one.leases, one.tasks)).collect();
    told.push_str(&format!("{shown:?}\n{:?}\n", store.orphans(None, 100).await));
    told.push_str(&format!("{:?}\n", store.open_tasks().await));
    told
}

/// Everything but what belongs to processes, as one text; it changes nothing.
pub async fn content(store: &dyn Store) -> String {
    let mut told = lists(store).await;
    for task in 1..8 {
        told.push_str(&format!("{:?}\n", store.push_configs(task_id(task)).await));
        for (after, limit) in [(0, 100), (2, 2)] {
            told.push_str(&format!("{:?}\n", store.events(task_id(task), after, limit).await));
        }
    }
    for message in 0..6 {
        let (owner, message) =
            ("local".parse::<Principal>().unwrap(), format!("m{message}").parse().unwrap());
        told.push_str(&format!("{:?}\n", store.sent(&owner, &"echo".parse().unwrap(), &message).await));
    }
    let sums = StorageQuery { largest: 9, ..StorageQuery::default() };
    let counted = StorageUse { disk: Disk::default(), ..store.storage(sums.clone()).await.unwrap() };
    let again = store.storage(StorageQuery { recount: true, ..sums }).await.unwrap();
    assert_eq!(counted, StorageUse { disk: Disk::default(), ..again }, "the sums are those of a recount");
    told.push_str(&format!("{counted:?}\n"));
    let waiting = DeliveryQuery { limit: 500, ..DeliveryQuery::default() };
    told.push_str(&format!("{:?}\n", store.outbox(waiting).await));
    let lines = store.journal(JournalQuery { limit: 100, ..JournalQuery::default() }).await;
    told.push_str(&format!("{lines:?}\n{:?}\n", store.usage(&"echo".parse().unwrap(), 1).await));
    told.push_str(&format!("{:?}\n", store.records(RecordQuery::of("things", 10)).await));
    for text in [None, Some("天".to_owned()), Some("words tal".to_owned())] {
        let query = ConversationQuery { owner: "local".parse().unwrap(), text };
        told.push_str(&format!("{:?}\n", store.conversations(query, None, 10).await));
    }
    let stats = StoreStats { bytes: 0, log_bytes: 0, schema: 0, commits: 0, ..store.stats().await.unwrap() };
    told.push_str(&format!("{stats:?}\n"));
    told
}

/// Tasks by every filter, page by page.
async fn lists(store: &dyn Store) -> String {
    let mut told = String::new();
    for filter in [
        TaskFilter::default(),
        TaskFilter { owner: Some("key:a".parse::<Principal>().unwrap()), ..TaskFilter::default() },
        TaskFilter { states: vec![TaskState::Working, TaskState::Failed], ..TaskFilter::default() },
        TaskFilter { context: Some("c3".parse().unwrap()), ..TaskFilter::default() },
        TaskFilter {
            agent: Some("echo".parse().unwrap()),
            updated_since: Some(at(20)),
            ..TaskFilter::default()
        },
    ] {
        let mut after = None;
        loop {
            let page = store.tasks(filter.clone(), after, 2).await.unwrap();
            told.push_str(&format!("{page:?}\n"));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    told
}

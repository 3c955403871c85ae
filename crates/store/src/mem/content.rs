//! What a store holds, as plain maps: the shortest statement of what every store must do.
//!
//! Promises: `apply` checks all guards before it writes anything. Every query is written for clearness and looks at
//! everything it holds; it deliberately has no index.

use std::collections::{BTreeMap, HashMap, VecDeque};

use agentsite_protocol::{
    AgentName, KeyId, MessageId, Owner, PushConfig, TaskEvent, TaskHead, TaskId, Timestamp, Usage,
};

use crate::sqlite::REDACTED;
use crate::{
    Change, ClaimRequest, Claims, ConversationChange, Expiry, JournalQuery, KeyChange, KeyRecord, Notice,
    OutboxQuery, Page, Parcel, PushChange, StorageLimits, StoreError, StoreStats, StoredLine, TaskChange,
    TaskCursor, TaskFilter, TaskHistory, UsageChange, other_root,
};

use crate::storage::{fixed, is_anonymous};

use super::conversations::Conversations;
use super::listings::Listings;
use super::outbox::Outbox;
use super::records::Records;

type SentId = (Owner, AgentName, MessageId);

#[derive(Default)]
pub(super) struct Content {
    pub(super) tasks: BTreeMap<TaskId, Kept>,
    sent: HashMap<SentId, (TaskId, [u8; 16])>,
    pub(super) journal: VecDeque<StoredLine>,
    lines: u64,
    pub(super) push: BTreeMap<(TaskId, String), PushConfig>,
    pub(super) outbox: Outbox,
    keys: BTreeMap<KeyId, KeyRecord>,
    pub(super) settings: BTreeMap<String, (String, Option<Owner>)>,
    pub(super) records: Records,
    pub(super) listings: Listings,
    pub(super) conversations: Conversations,
    usage: BTreeMap<(AgentName, i64), Usage>,
}

/// A task with its events, one list per commit.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) head: TaskHead,
    /// What its events take.
    pub(super) bytes: u64,
    commits: Vec<Vec<TaskEvent>>,
    expires_at: Option<Timestamp>,
    /// Whether it is a turn of a conversation, which keeps it.
    kept: bool,
}

impl Content {
    pub(super) fn apply(&mut self, change: Change, limits: StorageLimits) -> Result<(), StoreError> {
        if let Some(task) = &change.task {
            self.guard(task)?;
        }
        self.conversations.guard(&change.conversations)?;
        self.listings.guard(&change.listings)?;
        self.records.guard(&change.records)?;
        self.guard_storage(&change, limits)?;
        self.records.change(change.records);
        self.listings.change(change.listings);
        if let Some(task) = change.task {
            self.put_task(task);
        }
        for one in change.conversations {
            self.talk(one);
        }
        for line in change.journal {
            self.lines += 1;
            self.journal.push_back(StoredLine { seq: self.lines, line });
        }
        change.push.into_iter().for_each(|change| self.change_push(change));
        change.notice.iter().for_each(|notice| self.notify(notice));
        change.outbox.into_iter().for_each(|change| self.outbox.change(change));
        change.keys.into_iter().for_each(|change| self.change_key(change));
        for setting in change.settings {
            match setting.value {
                Some(value) => self.settings.insert(setting.name, (value, setting.owner)),
                None => self.settings.remove(&setting.name),
            };
        }
        change.usage.into_iter().for_each(|change| self.add_usage(change));
        for id in change.forget {
            let ended = self.tasks.get_mut(&id).filter(|kept| kept.head.state.is_terminal() && !kept.kept);
            ended.into_iter().for_each(|kept| kept.expires_at = Some(Timestamp::from_millis(0)));
        }
        Ok(())
    }

    fn guard(&self, change: &TaskChange) -> Result<(), StoreError> {
        if let Some(key) = &change.sent {
            let id = (key.owner.clone(), key.agent.clone(), key.message.clone());
            if let Some((task, body)) = self.sent.get(&id) {
                return Err(StoreError::Duplicate { task: *task, same_body: *body == key.body_hash });
            }
        }
        let found = self.tasks.get(&change.head.id).map_or(0, |kept| kept.head.seq);
        if found != change.expect_seq {
            return Err(StoreError::Stale { task: change.head.id, expected: change.expect_seq, found });
        }
        let root = |head: &TaskHead| {
            (head.created_at, head.parent, head.agent.clone(), head.owner.clone(), head.context.clone())
        };
        match self.tasks.get(&change.head.id) {
            Some(kept) if root(&kept.head) != root(&change.head) => Err(other_root(change.head.id)),
            _ => Ok(()),
        }
    }

    fn put_task(&mut self, change: TaskChange) {
        let id = change.head.id;
        if let Some(key) = change.sent {
            self.sent.insert((key.owner, key.agent, key.message), (id, key.body_hash));
        }
        let kept = self.tasks.entry(id).or_insert_with(|| Kept {
            head: change.head.clone(),
            bytes: 0,
            commits: Vec::new(),
            expires_at: None,
            kept: false,
        });
        kept.head = change.head;
        kept.expires_at = change.expires_at.or(kept.expires_at);
        kept.bytes += size(&change.events);
        kept.commits.push(change.events);
    }

    fn talk(&mut self, change: ConversationChange) {
        if let Some(kept) = change.keeps().and_then(|task| self.tasks.get_mut(&task)) {
            kept.kept = true;
        }
        for task in self.conversations.change(change) {
            if let Some(kept) = self.tasks.get_mut(&task) {
                (kept.kept, kept.expires_at) = (false, Some(Timestamp::from_millis(0)));
            }
        }
    }

    fn change_push(&mut self, change: PushChange) {
        match change {
            // A task that is gone gets no receivers that nobody would ever remove.
            PushChange::Put(task, config) if self.tasks.contains_key(&task) => {
                self.push.insert((task, config.id.clone()), config);
            }
            PushChange::Put(..) => {}
            PushChange::Remove(task, id) => {
                self.outbox.clear(task, Some(&id));
                self.push.remove(&(task, id));
            }
        }
    }

    fn notify(&mut self, notice: &Notice) {
        let configs: Vec<String> = self.configs_of(notice.task).map(|((_, id), _)| id.clone()).collect();
        let owner = self.tasks.get(&notice.task).map(|kept| kept.head.owner.clone());
        let account = owner.as_ref().map_or("", Owner::account);
        for row in configs.iter().flat_map(|config| notice.rows(account, config)) {
            self.outbox.add(row);
        }
    }

    fn change_key(&mut self, change: KeyChange) {
        match change {
            KeyChange::Put(key) => drop(self.keys.insert(key.id.clone(), key)),
            KeyChange::Used(id, at) => {
                if let Some(key) = self.keys.get_mut(&id) {
                    key.last_used_at = Some(at);
                }
            }
            KeyChange::Remove(id) => drop(self.keys.remove(&id)),
        }
    }

    fn add_usage(&mut self, change: UsageChange) {
        let sum = self.usage.entry((change.agent, change.day)).or_default();
        sum.add(change.usage);
        *sum = bounded(*sum);
    }

    pub(super) fn task(&self, id: TaskId) -> Option<TaskHead> {
        self.tasks.get(&id).map(|kept| kept.head.clone())
    }

    pub(super) fn events(&self, id: TaskId, after: u64, limit: usize) -> Vec<TaskEvent> {
        let mut events = Vec::new();
        for commit in self.tasks.get(&id).map_or(&[][..], |kept| &kept.commits) {
            if events.len() >= limit.max(1) {
                break;
            }
            events.extend(commit.iter().filter(|event| event.seq > after).cloned());
        }
        events
    }

    pub(super) fn histories(&self, ids: &[TaskId], events: usize, started: usize) -> Vec<TaskHistory> {
        let mut histories: Vec<TaskHistory> = Vec::new();
        let mut total = 0;
        for id in ids {
            if !histories.is_empty() && total >= events {
                break;
            }
            let filter = TaskFilter { parent: Some(*id), ..TaskFilter::default() };
            let children = if started == 0 { Vec::new() } else { self.tasks(&filter, None, started).items };
            let history = TaskHistory { id: *id, events: self.events(*id, 0, usize::MAX), started: children };
            total += history.events.len();
            histories.push(history);
        }
        histories
    }

    pub(super) fn sent(&self, owner: &Owner, agent: &AgentName, message: &MessageId) -> Option<TaskId> {
        self.sent.get(&(owner.clone(), agent.clone(), message.clone())).map(|(task, _)| *task)
    }

    pub(super) fn tasks(
        &self,
        filter: &TaskFilter,
        after: Option<TaskCursor>,
        limit: usize,
    ) -> Page<TaskHead, TaskCursor> {
        let heads = self.tasks.values().map(|kept| &kept.head);
        let past = |head: &TaskHead| after.is_none_or(|c| (head.updated_at, head.id) < (c.updated_at, c.id));
        let mut items: Vec<TaskHead> =
            heads.filter(|head| past(head) && filter.fits(head)).cloned().collect();
        items.sort_by_key(|head| std::cmp::Reverse((head.updated_at, head.id)));
        Page::cut(items, limit)
    }

    pub(super) fn count_tasks(&self, filter: &TaskFilter) -> u64 {
        self.tasks.values().filter(|kept| filter.fits(&kept.head)).count() as u64
    }

    pub(super) fn open_tasks(&self) -> Vec<TaskHead> {
        let heads = self.tasks.values().map(|kept| &kept.head);
        let mut open: Vec<TaskHead> = heads.filter(|head| !head.state.is_terminal()).cloned().collect();
        open.sort_by_key(|head| (head.created_at, head.id));
        open
    }

    pub(super) fn journal(&self, query: &JournalQuery) -> Vec<StoredLine> {
        let text = query.text.as_ref().map(|text| text.to_ascii_lowercase());
        let says = |stored: &StoredLine| {
            text.as_ref().is_none_or(|text| stored.line.text.to_ascii_lowercase().contains(text))
        };
        let fits = |stored: &&StoredLine| query.fits(stored) && says(stored);
        self.journal.iter().rev().filter(fits).take(query.limit).cloned().collect()
    }

    pub(super) fn keys(&self) -> Vec<KeyRecord> {
        let mut keys: Vec<KeyRecord> = self.keys.values().cloned().collect();
        keys.sort_by(|one, two| (one.created_at, &one.id).cmp(&(two.created_at, &two.id)));
        keys
    }

    pub(super) fn key(&self, id: &KeyId) -> Option<KeyRecord> {
        self.keys.get(id).cloned()
    }

    pub(super) fn setting(&self, name: &str) -> Option<String> {
        self.settings.get(name).map(|(value, _)| value.clone())
    }

    pub(super) fn usage(&self, agent: &AgentName, day: i64) -> Usage {
        self.usage.get(&(agent.clone(), day)).copied().unwrap_or_default()
    }

    pub(super) fn push_configs(&self, task: TaskId) -> Vec<PushConfig> {
        self.configs_of(task).map(|(_, config)| config.clone()).collect()
    }

    fn configs_of(&self, task: TaskId) -> impl Iterator<Item = (&(TaskId, String), &PushConfig)> {
        self.push.iter().filter(move |((of, _), _)| *of == task)
    }

    pub(super) fn outbox(&self, query: &OutboxQuery) -> Vec<Parcel> {
        self.outbox.list(query)
    }

    pub(super) fn claim(&mut self, request: &ClaimRequest) -> Claims {
        self.outbox.claim(request)
    }

    pub(super) fn expire(&mut self, expiry: Expiry) -> usize {
        let ended = self.tasks.values().filter(|kept| kept.head.state.is_terminal() && !kept.kept);
        let mut ended: Vec<(Timestamp, TaskId)> =
            ended.map(|kept| (kept.head.updated_at, kept.head.id)).collect();
        ended.sort_unstable();
        let too_many = ended.len().saturating_sub(expiry.keep);
        ended.retain(|(_, id)| !self.outbox.holds(*id));
        let old = ended.iter().take_while(|(updated_at, _)| *updated_at < expiry.before).count();
        let go = old.max(too_many).min(ended.len()).min(expiry.portion);
        let mut gone: Vec<TaskId> = ended[..go].iter().map(|(_, id)| *id).collect();
        let over = self.tasks.values().filter(|kept| kept.head.state.is_terminal());
        let mut over: Vec<(Timestamp, TaskId)> =
            over.filter_map(|kept| Some((kept.expires_at?, kept.head.id))).collect();
        over.retain(|(at, id)| *at <= expiry.now && !self.outbox.holds(*id));
        over.sort_unstable();
        over.truncate(expiry.portion - go);
        let room = expiry.portion - go - over.len();
        let anonymous = self.anonymous(expiry.anonymous_before).into_iter().take(room);
        for id in over.into_iter().map(|(_, id)| id).chain(anonymous) {
            if !gone.contains(&id) {
                gone.push(id);
            }
        }
        gone.iter().for_each(|id| self.remove(*id));
        while gone.len() < expiry.portion
            && self.accounts(StorageLimits::default()).anonymous() > expiry.anonymous_bytes
        {
            let Some(id) = self.anonymous(expiry.anonymous_spare).first().copied() else { break };
            self.remove(id);
            gone.push(id);
        }
        self.records.expire(expiry.now);
        for _ in 0..expiry.lines() {
            let too_many = expiry.journal_bytes < u64::MAX
                && self.accounts(StorageLimits::default()).journal() > expiry.journal_bytes;
            let old = self.journal.front().is_some_and(|stored| stored.line.at < expiry.journal_before);
            if self.journal.len() <= 1 || !(old || too_many) {
                break;
            }
            self.journal.pop_front();
        }
        self.outbox.bury(&expiry);
        gone.len()
    }

    /// Ended tasks of callers without a key that may go and were last changed before then, the oldest first.
    fn anonymous(&self, before: Timestamp) -> Vec<TaskId> {
        let goes = |kept: &&Kept| {
            let Kept { head, kept, .. } = kept;
            head.state.is_terminal() && !kept && is_anonymous(head.owner.as_str()) && head.updated_at < before
        };
        let mut ids: Vec<(Timestamp, TaskId)> =
            self.tasks.values().filter(goes).map(|kept| (kept.head.updated_at, kept.head.id)).collect();
        ids.retain(|(_, id)| !self.outbox.holds(*id));
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id).collect()
    }

    /// Removes a task with everything that belongs to it.
    fn remove(&mut self, id: TaskId) {
        for stored in self.journal.iter_mut().filter(|stored| stored.line.task == Some(id)) {
            REDACTED.clone_into(&mut stored.line.text);
        }
        self.tasks.remove(&id);
        self.sent.retain(|_, (task, _)| *task != id);
        self.push.retain(|(task, _), _| *task != id);
        self.outbox.clear(id, None);
    }

    pub(super) fn stats(&self) -> StoreStats {
        let (outbox, dead) = self.outbox.counts();
        StoreStats {
            tasks: self.tasks.len() as u64,
            open_tasks: self.open_tasks().len() as u64,
            journal_lines: self.journal.len() as u64,
            outbox,
            dead,
            bytes: 0,
            ..StoreStats::default()
        }
    }
}

/// What the events of one commit take.
pub(super) fn size(events: &[TaskEvent]) -> u64 {
    fixed::EVENTS + serde_json::to_string(events).map_or(0, |body| body.len() as u64)
}

/// Sums end where a column of a database ends, so that all stores end at the same number.
fn bounded(usage: Usage) -> Usage {
    const END: u64 = i64::MAX as u64;
    Usage {
        input_tokens: usage.input_tokens.min(END),
        output_tokens: usage.output_tokens.min(END),
        turns: usage.turns.min(END),
        calls: usage.calls.min(END),
    }
}

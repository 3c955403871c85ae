//! Tasks in memory: one map by id, with the events of each commit.
//!
//! Promises: the shortest statement of what every store must do with tasks; every query looks at all of them.

use agentsite_protocol::{AgentName, MessageId, Principal, TaskEvent, TaskHead, TaskId, Usage};

use super::MemStore;
use super::content::{Content, MemTask};
use crate::storage::fixed;
use crate::{
    Page, ProcessId, Reply, StoreError, TaskChange, TaskCursor, TaskFilter, TaskHistory, TaskReads,
    UsageChange, other_root,
};

impl TaskReads for MemStore {
    fn task(&self, id: TaskId) -> Reply<'_, Option<TaskHead>> {
        self.reply(|content| content.task(id))
    }

    fn events(&self, id: TaskId, after: u64, limit: usize) -> Reply<'_, Vec<TaskEvent>> {
        self.reply(|content| content.events(id, after, limit))
    }

    fn histories(&self, ids: Vec<TaskId>, events: usize, started: usize) -> Reply<'_, Vec<TaskHistory>> {
        self.reply(|content| content.histories(&ids, events, started))
    }

    fn sent(&self, owner: &Principal, agent: &AgentName, message: &MessageId) -> Reply<'_, Option<TaskId>> {
        self.reply(|content| content.sent(owner, agent, message))
    }

    fn tasks(
        &self,
        filter: TaskFilter,
        after: Option<TaskCursor>,
        limit: usize,
    ) -> Reply<'_, Page<TaskHead, TaskCursor>> {
        self.reply(|content| content.tasks(&filter, after, limit))
    }

    fn count_tasks(&self, filter: TaskFilter) -> Reply<'_, u64> {
        self.reply(|content| content.count_tasks(&filter))
    }

    fn open_tasks(&self) -> Reply<'_, Vec<TaskHead>> {
        self.reply(|content| content.open_tasks())
    }

    fn usage(&self, agent: &AgentName, day: i64) -> Reply<'_, Usage> {
        self.reply(|content| content.usage(agent, day))
    }
}

impl Content {
    pub(super) fn guard(&self, change: &TaskChange, by: Option<ProcessId>) -> Result<(), StoreError> {
        if let Some(key) = &change.sent {
            let id = (key.owner.clone(), key.agent.clone(), key.message.clone());
            if let Some((task, body)) = self.sent.get(&id) {
                return Err(StoreError::Duplicate { task: *task, same_body: *body == key.body_hash });
            }
        }
        self.guard_holder(change.head.id, by)?;
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

    pub(super) fn put_task(&mut self, change: TaskChange, by: Option<ProcessId>) {
        let id = change.head.id;
        if let Some(key) = change.sent {
            self.sent.insert((key.owner, key.agent, key.message), (id, key.body_hash));
        }
        let kept = self.tasks.entry(id).or_insert_with(|| MemTask {
            head: change.head.clone(),
            bytes: 0,
            commits: Vec::new(),
            expires_at: None,
            kept: false,
            holder: None,
        });
        kept.head = change.head;
        kept.holder = by.filter(|_| !kept.head.state.is_settled() && !change.released);
        kept.expires_at = change.expires_at.or(kept.expires_at);
        kept.bytes += size(&change.events);
        kept.commits.push(change.events);
    }

    pub(super) fn add_usage(&mut self, change: UsageChange) {
        let sum = self.usage.entry((change.agent, change.day)).or_default();
        sum.add(change.usage);
        *sum = bounded(*sum);
    }

    fn task(&self, id: TaskId) -> Option<TaskHead> {
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

    pub(super) fn sent(&self, owner: &Principal, agent: &AgentName, message: &MessageId) -> Option<TaskId> {
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

    pub(super) fn usage(&self, agent: &AgentName, day: i64) -> Usage {
        self.usage.get(&(agent.clone(), day)).copied().unwrap_or_default()
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

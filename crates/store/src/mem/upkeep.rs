//! Upkeep in memory: expiry, and counts for people.
//!
//! Promises: removes what every store removes, in the same order. It writes no backup and has nothing to
//! scrub.

use std::future::ready;
use std::path::Path;
use std::sync::atomic::Ordering;

use agentsite_protocol::{TaskId, Timestamp};

use super::MemStore;
use super::content::{Content, MemTask};
use crate::sqlite::REDACTED;
use crate::storage::is_anonymous;
use crate::{Entity, Expiry, Reply, StorageLimits, StorageQuery, StorageUse, StoreError, StoreStats, Upkeep};

impl Upkeep for MemStore {
    fn expire(&self, expiry: Expiry) -> Reply<'_, usize> {
        Box::pin(ready(self.live().map(|mut inner| {
            let mut touched = Vec::new();
            let gone = inner.content.expire(expiry, &mut touched);
            inner.feed.publish(touched);
            gone
        })))
    }

    fn scrub(&self) -> Reply<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    fn backup(&self, _: &Path) -> Reply<'_, ()> {
        let refusal = "a store in memory has no file to copy: run the site with a data folder";
        Box::pin(ready(Err(StoreError::Engine(refusal.into()))))
    }

    fn stats(&self) -> Reply<'_, StoreStats> {
        self.reply(|content| content.stats())
    }

    fn storage(&self, query: StorageQuery) -> Reply<'_, StorageUse> {
        let limits = self.lock().limits;
        self.reply(|content| content.accounts(limits).view(&query))
    }

    fn close(&self) -> Reply<'_, ()> {
        Box::pin(async move {
            if let Ok(mut inner) = self.live() {
                inner.sync();
                self.handle.closed.store(true, Ordering::Relaxed);
            }
            Ok(())
        })
    }
}

impl Content {
    fn expire(&mut self, expiry: Expiry, touched: &mut Vec<Entity>) -> usize {
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
        let space = expiry.portion - go - over.len();
        let anonymous = self.anonymous(expiry.anonymous_before).into_iter().take(space);
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
        touched.extend(gone.iter().copied().map(Entity::Task));
        touched.extend(self.records.expire(expiry.now));
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
        let goes = |kept: &&MemTask| {
            let MemTask { head, kept, .. } = kept;
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

    fn stats(&self) -> StoreStats {
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

//! Processes in memory: several handles on one content, each a process of its own.
//!
//! Promises: the shortest statement of the rules in `process`; a store that was not made to be shared knows
//! no processes. Time moves only when a test moves it, or with the clock that the store was made with.

use std::collections::BTreeSet;
use std::future::ready;
use std::time::Duration;

use agentsite_protocol::{TaskHead, TaskId, Timestamp};

use super::MemStore;
use super::content::{Content, MemTask};
use crate::process::{check_lease, check_report};
use crate::query::MAX_PAGE;
use crate::{ProcessId, ProcessInfo, ProcessReads, ProcessView, Reply, StoreError};

impl ProcessReads for MemStore {
    fn join(&self, info: ProcessInfo, ttl: Duration) -> Reply<'_, Option<ProcessId>> {
        Box::pin(ready(self.join_now(info, ttl)))
    }

    fn renew(&self, ttl: Duration, report: Option<String>) -> Reply<'_, Vec<ProcessView>> {
        let process = self.process();
        let renewed = check_report(report.as_deref()).and_then(|()| {
            self.shared_at(Vec::new(), |content, now| {
                let may_judge = content.processes.renew(process, now, ttl, report)?;
                Ok(if may_judge { content.declare_dead(process, now) } else { Vec::new() })
            })
        });
        Box::pin(ready(renewed))
    }

    fn leave(&self) -> Reply<'_, ()> {
        let process = self.process();
        Box::pin(ready(self.shared_at((), |content, _| {
            process.and_then(|process| content.processes.living.remove(&process));
            Ok(())
        })))
    }

    fn processes(&self) -> Reply<'_, Vec<ProcessView>> {
        Box::pin(ready(self.shared_at(Vec::new(), |content, _| {
            Ok(content.processes.living.keys().map(|process| content.view(*process)).collect())
        })))
    }

    fn acquire(&self, lease: &str) -> Reply<'_, bool> {
        let process = self.process();
        let acquire = |content: &mut Content, _| content.processes.acquire(process, lease);
        Box::pin(ready(check_lease(lease).and_then(|()| self.shared_at(true, acquire))))
    }

    fn release(&self, lease: &str) -> Reply<'_, ()> {
        let process = self.process();
        Box::pin(ready(self.shared_at((), |content, _| {
            let own = process.and_then(|process| content.processes.living.get_mut(&process));
            if let Some(own) = own {
                own.leases.remove(lease);
            }
            Ok(())
        })))
    }

    fn orphans(&self, after: Option<TaskId>, limit: usize) -> Reply<'_, Vec<TaskHead>> {
        Box::pin(ready(self.shared_at(Vec::new(), |content, _| Ok(content.orphans(after, limit)))))
    }

    fn adopt(&self, tasks: Vec<TaskId>) -> Reply<'_, Vec<TaskHead>> {
        let process = self.process();
        Box::pin(ready(self.shared_at(Vec::new(), |content, _| content.adopt(process, &tasks))))
    }
}

impl MemStore {
    fn join_now(&self, info: ProcessInfo, ttl: Duration) -> Result<Option<ProcessId>, StoreError> {
        info.check()?;
        let joined = self.shared_at(None, |content, now| {
            self.process().and_then(|before| content.processes.living.remove(&before));
            Ok(Some(content.processes.join(info, now, ttl)))
        })?;
        joined.into_iter().for_each(|process| self.become_process(process));
        Ok(joined)
    }

    /// Looks at a shared content with the time by which leases count; gives `alone` for one that is not
    /// shared.
    fn shared_at<T>(
        &self,
        alone: T,
        look: impl FnOnce(&mut Content, Timestamp) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut inner = self.live()?;
        if !inner.shared {
            return Ok(alone);
        }
        let now = inner.clock.as_ref().map_or(Timestamp::from_millis(0), |clock| clock.now());
        let now = now.plus(inner.passed);
        look(&mut inner.content, now)
    }
}

impl Content {
    /// Refuses a change of a process that is not living.
    pub(super) fn guard_process(&self, by: Option<ProcessId>) -> Result<(), StoreError> {
        match by {
            Some(process) if !self.processes.is_living(process) => Err(StoreError::Fenced),
            _ => Ok(()),
        }
    }

    /// Refuses a change of a task that another living process holds.
    pub(super) fn guard_holder(&self, task: TaskId, by: Option<ProcessId>) -> Result<(), StoreError> {
        match self.tasks.get(&task).and_then(|kept| self.holder(kept)) {
            Some(process) if Some(process) != by => Err(StoreError::Held { task, process }),
            _ => Ok(()),
        }
    }

    fn holder(&self, kept: &MemTask) -> Option<ProcessId> {
        kept.holder.filter(|holder| self.processes.is_living(*holder))
    }

    fn is_orphan(&self, kept: &MemTask) -> bool {
        !kept.head.state.is_settled() && self.holder(kept).is_none()
    }

    fn orphans(&self, after: Option<TaskId>, limit: usize) -> Vec<TaskHead> {
        let rest = self.tasks.values().filter(|kept| after.is_none_or(|after| kept.head.id > after));
        let free = rest.filter(|kept| self.is_orphan(kept)).map(|kept| kept.head.clone());
        free.take(limit.clamp(1, MAX_PAGE)).collect()
    }

    fn adopt(&mut self, by: Option<ProcessId>, tasks: &[TaskId]) -> Result<Vec<TaskHead>, StoreError> {
        self.processes.own(by)?;
        let wanted: BTreeSet<&TaskId> = tasks.iter().collect();
        let free =
            wanted.into_iter().filter(|id| self.tasks.get(id).is_some_and(|kept| self.is_orphan(kept)));
        let free: Vec<TaskId> = free.copied().collect();
        let take = |id: TaskId| {
            let kept = self.tasks.get_mut(&id)?;
            kept.holder = by;
            Some(kept.head.clone())
        };
        Ok(free.into_iter().filter_map(take).collect())
    }

    /// Removes every other process whose time has passed, and gives what those had.
    fn declare_dead(&mut self, by: Option<ProcessId>, now: Timestamp) -> Vec<ProcessView> {
        let others = self.processes.living.iter().filter(|(id, _)| Some(**id) != by);
        let dead: Vec<ProcessId> =
            others.filter(|(_, other)| other.until <= now).map(|(id, _)| *id).collect();
        let views = dead.iter().map(|process| self.view(*process)).collect();
        dead.iter().for_each(|process| drop(self.processes.living.remove(process)));
        views
    }

    fn view(&self, id: ProcessId) -> ProcessView {
        let process = &self.processes.living[&id];
        ProcessView {
            id,
            info: process.info.clone(),
            report: process.report.clone(),
            joined_at: process.joined_at,
            renewed_at: process.renewed_at,
            until: process.until,
            leases: process.leases.iter().cloned().collect(),
            tasks: self.tasks.values().filter(|kept| self.holder(kept) == Some(id)).count() as u64,
        }
    }
}

//! The living processes of a content: who they are, until when they live, and which leases they have.
//!
//! Promises: numbers grow and are never used again; a lease has one holder. It knows no tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use agentsite_protocol::Timestamp;

use crate::{ProcessId, ProcessInfo, StoreError};

/// The living processes of a content.
#[derive(Default)]
pub(super) struct Processes {
    last: u64,
    pub(super) living: BTreeMap<ProcessId, MemProcess>,
}

/// A living process.
pub(super) struct MemProcess {
    pub(super) info: ProcessInfo,
    pub(super) report: String,
    pub(super) joined_at: Timestamp,
    pub(super) renewed_at: Timestamp,
    pub(super) until: Timestamp,
    /// Since when every renewal was in time.
    in_time_since: Timestamp,
    pub(super) leases: BTreeSet<String>,
}

impl Processes {
    pub(super) fn join(&mut self, info: ProcessInfo, now: Timestamp, ttl: Duration) -> ProcessId {
        self.last += 1;
        let process = MemProcess {
            info,
            report: String::new(),
            joined_at: now,
            renewed_at: now,
            until: now.plus(ttl),
            in_time_since: now,
            leases: BTreeSet::new(),
        };
        self.living.insert(ProcessId::new(self.last), process);
        ProcessId::new(self.last)
    }

    pub(super) fn is_living(&self, process: ProcessId) -> bool {
        self.living.contains_key(&process)
    }

    pub(super) fn own(&mut self, process: Option<ProcessId>) -> Result<&mut MemProcess, StoreError> {
        process.and_then(|process| self.living.get_mut(&process)).ok_or(StoreError::Fenced)
    }

    /// Gives whether the process has been in time for as long as it may live without a renewal, so that it
    /// may declare others dead.
    pub(super) fn renew(
        &mut self,
        process: Option<ProcessId>,
        now: Timestamp,
        ttl: Duration,
        report: Option<String>,
    ) -> Result<bool, StoreError> {
        let own = self.own(process)?;
        if now >= own.until {
            own.in_time_since = now;
        }
        (own.renewed_at, own.until) = (now, now.plus(ttl));
        own.report = report.unwrap_or_else(|| std::mem::take(&mut own.report));
        Ok(now >= own.in_time_since.plus(ttl))
    }

    pub(super) fn acquire(&mut self, process: Option<ProcessId>, lease: &str) -> Result<bool, StoreError> {
        self.own(process)?;
        let holder = self.living.iter().find(|(_, other)| other.leases.contains(lease)).map(|(id, _)| *id);
        if holder.is_none() {
            self.own(process)?.leases.insert(lease.to_owned());
        }
        Ok(holder.is_none_or(|holder| Some(holder) == process))
    }
}

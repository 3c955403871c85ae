//! The handle for admins: how the site fares, what happened, a copy of everything.
//!
//! Promises: nothing here changes an agent or a task; figures that are for admins are
//! refused to everybody else. What lies behind the door (connections, the process, its log) is `gateway`'s to
//! tell.

use std::path::Path;

use agentsite_protocol::{Caller, Ids, JournalKind, JournalLine, Timestamp};
use agentsite_store::{
    Change, Disk, JournalQuery, SharedStore, StorageQuery, StorageUse, StoreStats, StoredLine,
};
use agentsite_tasks::{Capability, CheckReport, TaskMetrics};
use serde::Serialize;

use super::finding::SearchStatus;
use super::process_status::ProcessStatus;
use super::{MAX_PAGE, admin_only};
use crate::{AgentView, BrokenAgent, SiteError, TaskFigures, WorkerView};

/// An admin changed something that has no line of its own.
const NOTE: JournalKind = JournalKind::new("site.note");

/// What operations contribute to a site.
pub(super) fn capability() -> Capability {
    Capability::new("operations").kinds(const { &[NOTE] })
}

/// Accounts that a status names: those with most, as many as fit a screen.
const LARGEST: usize = 10;

/// How a site fares, for admins.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// The site's name.
    pub name: String,
    /// Version of the program.
    pub version: &'static str,
    /// Since when it runs.
    pub started_at: Timestamp,
    /// Its agents.
    pub agents: Vec<AgentView>,
    /// Agent folders that could not be read.
    pub broken: Vec<BrokenAgent>,
    /// Its background work.
    pub workers: Vec<WorkerView>,
    /// What is stored.
    pub store: StoreStats,
    /// Who stores how much, and what they may.
    pub storage: StorageUse,
    /// The index of the agents.
    pub search: SearchStatus,
    /// Tasks that wait for a place or run now.
    pub live_tasks: usize,
    /// Every process that serves the site; none where one process does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessStatus>,
    /// What the capabilities found when they checked themselves just now.
    pub checks: Vec<CheckReport>,
}

/// What admins do and see of a site as a whole.
#[derive(Debug, Clone)]
pub struct Operations {
    pub(super) store: SharedStore,
    pub(super) ids: Ids,
    pub(super) metrics: TaskMetrics,
}

impl Operations {
    /// Lines of the journal, newest first.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins.
    pub async fn journal(
        &self,
        caller: &Caller,
        mut query: JournalQuery,
    ) -> Result<Vec<StoredLine>, SiteError> {
        admin_only(caller)?;
        query.limit = query.limit.clamp(1, MAX_PAGE);
        Ok(self.store.journal(query).await?)
    }

    /// How many bytes are stored, by whom most, and the limits.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins.
    pub async fn storage(&self, caller: &Caller) -> Result<StorageUse, SiteError> {
        admin_only(caller)?;
        let query = StorageQuery { largest: LARGEST, ..StorageQuery::default() };
        Ok(self.store.storage(query).await?)
    }

    /// How much space the disk has; it tells nothing about anybody.
    ///
    /// # Errors
    /// [`SiteError::Stopping`] when the store has stopped.
    pub async fn disk(&self) -> Result<Disk, SiteError> {
        Ok(self.store.storage(StorageQuery::default()).await?.disk)
    }

    /// Sums since the start. They tell nothing about anybody, so whoever holds the site may read them.
    #[must_use]
    pub fn figures(&self) -> TaskFigures {
        self.metrics.figures()
    }

    /// Writes a line into the journal about what somebody who runs the site did to it.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins.
    pub async fn note(&self, caller: &Caller, text: String) -> Result<(), SiteError> {
        admin_only(caller)?;
        let now = self.ids.clock().now();
        let line = JournalLine::new(NOTE, now, caller.owner().as_str(), text);
        Ok(self.store.commit(Change::new(line)).await?)
    }

    /// Writes a consistent copy of everything to a new file.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::Store`] when the file
    /// cannot be written.
    pub async fn backup(&self, caller: &Caller, to: &Path) -> Result<(), SiteError> {
        admin_only(caller)?;
        Ok(self.store.backup(to).await?)
    }
}

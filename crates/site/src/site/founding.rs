//! Founding: what a new site must remember and has not written yet.
//!
//! Promises: it goes into one transaction, that of the first admin token or of the first start, and is
//! written once. It does not make the keys that it writes.

use std::sync::Arc;

use agentsite_protocol::{Ids, JournalKind, JournalLine};
use agentsite_store::{Change, Edit, SharedStore, StoreError};
use agentsite_tasks::Capability;
use tokio::sync::{Mutex, MutexGuard};

/// The keys of a new site were written.
const FOUNDED: JournalKind = JournalKind::new("site.founded");

/// The keys of a new site until they are on disk.
#[derive(Debug)]
pub(super) struct Founding {
    store: SharedStore,
    ids: Ids,
    edits: Mutex<Vec<Edit>>,
}

impl Founding {
    pub(super) fn new(store: SharedStore, ids: Ids, edits: Vec<Edit>) -> Self {
        Self { store, ids, edits: Mutex::new(edits) }
    }

    /// What the founding contributes to a site.
    pub(super) fn capability(self: &Arc<Self>) -> Capability {
        let founding = self.clone();
        Capability::new("founding").kinds(const { &[FOUNDED] }).prepare(move || {
            let founding = founding.clone();
            async move { founding.commit().await }
        })
    }

    /// What is to be written, for a transaction that writes more.
    pub(super) async fn lock(&self) -> MutexGuard<'_, Vec<Edit>> {
        self.edits.lock().await
    }

    /// Writes what is left, such as a secret that an earlier version did not have.
    pub(super) async fn commit(&self) -> Result<(), StoreError> {
        let mut edits = self.edits.lock().await;
        if !edits.is_empty() {
            let now = self.ids.clock().now();
            let line = JournalLine::new(FOUNDED, now, "site", "wrote the keys of the site");
            self.store.commit(Change::new(line).edits(edits.clone())).await?;
            edits.clear();
        }
        Ok(())
    }
}

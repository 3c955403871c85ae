//! Where the libraries of a site keep their indexes: one folder for each agent.
//!
//! Promises: one writer at a time for each folder, also while an agent is being replaced by its next version;
//! the folder of a removed agent is removed with it. Everything here can be made again from the documents, so
//! losing it costs only time. It does not open an index: `reading` does.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentsite_protocol::AgentName;
use tokio::sync::{Mutex as WriteLock, OwnedMutexGuard};

/// The folders of all libraries' indexes.
#[derive(Debug)]
pub struct IndexFolders {
    /// Without it the indexes are in memory alone.
    root: Option<PathBuf>,
    // A std lock: held to look up one name.
    turns: Mutex<HashMap<AgentName, Arc<WriteLock<()>>>>,
}

/// The folder of one library's index.
#[derive(Debug)]
pub(super) struct IndexFolder {
    /// Without it the index is in memory alone.
    pub(super) path: Option<PathBuf>,
    turns: Arc<WriteLock<()>>,
}

/// The right to write in a folder; given back when the last clone is dropped.
pub(super) type WriteTurn = Arc<OwnedMutexGuard<()>>;

impl IndexFolders {
    /// The folders below `root`, or none: then indexes are in memory alone. Touches nothing.
    #[must_use]
    pub fn at(root: Option<PathBuf>) -> Self {
        Self { root, turns: Mutex::default() }
    }

    /// The folder of this agent.
    pub(super) fn folder_of(&self, agent: &AgentName) -> IndexFolder {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = turns.entry(agent.clone()).or_default().clone();
        IndexFolder { path: self.root.as_ref().map(|root| root.join(agent.as_str())), turns }
    }

    /// Removes the index of an agent that is no longer a library. Its runner must have been stopped.
    pub async fn clear(&self, agent: &AgentName) {
        let folder = self.folder_of(agent);
        let Some(path) = folder.path.clone() else { return };
        let _turn = folder.turn().await;
        remove(&path).await;
    }

    /// Removes the indexes of all agents but these, which were removed while the site was stopped.
    pub async fn keep_only(&self, agents: &[AgentName]) {
        let Some(root) = self.root.clone() else { return };
        let Ok(entries) = std::fs::read_dir(root) else { return };
        let known = |path: &Path| {
            agents.iter().any(|agent| path.file_name().is_some_and(|name| name == agent.as_str()))
        };
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| !known(path)) {
            remove(&path).await;
        }
    }
}

impl IndexFolder {
    /// Waits for the turn to write here.
    pub(super) async fn turn(&self) -> WriteTurn {
        Arc::new(self.turns.clone().lock_owned().await)
    }

    /// An index that is kept in memory alone.
    pub(super) fn none() -> Self {
        Self { path: None, turns: Arc::default() }
    }
}

async fn remove(folder: &Path) {
    match tokio::fs::remove_dir_all(folder).await {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let folder = folder.display();
            tracing::warn!("The index of a removed library could not be deleted from {folder}: {error}");
        }
        _ => {}
    }
}

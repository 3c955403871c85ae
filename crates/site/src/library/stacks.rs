//! Stacks: where the libraries of a site keep their indexes, one folder for each agent.
//!
//! Promises: one writer at a time for each folder, also while an agent is being replaced by its next version; what an agent leaves behind is removed with it. What lies here
//! can be made anew from the documents, so losing it costs time and nothing else. It does not open an index: `reading` does.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentsite_protocol::AgentName;
use tokio::sync::{Mutex as Turns, OwnedMutexGuard};

/// The indexes of all libraries.
#[derive(Debug)]
pub(crate) struct Stacks {
    /// In memory alone without it.
    root: Option<PathBuf>,
    // A std lock: held to look up one name.
    turns: Mutex<HashMap<AgentName, Arc<Turns<()>>>>,
}

/// The place of one library.
#[derive(Debug)]
pub(super) struct Room {
    /// Where its index lies; in memory alone without it.
    pub(super) folder: Option<PathBuf>,
    turns: Arc<Turns<()>>,
}

/// The right to write in a room; given back when the last clone is dropped.
pub(super) type Turn = Arc<OwnedMutexGuard<()>>;

impl Stacks {
    /// Names where the indexes lie; touches nothing.
    pub(crate) fn at(root: Option<PathBuf>) -> Self {
        Self { root, turns: Mutex::default() }
    }

    /// The place of this agent.
    pub(super) fn room(&self, agent: &AgentName) -> Room {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = turns.entry(agent.clone()).or_default().clone();
        Room { folder: self.root.as_ref().map(|root| root.join(agent.as_str())), turns }
    }

    /// Removes what an agent kept that is a library no more. Its runner must have been stopped.
    pub(crate) async fn clear(&self, agent: &AgentName) {
        let room = self.room(agent);
        let Some(folder) = room.folder.clone() else { return };
        let _turn = room.turn().await;
        remove(&folder).await;
    }

    /// Removes what agents left behind that went while the site was stopped.
    pub(crate) async fn keep_only(&self, agents: &[AgentName]) {
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

impl Room {
    /// Waits until nobody else writes here.
    pub(super) async fn turn(&self) -> Turn {
        Arc::new(self.turns.clone().lock_owned().await)
    }

    /// A place that is kept in memory alone, for stories.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { folder: None, turns: Arc::default() }
    }
}

async fn remove(folder: &Path) {
    match tokio::fs::remove_dir_all(folder).await {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let folder = folder.display();
            tracing::warn!(
                "The index of a library that is no more could not be removed from {folder}: {error}"
            );
        }
        _ => {}
    }
}

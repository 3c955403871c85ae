//! Work: what a handler uses to report progress, and to learn that its result is no longer needed.
//!
//! Promises: telling waits while the connection is busy, so that a fast handler is slowed down, not buffered.
//! It does not end the task: what the handler returns does.

use agentsite_protocol::agent_session::{FromAgent, Progress};
use agentsite_protocol::{Artifact, TaskId};
use tokio::sync::{mpsc, watch};

/// The work is no longer needed: it was cancelled, or its connection is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this work is no longer needed")]
pub struct Stopped;

/// One running task. Clones refer to the same task.
#[derive(Debug, Clone)]
pub struct Work {
    pub(super) task: TaskId,
    pub(super) out: mpsc::Sender<String>,
    pub(super) cancelled: watch::Receiver<bool>,
}

impl Work {
    /// Tells a further piece of the answer.
    ///
    /// # Errors
    /// [`Stopped`] when the work is no longer needed.
    pub async fn text(&self, piece: impl Into<String>) -> Result<(), Stopped> {
        self.step(Progress::Text(piece.into())).await
    }

    /// Tells what is being done.
    ///
    /// # Errors
    /// [`Stopped`] when the work is no longer needed.
    pub async fn status(&self, words: impl Into<String>) -> Result<(), Stopped> {
        self.step(Progress::Status(words.into())).await
    }

    /// Hands over a whole artifact.
    ///
    /// # Errors
    /// [`Stopped`] when the work is no longer needed.
    pub async fn artifact(&self, artifact: Artifact) -> Result<(), Stopped> {
        self.step(Progress::Artifact { artifact, append: false, last_chunk: true }).await
    }

    /// Tells any progress.
    ///
    /// # Errors
    /// [`Stopped`] when the work is no longer needed.
    pub async fn step(&self, progress: Progress) -> Result<(), Stopped> {
        if self.is_cancelled() {
            return Err(Stopped);
        }
        let frame = FromAgent::Step { task: self.task, progress }.write();
        self.out.send(frame).await.map_err(|_| Stopped)
    }

    /// Whether the work is no longer needed.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// Waits until the work is no longer needed.
    pub async fn cancelled(&self) {
        let mut cancelled = self.cancelled.clone();
        // An error says that the connection is gone, and with it the caller.
        let _ = cancelled.wait_for(|cancelled| *cancelled).await;
    }
}

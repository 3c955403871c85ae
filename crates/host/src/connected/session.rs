//! One session of a connected agent, as the driver of its socket sees it.
//!
//! Promises: [`AgentSession::next`] gives what must be sent, or why the session ends;
//! [`AgentSession::receive`] takes what was received and slows its caller down instead of buffering. Dropping
//! it ends the session, and its runs learn that at once. It reads and writes no socket.

use std::sync::Arc;

use agentsite_protocol::TaskId;
use agentsite_protocol::agent_session::{FromAgent, FromSite};
use tokio::sync::mpsc;

use super::session_end::{EndSignal, SessionEnd};
use super::sessions::{AgentSessions, RunEvent};

/// One session of a connected agent. Dropping it ends the session.
#[derive(Debug)]
pub struct AgentSession {
    sessions: Arc<AgentSessions>,
    epoch: u64,
    frames: mpsc::Receiver<String>,
    end: Arc<EndSignal>,
}

impl AgentSession {
    /// Opens a session; it replaces the one that was open before.
    pub(super) fn open(sessions: &Arc<AgentSessions>) -> Self {
        let (epoch, frames, end) = sessions.open();
        Self { sessions: sessions.clone(), epoch, frames, end }
    }

    /// The next frame that must be sent. Cancellation safe.
    ///
    /// # Errors
    /// [`SessionEnd`] when the session must end.
    pub async fn next(&mut self) -> Result<String, SessionEnd> {
        tokio::select! {
            biased;
            end = self.end.wait() => Err(end),
            frame = self.frames.recv() => frame.ok_or_else(|| self.end.reason()),
        }
    }

    /// Why the session must end, once it must; pending until then. Cancellation safe.
    pub async fn ended(&self) -> SessionEnd {
        self.end.wait().await
    }

    /// Takes a frame of the program; waits while the site is busy writing. Returns what must be sent back at
    /// once.
    pub async fn receive(&self, frame: FromAgent) -> Option<FromSite> {
        match frame {
            FromAgent::Step { task, progress } => {
                self.pass(task, RunEvent::Progress(Box::new(progress))).await
            }
            FromAgent::End { task, ending } => {
                // An end of a task that is over is what a cancelled program says; there is nothing to answer.
                self.pass(task, RunEvent::Ended(ending)).await;
                None
            }
            FromAgent::Ping { id } => Some(FromSite::Pong { id }),
            FromAgent::Register { .. } => {
                Some(FromSite::Notice { text: "this connection is registered already".into() })
            }
            FromAgent::Unknown { method, .. } if method.is_empty() => None,
            FromAgent::Unknown { method, .. } => {
                self.sessions.note(&format!("its program sent `{method}`, which this site does not know"));
                None
            }
        }
    }

    /// Takes a frame about a task that cannot be read: the task fails with this reason.
    pub async fn reject_frame(&self, task: TaskId, what: String) {
        self.sessions.note(&format!("a frame of its program cannot be read: {what}"));
        self.pass(task, RunEvent::Malformed(what)).await;
    }

    /// Passes an event to its run; a task that is no longer worked on is answered with its cancel.
    async fn pass(&self, task: TaskId, event: RunEvent) -> Option<FromSite> {
        let passed = match self.sessions.inbox(self.epoch, task) {
            Some(inbox) => inbox.send(event).await.is_ok(),
            None => false,
        };
        (!passed).then_some(FromSite::Cancel { task })
    }
}

impl Drop for AgentSession {
    fn drop(&mut self) {
        self.sessions.close(self.epoch);
    }
}

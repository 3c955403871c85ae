//! Link: one connection of a program, as whoever drives the socket sees it.
//!
//! Promises: [`Link::next`] gives what must be sent, or why the connection ends; [`Link::hear`] takes what
//! was received and slows its caller down rather than to buffer. Dropping it is the end of the connection:
//! its runs learn it at once. It reads and writes nothing.

use std::sync::{Arc, OnceLock};

use agentsite_protocol::TaskId;
use agentsite_protocol::link::{FromAgent, FromSite};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::place::{Heard, Place};

/// Why the site ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkEnd {
    /// The program has connected again.
    #[error("another connection with the same resume token took the place of this one")]
    Replaced,
    /// The program does not read what the site sends.
    #[error("the program does not read what the site sends; read all the time, and work beside it")]
    Overflow,
    /// The site is closing.
    #[error("the site is stopping; connect again when it is back")]
    Stopping,
    /// Somebody who may took the agent out.
    #[error("the agent was taken out of the site")]
    Removed,
    /// An agent of the site itself has the name now.
    #[error("an agent of the site itself has this name now; connect under another name")]
    NameTaken,
}

/// The end of a connection, known to both who ends it and who drives it.
#[derive(Debug, Default)]
pub(super) struct End {
    reason: OnceLock<LinkEnd>,
    told: CancellationToken,
}

impl End {
    /// Ends the connection; the first reason counts.
    pub(super) fn set(&self, reason: LinkEnd) {
        let _ = self.reason.set(reason);
        self.told.cancel();
    }
}

/// One connection of a program. Dropping it ends the connection.
#[derive(Debug)]
pub struct Link {
    pub(super) place: Arc<Place>,
    pub(super) epoch: u64,
    pub(super) frames: mpsc::Receiver<String>,
    pub(super) end: Arc<End>,
}

impl Link {
    /// The next frame that must be sent. Cancellation safe.
    ///
    /// # Errors
    /// [`LinkEnd`] when the connection must end.
    pub async fn next(&mut self) -> Result<String, LinkEnd> {
        tokio::select! {
            biased;
            () = self.end.told.cancelled() => Err(self.reason()),
            frame = self.frames.recv() => frame.ok_or_else(|| self.reason()),
        }
    }

    /// Why the connection must end, once it must; pending until then. Cancellation safe.
    pub async fn ended(&self) -> LinkEnd {
        self.end.told.cancelled().await;
        self.reason()
    }

    /// Takes what the program said; waits while the site is busy writing. Gives what must be sent back at
    /// once.
    pub async fn hear(&self, frame: FromAgent) -> Option<FromSite> {
        match frame {
            FromAgent::Step { task, progress } => self.tell(task, Heard::Progress(Box::new(progress))).await,
            FromAgent::End { task, ending } => {
                // An end of a task that is over is what a cancelled program says; there is nothing to answer.
                self.tell(task, Heard::Ended(ending)).await;
                None
            }
            FromAgent::Ping { id } => Some(FromSite::Pong { id }),
            FromAgent::Register { .. } => {
                Some(FromSite::Notice { text: "this connection is registered already".into() })
            }
            FromAgent::Unknown { method, .. } if method.is_empty() => None,
            FromAgent::Unknown { method, .. } => {
                self.place.note(&format!("its program said `{method}`, which this site does not know"));
                None
            }
        }
    }

    /// Takes it that the program said something about a task that cannot be understood: the task fails with
    /// these words.
    pub async fn misheard(&self, task: TaskId, what: String) {
        self.place.note(&format!("its program is not understood: {what}"));
        self.tell(task, Heard::Nonsense(what)).await;
    }

    /// Tells a run; a task on which nobody works any more is answered with its cancel.
    async fn tell(&self, task: TaskId, heard: Heard) -> Option<FromSite> {
        let told = match self.place.inbox(self.epoch, task) {
            Some(inbox) => inbox.send(heard).await.is_ok(),
            None => false,
        };
        (!told).then_some(FromSite::Cancel { task })
    }

    fn reason(&self) -> LinkEnd {
        self.end.reason.get().copied().unwrap_or(LinkEnd::Removed)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.place.leave(self.epoch);
    }
}

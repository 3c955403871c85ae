//! Why a session ends, and the signal that says so.
//!
//! Promises: the first reason counts, and both sides of the session learn it. It closes no socket.

use std::sync::OnceLock;

use tokio_util::sync::CancellationToken;

/// Why the site ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionEnd {
    /// The program has connected again.
    #[error("another connection with the same resume token replaced this one")]
    Replaced,
    /// The program does not read what the site sends.
    #[error("the program does not read what the site sends; read continuously, and work in another task")]
    Overflow,
    /// The site is closing.
    #[error("the site is stopping; connect again when it is back")]
    Stopping,
    /// Its owner or an admin removed the agent.
    #[error("the agent was removed from the site")]
    Removed,
    /// An agent of the site itself has the name now.
    #[error("an agent of the site itself has this name now; connect under another name")]
    NameTaken,
}

/// The end of a session, shared by the side that ends it and the side that drives it.
#[derive(Debug, Default)]
pub(super) struct EndSignal {
    reason: OnceLock<SessionEnd>,
    ended: CancellationToken,
}

impl EndSignal {
    /// Ends the session; the first reason counts.
    pub(super) fn set(&self, reason: SessionEnd) {
        let _ = self.reason.set(reason);
        self.ended.cancel();
    }

    /// Waits until the session must end. Cancellation safe.
    pub(super) async fn wait(&self) -> SessionEnd {
        self.ended.cancelled().await;
        self.reason()
    }

    /// Why the session ends.
    pub(super) fn reason(&self) -> SessionEnd {
        self.reason.get().copied().unwrap_or(SessionEnd::Removed)
    }
}

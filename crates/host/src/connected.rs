//! Connected agents: programs that run elsewhere and connect to the site, and their Runner at the site.
//!
//! Promises: one runner serves an agent through all its connections; a run that had not begun waits a while
//! for a program that is away, and one whose connection was lost is begun again as often as the agent allows,
//! else it fails and says why. Nothing that a program sends, or does not read, holds the site up or costs it
//! memory: both ways are bounded, and a program that does not read loses its connection. What an earlier
//! connection still says counts for nothing.
//!
//! It does not use sockets and does not decide who may connect: the gateway drives an [`AgentSession`], the
//! site hands it out.

mod run;
mod sentences;
mod session;
mod session_end;
mod sessions;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use agentsite_protocol::{AgentName, Clock, Outcome};
use futures::future::BoxFuture;
use tokio::sync::Notify;

use crate::{AgentLog, Health, Job, Reporter, Runner};
use run::ConnectedRun;
use sessions::AgentSessions;

pub use session::AgentSession;
pub use session_end::SessionEnd;
pub use sessions::Presence;

/// Frames that may wait for a program to read them: the runs of the busiest agent with their cancels, and
/// space for notices. One that lets more pile up has stopped reading.
pub const SESSION_QUEUE: usize = 256;

/// Runs an agent whose program connects to the site.
pub struct ConnectedRunner {
    sessions: Arc<AgentSessions>,
    /// Whether the program is connected to another process of the site.
    elsewhere: IsElsewhere,
}

/// Says whether a program is connected to another process of the site.
pub type IsElsewhere = Arc<dyn Fn() -> bool + Send + Sync>;

impl std::fmt::Debug for ConnectedRunner {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "ConnectedRunner({:?})", self.sessions)
    }
}

impl ConnectedRunner {
    /// The runner of an agent whose program is not connected yet. `changed` is notified whenever it connects
    /// or its session ends.
    #[must_use]
    pub fn new(
        name: AgentName,
        retry: u32,
        log: AgentLog,
        clock: Arc<dyn Clock>,
        changed: Arc<Notify>,
    ) -> Self {
        let sessions = Arc::new(AgentSessions::new(name, retry, log, clock, changed));
        Self { sessions, elsewhere: Arc::new(|| false) }
    }

    /// The same runner, which asks here whether the program is connected to another process of the site.
    #[must_use]
    pub fn with_elsewhere(self, elsewhere: IsElsewhere) -> Self {
        Self { elsewhere, ..self }
    }

    /// Opens a session for a program; the session that was open before ends as replaced.
    #[must_use]
    pub fn attach(&self) -> AgentSession {
        AgentSession::open(&self.sessions)
    }

    /// Whether a program is connected, and since when.
    #[must_use]
    pub fn presence(&self) -> Presence {
        self.sessions.presence()
    }

    /// How often a run is begun again from now on.
    pub fn set_retry(&self, retry: u32) {
        self.sessions.set_retry(retry);
    }

    /// What people should look at, although the agent works.
    pub fn set_notice(&self, notice: Option<String>) {
        self.sessions.set_notice(notice);
    }

    /// Ends the session permanently with this reason; runs that wait for the program fail.
    pub fn retire(&self, end: SessionEnd) {
        self.sessions.retire(end);
    }
}

impl Runner for ConnectedRunner {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let sessions = self.sessions.clone();
        Box::pin(async move { ConnectedRun::new(&sessions, &job, &report).run().await })
    }

    fn health(&self) -> Health {
        match self.presence() {
            Presence::Here { .. } => Health::Ready,
            _ if (self.elsewhere)() => Health::Ready,
            Presence::Away { since } => Health::Down(sentences::away(since)),
            Presence::Waiting => Health::Down(sentences::WAITING.into()),
        }
    }

    fn is_here(&self) -> bool {
        matches!(self.presence(), Presence::Here { .. })
    }

    fn notice(&self) -> Option<String> {
        self.sessions.notice()
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        let sessions = self.sessions.clone();
        Box::pin(async move {
            sessions.retire(SessionEnd::Stopping);
            sessions.left().await;
        })
    }
}

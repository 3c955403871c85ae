//! ServerLogin: the login of one agent to the server that it represents.
//!
//! Promises: a login is begun and ended by admins, once, within a limited time, and only by the answer that
//! belongs to it. Its tokens stay in the site's credential store, for this agent at this server; the
//! connection learns of it. Errors and logs contain neither tokens nor codes. It shows no address: the
//! command line does.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentsite_client::mcp::{CredentialError, McpError, OAuth, PendingLogin};
use agentsite_egress::Egress;
use agentsite_protocol::{AgentName, Clock, Timestamp};
use tokio::sync::{Mutex, Notify};
use url::{Host, Url};

use crate::{AgentLog, LogSource};

/// How long a person may take from the first address to the consent: they may have to find a second factor.
const GOOD_FOR: Duration = Duration::from_secs(600);

/// The login of one agent to its server.
pub struct ServerLogin {
    agent: AgentName,
    server: Url,
    egress: Egress,
    oauth: OAuth,
    clock: Arc<dyn Clock>,
    log: AgentLog,
    /// The last login that was begun; another one takes its place.
    pending: Mutex<Option<Pending>>,
    /// Notified after a login or logout.
    changed: Notify,
}

struct Pending {
    login: PendingLogin,
    until: Timestamp,
}

impl fmt::Debug for ServerLogin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ServerLogin({} at {})", self.agent, self.server)
    }
}

/// A login that a person has to continue.
#[derive(Debug, Clone)]
pub struct LoginBegun {
    /// Where the person consents.
    pub address: Url,
    /// When it must be done.
    pub until: Timestamp,
}

/// Why a login failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoginError {
    /// The person would be sent to another machine.
    #[error(
        "the redirect must lead to a port of the person's own machine, such as http://127.0.0.1:8123/callback"
    )]
    Redirect,
    /// There is none.
    #[error("no login is in progress for this agent; start one with `agentsite agent login {0}`")]
    NotBegun(AgentName),
    /// It took too long.
    #[error("the login took longer than {min} minutes; begin another with `agentsite agent login {0}`", min = GOOD_FOR.as_secs() / 60)]
    TooLate(AgentName),
    /// The answer belongs to another login.
    #[error(
        "this is not the answer to the current login (its state differs); use the address of the last login"
    )]
    WrongState,
    /// The tool server or its authorization server did not go along.
    #[error(transparent)]
    Refused(McpError),
    /// Its result cannot be stored.
    #[error("the login cannot be stored: {0}")]
    Unkept(CredentialError),
}

impl ServerLogin {
    pub(crate) fn new(
        agent: AgentName,
        server: Url,
        egress: Egress,
        oauth: OAuth,
        clock: Arc<dyn Clock>,
        log: AgentLog,
    ) -> Self {
        let (pending, changed) = (Mutex::default(), Notify::new());
        Self { agent, server, egress, oauth, clock, log, pending, changed }
    }

    /// Begins a login; the person comes back to `redirect`, which must be on their own machine.
    ///
    /// # Errors
    /// [`LoginError`] when the server requires no login or its authorization server cannot be used.
    pub async fn begin(&self, redirect: &Url) -> Result<LoginBegun, LoginError> {
        if !is_loopback(redirect) {
            return Err(LoginError::Redirect);
        }
        let begun = PendingLogin::begin(&self.server, &self.egress, &self.oauth, redirect).await;
        let login = begun.map_err(LoginError::Refused)?;
        let (address, until) = (login.address().clone(), self.clock.now().plus(GOOD_FOR));
        *self.pending.lock().await = Some(Pending { login, until });
        Ok(LoginBegun { address, until })
    }

    /// Ends the login with the address to which the person was sent back.
    ///
    /// # Errors
    /// [`LoginError`]; an answer that belongs to another login leaves this one as it is, any other ends it.
    pub async fn finish(&self, back: &Url) -> Result<(), LoginError> {
        let login = self.answered(back).await?;
        login.finish(back).await.map_err(LoginError::Refused)?;
        self.log.push(LogSource::Site, "an admin logged in to its server");
        self.changed.notify_one();
        Ok(())
    }

    /// Forgets the login; whether there was one.
    ///
    /// # Errors
    /// [`LoginError::Unkept`] when it cannot be removed.
    pub async fn forget(&self) -> Result<bool, LoginError> {
        *self.pending.lock().await = None;
        let (store, holder) = (&self.oauth.store, self.agent.as_str());
        let kept = store.load(holder, &self.server).await.map_err(LoginError::Unkept)?;
        store.save(holder, &self.server, None).await.map_err(LoginError::Unkept)?;
        self.log.push(LogSource::Site, "the login to its server was deleted");
        self.changed.notify_one();
        Ok(kept.is_some())
    }

    /// What its people have to do.
    #[must_use]
    pub fn wanted(&self) -> String {
        format!("log in with `agentsite agent login {}`", self.agent)
    }

    /// Resolves after a login or logout.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// How the keeper of the connection comes in.
    pub(crate) fn oauth(&self) -> OAuth {
        self.oauth.clone()
    }

    /// The login that this address answers; it is answered once.
    async fn answered(&self, back: &Url) -> Result<PendingLogin, LoginError> {
        let mut pending = self.pending.lock().await;
        let Some(waiting) = pending.as_ref() else { return Err(LoginError::NotBegun(self.agent.clone())) };
        if waiting.until < self.clock.now() {
            *pending = None;
            return Err(LoginError::TooLate(self.agent.clone()));
        }
        if !waiting.login.is_answered_by(back) {
            return Err(LoginError::WrongState);
        }
        let waiting = pending.take().ok_or_else(|| LoginError::NotBegun(self.agent.clone()))?;
        Ok(waiting.login)
    }
}

/// Whether an address is one of the machine at which it is opened.
fn is_loopback(address: &Url) -> bool {
    let here = match address.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    here && address.scheme() == "http" && address.username().is_empty() && address.password().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_sent_back_to_their_own_machine_only() {
        let fits = |address: &str| is_loopback(&address.parse().unwrap());
        assert!(
            fits("http://127.0.0.1:8123/callback") && fits("http://[::1]:1/") && fits("http://localhost:9/x")
        );
        for elsewhere in [
            "https://127.0.0.1/x",
            "http://10.0.0.1/x",
            "http://localhost.example.org/",
            "http://127.0.0.1@example.org/",
            "http://a:b@127.0.0.1/",
            "file:///x",
        ] {
            assert!(!fits(elsewhere), "{elsewhere}");
        }
    }
}

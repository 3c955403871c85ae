//! The handle for logins of agents to their servers: begin, finish, forget.
//!
//! Promises: only admins log in or out, and the journal says that they did. How a login
//! goes is `host`'s matter, where it is kept is `logins`'.

use std::sync::Arc;

use agentsite_host::{LoginBegun, LoginError, Manifest, Runtime, ServerGrant, ServerLogin};
use agentsite_protocol::{AgentName, Caller, Ids, JournalLine};
use agentsite_store::{Change, SharedStore};
use url::Url;

use super::admin_only;
use crate::SiteError;
use crate::local_agents::LocalAgents;
use crate::logins::LOGIN;

/// The logins of agents to their servers.
#[derive(Debug, Clone)]
pub struct AgentLogins {
    pub(super) local: Arc<LocalAgents>,
    pub(super) store: SharedStore,
    pub(super) ids: Ids,
}

impl AgentLogins {
    /// Begins the login of an agent to its server; the person consents at the address and comes back to
    /// `redirect`, a port of their own machine.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::NoSuchAgent`], also for
    /// an agent without a login; [`SiteError::BadMessage`] when the redirect cannot be used;
    /// [`SiteError::Agent`] when the server does not go along.
    pub async fn begin(
        &self,
        caller: &Caller,
        name: &AgentName,
        redirect: &Url,
    ) -> Result<LoginBegun, SiteError> {
        self.login(caller, name)?.begin(redirect).await.map_err(told)
    }

    /// Finishes the login with the address to which the person was sent back.
    ///
    /// # Errors
    /// As [`Self::begin`]; [`SiteError::BadMessage`] when the address is not the answer to the login
    /// that was begun.
    pub async fn finish(&self, caller: &Caller, name: &AgentName, back: &Url) -> Result<(), SiteError> {
        self.login(caller, name)?.finish(back).await.map_err(told)?;
        self.tell_login(caller, name, "logged the agent in to its server").await
    }

    /// Forgets the login of an agent; whether there was one.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub async fn forget(&self, caller: &Caller, name: &AgentName) -> Result<bool, SiteError> {
        let known = self.login(caller, name)?.forget().await.map_err(told)?;
        if known {
            self.tell_login(caller, name, "logged the agent out of its server").await?;
        }
        Ok(known)
    }

    fn login(&self, caller: &Caller, name: &AgentName) -> Result<Arc<ServerLogin>, SiteError> {
        admin_only(caller)?;
        let entry = self.local.visible(caller, name)?;
        entry
            .runner
            .login()
            .ok_or_else(|| SiteError::NoSuchAgent(format!("{name} whose server wants a login")))
    }

    async fn tell_login(&self, caller: &Caller, name: &AgentName, text: &str) -> Result<(), SiteError> {
        let now = self.ids.clock().now();
        let line = JournalLine::new(LOGIN, now, caller.owner().as_str(), text);
        Ok(self.store.commit(Change::new(line.about_agent(name.clone()))).await?)
    }
}

/// The server to which an agent logs in.
pub(super) fn server_of(manifest: &Manifest) -> Option<&Url> {
    match &manifest.runtime {
        Runtime::Mcp(runtime) => {
            let auth = runtime.auth.as_ref().filter(|auth| auth.grant == ServerGrant::Login);
            auth.and(runtime.url.as_ref())
        }
        _ => None,
    }
}

fn told(error: LoginError) -> SiteError {
    match error {
        LoginError::Refused(_) | LoginError::Unkept(_) => SiteError::Agent(error.to_string()),
        error => SiteError::BadMessage(error.to_string()),
    }
}

//! Far: keeps the connection to a tool server that lives elsewhere.
//!
//! Promises: a connection that is lost is made again, after a wait that `supervision` decides, and at once
//! after a login; a server that requires a login is not called until then. Everything goes through the
//! egress. It does not start anything: the server runs elsewhere.

use std::sync::Arc;
use std::time::Duration;

use agentsite_client::Token;
use agentsite_client::mcp::{Address, Authorization, McpClient, OAuth};
use agentsite_egress::Egress;
use agentsite_protocol::Period;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::session::{Disconnect, Session};
use crate::child::{Bulletin, Supervision};
use crate::{LogSource, ServerLogin};

/// A tool server elsewhere.
#[derive(Debug)]
pub(super) struct RemoteServer {
    pub(super) url: Url,
    pub(super) egress: Egress,
    pub(super) access: Access,
}

/// How the site comes in.
#[derive(Debug)]
pub(super) enum Access {
    /// Anonymous.
    Anybody,
    /// With a token that its operator gave.
    Token(Token),
    /// With what a person's login left.
    Login(Arc<ServerLogin>),
    /// As itself.
    Machine(Box<OAuth>),
}

impl Access {
    /// The login that it needs.
    pub(super) fn login(&self) -> Option<Arc<ServerLogin>> {
        match self {
            Self::Login(login) => Some(login.clone()),
            _ => None,
        }
    }
}

impl RemoteServer {
    /// Stays connected until it is stopped.
    pub(super) async fn keep(
        self,
        session: Arc<Session>,
        bulletin: Bulletin<McpClient>,
        stop: CancellationToken,
    ) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.again_and_again(&session, &bulletin) => {}
        }
        bulletin.down("it was stopped".into());
    }

    async fn again_and_again(&self, session: &Session, bulletin: &Bulletin<McpClient>) {
        let (mut supervision, began) = (Supervision::default(), Instant::now());
        loop {
            let started = began.elapsed();
            bulletin.starting();
            let lost = session.serve(self.address(), bulletin).await;
            if bulletin.is_ready() {
                supervision.answered(started);
            }
            let reason = match (lost, &session.login) {
                (Disconnect::LoginChanged, _) => continue,
                (Disconnect::LoginNeeded, Some(login)) => {
                    want(session, bulletin, login.wanted());
                    login.changed().await;
                    continue;
                }
                (lost, _) => lost.reason().unwrap_or_else(|| "its server closed the connection".into()),
            };
            let wait = supervision.lost(began.elapsed());
            fall(session, bulletin, &reason, wait);
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = session.login_changed() => {}
            }
        }
    }

    fn address(&self) -> Address {
        let address = Address::url(self.url.clone(), self.egress.clone());
        match &self.access {
            Access::Anybody => address,
            Access::Token(token) => address.authorized(Authorization::Bearer(token.clone())),
            Access::Login(login) => address.authorized(Authorization::OAuth(login.oauth())),
            Access::Machine(oauth) => address.authorized(Authorization::OAuth((**oauth).clone())),
        }
    }
}

fn fall(session: &Session, bulletin: &Bulletin<McpClient>, reason: &str, wait: Duration) {
    let told = format!("{reason}; next attempt in {}", Period(wait));
    session.log.push(LogSource::Site, &told);
    tracing::warn!("the agent is down: {told}");
    bulletin.down(told);
}

fn want(session: &Session, bulletin: &Bulletin<McpClient>, wanted: String) {
    let told = format!("its server requires a login: {wanted}");
    session.log.push(LogSource::Site, &told);
    tracing::warn!("{told}");
    bulletin.needs(wanted);
}

//! Far: keeps the connection to a tool server that lives elsewhere.
//!
//! Promises: a connection that is lost is made again, after a wait that `supervision` decides; everything goes through the egress. It
//! does not start anything: the server is somebody else's.

use std::sync::Arc;
use std::time::Duration;

use agentsite_client::mcp::{Address, Authorization, McpClient};
use agentsite_client::{Egress, Token};
use agentsite_protocol::Period;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::session::Session;
use crate::LogSource;
use crate::child::{Bulletin, Supervision};

/// A tool server elsewhere.
#[derive(Debug)]
pub(super) struct FarServer {
    pub(super) url: Url,
    pub(super) egress: Egress,
    pub(super) token: Option<Token>,
}

impl FarServer {
    /// Stays connected until it is told to stop.
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
            let reason = session.serve(self.address(), bulletin).await;
            if bulletin.is_ready() {
                supervision.answered(started);
            }
            let wait = supervision.lost(began.elapsed());
            fall(session, bulletin, reason.as_deref().unwrap_or("its server closed the connection"), wait);
            tokio::time::sleep(wait).await;
        }
    }

    fn address(&self) -> Address {
        let address = Address::url(self.url.clone(), self.egress.clone());
        match &self.token {
            Some(token) => address.authorized(Authorization::Bearer(token.clone())),
            None => address,
        }
    }
}

fn fall(session: &Session, bulletin: &Bulletin<McpClient>, reason: &str, wait: Duration) {
    let told = format!("{reason}; it is asked again in {}", Period(wait));
    session.log.push(LogSource::Site, &told);
    tracing::warn!("the agent is down: {told}");
    bulletin.down(told);
}

//! Elsewhere: what a process asks of the one that runs the mesh, when it is not itself that one.
//!
//! Promises: an address is dialed by the process that runs the mesh, whichever process was asked, and its
//! answer comes back in its own words. Where one process serves the site nothing is asked.

use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::{OverlayError, SiteId};
use agentsite_protocol::AgentName;
use agentsite_tasks::ProcessCalls;
use serde::{Deserialize, Serialize};

use crate::error::PeersError;
use crate::handle::Peers;
use crate::shared::Shared;

/// The kind of the calls between processes that dial.
const DIAL: &str = "mesh-dial";

/// The name in whose place the mesh is asked; no agent is meant.
const MESH: &str = "mesh";

/// How long a dial may take, with all of its addresses.
const DIAL_TIME: Duration = Duration::from_secs(60);

/// What came of a dial.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum DialAnswer {
    Found(String),
    Bad(String),
    Unreachable(String),
}

impl Peers {
    /// Whether the mesh runs in this process.
    #[must_use]
    pub fn is_running_here(&self) -> bool {
        self.0.running().is_ok()
    }

    /// Serves the other processes of the site while the mesh runs here, and asks them while it does not.
    pub fn join_processes(&self, calls: ProcessCalls) {
        if !self.0.is_shared {
            return;
        }
        let (here, serving) = (Arc::downgrade(&self.0), Arc::downgrade(&self.0));
        let runs_here = move |_: &AgentName| here.upgrade().is_some_and(|shared| shared.running().is_ok());
        calls.serve(DIAL, runs_here, move |_, work, _| {
            let shared = serving.upgrade();
            async move {
                let target: String = serde_json::from_value(work).unwrap_or_default();
                let dialed = match shared {
                    Some(shared) => shared.dial_here(&target).await,
                    None => Err(PeersError::NotHere("the site is stopping".into())),
                };
                serde_json::to_value(DialAnswer::of(dialed)).unwrap_or_default()
            }
        });
        let _ = self.0.calls.set(calls);
    }
}

impl DialAnswer {
    fn of(dialed: Result<SiteId, PeersError>) -> Self {
        match dialed {
            Ok(site) => Self::Found(site.to_string()),
            Err(PeersError::Overlay(OverlayError::Unreachable { why, .. })) => Self::Unreachable(why),
            Err(error) => Self::Bad(error.to_string()),
        }
    }
}

impl Shared {
    /// Dials an address in the mesh, here or in the process that runs it.
    pub(crate) async fn dial(&self, target: &str) -> Result<SiteId, PeersError> {
        let not_here = match self.running() {
            Ok(_) => return self.dial_here(target).await,
            Err(error) => error,
        };
        let Some(calls) = self.calls.get() else { return Err(not_here) };
        let mesh: AgentName = MESH.parse().map_err(|_| PeersError::Bad(MESH.into()))?;
        let away = "no process of this site runs it at the moment; try again in some seconds";
        match calls.call(DIAL, &mesh, &target, DIAL_TIME).await {
            Ok(DialAnswer::Found(site)) => {
                site.parse().map_err(|_| PeersError::Bad(format!("`{site}` is not the DID of a site")))
            }
            Ok(DialAnswer::Bad(why)) => Err(PeersError::Bad(why)),
            Ok(DialAnswer::Unreachable(why)) => {
                Err(OverlayError::Unreachable { to: target.into(), why }.into())
            }
            Err(_) => Err(PeersError::NotHere(away.into())),
        }
    }

    async fn dial_here(&self, target: &str) -> Result<SiteId, PeersError> {
        Ok(self.running()?.overlay.dial(target).await?)
    }
}

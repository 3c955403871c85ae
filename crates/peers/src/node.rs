//! Node: the background work that keeps a site in the mesh.
//!
//! Promises: it runs in one process of a site at a time (the scope of its worker), begins again when its
//! network or the site's key changed, and after a failure with a pause. What it does in between is a
//! `session`.

use std::sync::Arc;
use std::time::Duration;

use agentsite_store::Collection;
use agentsite_tasks::Worker;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::error::PeersError;
use crate::handle::Shared;
use crate::session::{Session, SessionEnd};

/// Where the network is kept that the site joined by an invite; one record.
pub(crate) const NETWORK: Collection<JoinedNetwork> = Collection::new("mesh_network");

/// The key of that record.
pub(crate) const NETWORK_KEY: &str = "joined";

/// The pause after a failure: long enough not to fill the log, short enough for a port that becomes free.
const AFTER_FAILURE: Duration = Duration::from_secs(10);

/// The network that the site joined by an invite.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JoinedNetwork {
    /// Its name; the public one when none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Its secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
}

/// The secret is not shown.
impl std::fmt::Debug for JoinedNetwork {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "JoinedNetwork({:?})", self.name)
    }
}

/// Keeps the site in the mesh until `stop`.
pub(crate) async fn run(shared: Arc<Shared>, worker: Worker, stop: CancellationToken) {
    if !shared.settings.enabled {
        worker.idle("the mesh is off; set [mesh] enabled = true to join it");
        return stop.cancelled().await;
    }
    while !stop.is_cancelled() {
        let ended = take_part(&shared, &worker, &stop).await;
        shared.set_running(None);
        shared.metrics.connected(0);
        match ended {
            Ok(SessionEnd::Stopped) => return,
            Ok(SessionEnd::Changed) => continue,
            Err(error) => {
                tracing::warn!(%error, "The site is not in the mesh; it tries again.");
                worker.failing(&error.to_string());
            }
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = shared.restart.notified() => {}
            () = tokio::time::sleep(AFTER_FAILURE) => {}
        }
    }
}

async fn take_part(
    shared: &Arc<Shared>,
    worker: &Worker,
    stop: &CancellationToken,
) -> Result<SessionEnd, PeersError> {
    worker.working("joining the mesh");
    let network = network(shared).await?;
    let (session, events) = Session::open(shared.clone(), network).await?;
    session.run(events, worker, stop).await
}

/// The network of the site: the one that the operator set, else the one that was joined.
async fn network(shared: &Shared) -> Result<JoinedNetwork, PeersError> {
    if let Some(set) = set_network(shared) {
        return Ok(set);
    }
    let joined = NETWORK.get(&shared.store, NETWORK_KEY).await?;
    Ok(joined.map(|joined| joined.value).unwrap_or_default())
}

/// The network that the operator set, if one was.
pub(crate) fn set_network(shared: &Shared) -> Option<JoinedNetwork> {
    let (name, key) = (shared.settings.network.clone(), shared.network_key.clone());
    (name.is_some() || key.is_some()).then_some(JoinedNetwork { name, key })
}

//! Node: the background work that keeps a site in the mesh.
//!
//! Promises: it runs in one process of a site at a time (the scope of its worker), begins again when its
//! network or the site's key changed, and after a failure with a pause. What it does in between is a
//! `session`.

use std::sync::Arc;
use std::time::Duration;

use agentsite_tasks::Worker;
use tokio_util::sync::CancellationToken;

use crate::error::PeersError;
use crate::session::{MeshSession, SessionEnd};
use crate::shared::Shared;

/// The pause after a failure: long enough not to fill the log, short enough for a port that becomes free.
const AFTER_FAILURE: Duration = Duration::from_secs(10);

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
    let network = shared.network().await?;
    let (session, events) = MeshSession::open(shared.clone(), network).await?;
    session.run(events, worker, stop).await
}

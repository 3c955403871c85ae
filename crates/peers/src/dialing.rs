//! Dialing: sites that an admin added are connected again and again.
//!
//! Promises: only added sites that are not banned are dialed, each at its addresses in order, with a pause
//! between two rounds; another site that answers there is named in the log and not taken for the peer.
//! Finding further peers is the overlay's matter.

use std::collections::BTreeSet;
use std::time::Duration;

use agentsite_mesh::{Overlay, OverlayError, SiteId};

use crate::shared::Shared;

/// Between two rounds: a peer that restarts is back within seconds.
const PAUSE: Duration = Duration::from_secs(10);

/// Keeps the added sites connected; never ends.
pub(crate) async fn keep_dialing(shared: &Shared, overlay: &dyn Overlay, own: SiteId) {
    let mut changes = shared.known.changes();
    loop {
        let connected: BTreeSet<SiteId> = overlay.peers().await.into_iter().map(|peer| peer.site).collect();
        let now = shared.ids.clock().now();
        for (site, known) in shared.known.all().iter() {
            let is_wanted = known.value.added && !known.value.is_banned(now) && *site != own;
            if is_wanted && !connected.contains(site) {
                dial(overlay, *site, &known.value.addresses).await;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            // The sender lives in `shared`.
            _ = changes.changed() => {}
        }
    }
}

/// Dials a site at its addresses; gives whether it is connected.
pub(crate) async fn dial(overlay: &dyn Overlay, site: SiteId, addresses: &[String]) -> bool {
    for address in addresses {
        match overlay.dial(address).await {
            Ok(found) if found == site => return true,
            Ok(found) => {
                tracing::warn!(%site, %found, address, "Another site answers at the address of a peer.");
            }
            Err(error @ OverlayError::BadAddress(_)) => {
                tracing::warn!(%site, %error, "A peer cannot be dialed.");
            }
            Err(error) => tracing::debug!(%site, %error, "A peer does not answer."),
        }
    }
    false
}

//! Transport: how the overlay of a site is started.
//!
//! Promises: an overlay belongs to one identity and one network; another identity or network is another
//! overlay. The product's transport is libp2p, which the binary brings; the fake is a network in memory.

use std::fmt;
use std::sync::Arc;

use agentsite_mesh::overlay::OverlayEvents;
use agentsite_mesh::{Overlay, OverlayError};
use agentsite_protocol::SigningKey;
use async_trait::async_trait;

use crate::network::NetworkSecret;

/// What an overlay is started with.
#[derive(Clone)]
pub struct OverlayPlan {
    /// The key of the site, which is its identity.
    pub key: SigningKey,
    /// The name of the network; the public one when none.
    pub network: Option<String>,
    /// The secret of a private network.
    pub network_key: Option<NetworkSecret>,
}

/// The key is not shown.
impl fmt::Debug for OverlayPlan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "OverlayPlan({:?})", self.network)
    }
}

/// Starts overlays.
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync {
    /// Starts the overlay of a site.
    ///
    /// # Errors
    /// [`OverlayError::Stopped`] says why it cannot start, such as an address in use.
    async fn start(&self, plan: OverlayPlan) -> Result<(Arc<dyn Overlay>, OverlayEvents), OverlayError>;
}

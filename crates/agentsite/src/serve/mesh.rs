//! From the configuration to the overlay of the mesh, which is libp2p.
//!
//! Promises: nothing is opened for a site that is not in the mesh; the secret of a private network is read
//! from its file and shown nowhere.

use std::sync::Arc;

use agentsite_mesh::overlay::OverlayEvents;
use agentsite_mesh::{Overlay, OverlayError};
use agentsite_mesh_p2p::{NetworkKey, P2pOverlay, P2pSettings};
use agentsite_protocol::Clock;
use agentsite_site::{MeshParts, NetworkSecret, OverlayPlan, Transport};
use async_trait::async_trait;

use crate::config::Config;
use crate::exit::CliError;

/// What the site needs to take part in the mesh.
pub(super) fn parts(config: &Config, clock: &Arc<dyn Clock>) -> Result<MeshParts, CliError> {
    let mesh = &config.mesh;
    let network_key = match &mesh.network_key_file {
        Some(file) => {
            let bytes = super::read_file("mesh.network_key_file", file)?;
            let text = String::from_utf8(bytes)
                .map_err(|_| CliError::error("mesh.network_key_file: the secret must be text"))?;
            Some(NetworkSecret::new(&text))
        }
        None => None,
    };
    let transport = P2pTransport { settings: settings(config), clock: clock.clone() };
    Ok(MeshParts {
        settings: mesh.clone(),
        network_key,
        public_url: config.public_url.clone(),
        transport: mesh.enabled.then(|| Arc::new(transport) as Arc<dyn Transport>),
    })
}

fn settings(config: &Config) -> P2pSettings {
    let mesh = &config.mesh;
    P2pSettings {
        listen: mesh.listen.clone(),
        external: mesh.external.clone(),
        seeds: mesh.seeds.clone(),
        mdns: mesh.mdns,
        allow_private_addresses: mesh.allow_private_addresses,
        relay_server: mesh.relay,
        ..P2pSettings::default()
    }
}

/// Starts overlays on libp2p.
#[derive(Debug)]
struct P2pTransport {
    settings: P2pSettings,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl Transport for P2pTransport {
    async fn start(&self, plan: OverlayPlan) -> Result<(Arc<dyn Overlay>, OverlayEvents), OverlayError> {
        let defaults = P2pSettings::default();
        let settings = P2pSettings {
            network: plan.network.unwrap_or(defaults.network),
            network_key: plan.network_key.map(|secret| NetworkKey::new(secret.reveal())),
            ..self.settings.clone()
        };
        let (overlay, events) = P2pOverlay::start(settings, &plan.key, self.clock.clone()).await?;
        Ok((overlay, events))
    }
}

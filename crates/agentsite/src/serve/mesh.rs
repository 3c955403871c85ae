//! From the configuration to the overlay of the mesh, which is libp2p.
//!
//! Promises: nothing is opened for a site that is not in the mesh; the secret of a private network is read
//! from its file and shown nowhere.

use std::net::IpAddr;
use std::sync::Arc;

use agentsite_mesh::overlay::OverlayEvents;
use agentsite_mesh::{Overlay, OverlayError};
use agentsite_mesh_p2p::{NetworkKey, P2pOverlay, P2pSettings};
use agentsite_protocol::Clock;
use agentsite_site::{MeshParts, NetworkSecret, OverlayPlan, Transport};
use async_trait::async_trait;

use crate::config::Loaded;
use crate::exit::CliError;

/// What the site needs to take part in the mesh.
pub(super) fn parts(loaded: &Loaded, clock: &Arc<dyn Clock>) -> Result<MeshParts, CliError> {
    let mesh = &loaded.config.mesh;
    let network_key = match &mesh.network_key_file {
        Some(file) => {
            let bytes = super::read_file("mesh.network_key_file", file)?;
            let text = String::from_utf8(bytes)
                .map_err(|_| CliError::error("mesh.network_key_file: the secret must be text"))?;
            Some(NetworkSecret::new(&text))
        }
        None => None,
    };
    let transport = P2pTransport { settings: settings(loaded), clock: clock.clone() };
    Ok(MeshParts {
        settings: mesh.clone(),
        network_key,
        public_url: loaded.config.public_url.clone(),
        transport: mesh.enabled.then(|| Arc::new(transport) as Arc<dyn Transport>),
    })
}

fn settings(loaded: &Loaded) -> P2pSettings {
    let mesh = &loaded.config.mesh;
    P2pSettings {
        listen: mesh.listen.clone(),
        other_port_if_used: !loaded.is_set("mesh.listen"),
        external: mesh.external.clone(),
        seeds: mesh.seeds.clone(),
        // A site that only this machine reaches has nothing to say to the local network.
        mdns: mesh.mdns && !mesh.listen.iter().all(|address| is_loopback(address)),
        allow_private_addresses: mesh.allow_private_addresses,
        relay_server: mesh.relay,
        ..P2pSettings::default()
    }
}

/// Whether an address to listen on, in either of its forms, is one of loopback.
fn is_loopback(address: &str) -> bool {
    let host = match address.strip_prefix('/') {
        Some(parts) => parts.split('/').nth(1),
        None => address.rsplit_once(':').map(|(host, _)| host.trim_matches(['[', ']'])),
    };
    host.is_some_and(|host| {
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;

    fn of(text: &str) -> P2pSettings {
        let file = Some(("f".into(), text.to_owned()));
        settings(&Sources { file, ..Sources::default() }.join().unwrap())
    }

    #[test]
    fn a_port_that_the_operator_chose_is_not_changed() {
        assert!(of("").other_port_if_used);
        assert!(!of("[mesh]\nlisten = [\"/ip4/0.0.0.0/tcp/4101\"]\n").other_port_if_used);
    }

    #[test]
    fn the_local_network_hears_of_a_site_that_listens_there() {
        assert!(of("").mdns);
        assert!(!of("[mesh]\nmdns = false\n").mdns);
        for loopback in ["127.0.0.1:4101", "[::1]:4101", "localhost:4101", "/ip4/127.0.0.1/udp/4101/quic-v1"]
        {
            assert!(!of(&format!("[mesh]\nlisten = [\"{loopback}\"]\n")).mdns, "{loopback}");
        }
        assert!(!of("[mesh]\nlisten = []\n").mdns, "nothing to be found at");
        assert!(of("[mesh]\nlisten = [\"127.0.0.1:4101\", \"/ip4/192.168.1.7/tcp/4101\"]\n").mdns);
    }
}

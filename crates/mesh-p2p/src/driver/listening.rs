//! Listening: at which addresses this site accepts connections, and which of them it tells whom.
//!
//! Promises: a port that another program uses is an error, unless the operator did not choose it: then one of
//! the next ports is taken, and the log says so. Others receive confirmed addresses and those on the open
//! internet; an invite, which an admin hands to a chosen site, also names those of the local network and
//! of this machine. It does not dial.

use std::collections::HashSet;
use std::time::Duration;

use agentsite_mesh::OverlayError;
use futures::StreamExt as _;
use libp2p::Multiaddr;
use libp2p::swarm::SwarmEvent;
use tokio::time::timeout;

use super::{Driver, cannot_start};
use crate::address::{self, Reach, with_peer};

/// How long listening may take to begin.
const LISTEN: Duration = Duration::from_secs(10);
/// Ports after the usual one that are tried before any free one: the sites on one machine keep their ports
/// over a restart when they are started in the same order.
const NEXT_PORTS: u16 = 16;

impl Driver {
    /// Listens on the addresses of the settings, and waits until it does.
    pub(crate) async fn listen(&mut self) -> Result<(), OverlayError> {
        for text in self.settings.external.clone() {
            let address = text.parse().map_err(|_| OverlayError::BadAddress(text))?;
            self.swarm.add_external_address(address);
        }
        let mut missing = HashSet::new();
        for text in self.settings.listen.clone() {
            for address in address::parse(&text)?.resolve().await? {
                let cannot = |error: &dyn std::fmt::Display| {
                    OverlayError::Stopped(format!("cannot listen on {text}: {error}"))
                };
                let address = self.free_address(address).map_err(|error| cannot(&error))?;
                missing.insert(self.swarm.listen_on(address).map_err(|error| cannot(&error))?);
            }
        }
        let begun = async {
            while !missing.is_empty() {
                let event = self.swarm.select_next_some().await;
                match &event {
                    SwarmEvent::NewListenAddr { listener_id, .. } => drop(missing.remove(listener_id)),
                    SwarmEvent::ListenerClosed { reason: Err(error), .. }
                    | SwarmEvent::ListenerError { error, .. } => {
                        return Err(cannot_start("cannot listen", error));
                    }
                    _ => {}
                }
                self.network_event(event);
            }
            Ok(())
        };
        timeout(LISTEN, begun).await.map_err(|_| OverlayError::Stopped("no network to listen on".into()))?
    }

    /// This address, or the same with another port when this one is in use and was not chosen by the
    /// operator.
    fn free_address(&self, address: Multiaddr) -> std::io::Result<Multiaddr> {
        let in_use = match address::check_free(&address) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => error,
            // What else is wrong with an address, the transport says.
            _ => return Ok(address),
        };
        let Some(port) = address::port_of(&address).filter(|_| self.settings.other_port_if_used) else {
            return Err(in_use);
        };
        let next = (port..=port.saturating_add(NEXT_PORTS)).skip(1).chain([0]);
        let mut others = next.map(|port| address::with_port(&address, port));
        let other = others.find(|other| address::check_free(other).is_ok()).ok_or(in_use)?;
        tracing::warn!(
            wanted = %address, taken = %other,
            "The usual port of the mesh is in use by another program or another site; the mesh uses another one."
        );
        Ok(other)
    }

    /// Confirmed addresses first; those that it listens on where others may use them.
    pub(super) fn own_addresses(&self) -> Vec<String> {
        let listening = self.swarm.listeners().filter(|address| self.policy.is_worth_keeping(address));
        self.named(self.swarm.external_addresses().chain(listening))
    }

    /// Every address at which some site might reach this one: confirmed ones, those on the open internet, of
    /// the local network, and last of this machine.
    pub(super) fn invite_addresses(&self) -> Vec<String> {
        let mut listening: Vec<&Multiaddr> = self.swarm.listeners().collect();
        listening.retain(|address| Reach::of(address).is_some());
        listening.sort_by_key(|address| Reach::of(address));
        self.named(self.swarm.external_addresses().chain(listening))
    }

    /// Addresses with this site at their end, each once.
    fn named<'a>(&self, all: impl Iterator<Item = &'a Multiaddr>) -> Vec<String> {
        let mut addresses: Vec<String> = Vec::new();
        for address in all.map(|address| with_peer(address.clone(), self.me).to_string()) {
            if !addresses.contains(&address) && addresses.len() < address::MAX_ADDRESSES {
                addresses.push(address);
            }
        }
        addresses
    }
}

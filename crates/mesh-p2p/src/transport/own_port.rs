//! Own port: a transport of TCP that listens only where no other program does.
//!
//! Libp2p shares ports, so that dials leave from the port that it listens on; two sites on one port would
//! take each other's connections. This finds out first. It does not keep others from taking the port later.

use std::pin::Pin;
use std::task::{Context, Poll};

use libp2p::Multiaddr;
use libp2p::core::transport::{DialOpts, ListenerId, Transport, TransportError, TransportEvent};
use libp2p::multiaddr::Protocol;

use crate::address::ip_of;

/// A transport of TCP that listens only on free ports.
#[derive(Debug)]
pub(super) struct OwnPort<T>(pub(super) T);

/// Fails when another program listens on this address.
fn check_free(address: &Multiaddr) -> std::io::Result<()> {
    match (ip_of(address), address.iter().nth(1)) {
        (Some(ip), Some(Protocol::Tcp(port))) if port != 0 => {
            std::net::TcpListener::bind((ip, port)).map(drop)
        }
        _ => Ok(()),
    }
}

impl<T: Transport<Error = std::io::Error> + Unpin> Transport for OwnPort<T> {
    type Output = T::Output;
    type Error = T::Error;
    type ListenerUpgrade = T::ListenerUpgrade;
    type Dial = T::Dial;

    fn listen_on(&mut self, id: ListenerId, address: Multiaddr) -> Result<(), TransportError<T::Error>> {
        check_free(&address).map_err(TransportError::Other)?;
        self.0.listen_on(id, address)
    }

    fn remove_listener(&mut self, id: ListenerId) -> bool {
        self.0.remove_listener(id)
    }

    fn dial(&mut self, address: Multiaddr, options: DialOpts) -> Result<T::Dial, TransportError<T::Error>> {
        self.0.dial(address, options)
    }

    fn poll(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<TransportEvent<T::ListenerUpgrade, T::Error>> {
        Pin::new(&mut self.0).poll(context)
    }
}

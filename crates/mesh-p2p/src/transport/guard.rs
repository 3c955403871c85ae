//! Guard: a transport that dials only what the policy allows.
//!
//! Promises: every dial goes through it, also those of the DHT, of address checks and of hole punching, which
//! take addresses from foreign peers.

use std::pin::Pin;
use std::task::{Context, Poll};

use libp2p::Multiaddr;
use libp2p::core::transport::{DialOpts, ListenerId, Transport, TransportError, TransportEvent};

use crate::address::AddressPolicy;

/// A transport that dials only what the policy allows.
#[derive(Debug)]
pub(super) struct Guarded<T> {
    inner: T,
    policy: AddressPolicy,
}

impl<T> Guarded<T> {
    pub(super) const fn new(inner: T, policy: AddressPolicy) -> Self {
        Self { inner, policy }
    }
}

impl<T: Transport + Unpin> Transport for Guarded<T> {
    type Output = T::Output;
    type Error = T::Error;
    type ListenerUpgrade = T::ListenerUpgrade;
    type Dial = T::Dial;

    fn listen_on(&mut self, id: ListenerId, address: Multiaddr) -> Result<(), TransportError<T::Error>> {
        self.inner.listen_on(id, address)
    }

    fn remove_listener(&mut self, id: ListenerId) -> bool {
        self.inner.remove_listener(id)
    }

    fn dial(&mut self, address: Multiaddr, options: DialOpts) -> Result<T::Dial, TransportError<T::Error>> {
        if self.policy.may_dial(&address) {
            self.inner.dial(address, options)
        } else {
            Err(TransportError::MultiaddrNotSupported(address))
        }
    }

    fn poll(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<TransportEvent<T::ListenerUpgrade, T::Error>> {
        Pin::new(&mut self.inner).poll(context)
    }
}

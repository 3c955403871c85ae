//! The end of our stream protocols at one connection.
//!
//! Promises: at most [`MAX_OPENING`] streams are being opened and at most [`MAX_ARRIVED`] wait to be taken;
//! beyond, opening fails and what arrives is reset.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use std::time::Duration;

use libp2p::core::upgrade::{InboundUpgrade, OutboundUpgrade, UpgradeInfo};
use libp2p::swarm::handler::{
    ConnectionEvent, DialUpgradeError, FullyNegotiatedInbound, FullyNegotiatedOutbound, StreamUpgradeError,
};
use libp2p::swarm::{ConnectionHandler, ConnectionHandlerEvent, SubstreamProtocol};
use libp2p::{Stream, StreamProtocol};

use super::{LINK, OpenError, SYNC, StreamReply};

/// Streams that are being opened at once over one connection.
const MAX_OPENING: usize = 32;
/// Streams that arrived and were not taken yet.
const MAX_ARRIVED: usize = 32;
/// How long the peer may take to agree on the protocol.
const NEGOTIATION: Duration = Duration::from_secs(10);

/// A stream that is wanted.
#[derive(Debug)]
pub(crate) struct Open {
    pub(super) protocol: StreamProtocol,
    pub(super) reply: StreamReply,
}

/// The end of our stream protocols at one connection.
#[derive(Debug, Default)]
pub(crate) struct Handler {
    wanted: VecDeque<Open>,
    opening: usize,
    arrived: VecDeque<(Stream, StreamProtocol)>,
}

/// Takes a stream as it is once the protocol was agreed on.
#[derive(Debug)]
pub(crate) struct Raw(Vec<StreamProtocol>);

impl UpgradeInfo for Raw {
    type Info = StreamProtocol;
    type InfoIter = std::vec::IntoIter<StreamProtocol>;

    fn protocol_info(&self) -> Self::InfoIter {
        self.0.clone().into_iter()
    }
}

impl InboundUpgrade<Stream> for Raw {
    type Output = (Stream, StreamProtocol);
    type Error = Infallible;
    type Future = Ready<Result<Self::Output, Infallible>>;

    fn upgrade_inbound(self, stream: Stream, protocol: StreamProtocol) -> Self::Future {
        ready(Ok((stream, protocol)))
    }
}

impl OutboundUpgrade<Stream> for Raw {
    type Output = Stream;
    type Error = Infallible;
    type Future = Ready<Result<Stream, Infallible>>;

    fn upgrade_outbound(self, stream: Stream, _: StreamProtocol) -> Self::Future {
        ready(Ok(stream))
    }
}

impl ConnectionHandler for Handler {
    type FromBehaviour = Open;
    type ToBehaviour = (Stream, StreamProtocol);
    type InboundProtocol = Raw;
    type OutboundProtocol = Raw;
    type InboundOpenInfo = ();
    type OutboundOpenInfo = StreamReply;

    fn listen_protocol(&self) -> SubstreamProtocol<Raw, ()> {
        SubstreamProtocol::new(Raw(vec![SYNC, LINK]), ()).with_timeout(NEGOTIATION)
    }

    fn poll(
        &mut self,
        _: &mut Context<'_>,
    ) -> Poll<ConnectionHandlerEvent<Raw, StreamReply, (Stream, StreamProtocol)>> {
        if let Some(arrived) = self.arrived.pop_front() {
            return Poll::Ready(ConnectionHandlerEvent::NotifyBehaviour(arrived));
        }
        if let Some(Open { protocol, reply }) = self.wanted.pop_front() {
            self.opening += 1;
            let protocol = SubstreamProtocol::new(Raw(vec![protocol]), reply).with_timeout(NEGOTIATION);
            return Poll::Ready(ConnectionHandlerEvent::OutboundSubstreamRequest { protocol });
        }
        // The connection polls its handler again after each event that it gives to it.
        Poll::Pending
    }

    fn on_behaviour_event(&mut self, open: Open) {
        if self.opening + self.wanted.len() < MAX_OPENING {
            self.wanted.push_back(open);
        } else {
            drop(open.reply.send(Err(OpenError::Busy)));
        }
    }

    fn on_connection_event(&mut self, event: ConnectionEvent<'_, Raw, Raw, (), StreamReply>) {
        match event {
            ConnectionEvent::FullyNegotiatedInbound(FullyNegotiatedInbound { protocol, info: () })
                if self.arrived.len() < MAX_ARRIVED =>
            {
                self.arrived.push_back(protocol);
            }
            ConnectionEvent::FullyNegotiatedOutbound(FullyNegotiatedOutbound { protocol, info }) => {
                self.opening = self.opening.saturating_sub(1);
                drop(info.send(Ok(protocol)));
            }
            ConnectionEvent::DialUpgradeError(DialUpgradeError { info, error }) => {
                self.opening = self.opening.saturating_sub(1);
                let error = match error {
                    StreamUpgradeError::Timeout => OpenError::Timeout,
                    StreamUpgradeError::NegotiationFailed => OpenError::Unsupported,
                    StreamUpgradeError::Io(_) => OpenError::Failed,
                    StreamUpgradeError::Apply(never) => match never {},
                };
                drop(info.send(Err(error)));
            }
            _ => {}
        }
    }
}

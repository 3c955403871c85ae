//! Streams: raw streams of bytes to and from connected peers, for our own protocols.
//!
//! Promises: a stream that is asked for comes, or its reply is dropped or an error; nothing waits for a peer
//! that is not connected. What waits is bounded per connection. It does not know what the bytes mean. (Not
//! libp2p-stream: that one drops incoming streams when two come at once, and keeps an entry for every
//! connection that ever was.)

mod handler;

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::swarm::{
    ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, NotifyHandler, THandler, THandlerInEvent,
    THandlerOutEvent, ToSwarm,
};
use libp2p::{Multiaddr, PeerId, Stream, StreamProtocol};
use tokio::sync::oneshot;

use self::handler::{Handler, Open};

/// Messages to one peer.
pub(crate) const SYNC: StreamProtocol = StreamProtocol::new("/agentsite/sync/1");
/// Calls to agents.
pub(crate) const LINK: StreamProtocol = StreamProtocol::new("/agentsite/link/1");

/// Why a stream was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenError {
    /// The peer does not speak the protocol.
    #[error("the site does not offer this")]
    Unsupported,
    /// It did not answer in time.
    #[error("no answer in time")]
    Timeout,
    /// The connection failed.
    #[error("the connection failed")]
    Failed,
    /// Too many streams are being opened.
    #[error("too many streams are being opened")]
    Busy,
}

/// Where a stream that was asked for goes.
pub(crate) type StreamReply = oneshot::Sender<Result<Stream, OpenError>>;

/// A stream that a peer opened.
#[derive(Debug)]
pub(crate) struct Inbound {
    pub(crate) peer: PeerId,
    pub(crate) protocol: StreamProtocol,
    pub(crate) stream: Stream,
}

/// The part of the swarm that opens and accepts streams.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    actions: VecDeque<ToSwarm<Inbound, Open>>,
    waker: Option<Waker>,
}

impl Streams {
    /// Opens a stream to a connected peer. Without a connection the reply is dropped.
    pub(crate) fn open(&mut self, peer: PeerId, protocol: StreamProtocol, reply: StreamReply) {
        let event = Open { protocol, reply };
        self.actions.push_back(ToSwarm::NotifyHandler { peer_id: peer, handler: NotifyHandler::Any, event });
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl NetworkBehaviour for Streams {
    type ConnectionHandler = Handler;
    type ToSwarm = Inbound;

    fn handle_established_inbound_connection(
        &mut self,
        _: ConnectionId,
        _: PeerId,
        _: &Multiaddr,
        _: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        Ok(Handler::default())
    }

    fn handle_established_outbound_connection(
        &mut self,
        _: ConnectionId,
        _: PeerId,
        _: &Multiaddr,
        _: Endpoint,
        _: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        Ok(Handler::default())
    }

    fn on_swarm_event(&mut self, _: FromSwarm<'_>) {}

    fn on_connection_handler_event(
        &mut self,
        peer: PeerId,
        _: ConnectionId,
        (stream, protocol): THandlerOutEvent<Self>,
    ) {
        self.actions.push_back(ToSwarm::GenerateEvent(Inbound { peer, protocol, stream }));
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<ToSwarm<Inbound, THandlerInEvent<Self>>> {
        if let Some(action) = self.actions.pop_front() {
            return Poll::Ready(action);
        }
        self.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

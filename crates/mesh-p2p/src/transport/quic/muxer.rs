//! Muxer: the streams of a QUIC connection as libp2p uses them.
//!
//! Promises: dropping it ends the connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use futures::io::{AsyncRead, AsyncWrite};
use libp2p::core::muxing::{StreamMuxer, StreamMuxerEvent};

type Opening = BoxFuture<'static, Result<(quinn::SendStream, quinn::RecvStream), quinn::ConnectionError>>;

/// A QUIC connection.
pub(crate) struct Muxer {
    connection: quinn::Connection,
    incoming: Option<Opening>,
    outgoing: Option<Opening>,
    closed: Option<BoxFuture<'static, quinn::ConnectionError>>,
}

impl Muxer {
    pub(super) fn new(connection: quinn::Connection) -> Self {
        Self { connection, incoming: None, outgoing: None, closed: None }
    }
}

impl Drop for Muxer {
    fn drop(&mut self) {
        self.connection.close(0_u32.into(), b"");
    }
}

fn poll_stream(
    place: &mut Option<Opening>,
    begin: impl FnOnce() -> Opening,
    context: &mut Context<'_>,
) -> Poll<io::Result<QuicStream>> {
    let opened = ready!(place.get_or_insert_with(begin).as_mut().poll(context));
    *place = None;
    let (send, receive) = opened?;
    Poll::Ready(Ok(QuicStream { send, receive, is_closing: false }))
}

impl StreamMuxer for Muxer {
    type Substream = QuicStream;
    type Error = io::Error;

    fn poll_inbound(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<QuicStream>> {
        let connection = self.connection.clone();
        let begin = || -> Opening { Box::pin(async move { connection.accept_bi().await }) };
        poll_stream(&mut self.incoming, begin, context)
    }

    fn poll_outbound(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<QuicStream>> {
        let connection = self.connection.clone();
        let begin = || -> Opening { Box::pin(async move { connection.open_bi().await }) };
        poll_stream(&mut self.outgoing, begin, context)
    }

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<StreamMuxerEvent>> {
        // Quinn drives its connections by itself, and follows a peer to a new address silently.
        Poll::Pending
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let connection = self.connection.clone();
        let closed = self.closed.get_or_insert_with(|| {
            connection.close(0_u32.into(), b"");
            Box::pin(async move { connection.closed().await })
        });
        // Whatever the reason: it is closed.
        let _ = ready!(closed.as_mut().poll(context));
        Poll::Ready(Ok(()))
    }
}

/// A stream of a QUIC connection.
pub(crate) struct QuicStream {
    send: quinn::SendStream,
    receive: quinn::RecvStream,
    is_closing: bool,
}

impl AsyncRead for QuicStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        AsyncRead::poll_read(Pin::new(&mut self.receive), context, buffer)
    }
}

impl AsyncWrite for QuicStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(Pin::new(&mut self.send), context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.send), context)
    }

    fn poll_close(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_closing {
            self.is_closing = true;
            // An error means that the peer does not want more: closed, too.
            let _ = self.send.finish();
        }
        Poll::Ready(Ok(()))
    }
}

//! Inlet: what a program sends over a WebSocket, on its way to the library that reads it.
//!
//! Promises: the meter counts every byte before the library keeps it, and nothing reaches the library after
//! too much has come; what still comes is thrown away, so that the other end gets to read why it is closed.
//! The library is given one frame at a time, so that between two frames it holds nothing that would be lost
//! with it: a socket that has read a large message can be given a new, small buffer ([`anew`]).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::frames::Frames;
use super::{FRAME_MARGIN, READ_BUFFER, WRITE_BUFFER};
use crate::meter::Meter;
use agentsite_protocol::agent_session::MAX_FRAME;

/// Bytes that are read ahead of the frame that is under way; each socket holds this much.
const AHEAD: usize = 512;

/// How often bytes are thrown away before others have their turn.
const DISCARDS: usize = 128;

/// The bytes of one socket.
pub(super) struct Inlet<S> {
    stream: S,
    meter: Arc<Meter>,
    frames: Frames,
    ahead: [u8; AHEAD],
    from: usize,
    to: usize,
}

/// A WebSocket whose bytes are counted.
pub(super) type Socket<S> = WebSocketStream<Inlet<S>>;

/// A socket over a connection that was agreed to be one.
pub(super) async fn open<S: AsyncRead + AsyncWrite + Unpin>(stream: S, meter: Arc<Meter>) -> Socket<S> {
    let inlet = Inlet { stream, meter, frames: Frames::default(), ahead: [0; AHEAD], from: 0, to: 0 };
    WebSocketStream::from_raw_socket(inlet, Role::Server, Some(config())).await
}

/// The same socket with new buffers. Only between two messages, and when everything that was to be said is
/// sent.
pub(super) async fn anew<S: AsyncRead + AsyncWrite + Unpin>(socket: Socket<S>) -> Socket<S> {
    WebSocketStream::from_raw_socket(socket.into_inner(), Role::Server, Some(config())).await
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(Some(MAX_FRAME + FRAME_MARGIN))
        .max_frame_size(Some(MAX_FRAME + FRAME_MARGIN))
}

impl<S: AsyncRead + Unpin> Inlet<S> {
    /// Reads ahead when nothing is left of what was.
    fn refill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.from == self.to {
            let mut buffer = ReadBuf::new(&mut self.ahead);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
            (self.from, self.to) = (0, buffer.filled().len());
        }
        Poll::Ready(Ok(()))
    }

    /// Hands over what was read ahead, to the end of the frame at most; gives how much that is.
    fn hand_over(&mut self, buffer: &mut ReadBuf<'_>) -> usize {
        let end = self.to.min(self.from + buffer.remaining());
        let count = self.frames.pass(&self.ahead[self.from..end]);
        buffer.put_slice(&self.ahead[self.from..self.from + count]);
        self.from += count;
        count
    }

    /// Reads content of a large frame without a detour; gives how much that is.
    fn read_content(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        let space = buffer.remaining().min(usize::try_from(self.frames.left()).unwrap_or(usize::MAX));
        let mut content = ReadBuf::new(buffer.initialize_unfilled_to(space));
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut content))?;
        let count = self.frames.pass(content.filled());
        buffer.advance(count);
        Poll::Ready(Ok(count))
    }

    /// Reads and throws away what comes after too much has come. The driver says how long.
    fn discard(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        for _ in 0..DISCARDS {
            self.from = self.to;
            ready!(self.refill(context))?;
            if self.from == self.to {
                return Poll::Ready(Ok(()));
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Inlet<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let inlet = self.get_mut();
        if inlet.meter.overrun().is_some() {
            return inlet.discard(context);
        }
        let count = if inlet.from == inlet.to && inlet.frames.left() >= AHEAD as u64 {
            ready!(inlet.read_content(context, buffer))?
        } else {
            ready!(inlet.refill(context))?;
            inlet.hand_over(buffer)
        };
        inlet.meter.count(count).map_err(io::Error::other)?;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Inlet<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

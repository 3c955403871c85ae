//! Wire: the bytes of one connection, watched on their way.
//!
//! Promises: the connection's line knows whether the other end takes what is sent, and a WebSocket's meter counts what it sends,
//! whatever protocol is spoken above. It changes no byte, but throws away what a socket sends after it has sent too much.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::line::Line;

/// Bytes that are thrown away at once, and how often before others have their turn.
const DISCARDED_AT_ONCE: usize = 4 << 10;
const DISCARDS: usize = 16;

/// A connection that is watched.
#[derive(Debug)]
pub(crate) struct Wire<S> {
    stream: S,
    line: Arc<Line>,
}

impl<S> Wire<S> {
    pub(crate) const fn new(stream: S, line: Arc<Line>) -> Self {
        Self { stream, line }
    }

    fn noted<T>(&self, written: Poll<T>) -> Poll<T> {
        self.line.note_blocked(written.is_pending());
        written
    }
}

impl<S: AsyncRead + Unpin> Wire<S> {
    /// Reads and throws away what a socket sends that has sent too much, so that its other end comes to read why it is closed. The driver
    /// says how long.
    fn discard(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut waste = [std::mem::MaybeUninit::uninit(); DISCARDED_AT_ONCE];
        for _ in 0..DISCARDS {
            let mut buffer = ReadBuf::uninit(&mut waste);
            std::task::ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
            if buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.line.meter.get().is_some_and(|meter| meter.overrun().is_some()) {
            return self.discard(context);
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let (Some(meter), Poll::Ready(Ok(()))) = (self.line.meter.get(), &read) {
            meter.count(buffer.filled().len() - before).map_err(io::Error::other)?;
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.noted(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // With TLS a flush is a write, too.
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_pending() { self.noted(flushed) } else { flushed }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

//! Pipe: a stream of bytes in memory, in both directions, that ends when its connection is cut.
//!
//! Promises: what is written arrives in order; a writer waits for its reader; a cut connection is an error at
//! both ends at once.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::channel::{mpsc, oneshot};
use futures::future::{FutureExt as _, Shared};
use futures::io::{AsyncRead, AsyncWrite};
use futures::{Sink as _, StreamExt as _};

/// Chunks that wait for their reader: as much as a window of a real stream.
const CHUNKS: usize = 16;
/// Largest chunk, in bytes.
const CHUNK: usize = 16 << 10;

/// Ends when the connection does.
pub(super) type Connection = Shared<oneshot::Receiver<()>>;

/// One end of a stream in memory.
#[derive(Debug)]
pub(super) struct Pipe {
    incoming: mpsc::Receiver<Vec<u8>>,
    /// What was received and not read yet.
    rest: Vec<u8>,
    outgoing: mpsc::Sender<Vec<u8>>,
    connection: Connection,
}

/// Both ends of a stream over this connection.
pub(super) fn pair(connection: &Connection) -> (Pipe, Pipe) {
    let (to_right, from_left) = mpsc::channel(CHUNKS);
    let (to_left, from_right) = mpsc::channel(CHUNKS);
    let end =
        |incoming, outgoing| Pipe { incoming, rest: Vec::new(), outgoing, connection: connection.clone() };
    (end(from_right, to_right), end(from_left, to_left))
}

impl Pipe {
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.connection.poll_unpin(context) {
            Poll::Ready(_) => Err(io::Error::new(io::ErrorKind::ConnectionReset, "the connection was cut")),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        if self.rest.is_empty() {
            match ready!(self.incoming.poll_next_unpin(context)) {
                Some(chunk) => self.rest = chunk,
                None => return Poll::Ready(Ok(0)),
            }
        }
        let count = buffer.len().min(self.rest.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Poll::Ready(Ok(count))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        let closed = |_| io::Error::new(io::ErrorKind::BrokenPipe, "the other end was dropped");
        ready!(Pin::new(&mut self.outgoing).poll_ready(context)).map_err(closed)?;
        let count = bytes.len().min(CHUNK);
        Pin::new(&mut self.outgoing).start_send(bytes[..count].to_vec()).map_err(closed)?;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.check(context))
    }

    fn poll_close(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.close_channel();
        Poll::Ready(Ok(()))
    }
}

//! Traffic: bytes from and to each peer, of all protocols together.
//!
//! Promises: what goes through a stream is counted once, when it is read or written. Headers of the transport
//! are not counted. A peer's numbers live as long as its connections.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use futures::io::{AsyncRead, AsyncWrite};
use libp2p::PeerId;
use libp2p::core::muxing::{StreamMuxer, StreamMuxerBox, StreamMuxerEvent, SubstreamBox};

/// Bytes received and sent.
#[derive(Debug, Default)]
pub(crate) struct Bytes {
    received: AtomicU64,
    sent: AtomicU64,
}

impl Bytes {
    fn get(&self) -> (u64, u64) {
        (self.received.load(Ordering::Relaxed), self.sent.load(Ordering::Relaxed))
    }
}

/// The traffic of all peers. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic {
    all: Arc<Bytes>,
    /// Behind a lock because connections are made by the transport; held for a look-up only.
    peers: Arc<Mutex<HashMap<PeerId, Arc<Bytes>>>>,
}

impl Traffic {
    /// Counts what goes through a connection.
    pub(crate) fn count(&self, peer: PeerId, inner: StreamMuxerBox) -> StreamMuxerBox {
        let mut peers = self.peers.lock().expect("no holder of this lock panics");
        let meters = [self.all.clone(), peers.entry(peer).or_default().clone()];
        StreamMuxerBox::new(Counted { inner, meters })
    }

    /// Bytes received from and sent to a peer.
    pub(crate) fn of(&self, peer: &PeerId) -> (u64, u64) {
        self.peers
            .lock()
            .expect("no holder of this lock panics")
            .get(peer)
            .map(|bytes| bytes.get())
            .unwrap_or_default()
    }

    /// Bytes received and sent in all.
    pub(crate) fn total(&self) -> (u64, u64) {
        self.all.get()
    }

    /// Forgets peers without a connection.
    pub(crate) fn forget_idle(&self) {
        let mut peers = self.peers.lock().expect("no holder of this lock panics");
        peers.retain(|_, bytes| Arc::strong_count(bytes) > 1);
    }
}

/// A connection, or a stream of it, whose bytes are counted.
struct Counted<T> {
    inner: T,
    meters: [Arc<Bytes>; 2],
}

impl<T> Counted<T> {
    fn add(&self, which: impl Fn(&Bytes) -> &AtomicU64, count: usize) {
        for meter in &self.meters {
            which(meter).fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    fn stream(&self, stream: SubstreamBox) -> Counted<SubstreamBox> {
        Counted { inner: stream, meters: self.meters.clone() }
    }
}

impl StreamMuxer for Counted<StreamMuxerBox> {
    type Substream = Counted<SubstreamBox>;
    type Error = io::Error;

    fn poll_inbound(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Self::Substream>> {
        let stream = ready!(Pin::new(&mut self.inner).poll_inbound(context))?;
        Poll::Ready(Ok(self.stream(stream)))
    }

    fn poll_outbound(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Self::Substream>> {
        let stream = ready!(Pin::new(&mut self.inner).poll_outbound(context))?;
        Poll::Ready(Ok(self.stream(stream)))
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_close(context)
    }

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<StreamMuxerEvent>> {
        Pin::new(&mut self.inner).poll(context)
    }
}

impl AsyncRead for Counted<SubstreamBox> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        self.add(|bytes| &bytes.received, count);
        Poll::Ready(Ok(count))
    }
}

impl AsyncWrite for Counted<SubstreamBox> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.add(|bytes| &bytes.sent, count);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_close(context)
    }
}

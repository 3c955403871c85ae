//! Pipe: a stream of bytes between two addresses, with latency.
//!
//! Promises: bytes arrive in order, each after the latency of the pair. At most [`WINDOW`] bytes are on their
//! way or unread in one direction; then the writer waits. When one end is a black hole, writes succeed until
//! the window is full, reads wait for ever, and no end learns that the other one was dropped.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use futures::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::network::Network;

/// Bytes in one direction that were not read, as in the buffers of a system.
const WINDOW: usize = 256 << 10;

/// One direction.
#[derive(Debug, Default)]
struct Pipe {
    chunks: VecDeque<(Instant, Vec<u8>)>,
    /// How much of the first chunk was read.
    taken: usize,
    waiting: usize,
    /// From when on there is nothing more to read.
    closed_at: Option<Instant>,
    /// From when on the other end does not read.
    deaf_at: Option<Instant>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct PipeEnd {
    network: Network,
    pair: (Ipv4Addr, Ipv4Addr),
    latency: Duration,
    incoming: Arc<Mutex<Pipe>>,
    outgoing: Arc<Mutex<Pipe>>,
    alarm: Option<Pin<Box<Sleep>>>,
}

/// A connection between two addresses.
pub(crate) fn connection(network: &Network, one: Ipv4Addr, other: Ipv4Addr) -> (PipeEnd, PipeEnd) {
    let (there, back) = (Arc::<Mutex<Pipe>>::default(), Arc::<Mutex<Pipe>>::default());
    let end = |incoming: &Arc<Mutex<Pipe>>, outgoing: &Arc<Mutex<Pipe>>| PipeEnd {
        network: network.clone(),
        pair: (one, other),
        latency: network.latency(one, other),
        incoming: incoming.clone(),
        outgoing: outgoing.clone(),
        alarm: None,
    };
    (end(&back, &there), end(&there, &back))
}

fn lock(pipe: &Mutex<Pipe>) -> MutexGuard<'_, Pipe> {
    pipe.lock().expect("no holder of this lock panics")
}

impl PipeEnd {
    fn is_cut(&self) -> bool {
        self.network.is_cut(self.pair.0, self.pair.1)
    }

    /// Waits until this moment.
    fn wait(&mut self, until: Instant, context: &mut Context<'_>) -> Poll<()> {
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if alarm.deadline() != until {
            alarm.as_mut().reset(until);
        }
        alarm.as_mut().poll(context)
    }

    fn close(&mut self) {
        let at = Instant::now() + self.latency;
        let mut outgoing = lock(&self.outgoing);
        outgoing.closed_at.get_or_insert(at);
        wake(&mut outgoing.reader);
    }
}

/// Takes what has arrived.
fn take(pipe: &mut Pipe, buffer: &mut [u8], now: Instant) -> usize {
    let mut filled = 0;
    while filled < buffer.len()
        && let Some((at, chunk)) = pipe.chunks.front()
        && *at <= now
    {
        let rest = &chunk[pipe.taken..];
        let count = rest.len().min(buffer.len() - filled);
        buffer[filled..filled + count].copy_from_slice(&rest[..count]);
        (filled, pipe.taken) = (filled + count, pipe.taken + count);
        if pipe.taken == chunk.len() {
            pipe.chunks.pop_front();
            pipe.taken = 0;
        }
    }
    pipe.waiting -= filled;
    filled
}

impl AsyncRead for PipeEnd {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            if self.is_cut() {
                return Poll::Pending;
            }
            let next = {
                let mut pipe = lock(&self.incoming);
                let now = Instant::now();
                let count = take(&mut pipe, buffer, now);
                if count > 0 {
                    wake(&mut pipe.writer);
                    return Poll::Ready(Ok(count));
                }
                let next = pipe.chunks.front().map(|(at, _)| *at).or(pipe.closed_at);
                if pipe.chunks.is_empty() && next.is_some_and(|at| at <= now) {
                    return Poll::Ready(Ok(0));
                }
                if next.is_none() {
                    pipe.reader = Some(context.waker().clone());
                }
                next
            };
            let Some(next) = next else { return Poll::Pending };
            ready!(self.wait(next, context));
        }
    }
}

impl AsyncWrite for PipeEnd {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let (now, is_cut) = (Instant::now(), self.is_cut());
        let mut pipe = lock(&self.outgoing);
        if !is_cut && pipe.deaf_at.is_some_and(|at| at <= now) {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let count = bytes.len().min(WINDOW - pipe.waiting);
        if count == 0 {
            pipe.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        pipe.waiting += count;
        pipe.chunks.push_back((now + self.latency, bytes[..count].to_vec()));
        wake(&mut pipe.reader);
        self.network.count(count);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close();
        Poll::Ready(Ok(()))
    }
}

impl Drop for PipeEnd {
    fn drop(&mut self) {
        self.close();
        let at = Instant::now() + self.latency;
        let mut incoming = lock(&self.incoming);
        incoming.deaf_at = Some(at);
        wake(&mut incoming.writer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{AsyncReadExt as _, AsyncWriteExt as _};

    const ONE: Ipv4Addr = Ipv4Addr::new(31, 0, 1, 7);
    const OTHER: Ipv4Addr = Ipv4Addr::new(31, 0, 2, 7);

    #[tokio::test(start_paused = true)]
    async fn bytes_take_the_latency_of_the_pair() {
        let network = Network::new(1);
        let (mut near, mut far) = connection(&network, ONE, OTHER);
        let begun = Instant::now();
        near.write_all(b"hello").await.unwrap();
        let mut five = [0; 5];
        far.read_exact(&mut five).await.unwrap();
        let took = begun.elapsed();
        assert_eq!(five, *b"hello");
        let expected = network.latency(OTHER, ONE);
        // tokio counts in milliseconds.
        assert!(took >= expected && took < expected + Duration::from_millis(2), "{took:?} {expected:?}");
        drop(near);
        assert_eq!(far.read(&mut five).await.unwrap(), 0, "a close arrives, too");
    }

    #[tokio::test(start_paused = true)]
    async fn a_black_hole_takes_bytes_and_says_nothing() {
        let network = Network::new(1);
        let (mut near, mut far) = connection(&network, ONE, OTHER);
        near.write_all(b"on its way").await.unwrap();
        network.swallow(OTHER);
        let mut buffer = [0; 16];
        let hour = Duration::from_secs(3_600);
        assert!(tokio::time::timeout(hour, far.read(&mut buffer)).await.is_err(), "also what was on its way");
        near.write_all(b"more").await.unwrap();
        drop(far);
        assert!(tokio::time::timeout(hour, near.read(&mut buffer)).await.is_err(), "there is no close");
        let whole = vec![0; WINDOW];
        assert!(tokio::time::timeout(hour, near.write_all(&whole)).await.is_err(), "the window fills");
    }
}

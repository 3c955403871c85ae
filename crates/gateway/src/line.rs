//! Line: what is known of one connection, shared by all requests on it.
//!
//! Promises: says at any time whether work is going on, so that an idle connection can be ended and a busy one is not. It
//! does not read or write the connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// One connection.
#[derive(Debug)]
pub(crate) struct Line {
    /// Who is at the other end of the socket; a proxy perhaps.
    pub(crate) peer: IpAddr,
    /// Whether the connection is encrypted by us.
    pub(crate) secure: bool,
    opened: Instant,
    at_work: AtomicUsize,
    last_change: AtomicU64,
}

/// Keeps a line busy until it is dropped.
#[derive(Debug)]
pub(crate) struct AtWork(Arc<Line>);

impl Line {
    pub(crate) fn new(peer: IpAddr, secure: bool) -> Arc<Self> {
        let peer = peer.to_canonical();
        Arc::new(Self {
            peer,
            secure,
            opened: Instant::now(),
            at_work: AtomicUsize::new(0),
            last_change: AtomicU64::new(0),
        })
    }

    /// Marks work on this line until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> AtWork {
        self.at_work.fetch_add(1, Ordering::Relaxed);
        AtWork(Arc::clone(self))
    }

    /// Whether any request has come yet.
    pub(crate) fn has_asked(&self) -> bool {
        self.last_change.load(Ordering::Relaxed) > 0
    }

    /// How long nothing has gone on; `None` while something does.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let last = Duration::from_millis(self.last_change.load(Ordering::Relaxed));
        (self.at_work.load(Ordering::Relaxed) == 0).then(|| self.opened.elapsed().saturating_sub(last))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.opened.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        self.0.last_change.store(now, Ordering::Relaxed);
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_line_is_idle_only_between_requests() {
        let line = Line::new("127.0.0.1".parse().unwrap(), false);
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(line.idle(), Some(Duration::from_secs(3)));
        let (one, two) = (line.begin(), line.begin());
        assert_eq!(line.idle(), None);
        drop(one);
        assert_eq!(line.idle(), None);
        tokio::time::advance(Duration::from_secs(5)).await;
        drop(two);
        assert_eq!(line.idle(), Some(Duration::ZERO));
    }
}

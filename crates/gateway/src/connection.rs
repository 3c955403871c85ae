//! Connection: what is known of one connection, shared by all requests on it.
//!
//! Promises: says at any time whether work is going on, whether the other end keeps the site waiting, and
//! whether it has stopped reading, so that an idle or stuck connection can be ended and a busy one is not. It
//! does not read or write the connection.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::connections::{ConnectionActivity, ConnectionId};

/// An answer that the other end may stop reading.
pub(crate) trait Unread: Send + Sync {
    /// Lets go of what the answer holds when nothing of it has been read for so long; says whether it did.
    fn abandon(&self, limit: Duration) -> bool;
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// What tells it from others.
    pub(crate) id: ConnectionId,
    /// Who is at the other end of the socket; a proxy perhaps.
    pub(crate) peer: IpAddr,
    /// Whether the connection is encrypted by us.
    pub(crate) secure: bool,
    /// The DID of the site at the other end, when it came through the mesh, which has proven it.
    pub(crate) site: Option<String>,
    /// Cancelled when the connection must end, whatever it does.
    pub(crate) cut: CancellationToken,
    opened: Instant,
    /// Requests under way.
    at_work: AtomicUsize,
    /// Those of them whose body has not arrived completely.
    arriving: AtomicUsize,
    /// When a request last began or ended, in milliseconds since the connection was opened; 0 before the
    /// first.
    last_change: AtomicU64,
    /// Since when the other end takes no bytes, in milliseconds since the connection was opened; 0 while it
    /// does.
    blocked: AtomicU64,
    proven: AtomicBool,
    // A std lock: held to add or look at a few entries, never across an await.
    unread: Mutex<Vec<Weak<dyn Unread>>>,
}

impl std::fmt::Debug for dyn Unread {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Unread")
    }
}

/// Keeps a connection busy until it is dropped.
#[derive(Debug)]
pub(crate) struct AtWork(Arc<Connection>);

/// Says that the body of a request is still arriving, until it is dropped.
#[derive(Debug)]
pub(crate) struct StillArriving(Arc<Connection>);

impl Connection {
    pub(crate) fn new(id: ConnectionId, peer: IpAddr, secure: bool) -> Arc<Self> {
        Self::made(id, peer, secure, None)
    }

    /// A stream of the site with this DID, which has no address here.
    pub(crate) fn of_site(id: ConnectionId, did: String) -> Arc<Self> {
        Self::made(id, Ipv6Addr::UNSPECIFIED.into(), true, Some(did))
    }

    fn made(id: ConnectionId, peer: IpAddr, secure: bool, site: Option<String>) -> Arc<Self> {
        let peer = peer.to_canonical();
        Arc::new(Self {
            id,
            peer,
            secure,
            site,
            cut: CancellationToken::new(),
            opened: Instant::now(),
            at_work: AtomicUsize::new(0),
            arriving: AtomicUsize::new(0),
            last_change: AtomicU64::new(0),
            blocked: AtomicU64::new(0),
            proven: AtomicBool::new(false),
            unread: Mutex::default(),
        })
    }

    /// Marks work on this connection until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> AtWork {
        self.at_work.fetch_add(1, Ordering::Relaxed);
        self.last_change.store(self.now(), Ordering::Relaxed);
        AtWork(Arc::clone(self))
    }

    /// Marks a body that has not arrived completely, until the guard is dropped.
    pub(crate) fn awaits_body(self: &Arc<Self>) -> StillArriving {
        self.arriving.fetch_add(1, Ordering::Relaxed);
        StillArriving(Arc::clone(self))
    }

    /// Whether any request has come yet.
    pub(crate) fn has_asked(&self) -> bool {
        self.last_change.load(Ordering::Relaxed) > 0
    }

    /// How long nothing has gone on; `None` while something does.
    pub(crate) fn idle(&self) -> Option<Duration> {
        (self.at_work.load(Ordering::Relaxed) == 0).then(|| self.since_change())
    }

    /// What the connection is doing. It works as long as any request on it has arrived completely.
    pub(crate) fn standing(&self) -> ConnectionActivity {
        let working = self.at_work.load(Ordering::Relaxed) > self.arriving.load(Ordering::Relaxed);
        ConnectionActivity { working, since: self.since_change() }
    }

    /// Notes whether the other end takes bytes.
    pub(crate) fn note_blocked(&self, blocked: bool) {
        let since = self.blocked.load(Ordering::Relaxed);
        if blocked && since == 0 {
            self.blocked.store(self.now(), Ordering::Relaxed);
        } else if !blocked && since != 0 {
            self.blocked.store(0, Ordering::Relaxed);
        }
    }

    /// How long the other end has taken no bytes although there are some.
    pub(crate) fn blocked(&self) -> Option<Duration> {
        let since = self.blocked.load(Ordering::Relaxed);
        (since != 0).then(|| self.opened.elapsed().saturating_sub(Duration::from_millis(since)))
    }

    /// Whether this is the first time that a caller authenticates here.
    pub(crate) fn is_unproven(&self) -> bool {
        !self.proven.load(Ordering::Relaxed)
    }

    /// Notes that a caller has authenticated here.
    pub(crate) fn set_proven(&self) {
        self.proven.store(true, Ordering::Relaxed);
    }

    /// Looks after an answer until it is dropped.
    pub(crate) fn look_after(&self, answer: Weak<dyn Unread>) {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        unread.retain(|one| one.strong_count() > 0);
        unread.push(answer);
    }

    /// Lets go of the answers that have not been read for so long; gives their number.
    pub(crate) fn abandon_unread(&self, limit: Duration) -> usize {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        unread.retain(|one| one.strong_count() > 0);
        let open: Vec<_> = unread.iter().filter_map(Weak::upgrade).collect();
        drop(unread);
        open.iter().filter(|answer| answer.abandon(limit)).count()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }

    fn since_change(&self) -> Duration {
        self.opened.elapsed().saturating_sub(Duration::from_millis(self.last_change.load(Ordering::Relaxed)))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.last_change.store(self.0.now(), Ordering::Relaxed);
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for StillArriving {
    fn drop(&mut self) {
        self.0.arriving.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Arc<Connection> {
        Connection::new(1, "127.0.0.1".parse().unwrap(), false)
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_is_idle_only_between_requests() {
        let connection = connection();
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(connection.idle(), Some(Duration::from_secs(3)));
        let (one, two) = (connection.begin(), connection.begin());
        assert_eq!(connection.idle(), None);
        drop(one);
        assert_eq!(connection.idle(), None);
        tokio::time::advance(Duration::from_secs(5)).await;
        drop(two);
        assert_eq!(connection.idle(), Some(Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_works_only_on_requests_that_have_arrived() {
        let connection = connection();
        assert!(!connection.standing().working, "nothing was asked");
        let _request = connection.begin();
        let body = connection.awaits_body();
        tokio::time::advance(Duration::from_secs(4)).await;
        let ConnectionActivity { working, since } = connection.standing();
        assert!(!working && since.as_secs_f64().round() == 4.0, "{since:?}");
        drop(body);
        assert!(connection.standing().working);
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_knows_how_long_nothing_was_taken() {
        let connection = connection();
        assert_eq!(connection.blocked(), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        connection.note_blocked(true);
        tokio::time::advance(Duration::from_secs(2)).await;
        connection.note_blocked(true);
        assert_eq!(connection.blocked(), Some(Duration::from_secs(2)));
        connection.note_blocked(false);
        assert_eq!(connection.blocked(), None);
    }
}

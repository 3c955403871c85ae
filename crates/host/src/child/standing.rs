//! ServerState: whether an agent's server can be called now, as its supervisor last found it.
//!
//! Promises: one writer, the supervisor; readers see the latest state and can wait for the server to be
//! ready. When the supervisor is gone, the server is down. A server that keeps failing is reported as
//! failing, with the count and the time of the first failure, also while it is being started once more. It
//! does not know what the way to the server is: that is its parameter.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{Period, Timestamp};
use tokio::sync::watch;

use crate::{AgentLog, Health};

/// How long a call waits for a server that is down: twice the first pause before a restart, short enough for
/// a caller.
const SOON: Duration = Duration::from_secs(1);

/// A server that stayed up this long has recovered: its earlier failures are no longer reported.
const RECOVERED: Duration = Duration::from_secs(60);

/// How the server was last found.
#[derive(Debug)]
struct ServerState<T> {
    health: Health,
    /// The way to call it; kept while it is down, because what it said of itself stays true.
    way: Option<Arc<T>>,
    /// Its failures since it was last up for [`RECOVERED`].
    failures: Option<Failures>,
}

/// Failures in a row, as far as a short life between two of them counts as no recovery.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Failures {
    count: u32,
    since: Timestamp,
    /// The last one: down or needs setup.
    last: Health,
    /// Since when it has been up again.
    up: Option<Timestamp>,
}

impl Failures {
    fn is_over(&self, now: Timestamp) -> bool {
        self.up.is_some_and(|up| now.since(up) >= RECOVERED)
    }

    fn health(&self) -> Health {
        match &self.last {
            Health::Down(reason) if self.count > 1 => {
                Health::Down(format!("{reason} (failed {} times since {})", self.count, self.since))
            }
            last => last.clone(),
        }
    }
}

impl<T> ServerState<T> {
    fn fail(&mut self, now: Timestamp, health: Health) {
        let earlier = self.failures.take().filter(|failures| !failures.is_over(now));
        let (count, since) = earlier.map_or((0, now), |failures| (failures.count, failures.since));
        self.failures =
            Some(Failures { count: count.saturating_add(1), since, last: health.clone(), up: None });
        self.health = health;
    }

    fn rise(&mut self, now: Timestamp, way: Arc<T>) {
        (self.health, self.way) = (Health::Ready, Some(way));
        if let Some(failures) = &mut self.failures {
            failures.up.get_or_insert(now);
        }
    }

    fn reported(&self) -> Health {
        match (&self.health, &self.failures) {
            (Health::Ready, _) | (_, None) => self.health.clone(),
            (_, Some(failures)) => failures.health(),
        }
    }
}

/// The supervisor's end.
#[derive(Debug)]
pub(crate) struct Bulletin<T>(watch::Sender<ServerState<T>>, AgentLog);

/// A reader's end.
#[derive(Debug)]
pub(crate) struct Watch<T>(watch::Receiver<ServerState<T>>, AgentLog);

impl<T> Clone for Watch<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), self.1.clone())
    }
}

/// Both ends; the server is starting. The clock is that of the agent's log.
pub(crate) fn bulletin<T>(log: &AgentLog) -> (Bulletin<T>, Watch<T>) {
    let (sender, receiver) =
        watch::channel(ServerState { health: Health::Starting, way: None, failures: None });
    (Bulletin(sender, log.clone()), Watch(receiver, log.clone()))
}

impl<T> Bulletin<T> {
    /// The server can be called this way.
    pub(crate) fn ready(&self, way: impl Into<Arc<T>>) {
        let (way, now) = (way.into(), self.1.now());
        self.0.send_modify(|standing| standing.rise(now, way));
    }

    /// The server is being started.
    pub(crate) fn starting(&self) {
        self.0.send_modify(|standing| standing.health = Health::Starting);
    }

    /// The server cannot be called; the text gives the reason and what happens next.
    pub(crate) fn down(&self, reason: String) {
        let now = self.1.now();
        self.0.send_modify(|standing| standing.fail(now, Health::Down(reason)));
    }

    /// The server cannot be called until an admin follows the text.
    pub(crate) fn needs(&self, what: String) {
        let now = self.1.now();
        self.0.send_modify(|standing| standing.fail(now, Health::Needs(what)));
    }

    /// Whether the server was ready at the last report.
    pub(crate) fn is_ready(&self) -> bool {
        self.0.borrow().health == Health::Ready
    }
}

impl<T> Watch<T> {
    /// Whether the server can be called now. One that failed is reported as failing until it is ready again.
    pub(crate) fn health(&self) -> Health {
        self.0.borrow().reported()
    }

    /// That the server is up now but has failed repeatedly a short while ago.
    pub(crate) fn notice(&self) -> Option<String> {
        let standing = self.0.borrow();
        let failures = standing.failures.as_ref().filter(|failures| failures.count > 1)?;
        if standing.health != Health::Ready || failures.is_over(self.1.now()) {
            return None;
        }
        let (count, since, last) =
            (failures.count, failures.since, failures.last.reason().unwrap_or_default());
        Some(format!("its server keeps failing: {count} times since {since}, last: {last}"))
    }

    /// The last known way to the server, whether it can be called now or not.
    pub(crate) fn way(&self) -> Option<Arc<T>> {
        self.0.borrow().way.clone()
    }

    /// The way to call the server, if it can be called now.
    pub(crate) fn now(&self) -> Result<Arc<T>, String> {
        let standing = self.0.borrow();
        match (&standing.health, &standing.way) {
            (Health::Ready, Some(way)) => Ok(way.clone()),
            (health, _) => Err(health.reason().unwrap_or("it is being started").to_owned()),
        }
    }

    /// Waits until the supervisor has noticed that this way leads nowhere any more.
    pub(crate) async fn renewed(&mut self, stale: &Arc<T>) {
        let same = |way: &Option<Arc<T>>| way.as_ref().is_some_and(|way| Arc::ptr_eq(way, stale));
        let _ = self.0.wait_for(|standing| standing.health != Health::Ready || !same(&standing.way)).await;
    }

    /// Waits until the server can be called, at most `patience` while it is being started and a short while
    /// when it is down, because a server that just died is soon back; a reason when it stays down.
    pub(crate) async fn ready(&mut self, patience: Duration) -> Result<Arc<T>, String> {
        let soon =
            async { self.0.wait_for(|standing| !matches!(standing.health, Health::Down(_))).await.is_ok() };
        let _ = tokio::time::timeout(SOON.min(patience), soon).await;
        let decided = async { self.0.wait_for(|standing| standing.health != Health::Starting).await.is_ok() };
        match tokio::time::timeout(patience, decided).await {
            Ok(true) => self.now(),
            Ok(false) => Err("it was stopped with its supervisor".into()),
            Err(_) => Err(format!("it was not ready within {}; see its log", Period(patience))),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::{BEGINNING, VirtualClock};

    use super::*;

    fn ends() -> (Arc<VirtualClock>, Bulletin<()>, Watch<()>) {
        let clock = VirtualClock::at(BEGINNING);
        let (bulletin, watch) = bulletin(&AgentLog::new(clock.clone()));
        (clock, bulletin, watch)
    }

    #[test]
    fn a_server_that_keeps_failing_is_failing_also_while_it_is_started_again() {
        let (clock, bulletin, watch) = ends();
        assert_eq!(watch.health(), Health::Starting);
        for _ in 0..3 {
            bulletin.starting();
            bulletin.ready(());
            clock.pass(Duration::from_secs(1));
            bulletin.down("it ended".into());
        }
        bulletin.starting();
        let Health::Down(reason) = watch.health() else { panic!("{:?}", watch.health()) };
        assert!(reason.contains("it ended") && reason.contains("failed 3 times since"), "{reason}");
        assert_eq!(watch.notice(), None);
        bulletin.ready(());
        assert_eq!(watch.health(), Health::Ready);
        assert!(watch.notice().unwrap().contains("3 times"));
    }

    #[test]
    fn a_minute_of_health_ends_the_count() {
        let (clock, bulletin, watch) = ends();
        bulletin.down("first".into());
        bulletin.down("second".into());
        bulletin.ready(());
        clock.pass(RECOVERED);
        bulletin.ready(());
        assert_eq!((watch.health(), watch.notice()), (Health::Ready, None));
        bulletin.down("third".into());
        assert_eq!(watch.health(), Health::Down("third".into()));
    }

    #[test]
    fn what_is_needed_stays_needed_while_it_is_tried_again() {
        let (_, bulletin, watch) = ends();
        bulletin.needs("install it".into());
        bulletin.starting();
        assert_eq!(watch.health(), Health::Needs("install it".into()));
    }
}

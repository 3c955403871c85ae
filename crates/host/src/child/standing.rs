//! Standing: whether an agent's server can be called now, as its supervisor last found it.
//!
//! Promises: one writer, the supervisor; readers see the latest state and can wait for the server to be ready. When the supervisor
//! is gone, the server is down. It does not know what the way to the server is: that is its parameter.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Period;
use tokio::sync::watch;

use crate::Health;

/// How long a call waits for a server that is down: twice the first pause before a restart, short enough for a caller.
const SOON: Duration = Duration::from_secs(1);

/// How the server was last found.
#[derive(Debug)]
struct Standing<T> {
    health: Health,
    /// The way to call it; kept while it is down, because what it said of itself stays true.
    way: Option<Arc<T>>,
}

/// The supervisor's end.
#[derive(Debug)]
pub(crate) struct Bulletin<T>(watch::Sender<Standing<T>>);

/// A reader's end.
#[derive(Debug)]
pub(crate) struct Watch<T>(watch::Receiver<Standing<T>>);

impl<T> Clone for Watch<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Both ends; the server is starting.
pub(crate) fn bulletin<T>() -> (Bulletin<T>, Watch<T>) {
    let (sender, receiver) = watch::channel(Standing { health: Health::Starting, way: None });
    (Bulletin(sender), Watch(receiver))
}

impl<T> Bulletin<T> {
    /// The server can be called this way.
    pub(crate) fn ready(&self, way: impl Into<Arc<T>>) {
        self.0.send_replace(Standing { health: Health::Ready, way: Some(way.into()) });
    }

    /// The server is being started.
    pub(crate) fn starting(&self) {
        self.0.send_modify(|standing| standing.health = Health::Starting);
    }

    /// The server cannot be called; the words say why and what happens next.
    pub(crate) fn down(&self, reason: String) {
        self.0.send_modify(|standing| standing.health = Health::Down(reason));
    }

    /// The server cannot be called until somebody does what the words say.
    pub(crate) fn needs(&self, what: String) {
        self.0.send_modify(|standing| standing.health = Health::Needs(what));
    }

    /// Whether the server was ready when it was last heard of.
    pub(crate) fn is_ready(&self) -> bool {
        self.0.borrow().health == Health::Ready
    }
}

impl<T> Watch<T> {
    /// Whether the server can be called now.
    pub(crate) fn health(&self) -> Health {
        self.0.borrow().health.clone()
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

    /// Waits until the server can be called, at most `patience` while it is being started and a short while when it is down, because a
    /// server that just died is soon back; a reason when it stays down.
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

//! Standing: whether the agent can be called now, as its supervisor last found it.
//!
//! Promises: one writer, the supervisor; readers see the latest state and can wait for the agent to be ready. When the supervisor
//! is gone, the agent is down.

use std::sync::Arc;
use std::time::Duration;

use agentsite_client::A2aClient;
use agentsite_protocol::{AgentCard, Period};
use tokio::sync::watch;

use crate::Health;

/// How long a call waits for an agent that is down: twice the first pause before a restart, short enough for a caller.
const SOON: Duration = Duration::from_secs(1);

/// How the agent was last found.
#[derive(Debug, Clone)]
struct Standing {
    health: Health,
    /// The way to call it; kept while it is down, because its card stays true.
    client: Option<Arc<A2aClient>>,
}

/// The supervisor's end.
#[derive(Debug)]
pub(super) struct Bulletin(watch::Sender<Standing>);

/// A reader's end.
#[derive(Debug, Clone)]
pub(super) struct Watch(watch::Receiver<Standing>);

/// Both ends; the agent is starting.
pub(super) fn bulletin() -> (Bulletin, Watch) {
    let (sender, receiver) = watch::channel(Standing { health: Health::Starting, client: None });
    (Bulletin(sender), Watch(receiver))
}

impl Bulletin {
    /// The agent can be called this way.
    pub(super) fn ready(&self, client: A2aClient) {
        self.0.send_replace(Standing { health: Health::Ready, client: Some(Arc::new(client)) });
    }

    /// The agent is being started.
    pub(super) fn starting(&self) {
        self.0.send_modify(|standing| standing.health = Health::Starting);
    }

    /// The agent cannot be called; the words say why and what happens next.
    pub(super) fn down(&self, reason: String) {
        self.0.send_modify(|standing| standing.health = Health::Down(reason));
    }
}

impl Watch {
    /// Whether the agent can be called now. One whose endpoints all fail is down although its card can be had.
    pub(super) fn health(&self) -> Health {
        let standing = self.0.borrow();
        let resting = standing.client.as_ref().and_then(|client| client.resting());
        match (&standing.health, resting) {
            (Health::Ready, Some(why)) => Health::Down(why),
            (health, _) => health.clone(),
        }
    }

    /// The agent's card, once it was seen.
    pub(super) fn card(&self) -> Option<Arc<AgentCard>> {
        self.0.borrow().client.as_ref().map(|client| client.card().clone())
    }

    /// The way to call the agent, if it can be called now.
    pub(super) fn now(&self) -> Result<Arc<A2aClient>, String> {
        let standing = self.0.borrow();
        match (&standing.health, &standing.client) {
            (Health::Ready, Some(client)) => Ok(client.clone()),
            (health, _) => Err(health.reason().unwrap_or("it is being started").to_owned()),
        }
    }

    /// Waits until the agent can be called, at most `patience` while it is being started and a short while when it is down, because a
    /// server that just died is soon back; a reason when it stays down.
    pub(super) async fn ready(&mut self, patience: Duration) -> Result<Arc<A2aClient>, String> {
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

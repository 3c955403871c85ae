//! Sessions: which session of the agent belongs to which conversation, and which turns wait for a person.
//!
//! Promises: one turn at a time in a conversation; further ones wait for their seat. Bounded: the
//! conversation that was not used for longest is given up, and its session closed where the agent can. A
//! session of an earlier life of the agent is loaded where the agent can, else begun anew.
//!
//! It is kept in memory only: a turn that waits is lost when the site stops.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::{ContextId, Principal, TaskId};
use serde_json::json;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::connection::{Connection, RequestError};
use super::turn::Turn;

/// Conversations that are kept: each costs the agent memory, and few people have more open in a day.
const MOST: usize = 64;

/// How long a turn may wait for a person; after a day the question is out of date.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

type Key = (Principal, ContextId);

/// A conversation with the agent.
#[derive(Debug, Default)]
struct AcpSession {
    /// The agent's id of the session, and the life of the agent in which it was last known.
    session: Option<(String, u64)>,
    used: u64,
    seat: Arc<tokio::sync::Mutex<()>>,
    parked: Option<ParkedTurn>,
}

/// A turn that waits for a person.
#[derive(Debug)]
struct ParkedTurn {
    task: TaskId,
    turn: Turn,
    since: Instant,
}

/// The conversations of an agent.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    // A std lock: held for a look-up, never across an await.
    known: Mutex<StoredSession>,
}

#[derive(Debug, Default)]
struct StoredSession {
    kept: HashMap<Key, AcpSession>,
    uses: u64,
    /// Unused sessions that the agent was not notified of, with the life of the agent.
    left: Vec<(String, u64)>,
}

impl StoredSession {
    /// Gives up what is too old or too much, except the conversation that is just used.
    fn give_up(&mut self, keep: &Key) -> Vec<AcpSession> {
        let mut given_up = Vec::new();
        for kept in self.kept.values_mut() {
            let parked = kept.parked.take_if(|parked| parked.since.elapsed() > LONGEST_WAIT);
            given_up
                .extend(parked.map(|parked| AcpSession { parked: Some(parked), ..AcpSession::default() }));
        }
        while self.kept.len() > MOST {
            // A run that holds the session or waits for it has a copy of the lock.
            let idle =
                self.kept.iter().filter(|(key, kept)| *key != keep && Arc::strong_count(&kept.seat) == 1);
            let oldest = idle.min_by_key(|(_, kept)| (kept.parked.is_some(), kept.used));
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
            let Some(mut kept) = self.kept.remove(&key) else { break };
            self.left.extend(kept.session.take());
            given_up.push(kept);
        }
        // They only accumulate for an agent that cannot create new sessions.
        self.left.truncate(MOST);
        given_up
    }
}

/// The exclusive turn in a conversation.
#[derive(Debug)]
pub(super) struct SessionGuard {
    key: Key,
    _held: OwnedMutexGuard<()>,
}

/// What waits in a conversation.
#[derive(Debug)]
pub(super) enum Waiting {
    /// Nothing.
    Nothing,
    /// The turn of this task.
    Mine(Box<Turn>),
    /// The turn of another task.
    Other(TaskId),
}

/// A session of the agent, ready for a prompt.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    /// Whether the agent knows nothing of what was said before.
    pub(super) fresh: bool,
}

impl Sessions {
    /// Waits for the exclusive turn in a conversation.
    pub(super) async fn seat(&self, owner: &Principal, context: &ContextId) -> SessionGuard {
        let key = (owner.clone(), context.clone());
        let (seat, given_up) = {
            let mut known = self.lock();
            known.uses += 1;
            let now = known.uses;
            let kept = known.kept.entry(key.clone()).or_default();
            kept.used = now;
            let seat = kept.seat.clone();
            (seat, known.give_up(&key))
        };
        // Ends their turns, which may take another lock.
        drop(given_up);
        SessionGuard { key, _held: seat.lock_owned().await }
    }

    /// Takes what waits in the conversation.
    pub(super) fn take(&self, seat: &SessionGuard, task: TaskId) -> Waiting {
        let mut known = self.lock();
        let Some(kept) = known.kept.get_mut(&seat.key) else { return Waiting::Nothing };
        match kept.parked.take() {
            None => Waiting::Nothing,
            Some(parked) if parked.task == task => Waiting::Mine(Box::new(parked.turn)),
            Some(parked) => {
                let other = parked.task;
                kept.parked = Some(parked);
                Waiting::Other(other)
            }
        }
    }

    /// Lets a turn wait for a person.
    pub(super) fn park(&self, seat: &SessionGuard, task: TaskId, turn: Turn) {
        turn.park(true);
        let parked = ParkedTurn { task, turn, since: Instant::now() };
        self.lock().kept.entry(seat.key.clone()).or_default().parked = Some(parked);
    }

    /// Ends the turn of a task that waits for a person.
    pub(super) fn forget(&self, task: TaskId) {
        let found = {
            let mut known = self.lock();
            let mut kept = known.kept.values_mut();
            kept.find_map(|kept| kept.parked.take_if(|parked| parked.task == task))
        };
        drop(found);
    }

    /// The session of the conversation; `earlier` is one that an earlier run noted down.
    ///
    /// # Errors
    /// [`RequestError`] when the agent creates no session.
    pub(super) async fn session(
        &self,
        seat: &SessionGuard,
        connection: &Connection,
        folder: &Path,
        earlier: Option<&str>,
    ) -> Result<Session, RequestError> {
        let known = self.lock().kept.get(&seat.key).and_then(|kept| kept.session.clone());
        if let Some((id, life)) = &known
            && *life == connection.life
            && !connection.is_busy(id)
        {
            return Ok(Session { id: id.clone(), fresh: false });
        }
        let lost = known.as_ref().filter(|(_, life)| *life != connection.life).map(|(id, _)| id.as_str());
        let about = json!({"cwd": folder, "mcpServers": []});
        if let Some(id) = lost.or(earlier.filter(|_| known.is_none()))
            && connection.abilities().load
        {
            let mut about = about.clone();
            about["sessionId"] = json!(id);
            if connection.ask("session/load", &about).await.is_ok() {
                self.remember(seat, connection, id);
                return Ok(Session { id: id.to_owned(), fresh: false });
            }
        }
        let made = connection.ask("session/new", &about).await?;
        let id = made["sessionId"].as_str().unwrap_or_default().to_owned();
        self.remember(seat, connection, &id);
        Ok(Session { id, fresh: true })
    }

    fn remember(&self, seat: &SessionGuard, connection: &Connection, id: &str) {
        let mut known = self.lock();
        known.kept.entry(seat.key.clone()).or_default().session = Some((id.to_owned(), connection.life));
        let left = std::mem::take(&mut known.left);
        drop(known);
        let left =
            left.into_iter().filter(|(_, life)| *life == connection.life && connection.abilities().close);
        for (id, _) in left {
            connection.ask_in_passing("session/close", &json!({"sessionId": id}));
        }
    }

    fn lock(&self) -> MutexGuard<'_, StoredSession> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Port and Inbox: what comes for a session while a turn listens to it.
//!
//! Promises: in order, and bounded in number and in bytes. While the turn works, an agent that talks faster
//! than the site writes is slowed down; while the turn waits for a person, an agent that talks on beyond the
//! bounds loses the turn instead of holding up the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::wire::PermissionRequest;

/// Events that may wait for a turn.
const MOST_EVENTS: usize = 256;

/// Bytes of events that may wait for a turn: one line of the longest kind and some small ones.
const MOST_BYTES: usize = 12 << 20;

/// What an event costs besides its text, so that very many tiny ones are counted too.
const OVERHEAD: usize = 256;

/// A message for a session.
#[derive(Debug)]
pub(super) enum Event {
    /// The agent tells how it goes.
    Update(Value),
    /// The agent asks for a permission.
    Question {
        /// The id of the agent's request.
        id: Value,
        /// What it asks.
        request: PermissionRequest,
    },
}

/// Where the reader puts what comes for a session.
#[derive(Debug, Clone)]
pub(super) struct Port {
    events: mpsc::Sender<(Event, OwnedSemaphorePermit)>,
    space: Arc<Semaphore>,
    parked: Arc<AtomicBool>,
}

/// Where a turn takes it.
#[derive(Debug)]
pub(super) struct Inbox {
    events: mpsc::Receiver<(Event, OwnedSemaphorePermit)>,
    space: Arc<Semaphore>,
    parked: Arc<AtomicBool>,
}

impl Port {
    /// Both ends.
    pub(super) fn open() -> (Self, Inbox) {
        let (sender, events) = mpsc::channel(MOST_EVENTS);
        let (space, parked) = (Arc::new(Semaphore::new(MOST_BYTES)), Arc::new(AtomicBool::new(false)));
        let inbox = Inbox { events, space: space.clone(), parked: parked.clone() };
        (Self { events: sender, space, parked }, inbox)
    }

    /// Adds an update; false when the turn is full.
    pub(super) async fn update(&self, update: Value, size: usize) -> bool {
        self.put(Event::Update(update), size).await.is_ok()
    }

    /// Adds a question; returns its id when the turn is full.
    pub(super) async fn question(
        &self,
        id: Value,
        request: PermissionRequest,
        size: usize,
    ) -> Result<(), Value> {
        match self.put(Event::Question { id: id.clone(), request }, size).await {
            Ok(()) => Ok(()),
            Err(()) => Err(id),
        }
    }

    async fn put(&self, event: Event, size: usize) -> Result<(), ()> {
        let cost = u32::try_from((size + OVERHEAD).min(MOST_BYTES)).unwrap_or(u32::MAX);
        if self.parked.load(Ordering::Relaxed) {
            let permit = self.space.clone().try_acquire_many_owned(cost).map_err(drop)?;
            return self.events.try_send((event, permit)).map_err(drop);
        }
        let permit = self.space.clone().acquire_many_owned(cost).await.map_err(drop)?;
        self.events.send((event, permit)).await.map_err(drop)
    }
}

impl Inbox {
    /// What comes next; `None` when nothing more can come. Cancellation safe.
    pub(super) async fn next(&mut self) -> Option<Event> {
        self.events.recv().await.map(|(event, _)| event)
    }

    /// What is there already.
    pub(super) fn now(&mut self) -> Option<Event> {
        self.events.try_recv().ok().map(|(event, _)| event)
    }

    /// Whether the turn waits for a person from now on.
    pub(super) fn park(&self, parked: bool) {
        self.parked.store(parked, Ordering::Relaxed);
    }
}

/// Callers that wait for space are released.
impl Drop for Inbox {
    fn drop(&mut self) {
        self.space.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::soon;

    #[tokio::test]
    async fn a_working_turn_slows_the_agent_down_and_a_waiting_one_loses_it() {
        let (port, mut inbox) = Port::open();
        inbox.park(true);
        let mut kept = 0;
        while port.update(Value::Null, 1).await {
            kept += 1;
        }
        assert_eq!(kept, MOST_EVENTS);
        inbox.park(false);
        let further = async { tokio::join!(port.update(Value::Null, 1), inbox.next()) };
        assert!(soon("there is space again", further).await.0);
    }

    #[tokio::test]
    async fn bytes_count_and_a_reader_that_waits_is_let_go_with_the_turn() {
        let (port, inbox) = Port::open();
        assert!(port.update(Value::Null, MOST_BYTES).await);
        let dropping = async {
            tokio::task::yield_now().await;
            drop(inbox);
        };
        let both = async { tokio::join!(port.update(Value::Null, 10), dropping) };
        assert!(!soon("the reader is let go", both).await.0);
    }
}

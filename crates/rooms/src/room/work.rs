//! The background work of rooms, and rooms as a capability of a site.
//!
//! Promises: deadlines are looked at every second in one process; what another process appends reaches the
//! followers here. A worker that fails tries again and delays no verb.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentsite_protocol::RoomId;
use agentsite_store::{Entity, StoreError, Topic, Touched};
use agentsite_tasks::{Capability, Taken, Worker, WorkerScope, follow_topic};
use tokio_util::sync::CancellationToken;

use super::error::RoomError;
use super::handle::Rooms;
use super::hook::RoomAnswers;
use super::kinds::{CONFIGURED, CREATED, ENDED, LINKED, MEMBERS};
use super::link::LINKS;

/// How often deadlines are looked at: the shortest rule of a room is a second.
const LOOK: Duration = Duration::from_secs(1);

/// Rooms whose deadlines are taken in one look; the rest follows at once.
const DUE: usize = 64;

/// What the answers of agents contribute: the hook must be known before the tasks are opened.
#[must_use]
pub fn answers_capability(answers: &Arc<RoomAnswers>) -> Capability {
    Capability::new("room-answers").hook(answers.clone())
}

/// What rooms contribute to a site.
#[must_use]
pub fn rooms_capability(rooms: &Rooms) -> Capability {
    let busy: Arc<Mutex<BTreeSet<RoomId>>> = Arc::default();
    let (feed, agents, deadlines, answers) = (rooms.clone(), rooms.clone(), rooms.clone(), rooms.clone());
    let noting = busy.clone();
    Capability::new("rooms")
        .kinds(const { &[CREATED, MEMBERS, CONFIGURED, ENDED, LINKED] })
        .collections(const { &[LINKS.name()] })
        .worker("room-feed", "Wakes those who follow rooms.", WorkerScope::Process, move |worker, stop| {
            let rooms = feed.clone();
            let store = rooms.0.store.clone();
            let take = move |touched| -> Taken {
                rooms.wake(touched);
                Box::pin(async { Ok("followers are awake".into()) })
            };
            follow_topic(store, Topic::Rooms, take, worker, stop)
        })
        .worker(
            "room-agents",
            "Calls agents that are addressed in rooms.",
            WorkerScope::Site,
            move |worker, stop| {
                let (rooms, busy) = (agents.clone(), noting.clone());
                let store = rooms.0.store.clone();
                let take = move |touched| -> Taken {
                    let (rooms, busy) = (rooms.clone(), busy.clone());
                    Box::pin(async move {
                        let again = rooms.call_in(touched).await?;
                        busy.lock().unwrap_or_else(PoisonError::into_inner).extend(again);
                        Ok("agents have been called".into())
                    })
                };
                follow_topic(store, Topic::Rooms, take, worker, stop)
            },
        )
        .worker("room-deadlines", "Ends what waits in rooms.", WorkerScope::Site, move |worker, stop| {
            deadlines.clone().watch_deadlines(busy.clone(), worker, stop)
        })
        .worker(
            "room-answers",
            "Posts answers of agents in rooms.",
            WorkerScope::Process,
            move |worker, stop| answers.clone().post_answers(worker, stop),
        )
}

impl Rooms {
    fn wake(&self, touched: Touched) {
        let Touched::Entities(entities) = touched else { return self.0.feed.publish_missed() };
        for entity in entities {
            if let Entity::Room(id) = entity {
                self.0.feed.publish(id);
            }
        }
    }

    async fn watch_deadlines(
        self,
        busy: Arc<Mutex<BTreeSet<RoomId>>>,
        worker: Worker,
        stop: CancellationToken,
    ) {
        loop {
            let waiting = std::mem::take(&mut *busy.lock().unwrap_or_else(PoisonError::into_inner));
            let done = match self.tick_due().await {
                Ok(ticked) => self.call_again(waiting, &busy).await.map(|()| ticked),
                Err(error) => Err(error),
            };
            match done {
                Ok(_) => worker.idle("no deadline has passed"),
                Err(error) => worker.failing(&error.to_string()),
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn call_again(
        &self,
        waiting: BTreeSet<RoomId>,
        busy: &Mutex<BTreeSet<RoomId>>,
    ) -> Result<(), StoreError> {
        let entities = waiting.into_iter().map(Entity::Room).collect();
        let again = self.call_in(Touched::Entities(entities)).await?;
        busy.lock().unwrap_or_else(PoisonError::into_inner).extend(again);
        Ok(())
    }

    /// Takes the deadlines that have passed; gives how many rooms had one.
    pub(crate) async fn tick_due(&self) -> Result<usize, StoreError> {
        let due = self.0.store.rooms_due(self.0.ids.clock().now(), DUE).await?;
        for room in &due {
            match self.0.logs.decide(*room, |room, now| Ok(room.tick(now))).await {
                Ok(_) | Err(RoomError::NoSuchRoom(_)) => {}
                Err(RoomError::Store(error)) => return Err(error),
                Err(error) => tracing::warn!(%room, %error, "the deadline of a room could not be taken"),
            }
        }
        Ok(due.len())
    }
}

//! How agents are called: an agent that has the floor, is mentioned or has a task gets a task of its own.
//!
//! Promises: every event is looked at once for every agent, in order, from the agent's own cursor; the
//! message of a call has an id that is made from room, event and agent, so a process that dies between the
//! call and the cursor calls no agent twice. An agent that cannot take the call now is called again later;
//! it holds up no other.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentsite_protocol::room::{MemberId, RoomEvent};
use agentsite_protocol::{AgentName, Caller, Message, Role, RoomId, Timestamp};
use agentsite_store::{Change, Entity, RoomMemberRow, RoomRow, StoreError, TaskFilter, Touched, Unjournaled};
use agentsite_tasks::{Origin, TaskAgent, TaskError, TaskRequest};

use super::address::{self, CallReason};
use super::answer::note_call;
use super::error::RoomError;
use super::handle::Rooms;
use super::log::Live;
use super::read::passed;

/// Events that an agent is called for at once.
const PAGE: usize = 200;

/// Events of history that are read for an agent with a model.
const HISTORY: u64 = 100;

/// Rooms that are looked at when it is not known which have changed.
const MAX_ROOMS: usize = 1_000;

/// Tasks of an agent that are looked at for answers that were not posted.
const MAX_UNPOSTED: usize = 20;

impl Rooms {
    /// Calls the agents of the rooms that have changed; gives those in which an agent was busy.
    pub(crate) async fn call_in(&self, touched: Touched) -> Result<BTreeSet<RoomId>, StoreError> {
        let (rooms, all) = match touched {
            Touched::Entities(entities) => {
                let rooms = entities.into_iter().filter_map(|entity| match entity {
                    Entity::Room(id) => Some(id),
                    _ => None,
                });
                (rooms.collect::<BTreeSet<_>>(), false)
            }
            Touched::All => {
                let last = Timestamp::from_millis(i64::MAX);
                (self.0.store.rooms_due(last, MAX_ROOMS).await?.into_iter().collect(), true)
            }
        };
        let mut busy = BTreeSet::new();
        for room in rooms {
            match self.call_agents(room, all).await {
                Ok(true) => {}
                Ok(false) => drop(busy.insert(room)),
                Err(RoomError::Store(error)) => return Err(error),
                Err(error) => tracing::warn!(%room, %error, "agents of a room could not be called"),
            }
        }
        Ok(busy)
    }

    /// Calls the agents of a room; false when one must be called again later.
    pub(crate) async fn call_agents(&self, id: RoomId, recover: bool) -> Result<bool, RoomError> {
        let live = self.0.logs.get(id).await?;
        let mut done = true;
        for row in self.0.store.room_members(id).await? {
            let agent = row.member.agent_name().filter(|_| row.joined);
            let Some(agent) = agent.and_then(|name| self.0.agents.find(&name)) else { continue };
            if recover {
                self.post_unposted(id, &live, &agent.manifest.name).await?;
            }
            if row.processed < live.head.seq && !live.room.state().is_ended() {
                done &= self.catch_up(&live, &row, &agent).await?;
            }
        }
        Ok(done)
    }

    /// Calls an agent for what it has not looked at; false when it is too busy.
    async fn catch_up(
        &self,
        live: &Live,
        row: &RoomMemberRow,
        agent: &Arc<TaskAgent>,
    ) -> Result<bool, RoomError> {
        let id = live.head.id;
        let from = row.processed.max(live.head.first - 1);
        let rows = self.0.store.room_events(id, from, PAGE).await?;
        let events = rows.iter().map(RoomRow::event).collect::<Result<Vec<_>, StoreError>>()?;
        let calls = calls_of(live, &events, &row.member);
        for (event, reason) in calls {
            match self.call(live, event, &reason, agent).await {
                Ok(()) => {}
                Err(RoomError::Task(TaskError::QueueFull { .. })) => return Ok(false),
                Err(RoomError::Task(error)) => {
                    tracing::warn!(room = %id, agent = %agent.manifest.name, %error, "an agent could not be called");
                }
                Err(error) => return Err(error),
            }
        }
        let Some(last) = events.last() else { return Ok(true) };
        let cursor = passed(id, &row.member, last.seq);
        self.0.store.commit(Change::unjournaled(Unjournaled::RoomLog).edit(cursor)).await?;
        Ok(last.seq >= live.head.seq)
    }

    async fn call(
        &self,
        live: &Live,
        event: &RoomEvent,
        reason: &CallReason,
        agent: &Arc<TaskAgent>,
    ) -> Result<(), RoomError> {
        let (room, name) = (&live.room, &agent.manifest.name);
        let has_model = agent.has_model();
        let history = if has_model {
            let from = event.seq.saturating_sub(HISTORY + 1).max(live.head.first - 1);
            let rows = self.0.store.room_events(room.id, from, PAGE).await?;
            rows.iter().map(RoomRow::event).collect::<Result<Vec<_>, StoreError>>()?
        } else {
            Vec::new()
        };
        let invalid = |_| RoomError::Invalid("the id of a call".into());
        let id = format!("{}:{}:{name}", room.id, event.seq).chars().take(128).collect::<String>();
        let mut message = Message::text(id.parse().map_err(invalid)?, Role::User, "");
        message.parts = address::question(room, &history, event, name, has_model);
        // An agent with a model gets the history each time; others remember the room by its context.
        let context = if has_model { format!("{}:{}", room.id, event.seq) } else { room.id.to_string() };
        message.context_id = Some(context.parse().map_err(invalid)?);
        note_call(&mut message, &event.envelope, reason);
        let caller = Caller::inside(live.head.owner.clone());
        let (agent, request) = self.0.site.accept(&caller, name, message.into())?;
        let request = TaskRequest { origin: Origin::Room(room.id), ..request };
        Box::pin(self.0.tasks.send(&caller, agent, request)).await?;
        Ok(())
    }

    /// Posts answers that a process did not post before it died.
    async fn post_unposted(&self, id: RoomId, live: &Live, agent: &AgentName) -> Result<(), RoomError> {
        let filter = TaskFilter {
            owner: Some(live.head.owner.clone()),
            agent: Some(agent.clone()),
            ..TaskFilter::default()
        };
        for head in self.0.store.tasks(filter, None, MAX_UNPOSTED).await?.items {
            if head.state.is_settled() {
                self.post_answer(id, head.id).await?;
            }
        }
        Ok(())
    }
}

/// The events for which an agent is called: every task, and of what it is to say something about the newest.
fn calls_of<'a>(live: &Live, events: &'a [RoomEvent], agent: &MemberId) -> Vec<(&'a RoomEvent, CallReason)> {
    let joined = live.room.member(agent).map_or(0, |member| member.joined);
    let called = |event: &'a RoomEvent| {
        let reason = (event.seq > joined).then(|| address::calls(&live.room, event, agent)).flatten()?;
        Some((event, reason))
    };
    let mut all: Vec<(&RoomEvent, CallReason)> = events.iter().filter_map(called).collect();
    let newest = all.iter().rposition(|(_, reason)| *reason == CallReason::Addressed);
    let mut place = 0;
    all.retain(|(_, reason)| {
        let keep = *reason != CallReason::Addressed || Some(place) == newest;
        place += 1;
        keep
    });
    all
}

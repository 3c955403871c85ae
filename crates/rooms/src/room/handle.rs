//! Rooms: the handle by which the rest of a site works with rooms.
//!
//! Promises: clones are handles on the same rooms; every verb takes the caller first, and a room that the
//! caller does not belong to answers like one that does not exist. Anonymous callers have no rooms. The verbs
//! are in files of their own: `post`, `read`, `link`.

use std::sync::Arc;

use agentsite_protocol::room::{
    Envelope, InviteBlock, MemberId, MemberKind, MemberRole, MessageType, Room, RoomMember, RoomSettings,
    RoomStateBlock,
};
use agentsite_protocol::{Caller, Ids, JsonMap, RoomId, SigningKey};
use agentsite_store::{Page, RoomPosition, SharedStore};
use agentsite_tasks::{AgentDirectory, Tasks};
use serde_json::Value;

use super::error::RoomError;
use super::feed::RoomFeed;
use super::hook::RoomAnswers;
use super::log::{Live, RoomLogs, no_room};
use super::view::RoomView;
use crate::access::SiteAccess;

/// Most rooms of one member: the list stays quick.
pub const MAX_ROOMS: usize = 1_000;

/// Longest title, in bytes.
const MAX_TITLE: usize = 200;

/// Most members that are invited when a room is created; more are invited afterwards.
const MAX_INVITED: usize = 64;

/// What a site gives to its rooms.
#[derive(Debug)]
pub struct RoomParts {
    /// Where rooms are kept.
    pub store: SharedStore,
    /// Time, chance, and the ids made of both.
    pub ids: Ids,
    /// The tasks by which agents are called.
    pub tasks: Tasks,
    /// The agents of the site.
    pub agents: AgentDirectory,
    /// What else is needed of the site.
    pub site: Arc<dyn SiteAccess>,
    /// The key that signs events.
    pub key: SigningKey,
    /// The hook that is registered with the tasks.
    pub answers: Arc<RoomAnswers>,
}

/// A room that is to be created.
#[derive(Debug, Clone, Default)]
pub struct NewRoom {
    /// Its title.
    pub title: String,
    /// Its rules.
    pub settings: RoomSettings,
    /// What it works on.
    pub goal: Option<Value>,
    /// Who is invited, in which role.
    pub members: Vec<(MemberId, MemberRole)>,
}

/// The rooms of a site.
#[derive(Debug, Clone)]
pub struct Rooms(pub(crate) Arc<RoomsInner>);

/// What the verbs share.
#[derive(Debug)]
pub(crate) struct RoomsInner {
    pub(crate) logs: RoomLogs,
    pub(crate) feed: RoomFeed,
    pub(crate) ids: Ids,
    pub(crate) store: SharedStore,
    pub(crate) tasks: Tasks,
    pub(crate) agents: AgentDirectory,
    pub(crate) site: Arc<dyn SiteAccess>,
    pub(crate) answers: Arc<RoomAnswers>,
}

impl Rooms {
    /// The rooms of a site.
    #[must_use]
    pub fn new(parts: RoomParts) -> Self {
        let RoomParts { store, ids, tasks, agents, site, key, answers } = parts;
        let logs = RoomLogs::new(store.clone(), ids.clone(), key);
        let feed = RoomFeed::default();
        Self(Arc::new(RoomsInner { logs, feed, ids, store, tasks, agents, site, answers }))
    }

    /// Creates a room; the caller is its owner. Agents that are invited join at once.
    ///
    /// # Errors
    /// [`RoomError::TooManyRooms`], [`RoomError::Invalid`], [`RoomError::Refused`]; an agent that the caller
    /// may not call is an unknown one.
    pub async fn create(&self, caller: &Caller, new: NewRoom) -> Result<RoomView, RoomError> {
        // Boxed, because it holds several messages, each of several kilobytes.
        Box::pin(self.open_room(caller, new)).await
    }

    async fn open_room(&self, caller: &Caller, new: NewRoom) -> Result<RoomView, RoomError> {
        let me = member(caller)?;
        let title = new.title.trim();
        if title.is_empty() || title.len() > MAX_TITLE || title.contains(char::is_control) {
            return Err(RoomError::Invalid(format!(
                "a title must have 1 to {MAX_TITLE} bytes of printable text"
            )));
        }
        if new.members.len() > MAX_INVITED {
            return Err(RoomError::Invalid(format!(
                "invite at most {MAX_INVITED} members with the creation"
            )));
        }
        let mine = self.0.store.rooms_of(&me, None, MAX_ROOMS).await?;
        if mine.items.len() >= MAX_ROOMS {
            return Err(RoomError::TooManyRooms(MAX_ROOMS));
        }
        for (invited, _) in &new.members {
            self.check_invitable(caller, invited)?;
        }
        let (id, now) = (self.0.ids.room(), self.0.ids.clock().now());
        let opening = Envelope::new(self.0.ids.message(), id, me.clone(), MessageType::Created, now);
        let event = Room::create(opening, MemberKind::Person, title, new.settings, now)?;
        self.0.logs.open(caller.owner(), &event).await?;
        if let Some(goal) = new.goal {
            let mut said = self.envelope(id, &me, MessageType::RoomState);
            said.room_state = Some(RoomStateBlock { goal: Some(goal), ..RoomStateBlock::default() });
            Box::pin(self.post(caller, said)).await?;
        }
        for (invited, role) in new.members {
            let mut said = self.envelope(id, &me, MessageType::Invite);
            let kind = if invited.agent_name().is_some() { MemberKind::Agent } else { MemberKind::Person };
            let (deadline, extra) = (None, JsonMap::new());
            said.invite = Some(InviteBlock { member: invited, kind, role, deadline, extra });
            Box::pin(self.post(caller, said)).await?;
        }
        self.get(caller, id).await
    }

    /// One room that the caller belongs to or is invited to.
    ///
    /// # Errors
    /// [`RoomError::NoSuchRoom`].
    pub async fn get(&self, caller: &Caller, id: RoomId) -> Result<RoomView, RoomError> {
        let me = member(caller)?;
        let live = self.0.logs.get(id).await?;
        if live.room.member(&me).is_none() && !live.room.invitations.contains_key(&me) {
            return Err(no_room(id));
        }
        let cursors = self.0.store.room_members(id).await?;
        Ok(RoomView::of(&live.room, &live.head, &cursors))
    }

    /// Rooms that the caller belongs to or is invited to, the last changed first.
    ///
    /// # Errors
    /// [`RoomError::Store`].
    pub async fn list(
        &self,
        caller: &Caller,
        after: Option<RoomPosition>,
        limit: usize,
    ) -> Result<Page<RoomView, RoomPosition>, RoomError> {
        let page = self.0.store.rooms_of(&member(caller)?, after, limit).await?;
        Ok(Page { items: page.items.iter().map(RoomView::listed).collect(), next: page.next })
    }

    /// A message of the caller that says nothing yet.
    ///
    /// # Errors
    /// [`RoomError::Anonymous`].
    pub fn draft(&self, caller: &Caller, room: RoomId) -> Result<Envelope, RoomError> {
        Ok(self.envelope(room, &member(caller)?, MessageType::Discuss))
    }

    /// A room that the caller has joined, and the caller in it.
    pub(crate) async fn joined(
        &self,
        caller: &Caller,
        id: RoomId,
    ) -> Result<(MemberId, RoomMember, Live), RoomError> {
        let me = member(caller)?;
        let live = self.0.logs.get(id).await?;
        let joined = live.room.member(&me).cloned().ok_or_else(|| no_room(id))?;
        Ok((me, joined, live))
    }

    /// A message of a member that says nothing yet.
    pub(crate) fn envelope(&self, room: RoomId, sender: &MemberId, kind: MessageType) -> Envelope {
        Envelope::new(self.0.ids.message(), room, sender.clone(), kind, self.0.ids.clock().now())
    }

    /// Refuses agents that this caller may not call, that do not exist or that cannot take part.
    pub(crate) fn check_invitable(&self, caller: &Caller, invited: &MemberId) -> Result<(), RoomError> {
        let Some(name) = invited.agent_name() else { return Ok(()) };
        self.0.site.check_visible(caller, &name)?;
        match self.0.agents.find(&name) {
            Some(agent) if agent.is_message_only() => Err(RoomError::Invalid(format!(
                "the agent {name} answers with messages only and cannot take part in rooms"
            ))),
            _ => Ok(()),
        }
    }
}

/// The caller as a member.
pub(crate) fn member(caller: &Caller) -> Result<MemberId, RoomError> {
    if caller.is_anonymous() { Err(RoomError::Anonymous) } else { Ok(MemberId::from(caller.owner())) }
}

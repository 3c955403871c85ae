//! Posting: how a message of a caller becomes an event.
//!
//! Promises: the sender is the caller; the same message again gives the number that it has. An agent of this
//! site that is invited joins at once, because its owner, who may call it, has asked for it.

use agentsite_protocol::room::{
    Envelope, MemberId, MessageType, Posting, Room, RoomAdmission, RoomBudget, RoomEvent, RoomRefusal,
    RoomState,
};
use agentsite_protocol::{Caller, RoomId, Timestamp};
use serde::Serialize;

use super::error::RoomError;
use super::handle::{Rooms, member};
use super::log::no_room;

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Posted {
    /// Its number in the room.
    pub seq: u64,
    /// The state of the room after it.
    pub state: RoomState,
    /// Whether it was there before.
    pub duplicate: bool,
}

impl Rooms {
    /// Sends a message into a room. Every verb of a member is a message: discuss, assign, vote, conclude,
    /// invite, accept, leave, remove, role, close, reopen and so on; see `MessageType`.
    ///
    /// # Errors
    /// [`RoomError::OtherSender`], [`RoomError::NoSuchRoom`], [`RoomError::Refused`],
    /// [`RoomError::IdReused`].
    pub async fn post(&self, caller: &Caller, envelope: Envelope) -> Result<Posted, RoomError> {
        let me = member(caller)?;
        if envelope.sender_id != me {
            return Err(RoomError::OtherSender(envelope.sender_id.to_string(), me.to_string()));
        }
        if let Some(invite) = &envelope.invite {
            self.check_invitable(caller, &invite.member)?;
        }
        let (room, invited) =
            (envelope.group_id, envelope.invite.as_ref().map(|invite| invite.member.clone()));
        let joins = envelope.kind == MessageType::Invite;
        let posted = Box::pin(self.append(envelope, None, None)).await?;
        if let Some(agent) = invited.filter(|invited| joins && invited.agent_name().is_some()) {
            Box::pin(self.accept_for(room, &agent)).await?;
        }
        Ok(posted)
    }

    /// Lets an agent of this site take the invitation that it has.
    async fn accept_for(&self, room: RoomId, agent: &MemberId) -> Result<(), RoomError> {
        let accept = self.envelope(room, agent, MessageType::Accept);
        match self.append(accept, None, None).await {
            // A repeated invitation, or one that was answered meanwhile.
            Ok(_) | Err(RoomError::NoSuchRoom(_) | RoomError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Appends a message whose sender is proven.
    pub(crate) async fn append(
        &self,
        mut envelope: Envelope,
        cost: Option<RoomBudget>,
        admission: Option<RoomAdmission>,
    ) -> Result<Posted, RoomError> {
        let room = envelope.group_id;
        // What the site of the room gives is not the sender's to write.
        (envelope.seq, envelope.recv_ts) = (None, None);
        envelope.check().map_err(|error| RoomError::Refused(error.into()))?;
        let invalid = |error: agentsite_protocol::NoCanonicalForm| RoomError::Invalid(error.to_string());
        let digest = envelope.body_digest().map_err(invalid)?;
        if let Some((seq, known)) = self.0.store.room_message(room, &envelope.sender_id, &envelope.id).await?
        {
            if known != digest {
                return Err(RoomError::IdReused);
            }
            let state = self.0.logs.get(room).await?.room.state();
            return Ok(Posted { seq, state, duplicate: true });
        }
        let decision = |known: &Room, now: Timestamp| {
            let posting = Posting { envelope: envelope.clone(), cost, admission };
            known.decide(posting, now).map(|event| vec![event])
        };
        let decided = Box::pin(self.0.logs.decide(room, decision)).await;
        let events: Vec<RoomEvent> = match decided {
            // A room that the sender does not belong to is one that does not exist.
            Err(RoomError::Refused(RoomRefusal::NotMember)) => return Err(no_room(room)),
            decided => decided?,
        };
        let event = events.first().ok_or(RoomError::Busy)?;
        Ok(Posted { seq: event.seq, state: event.state, duplicate: false })
    }
}

//! Turns: who may speak now, and what the guards say (T2, T11).
//!
//! Promises: people are never refused for the floor, caps or guards; agents always are. A refusal says what
//! to do instead.

use super::draft::Draft;
use super::{RoomRefusal, require};
use crate::room::{Envelope, MemberId, MessageType, Room, RoomEffect, RoomMember, RoomState, RoomVerb};

impl Room {
    /// T2: a turn of the discussion.
    pub(super) fn say(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Send)?;
        self.check_turn(envelope, member)?;
        if envelope.kind == MessageType::Discuss {
            self.check_guards(envelope, member)?;
        }
        draft.turn(member);
        if envelope.kind == MessageType::Discuss && self.state() == RoomState::Discussion {
            draft.pass_floor(&envelope.sender_id, &envelope.to);
        } else {
            draft.keep_floor(&envelope.sender_id);
        }
        Ok(())
    }

    /// T11: a person takes the floor; the member that had it gets it back.
    pub(super) fn interrupt(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Interrupt)?;
        let sender = &envelope.sender_id;
        let holder = self.floor.holder.clone().filter(|holder| holder != sender);
        draft.give_floor(Some(sender.clone()));
        if let Some(member) = holder {
            draft.add(RoomEffect::Queued { member });
        }
        Ok(())
    }

    /// Whether a member may take a turn now.
    pub(super) fn check_turn(&self, envelope: &Envelope, member: &RoomMember) -> Result<(), RoomRefusal> {
        if let Some(what) = self.exhausted().filter(|_| member.is_agent()) {
            return Err(RoomRefusal::Exhausted(what));
        }
        self.check_floor(&envelope.sender_id, member)
    }

    /// Whether a member may speak now, whatever was spent.
    pub(super) fn check_floor(&self, sender: &MemberId, member: &RoomMember) -> Result<(), RoomRefusal> {
        if self.is_free() || !member.is_agent() || member.role.may(RoomVerb::Interrupt) {
            return Ok(());
        }
        match (self.state(), &self.floor.holder) {
            (RoomState::Discussion, Some(holder)) if holder != sender => {
                Err(RoomRefusal::NoFloor(holder.clone()))
            }
            (RoomState::Discussion, _) => Ok(()),
            (state, _) => Err(RoomRefusal::Busy(state)),
        }
    }

    /// The guards against repetitions and against agents that only answer each other.
    fn check_guards(&self, envelope: &Envelope, member: &RoomMember) -> Result<(), RoomRefusal> {
        if !member.is_agent() {
            return Ok(());
        }
        if self.guard.is_repeated(envelope) {
            return Err(RoomRefusal::Repeated);
        }
        let limit = self.settings.loop_limit;
        if self.guard.run_with(&envelope.sender_id) > limit {
            return Err(RoomRefusal::Loop(limit));
        }
        let is_agent = |id: &MemberId| self.members.get(id).is_some_and(RoomMember::is_agent);
        let addresses_agent = envelope.to.iter().chain(&envelope.mentions).any(is_agent);
        if addresses_agent && self.guard.depth() >= self.settings.agent_depth {
            return Err(RoomRefusal::Depth(self.guard.depth()));
        }
        Ok(())
    }
}

impl Draft {
    /// Counts a turn of an agent.
    pub(super) fn turn(&mut self, member: &RoomMember) {
        if member.is_agent() {
            self.add(RoomEffect::Turn);
        }
    }

    /// The holder of the floor has done something and keeps it: its silence begins anew.
    pub(super) fn keep_floor(&mut self, sender: &MemberId) {
        if self.room.floor.holder.as_ref() == Some(sender) {
            self.give_floor(Some(sender.clone()));
        }
    }
}

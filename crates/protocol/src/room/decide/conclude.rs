//! How a room ends and continues: conclude with approval, abort, close, reopen (T9, T10, T12).
//!
//! Promises: an end leaves nothing open; a closed room keeps its log.

use super::draft::Draft;
use super::{RoomRefusal, require};
use crate::MessageId;
use crate::room::{
    AssignmentEnd, BadEnvelope, Envelope, MemberId, MessageType, Room, RoomEffect, RoomMember, RoomSettings,
    RoomState, RoomVerb,
};

impl Room {
    /// T9: proposes the answer.
    pub(super) fn conclude(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Conclude)?;
        let Some(conclude) = &envelope.conclude else { return Err(BadEnvelope::NoBlock("conclude").into()) };
        if self.vote.is_some() {
            return Err(RoomRefusal::VoteOpen);
        }
        if self.proposal.is_some() {
            return Err(RoomRefusal::Busy(RoomState::Concluding));
        }
        let awaited: Vec<MessageId> =
            self.tasks.iter().filter(|(_, task)| task.blocking).map(|(id, _)| id.clone()).collect();
        let forced = conclude.force && member.role.may(RoomVerb::Cancel);
        if !awaited.is_empty() && !forced {
            return Err(RoomRefusal::OpenTasks(awaited.len()));
        }
        self.check_floor(&envelope.sender_id, member)?;
        draft.turn(member);
        for task in awaited {
            draft.end_task(&task, AssignmentEnd::Cancelled);
        }
        let deadline = RoomSettings::bounded(None, self.settings.approval_ms, draft.now);
        let (by, answer) = (envelope.sender_id.clone(), conclude.answer.clone());
        draft.add(RoomEffect::Concluding { by, answer, deadline });
        draft.conclude_approved();
        Ok(())
    }

    /// An approver agrees with the proposed answer, or does not.
    pub(super) fn approve(&self, draft: &mut Draft, envelope: &Envelope) -> Result<(), RoomRefusal> {
        let sender = &envelope.sender_id;
        let Some(proposal) = &self.proposal else {
            return Err(RoomRefusal::UnknownTask(envelope.id.clone()));
        };
        if !self.settings.approvers.contains(sender) {
            return Err(RoomRefusal::UnknownTask(envelope.id.clone()));
        }
        if envelope.kind == MessageType::Accept {
            draft.add(RoomEffect::Approved { member: sender.clone() });
            draft.conclude_approved();
        } else {
            draft.add(RoomEffect::Unapproved);
            draft.give_floor(Some(proposal.by.clone()));
        }
        Ok(())
    }

    /// T10: ends the room without an answer.
    pub(super) fn abort(
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Abort)?;
        let said = envelope.plain_text();
        let reason = if said.is_empty() { format!("Ended by {}.", envelope.sender_id) } else { said };
        draft.add(RoomEffect::Aborted { reason });
        Ok(())
    }

    pub(super) fn close(
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Close)?;
        let summary = envelope.close.as_ref().map(|close| close.summary.clone()).unwrap_or_default();
        draft.add(RoomEffect::Archived { summary });
        Ok(())
    }

    /// T12: continues a room that has ended.
    pub(super) fn reopen(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        let verb = if self.state() == RoomState::Concluded { RoomVerb::Reopen } else { RoomVerb::Restore };
        require(member, verb)?;
        if self.settings.deadline.is_some_and(|deadline| deadline <= draft.now) {
            let settings = RoomSettings { deadline: None, ..(*self.settings).clone() };
            draft.add(RoomEffect::Configured { settings: Box::new(settings) });
        }
        draft.add(RoomEffect::Reopened);
        let next = envelope.to.first().unwrap_or(&envelope.sender_id).clone();
        draft.give_floor(Some(next));
        Ok(())
    }
}

impl Draft {
    /// Ends the room with the proposed answer once every approver that is a member has agreed.
    pub(super) fn conclude_approved(&mut self) {
        let Some(proposal) = &self.room.proposal else { return };
        let open =
            |id: &MemberId| *id != proposal.by && self.room.can_act(id) && !proposal.approved.contains(id);
        if !self.room.settings.approvers.iter().any(open) {
            let answer = proposal.answer.clone();
            self.add(RoomEffect::Concluded { answer });
        }
    }
}

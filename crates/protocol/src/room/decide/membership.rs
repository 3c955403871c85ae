//! Who takes part: invitations, joining by a link, removal, roles, rules (T1).
//!
//! Promises: a sender that is not a member can only answer its invitation or use a link that the site has
//! checked; a room always has an owner.

use super::draft::Draft;
use super::{RoomAdmission, RoomRefusal, require};
use crate::room::{
    BadEnvelope, Departure, Envelope, MAX_MEMBERS, MemberRole, MessageType, Room, RoomEffect, RoomMember,
    RoomSettings, RoomVerb, content_ref,
};

impl Room {
    /// A message of a sender that is not a member.
    pub(super) fn arrive(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        admission: Option<RoomAdmission>,
    ) -> Result<(), RoomRefusal> {
        let member = envelope.sender_id.clone();
        let invited = self.invitations.get(&member);
        let admitted = match (&envelope.kind, invited, admission) {
            (MessageType::Accept | MessageType::Join, Some(invitation), _) => {
                RoomAdmission { kind: invitation.kind, role: invitation.role }
            }
            (MessageType::Decline, Some(_), _) => {
                draft.add(RoomEffect::Uninvited { member });
                return Ok(());
            }
            (MessageType::Join, None, Some(admission)) => admission,
            _ => return Err(RoomRefusal::NotMember),
        };
        if self.state().is_ended() {
            return Err(RoomRefusal::Ended(self.state()));
        }
        if invited.is_none() && self.is_full() {
            return Err(RoomRefusal::Full("members", MAX_MEMBERS));
        }
        draft.add(RoomEffect::Joined { member, kind: admitted.kind, role: admitted.role });
        draft.form();
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.members.len() + self.invitations.len() >= MAX_MEMBERS
    }

    pub(super) fn invite(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Invite)?;
        let Some(invite) = &envelope.invite else { return Err(BadEnvelope::NoBlock("invite").into()) };
        if invite.role == MemberRole::Owner {
            require(member, RoomVerb::SetRole)?;
        }
        let known =
            self.members.contains_key(&invite.member) || self.invitations.contains_key(&invite.member);
        if known || invite.member.is_site() {
            return Err(RoomRefusal::AlreadyMember(invite.member.clone()));
        }
        if self.is_full() {
            return Err(RoomRefusal::Full("members", MAX_MEMBERS));
        }
        draft.add(RoomEffect::Invited {
            member: invite.member.clone(),
            kind: invite.kind,
            role: invite.role,
            deadline: RoomSettings::bounded(invite.deadline, self.settings.invitation_ms, draft.now),
        });
        Ok(())
    }

    pub(super) fn remove(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Remove)?;
        let Some(remove) = &envelope.remove else { return Err(BadEnvelope::NoBlock("remove").into()) };
        if self.invitations.contains_key(&remove.member) {
            draft.add(RoomEffect::Uninvited { member: remove.member.clone() });
        } else if self.members.contains_key(&remove.member) {
            draft.depart(&remove.member, Departure::Removed);
        } else {
            return Err(RoomRefusal::UnknownMember(remove.member.clone()));
        }
        Ok(())
    }

    pub(super) fn set_role(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::SetRole)?;
        let Some(role) = &envelope.role else { return Err(BadEnvelope::NoBlock("role").into()) };
        if !self.members.contains_key(&role.member) {
            return Err(RoomRefusal::UnknownMember(role.member.clone()));
        }
        draft.add(RoomEffect::RoleSet { member: role.member.clone(), role: role.role });
        if !draft.room.members.values().any(|member| member.role == MemberRole::Owner) {
            return Err(RoomRefusal::LastOwner);
        }
        // A member that may only read from now on does not hold up the others.
        if !role.role.may(RoomVerb::Send) {
            draft.relieve(&role.member);
        }
        Ok(())
    }

    pub(super) fn configure(
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Configure)?;
        let Some(state) = &envelope.room_state else { return Err(BadEnvelope::NoBlock("room_state").into()) };
        if let Some(title) = &state.title {
            draft.add(RoomEffect::Titled { title: title.clone() });
        }
        if let Some(rules) = &state.rules {
            rules.check()?;
            draft.add(RoomEffect::Configured { settings: rules.clone() });
        }
        let hash = |content| content_ref(content).map_err(|error| BadEnvelope::Form(error.to_string()));
        let goal = state.goal.as_ref().map(hash).transpose()?;
        let team = serde_json::to_value(&state.team).expect("texts are always written");
        let team = if state.team.is_empty() { None } else { Some(hash(&team)?) };
        for (named, made) in [(&state.goal_ref, &goal), (&state.team_ref, &team)] {
            if named.is_some() && made.is_some() && named != made {
                return Err(BadEnvelope::Value("goal_ref", "is not the hash of what it names").into());
            }
        }
        let (goal, team) = (goal.or_else(|| state.goal_ref.clone()), team.or_else(|| state.team_ref.clone()));
        if goal.is_some() || team.is_some() {
            draft.add(RoomEffect::Referenced { goal, team });
        }
        draft.form();
        draft.close_complete_vote();
        draft.conclude_approved();
        Ok(())
    }
}

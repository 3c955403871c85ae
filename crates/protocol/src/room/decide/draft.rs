//! Draft: a copy of a room on which the effects of one message are tried, one after the other.
//!
//! Promises: each effect is folded when it is added, so that the next one is decided on what it left. The
//! copy shares what does not change. What follows from a change in several places (a task that ends, a member
//! that goes) is written once, here.

use super::super::state::Phase;
use super::super::{
    AssignmentEnd, Departure, Envelope, FloorPolicy, MemberId, MemberRole, ResumeReason, Room, RoomEffect,
    RoomEvent, RoomPause, RoomVerb,
};
use crate::{MessageId, Timestamp};

/// A room as it would be, and the effects that led there.
pub(super) struct Draft {
    pub(super) room: Room,
    pub(super) effects: Vec<RoomEffect>,
    pub(super) now: Timestamp,
}

impl Draft {
    pub(super) fn of(room: &Room, now: Timestamp) -> Self {
        // The clock of a site may be set back; time in a room never is.
        Self { room: room.clone(), effects: Vec::new(), now: now.max(room.updated_at) }
    }

    pub(super) fn add(&mut self, effect: RoomEffect) {
        self.room.fold(&effect, self.room.seq + 1, self.now);
        self.effects.push(effect);
    }

    pub(super) fn finish(self, envelope: Envelope) -> RoomEvent {
        RoomEvent {
            room: self.room.id,
            seq: self.room.seq + 1,
            at: self.now,
            state: self.room.state(),
            envelope,
            effects: self.effects,
        }
    }

    /// T1: opens the discussion when enough members are there.
    pub(super) fn form(&mut self) {
        let enough = self.room.members.len() >= usize::from(self.room.settings.quorum);
        if self.room.phase == Phase::Forming && enough {
            self.add(RoomEffect::Formed);
            let creator = self.room.creator.clone();
            self.give_floor(Some(creator));
        }
    }

    /// Gives the floor to a member, or to all when it is not there any more.
    pub(super) fn give_floor(&mut self, to: Option<MemberId>) {
        let to = to.filter(|id| self.room.can_act(id));
        self.add(RoomEffect::Floor { to });
    }

    /// Passes the floor on after `from` has spoken, to the first of `to` or by the policy of the room.
    pub(super) fn pass_floor(&mut self, from: &MemberId, to: &[MemberId]) {
        let room = &self.room;
        let named = to.iter().find(|id| room.can_act(id)).cloned();
        let queued = room.floor.queue.front().cloned();
        let moderator = room.settings.moderator.clone().filter(|id| room.can_act(id));
        let next = match (room.settings.floor, moderator) {
            (FloorPolicy::Free, _) => named.or(queued),
            (FloorPolicy::Moderator, Some(moderator)) => {
                let chooses = *from == moderator
                    || room.members.get(from).is_some_and(|member| member.role.may(RoomVerb::Interrupt));
                if chooses { named.or(queued).or(Some(moderator)) } else { Some(moderator) }
            }
            _ => named.or(queued).or_else(|| self.after(from)),
        };
        self.give_floor(next);
    }

    /// The speaker who joined after this one, round and round.
    pub(super) fn after(&self, from: &MemberId) -> Option<MemberId> {
        let speakers = self.room.speakers();
        let place = speakers.iter().position(|id| *id == from).map_or(0, |place| place + 1);
        speakers.get(place).or_else(|| speakers.first()).map(|id| (*id).clone())
    }

    /// Ends the part of one assignee in a task, with everything that waited for it (T5, T7).
    pub(super) fn end_assignment(&mut self, task: &MessageId, member: &MemberId, how: AssignmentEnd) {
        let Some(known) = self.room.tasks.get(task) else { return };
        let (assigner, blocking) = (known.assigner.clone(), known.blocking);
        self.add(RoomEffect::TaskEnded { task: task.clone(), member: member.clone(), how });
        if self.room.tasks.contains_key(task) {
            return;
        }
        let resumed: Vec<MemberId> = self
            .room
            .pauses
            .iter()
            .filter(|(_, pause)| RoomPause::is_over(pause))
            .map(|(id, _)| id.clone())
            .collect();
        for member in &resumed {
            self.add(RoomEffect::Resumed { member: member.clone(), why: ResumeReason::Triggered });
        }
        let free = blocking && self.room.awaited_by(&assigner).next().is_none();
        let mut next = free.then_some(assigner).into_iter().chain(resumed).filter(|id| self.room.can_act(id));
        let Some(first) = next.next() else { return };
        let others: Vec<MemberId> = next.filter(|id| *id != first).collect();
        self.give_floor(Some(first));
        for member in others {
            self.add(RoomEffect::Queued { member });
        }
    }

    /// Ends a task for all of its assignees.
    pub(super) fn end_task(&mut self, task: &MessageId, how: AssignmentEnd) {
        let pending: Vec<MemberId> =
            self.room.tasks.get(task).map(|task| task.pending.keys().cloned().collect()).unwrap_or_default();
        for member in pending {
            self.end_assignment(task, &member, how);
        }
    }

    /// Takes a member out, with its tasks, its pause, its floor and its ownership.
    pub(super) fn depart(&mut self, member: &MemberId, how: Departure) {
        if self.room.pauses.contains_key(member) {
            self.add(RoomEffect::Resumed { member: member.clone(), why: ResumeReason::Withdrawn });
        }
        let given: Vec<MessageId> = self.tasks(|task| task.assigner == *member);
        for task in given {
            self.end_task(&task, AssignmentEnd::Cancelled);
        }
        let taken: Vec<MessageId> = self.tasks(|task| task.pending.contains_key(member));
        for task in taken {
            self.end_assignment(&task, member, AssignmentEnd::Left);
        }
        self.add(RoomEffect::Left { member: member.clone(), how });
        if self.room.state().is_ended() {
            return;
        }
        self.inherit();
        if self.room.state().is_ended() {
            return;
        }
        if self.room.floor.holder.as_ref() == Some(member) {
            self.pass_floor(member, &[]);
        }
        self.close_complete_vote();
        self.conclude_approved();
    }

    fn tasks(&self, wanted: impl Fn(&super::super::RoomTask) -> bool) -> Vec<MessageId> {
        self.room.tasks.iter().filter(|(_, task)| wanted(task)).map(|(id, _)| id.clone()).collect()
    }

    /// Makes the oldest person, or else the oldest member, the owner of a room without one; a room in which
    /// only observers are left is closed.
    fn inherit(&mut self) {
        if self.room.members.values().any(|member| member.role == MemberRole::Owner) {
            return;
        }
        let speakers = self.room.speakers();
        let is_human = |id: &&&MemberId| {
            self.room.members.get(**id).is_some_and(|member| member.role == MemberRole::Human)
        };
        let heir = speakers.iter().find(is_human).or_else(|| speakers.first()).map(|id| (*id).clone());
        match heir {
            Some(member) => self.add(RoomEffect::RoleSet { member, role: MemberRole::Owner }),
            None => self.add(RoomEffect::Archived { summary: "All members have left.".into() }),
        }
    }
}

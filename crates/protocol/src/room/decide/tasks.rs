//! Tasks that members give each other, and pauses until they are done (T3 to T7).
//!
//! Promises: members never wait for each other in a circle; every task and every pause has a deadline, also
//! when its message names none.

use std::collections::BTreeSet;
use std::time::Duration;

use super::draft::Draft;
use super::{RoomRefusal, require};
use crate::MessageId;
use crate::room::{
    AssignBlock, AssignMode, AssignmentEnd, BadEnvelope, Envelope, MAX_OPEN_TASKS, MemberId, MessageType,
    ResumeReason, Room, RoomEffect, RoomMember, RoomSettings, RoomState, RoomTask, RoomVerb, TriggerNeed,
};

impl Room {
    /// T3, T4: gives a task.
    pub(super) fn assign(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Assign)?;
        let Some(assign) = &envelope.assign else { return Err(BadEnvelope::NoBlock("assign").into()) };
        let sender = &envelope.sender_id;
        match self.check_turn(envelope, member) {
            // An assignee may pass on parts of its task while the room waits for it.
            Err(RoomRefusal::Busy(_)) if self.works(sender) => {}
            outcome => outcome?,
        }
        self.check_assignees(sender, assign)?;
        let task = envelope.task().clone();
        if self.tasks.contains_key(&task) {
            return Err(RoomRefusal::TaskExists(task));
        }
        if self.tasks.len() >= MAX_OPEN_TASKS {
            return Err(RoomRefusal::Full("open tasks", MAX_OPEN_TASKS));
        }
        let deadline = RoomSettings::bounded(envelope.deadline, self.settings.task_ms, draft.now);
        draft.turn(member);
        draft.add(RoomEffect::TaskOpened {
            task,
            assigner: sender.clone(),
            assignees: assign.assignees.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect(),
            blocking: assign.mode == AssignMode::Blocking,
            accept_by: assign.accept_by.map(|at| at.clamp(draft.now, deadline)),
            deadline,
        });
        draft.keep_floor(sender);
        Ok(())
    }

    fn check_assignees(&self, sender: &MemberId, assign: &AssignBlock) -> Result<(), RoomRefusal> {
        for assignee in &assign.assignees {
            if !self.can_act(assignee) {
                return Err(RoomRefusal::UnknownMember(assignee.clone()));
            }
            if assign.mode == AssignMode::Blocking && self.waits_for(assignee, sender) {
                return Err(RoomRefusal::Cycle(assignee.clone()));
            }
        }
        Ok(())
    }

    /// Whether `waiter` waits for `other`, directly or through tasks that others wait for.
    fn waits_for(&self, waiter: &MemberId, other: &MemberId) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![waiter]);
        while let Some(member) = open.pop() {
            if member == other {
                return true;
            }
            if seen.insert(member) {
                open.extend(self.awaited_by(member).flat_map(|task| task.pending.keys()));
            }
        }
        false
    }

    /// Whether a member has a task that it accepted.
    fn works(&self, member: &MemberId) -> bool {
        self.tasks.values().any(|task| task.pending.get(member) == Some(&true))
    }

    /// The task that the sender is an assignee of.
    pub(super) fn assigned(&self, envelope: &Envelope) -> Result<&RoomTask, RoomRefusal> {
        let task = envelope.task();
        let known = self.tasks.get(task).filter(|known| known.pending.contains_key(&envelope.sender_id));
        known.ok_or_else(|| RoomRefusal::UnknownTask(task.clone()))
    }

    pub(super) fn accept_task(&self, draft: &mut Draft, envelope: &Envelope) -> Result<(), RoomRefusal> {
        self.assigned(envelope)?;
        let (task, member) = (envelope.task().clone(), envelope.sender_id.clone());
        draft.add(RoomEffect::TaskAccepted { task, member });
        Ok(())
    }

    /// T5: an assignee is done.
    pub(super) fn answer_task(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        measured: bool,
    ) -> Result<(), RoomRefusal> {
        self.assigned(envelope)?;
        let how = match envelope.kind {
            MessageType::Result => AssignmentEnd::Completed,
            MessageType::Fail => AssignmentEnd::Failed,
            _ => AssignmentEnd::Declined,
        };
        let told = envelope.result.as_ref().and_then(|result| result.cost);
        if let Some(cost) = told.filter(|cost| !measured && !cost.is_empty()) {
            draft.add(RoomEffect::Spent { cost });
        }
        draft.end_assignment(envelope.task(), &envelope.sender_id, how);
        Ok(())
    }

    pub(super) fn cancel_task(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        let task = envelope.task();
        let known = self.tasks.get(task).ok_or_else(|| RoomRefusal::UnknownTask(task.clone()))?;
        if known.assigner != envelope.sender_id {
            require(member, RoomVerb::Cancel)?;
        }
        draft.end_task(task, AssignmentEnd::Cancelled);
        Ok(())
    }

    /// T6: waits for triggers.
    pub(super) fn pause(
        &self,
        draft: &mut Draft,
        envelope: &Envelope,
        member: &RoomMember,
    ) -> Result<(), RoomRefusal> {
        require(member, RoomVerb::Send)?;
        let Some(pause) = &envelope.pause else { return Err(BadEnvelope::NoBlock("pause").into()) };
        match self.check_turn(envelope, member) {
            Err(RoomRefusal::Busy(RoomState::Paused)) => {}
            outcome => outcome?,
        }
        let pending: BTreeSet<MessageId> =
            pause.triggers.iter().filter(|task| self.tasks.contains_key(task)).cloned().collect();
        if pending.is_empty() {
            return Err(RoomRefusal::NothingPending);
        }
        if matches!(pause.need, TriggerNeed::Count(count) if usize::from(count) > pending.len()) {
            return Err(BadEnvelope::Value("need", "is more than the triggers that are pending").into());
        }
        let named = pause.timeout_ms.map(|wait| draft.now.plus(Duration::from_millis(wait)));
        draft.turn(member);
        draft.add(RoomEffect::Paused {
            member: envelope.sender_id.clone(),
            triggers: pending.into_iter().collect(),
            need: pause.need,
            deadline: RoomSettings::bounded(named, self.settings.pause_ms, draft.now),
            on_timeout: pause.on_timeout,
        });
        Ok(())
    }

    pub(super) fn resume(&self, draft: &mut Draft, envelope: &Envelope) -> Result<(), RoomRefusal> {
        let member = envelope.sender_id.clone();
        if !self.pauses.contains_key(&member) {
            return Err(RoomRefusal::NothingPending);
        }
        draft.add(RoomEffect::Resumed { member: member.clone(), why: ResumeReason::Withdrawn });
        draft.give_floor(Some(member));
        Ok(())
    }
}

//! When a room continues without its members.
//!
//! Promises: a room that has not ended always has a deadline; each names what it ends. It reads no clock.

use std::time::Duration;

use super::{FloorPolicy, MemberId, Room, RoomState, RoomTask};
use crate::{MessageId, Timestamp};

/// What ends at a deadline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeadlineKind {
    /// The room itself: its deadline or its time budget.
    Room,
    /// An invitation.
    Invitation(MemberId),
    /// The wait for enough members.
    Forming,
    /// The offer of a task.
    Offer(MessageId),
    /// A task.
    Task(MessageId),
    /// A pause.
    Pause(MemberId),
    /// The vote.
    Vote,
    /// The wait for approvers.
    Approval,
    /// The grace after caps or budgets are used up.
    Exhausted,
    /// The silence of the holder of the floor.
    Silence,
    /// The silence of the whole room.
    Idle,
}

/// A moment at which a room continues without its members.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoomDeadline {
    /// When.
    pub at: Timestamp,
    /// What ends then.
    pub what: DeadlineKind,
}

impl Room {
    /// The next moment at which [`Room::tick`] has something to do; none once the room has ended.
    #[must_use]
    pub fn next_deadline(&self) -> Option<RoomDeadline> {
        if self.state().is_ended() {
            return None;
        }
        let mut next = self.room_end();
        let mut consider = |at: Timestamp, what: DeadlineKind| {
            let deadline = RoomDeadline { at, what };
            if deadline < next {
                next = deadline;
            }
        };
        for (member, invitation) in &self.invitations {
            consider(invitation.deadline, DeadlineKind::Invitation(member.clone()));
        }
        for (id, task) in &self.tasks {
            consider(task.deadline, DeadlineKind::Task(id.clone()));
            if let Some(at) = task.accept_by.filter(|_| task.is_offered()) {
                consider(at, DeadlineKind::Offer(id.clone()));
            }
        }
        for (member, pause) in &self.pauses {
            consider(pause.deadline, DeadlineKind::Pause(member.clone()));
        }
        if let Some(vote) = &self.vote {
            consider(vote.deadline, DeadlineKind::Vote);
        }
        if let Some(proposal) = &self.proposal {
            consider(proposal.deadline, DeadlineKind::Approval);
        }
        self.silence(&mut consider);
        Some(next)
    }

    /// The end that every room has: its deadline, its time budget, or a long silence.
    fn room_end(&self) -> RoomDeadline {
        let idle = RoomDeadline {
            at: self.updated_at.plus(Duration::from_millis(self.settings.idle_ms)),
            what: DeadlineKind::Idle,
        };
        let wall = self.settings.budget.and_then(|budget| budget.wall_ms);
        let spent = wall.map(|wall| self.opened_at.plus(Duration::from_millis(wall)));
        let ends = self.settings.deadline.into_iter().chain(spent);
        ends.map(|at| RoomDeadline { at, what: DeadlineKind::Room })
            .chain([idle.clone()])
            .min()
            .unwrap_or(idle)
    }

    fn silence(&self, consider: &mut impl FnMut(Timestamp, DeadlineKind)) {
        let silence = Duration::from_millis(self.settings.silence_ms);
        match self.state() {
            RoomState::Forming => {
                let invitation = Duration::from_millis(self.settings.invitation_ms);
                consider(self.opened_at.plus(invitation), DeadlineKind::Forming);
            }
            RoomState::Discussion if self.exhausted().is_some() && !self.is_free() => {
                consider(self.floor.since.max(self.updated_at).plus(silence), DeadlineKind::Exhausted);
            }
            RoomState::Discussion if self.floor.holder.is_some() => {
                consider(self.floor.since.plus(silence), DeadlineKind::Silence);
            }
            _ => {}
        }
    }

    /// Whether everybody may speak at any time.
    pub(super) fn is_free(&self) -> bool {
        self.settings.floor == FloorPolicy::Free
    }

    /// Tasks whose results a member waits for.
    pub(super) fn awaited_by<'a>(&'a self, member: &'a MemberId) -> impl Iterator<Item = &'a RoomTask> {
        self.tasks.values().filter(move |task| task.blocking && task.assigner == *member)
    }
}

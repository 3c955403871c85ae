//! How each effect changes a room.
//!
//! Promises: total: every effect can be folded into every room, and folding decides nothing. Effects that do
//! not fit (a task that is not there) change nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::state::{Invitation, Phase, Proposal, RoomPause, RoomTask, RoomVote};
use super::{Floor, MemberId, Room, RoomBudget, RoomEffect, RoomMember};
use crate::{MessageId, Timestamp};

impl Room {
    /// Folds one effect of event `seq`.
    pub(super) fn fold(&mut self, effect: &RoomEffect, seq: u64, at: Timestamp) {
        match effect {
            RoomEffect::Opened { .. } => {}
            RoomEffect::Titled { title } => self.title.clone_from(title),
            RoomEffect::Configured { settings } => self.settings = Arc::new((**settings).clone()),
            RoomEffect::Referenced { goal, team } => {
                self.goal_ref = goal.clone().or_else(|| self.goal_ref.take());
                self.team_ref = team.clone().or_else(|| self.team_ref.take());
            }
            RoomEffect::Invited { .. }
            | RoomEffect::Uninvited { .. }
            | RoomEffect::Joined { .. }
            | RoomEffect::Left { .. }
            | RoomEffect::RoleSet { .. } => self.fold_member(effect, seq),
            RoomEffect::Formed => self.phase = Phase::Open,
            RoomEffect::Floor { to } => self.fold_floor(to.as_ref(), at),
            RoomEffect::Reoffered => {
                self.floor.reoffered = true;
                self.floor.since = at;
            }
            RoomEffect::Missed => self.floor.missed = self.floor.missed.saturating_add(1),
            RoomEffect::Queued { member } => self.floor.queue.push_back(member.clone()),
            RoomEffect::Turn => self.turns = self.turns.saturating_add(1),
            RoomEffect::Spent { cost } => self.spent.add(cost),
            RoomEffect::TaskOpened { .. }
            | RoomEffect::TaskAccepted { .. }
            | RoomEffect::TaskEnded { .. } => self.fold_task(effect),
            RoomEffect::Paused { .. } | RoomEffect::Resumed { .. } => self.fold_pause(effect),
            RoomEffect::VoteOpened { .. } | RoomEffect::Voted { .. } | RoomEffect::VoteClosed { .. } => {
                self.fold_vote(effect);
            }
            _ => self.fold_end(effect, at),
        }
    }

    fn fold_member(&mut self, effect: &RoomEffect, seq: u64) {
        match effect {
            RoomEffect::Invited { member, kind, role, deadline } => {
                let invitation = Invitation { kind: *kind, role: *role, deadline: *deadline };
                self.invitations.insert(member.clone(), invitation);
            }
            RoomEffect::Uninvited { member } => {
                self.invitations.remove(member);
            }
            RoomEffect::Joined { member, kind, role } => {
                self.invitations.remove(member);
                let joined = RoomMember { kind: *kind, role: *role, joined: seq };
                Arc::make_mut(&mut self.members).insert(member.clone(), joined);
            }
            RoomEffect::Left { member, .. } => self.forget_member(member),
            RoomEffect::RoleSet { member, role } => {
                if let Some(known) = Arc::make_mut(&mut self.members).get_mut(member) {
                    known.role = *role;
                }
            }
            _ => {}
        }
    }

    fn forget_member(&mut self, member: &MemberId) {
        Arc::make_mut(&mut self.members).remove(member);
        self.invitations.remove(member);
        self.floor.queue.retain(|queued| queued != member);
        self.guard.forget(member);
        if let Some(vote) = &mut self.vote {
            vote.ballots.remove(member);
        }
    }

    fn fold_floor(&mut self, to: Option<&MemberId>, at: Timestamp) {
        let mut queue = std::mem::take(&mut self.floor.queue);
        queue.retain(|queued| Some(queued) != to);
        self.floor =
            Floor { holder: to.cloned(), since: at, reoffered: false, missed: self.floor.missed, queue };
    }

    fn fold_task(&mut self, effect: &RoomEffect) {
        match effect {
            RoomEffect::TaskOpened { task, assigner, assignees, blocking, accept_by, deadline } => {
                let pending = assignees.iter().map(|member| (member.clone(), accept_by.is_none())).collect();
                let opened = RoomTask {
                    assigner: assigner.clone(),
                    pending,
                    blocking: *blocking,
                    accept_by: *accept_by,
                    deadline: *deadline,
                };
                self.tasks.insert(task.clone(), opened);
            }
            RoomEffect::TaskAccepted { task, member } => {
                if let Some(accepted) = self.tasks.get_mut(task).and_then(|task| task.pending.get_mut(member))
                {
                    *accepted = true;
                }
            }
            RoomEffect::TaskEnded { task, member, .. } => {
                let Some(known) = self.tasks.get_mut(task) else { return };
                known.pending.remove(member);
                if known.pending.is_empty() {
                    self.tasks.remove(task);
                    self.fire(task);
                }
            }
            _ => {}
        }
    }

    /// Notes for every pause that a task is done.
    fn fire(&mut self, task: &MessageId) {
        for pause in self.pauses.values_mut() {
            if pause.pending.remove(task) {
                pause.done = pause.done.saturating_add(1);
            }
        }
    }

    fn fold_pause(&mut self, effect: &RoomEffect) {
        match effect {
            RoomEffect::Paused { member, triggers, need, deadline, on_timeout } => {
                let pause = RoomPause {
                    pending: triggers.iter().cloned().collect::<BTreeSet<_>>(),
                    done: 0,
                    need: *need,
                    deadline: *deadline,
                    on_timeout: *on_timeout,
                };
                self.pauses.insert(member.clone(), pause);
            }
            RoomEffect::Resumed { member, .. } => {
                self.pauses.remove(member);
            }
            _ => {}
        }
    }

    fn fold_vote(&mut self, effect: &RoomEffect) {
        match effect {
            RoomEffect::VoteOpened { proposal, by, options, quorum, deadline } => {
                self.vote = Some(RoomVote {
                    proposal: proposal.clone(),
                    by: by.clone(),
                    options: options.clone(),
                    quorum: *quorum,
                    deadline: *deadline,
                    ballots: BTreeMap::new(),
                });
            }
            RoomEffect::Voted { member, option } => {
                if let Some(vote) = &mut self.vote {
                    vote.ballots.insert(member.clone(), *option);
                }
            }
            RoomEffect::VoteClosed { .. } => self.vote = None,
            _ => {}
        }
    }

    fn fold_end(&mut self, effect: &RoomEffect, at: Timestamp) {
        match effect {
            RoomEffect::Concluding { by, answer, deadline } => {
                self.proposal = Some(Proposal {
                    by: by.clone(),
                    answer: answer.clone(),
                    deadline: *deadline,
                    approved: BTreeSet::new(),
                });
            }
            RoomEffect::Approved { member } => {
                if let Some(proposal) = &mut self.proposal {
                    proposal.approved.insert(member.clone());
                }
            }
            RoomEffect::Unapproved => self.proposal = None,
            RoomEffect::Concluded { answer } => self.end(Phase::Concluded, Some(answer.clone()), at),
            RoomEffect::Aborted { reason } => self.end(Phase::Aborted, Some(reason.clone()), at),
            RoomEffect::Archived { summary } => {
                let said = Some(summary.clone()).filter(|text| !text.is_empty());
                let conclusion = said.or_else(|| self.conclusion.take());
                self.end(Phase::Archived, conclusion, at);
            }
            RoomEffect::Reopened => {
                self.end(Phase::Open, None, at);
                self.opened_at = at;
                self.spent = RoomBudget::default();
                self.turns = 0;
                self.guard.restart();
            }
            _ => {}
        }
    }

    /// Leaves nothing open.
    fn end(&mut self, phase: Phase, conclusion: Option<String>, at: Timestamp) {
        self.phase = phase;
        self.conclusion = conclusion;
        self.proposal = None;
        self.vote = None;
        self.tasks.clear();
        self.pauses.clear();
        self.invitations.retain(|_, _| phase != Phase::Archived && phase != Phase::Aborted);
        self.floor = Floor { since: at, ..Floor::default() };
    }
}

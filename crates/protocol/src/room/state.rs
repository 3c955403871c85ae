//! Room: the fold of a room's events.
//!
//! Promises: the state is derived from what is open (a vote, tasks, pauses, a conclusion), so that none can
//! be left without its reason. Everything it holds is bounded. Members are shared between copies, so that a
//! decision on a copy is cheap. It decides nothing: see `decide`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::guard::Guard;
use super::{
    MemberId, MemberKind, MemberRole, RoomBudget, RoomEffect, RoomEvent, RoomMember, RoomSettings, RoomState,
    TimeoutAction, TriggerNeed,
};
use crate::{MessageId, RoomId, Timestamp};

/// Most open tasks of a room: the number of pending operations at which Temporal stops.
pub const MAX_OPEN_TASKS: usize = 2_000;

/// Which part of its life a room is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    Forming,
    Open,
    Concluded,
    Aborted,
    Archived,
}

/// Who may speak.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Floor {
    /// The holder; without one everybody may speak.
    pub holder: Option<MemberId>,
    /// Since when, or since the last offer.
    pub since: Timestamp,
    /// Whether it was offered to the holder a second time.
    pub reoffered: bool,
    /// Holders in a row that stayed silent.
    pub missed: u32,
    /// Who gets it back after an interruption.
    pub queue: VecDeque<MemberId>,
}

/// An invitation that was not answered yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// What the member is.
    pub kind: MemberKind,
    /// In which role.
    pub role: MemberRole,
    /// Until when.
    pub deadline: Timestamp,
}

/// A task that is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomTask {
    /// Who gave it.
    pub assigner: MemberId,
    /// Who still works on it, and whether each has accepted.
    pub pending: BTreeMap<MemberId, bool>,
    /// Whether the room waits for it.
    pub blocking: bool,
    /// Until when it must be accepted.
    pub accept_by: Option<Timestamp>,
    /// Until when it must be done.
    pub deadline: Timestamp,
}

impl RoomTask {
    /// Whether an assignee has not answered yet.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        self.pending.values().any(|accepted| !accepted)
    }
}

/// What a member waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomPause {
    /// Tasks that are not done.
    pub pending: BTreeSet<MessageId>,
    /// How many were done since.
    pub done: u16,
    /// How many are needed.
    pub need: TriggerNeed,
    /// How long.
    pub deadline: Timestamp,
    /// What happens then.
    pub on_timeout: TimeoutAction,
}

impl RoomPause {
    /// Whether enough triggers fired.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match self.need {
            _ if self.pending.is_empty() => true,
            TriggerNeed::All => false,
            TriggerNeed::Any => self.done >= 1,
            TriggerNeed::Count(count) => self.done >= count,
        }
    }
}

/// A vote that is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomVote {
    /// Its id.
    pub proposal: MessageId,
    /// Who asks.
    pub by: MemberId,
    /// What can be chosen.
    pub options: Vec<String>,
    /// Ballots that are needed.
    pub quorum: u16,
    /// How long.
    pub deadline: Timestamp,
    /// The ballots so far, by place in the options.
    pub ballots: BTreeMap<MemberId, u16>,
}

/// An answer that waits for its approvers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Proposal {
    pub(super) by: MemberId,
    pub(super) answer: String,
    pub(super) deadline: Timestamp,
    pub(super) approved: BTreeSet<MemberId>,
}

/// Events that do not belong to the room in this place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRoomEvent {
    /// A gap, a repetition or an event of another room.
    #[error("expected event {expected} of the room, found {found}")]
    OutOfOrder {
        /// Number that had to come.
        expected: u64,
        /// The number received.
        found: u64,
    },
    /// A second opening, or a first event that opens nothing.
    #[error("a room opens with its first event and only with it")]
    Opening,
}

/// A room with everything that decisions depend on; messages are in its log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Room {
    /// Its id.
    pub id: RoomId,
    /// Its title.
    pub title: String,
    /// Its rules.
    pub settings: Arc<RoomSettings>,
    /// Who created it.
    pub creator: MemberId,
    /// When it was created, or reopened last.
    pub opened_at: Timestamp,
    /// When its last event was taken.
    pub updated_at: Timestamp,
    /// Number of its last event.
    pub seq: u64,
    /// The hash of its goal.
    pub goal_ref: Option<String>,
    /// The hash of its team.
    pub team_ref: Option<String>,
    /// Who has joined.
    pub members: Arc<BTreeMap<MemberId, RoomMember>>,
    /// Who is invited.
    pub invitations: BTreeMap<MemberId, Invitation>,
    /// Who may speak.
    pub floor: Floor,
    /// Tasks that are not done.
    pub tasks: BTreeMap<MessageId, RoomTask>,
    /// Who waits for what.
    pub pauses: BTreeMap<MemberId, RoomPause>,
    /// The open vote.
    pub vote: Option<RoomVote>,
    /// The answer, or what it came to.
    pub conclusion: Option<String>,
    /// What was spent since it was opened.
    pub spent: RoomBudget,
    /// Turns of agents since it was opened.
    pub turns: u32,
    pub(super) phase: Phase,
    pub(super) proposal: Option<Proposal>,
    pub(super) guard: Guard,
}

impl Room {
    /// Begins a room with its first event.
    ///
    /// # Errors
    /// [`BadRoomEvent`] when the event does not open a room or is not number one.
    pub fn open(event: &RoomEvent) -> Result<Self, BadRoomEvent> {
        let Some(RoomEffect::Opened { title, settings }) = event.effects.first() else {
            return Err(BadRoomEvent::Opening);
        };
        if event.seq != 1 {
            return Err(BadRoomEvent::OutOfOrder { expected: 1, found: event.seq });
        }
        let mut room = Self {
            id: event.room,
            title: title.clone(),
            settings: Arc::new((**settings).clone()),
            creator: event.envelope.sender_id.clone(),
            opened_at: event.at,
            updated_at: event.at,
            seq: 1,
            goal_ref: None,
            team_ref: None,
            members: Arc::default(),
            invitations: BTreeMap::new(),
            floor: Floor { since: event.at, ..Floor::default() },
            tasks: BTreeMap::new(),
            pauses: BTreeMap::new(),
            vote: None,
            conclusion: None,
            spent: RoomBudget::default(),
            turns: 0,
            phase: Phase::Forming,
            proposal: None,
            guard: Guard::default(),
        };
        for effect in &event.effects[1..] {
            room.fold(effect, 1, event.at);
        }
        Ok(room)
    }

    /// Rebuilds a room from all its events; `None` when there are none.
    ///
    /// # Errors
    /// [`BadRoomEvent`] when the events have a gap or do not begin with an opening.
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a RoomEvent>) -> Result<Option<Self>, BadRoomEvent> {
        let mut events = events.into_iter();
        let Some(first) = events.next() else { return Ok(None) };
        let mut room = Self::open(first)?;
        for event in events {
            room.apply(event)?;
        }
        Ok(Some(room))
    }

    /// Folds the next event into the room.
    ///
    /// # Errors
    /// [`BadRoomEvent`] when the event is not the next one; the room is then unchanged.
    pub fn apply(&mut self, event: &RoomEvent) -> Result<(), BadRoomEvent> {
        let expected = self.seq + 1;
        if event.seq != expected || event.room != self.id {
            return Err(BadRoomEvent::OutOfOrder { expected, found: event.seq });
        }
        if matches!(event.effects.first(), Some(RoomEffect::Opened { .. })) {
            return Err(BadRoomEvent::Opening);
        }
        for effect in &event.effects {
            self.fold(effect, event.seq, event.at);
        }
        if !event.envelope.sender_id.is_site() {
            self.floor.missed = 0;
        }
        self.guard.note(&event.envelope, &self.members);
        self.seq = event.seq;
        self.updated_at = event.at;
        Ok(())
    }

    /// The room as text, so that it need not be folded from its first event.
    #[must_use]
    pub fn snapshot(&self) -> String {
        serde_json::to_string(self).expect("a room is always written")
    }

    /// Reads a snapshot back.
    ///
    /// # Errors
    /// The reader's sentence when the text is not the snapshot of a room.
    pub fn from_snapshot(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Where the room is in its course, from what is open.
    #[must_use]
    pub fn state(&self) -> RoomState {
        match self.phase {
            Phase::Forming => RoomState::Forming,
            Phase::Concluded => RoomState::Concluded,
            Phase::Aborted => RoomState::Aborted,
            Phase::Archived => RoomState::Archived,
            Phase::Open if self.proposal.is_some() => RoomState::Concluding,
            Phase::Open if self.vote.is_some() => RoomState::Voting,
            Phase::Open if self.tasks.values().any(RoomTask::is_offered) => RoomState::Assigning,
            Phase::Open if self.tasks.values().any(|task| task.blocking) => RoomState::Waiting,
            Phase::Open if !self.pauses.is_empty() => RoomState::Paused,
            Phase::Open => RoomState::Discussion,
        }
    }

    /// A member that has joined.
    #[must_use]
    pub fn member(&self, id: &MemberId) -> Option<&RoomMember> {
        self.members.get(id)
    }

    /// Which resource is used up, by name, if any is.
    #[must_use]
    pub fn exhausted(&self) -> Option<&'static str> {
        if self.settings.turn_cap.is_some_and(|most| self.turns >= most) {
            return Some("turns");
        }
        let mut spent = self.spent;
        spent.add(&RoomBudget { turns: Some(u64::from(self.turns)), ..RoomBudget::default() });
        self.settings.budget.as_ref()?.exceeded_by(&spent)
    }

    /// Members who may take turns, in the order in which they joined.
    pub(super) fn speakers(&self) -> Vec<&MemberId> {
        let may = |member: &RoomMember| member.role.may(super::RoomVerb::Send);
        let mut speakers: Vec<_> = self.members.iter().filter(|(_, member)| may(member)).collect();
        speakers.sort_by_key(|(_, member)| member.joined);
        speakers.into_iter().map(|(id, _)| id).collect()
    }
}

//! RoomEvent: one row of a room's log, the message with what followed from it.
//!
//! Promises: the effects are facts. A room is rebuilt from them without deciding anything again, so a log of
//! an older version gives the same room after the rules of decisions changed. Numbers have no gaps.

use serde::{Deserialize, Serialize};

use super::{
    Envelope, MemberId, MemberKind, MemberRole, RoomBudget, RoomSettings, RoomState, TimeoutAction,
    TriggerNeed,
};
use crate::{MessageId, NoCanonicalForm, RoomId, Timestamp, canonical_json};

/// One event of a room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomEvent {
    /// The room.
    pub room: RoomId,
    /// Its number: 1, 2, 3, …
    pub seq: u64,
    /// When the site of the room took it.
    pub at: Timestamp,
    /// The state of the room after it.
    pub state: RoomState,
    /// The message as its sender wrote it.
    pub envelope: Envelope,
    /// What followed from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<RoomEffect>,
}

impl RoomEvent {
    /// The message as members read it: with its number, when it was taken, and the state after it.
    #[must_use]
    pub fn delivered(&self) -> Envelope {
        let mut envelope = self.envelope.clone();
        envelope.seq = Some(self.seq);
        envelope.recv_ts = Some(self.at);
        envelope
    }

    /// The bytes that are stored and hashed: the canonical form.
    ///
    /// # Errors
    /// [`NoCanonicalForm`] for numbers that not every reader holds exactly.
    pub fn canonical(&self) -> Result<Vec<u8>, NoCanonicalForm> {
        canonical_json(&serde_json::to_value(self).expect("an event is always written"))
    }

    /// Reads the stored bytes.
    ///
    /// # Errors
    /// The reader's sentence when they are not an event.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

/// How a member went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Departure {
    /// It left.
    Left,
    /// It was removed.
    Removed,
}

/// How an assignment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssignmentEnd {
    /// With a result.
    Completed,
    /// With a failure.
    Failed,
    /// The assignee declined it.
    Declined,
    /// Its deadline passed.
    Expired,
    /// It was cancelled.
    Cancelled,
    /// The assignee is not a member any more.
    Left,
}

/// Why a pause ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeReason {
    /// Its triggers fired.
    Triggered,
    /// Its deadline passed.
    Expired,
    /// The pauser ended it.
    Withdrawn,
}

/// What followed from a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum RoomEffect {
    /// The room exists; only in the first event.
    Opened {
        /// Its title.
        title: String,
        /// Its rules.
        settings: Box<RoomSettings>,
    },
    /// The title changed.
    Titled {
        /// The new one.
        title: String,
    },
    /// The rules changed.
    Configured {
        /// The new ones.
        settings: Box<RoomSettings>,
    },
    /// Goal or team are now what this hash names.
    Referenced {
        /// The hash of the goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<String>,
        /// The hash of the team.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        team: Option<String>,
    },
    /// A member is invited.
    Invited {
        /// Who.
        member: MemberId,
        /// What it is.
        kind: MemberKind,
        /// In which role.
        role: MemberRole,
        /// Until when.
        deadline: Timestamp,
    },
    /// An invitation is over without a member.
    Uninvited {
        /// Whose.
        member: MemberId,
    },
    /// A member has joined.
    Joined {
        /// Who.
        member: MemberId,
        /// What it is.
        kind: MemberKind,
        /// In which role.
        role: MemberRole,
    },
    /// A member is gone.
    Left {
        /// Who.
        member: MemberId,
        /// How.
        how: Departure,
    },
    /// A member has another role.
    RoleSet {
        /// Who.
        member: MemberId,
        /// Which.
        role: MemberRole,
    },
    /// Enough members have joined: the discussion begins (T1).
    Formed,
    /// The floor passed.
    Floor {
        /// To whom; none leaves it to all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<MemberId>,
    },
    /// The floor was offered to its holder again (T13).
    Reoffered,
    /// The holder of the floor stayed silent (T13).
    Missed,
    /// A member gets the floor back after an interruption (T11).
    Queued {
        /// Who.
        member: MemberId,
    },
    /// An agent took a turn.
    Turn,
    /// Something was spent.
    Spent {
        /// How much.
        cost: RoomBudget,
    },
    /// A task was given (T3, T4).
    TaskOpened {
        /// Its id.
        task: MessageId,
        /// Who gave it.
        assigner: MemberId,
        /// To whom.
        assignees: Vec<MemberId>,
        /// Whether the room waits for it.
        blocking: bool,
        /// Until when it must be accepted; without it, it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accept_by: Option<Timestamp>,
        /// Until when it must be done.
        deadline: Timestamp,
    },
    /// An assignee accepted.
    TaskAccepted {
        /// The task.
        task: MessageId,
        /// Who.
        member: MemberId,
    },
    /// An assignee is done (T5).
    TaskEnded {
        /// The task.
        task: MessageId,
        /// Who.
        member: MemberId,
        /// How.
        how: AssignmentEnd,
    },
    /// A member waits for triggers (T6).
    Paused {
        /// Who.
        member: MemberId,
        /// For which tasks.
        triggers: Vec<MessageId>,
        /// How many of them.
        need: TriggerNeed,
        /// How long.
        deadline: Timestamp,
        /// What happens then.
        on_timeout: TimeoutAction,
    },
    /// A pause is over (T7).
    Resumed {
        /// Whose.
        member: MemberId,
        /// Why.
        why: ResumeReason,
    },
    /// A vote is open (T8).
    VoteOpened {
        /// Its id.
        proposal: MessageId,
        /// Who asks.
        by: MemberId,
        /// What can be chosen.
        options: Vec<String>,
        /// Ballots that are needed.
        quorum: u16,
        /// How long.
        deadline: Timestamp,
    },
    /// A ballot was cast.
    Voted {
        /// Who.
        member: MemberId,
        /// What, by its place in the options.
        option: u16,
    },
    /// The vote is closed (T8).
    VoteClosed {
        /// Its id.
        proposal: MessageId,
        /// The option with the most ballots; none without a quorum or in a tie.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        winner: Option<String>,
        /// Ballots of each option.
        tally: Vec<u16>,
    },
    /// An answer waits for its approvers (T9).
    Concluding {
        /// Who proposed it.
        by: MemberId,
        /// The answer.
        answer: String,
        /// Until when.
        deadline: Timestamp,
    },
    /// An approver agrees.
    Approved {
        /// Who.
        member: MemberId,
    },
    /// The proposed answer is withdrawn: an approver declined, or time ran out.
    Unapproved,
    /// The room has an answer (T9).
    Concluded {
        /// The answer.
        answer: String,
    },
    /// The room ended without an answer (T10).
    Aborted {
        /// Why.
        reason: String,
    },
    /// The room is closed.
    Archived {
        /// What it came to.
        summary: String,
    },
    /// The room continues (T12).
    Reopened,
}

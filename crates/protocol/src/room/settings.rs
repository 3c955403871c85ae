//! The rules of a room: who has the floor, who answers, caps, budgets and deadlines.
//!
//! Promises: every time limit has a default and a range, so that no rule can make a room wait without end;
//! [`RoomSettings::check`] is applied wherever rules come from outside. It does not enforce them: see
//! [`super::Room::decide`].

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MemberId, RoomBudget};
use crate::{JsonMap, Timestamp};

/// How long the holder of the floor may be silent: a model takes seconds, a person reads the re-offer.
const SILENCE: u64 = 120_000;
/// How long a room may be silent before it is archived: a month, as chats that are left alone are.
const IDLE: u64 = 30 * 24 * 3_600_000;
/// How long a task may take when its message names no deadline.
const TASK: u64 = 600_000;
/// How long a vote is open when its message does not say.
const VOTE: u64 = 3_600_000;
/// How long approvers have.
const APPROVAL: u64 = 3_600_000;
/// How long an invitation holds.
const INVITATION: u64 = 7 * 24 * 3_600_000;
/// How long a pause lasts at most when its message does not say.
const PAUSE: u64 = 3_600_000;
/// Shortest time limit: below it members on slow links could never answer.
const SHORTEST: u64 = 1_000;
/// Longest time limit: a year.
const LONGEST: u64 = 366 * 24 * 3_600_000;
/// Messages that two agents may send to each other alone before one is refused.
const LOOP: u16 = 12;
/// How many agents in a row may address an agent after a person spoke; the hop limit of
/// delivery-and-security.md section 4.
const DEPTH: u16 = 16;
/// Most approvers: a conclusion that more must confirm is a vote.
const MAX_APPROVERS: usize = 32;

/// How the next speaker is found when the last one names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FloorPolicy {
    /// Everybody may speak at any time.
    #[default]
    Free,
    /// One after the other, in the order in which they joined.
    RoundRobin,
    /// The moderator chooses.
    Moderator,
}

/// Which agents answer a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplyMode {
    /// Those that are mentioned or addressed.
    Mentions,
    /// Those, or else the default agent.
    #[default]
    Default,
    /// All agents.
    All,
    /// The one that the moderator chooses.
    Moderated,
}

/// What new members can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryAccess {
    /// What is said from their joining on.
    #[default]
    Joined,
    /// Everything.
    Full,
}

/// The rules of a room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RoomSettings {
    /// How the next speaker is found.
    pub floor: FloorPolicy,
    /// Who moderates.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub moderator: Option<MemberId>,
    /// Which agents answer a message.
    pub reply_mode: ReplyMode,
    /// The agent that answers where no other is addressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub default_agent: Option<MemberId>,
    /// How many agents in a row may address an agent; 0 forbids it.
    pub agent_depth: u16,
    /// Messages that two agents may send to each other alone.
    pub loop_limit: u16,
    /// Members that must have joined before the room opens, its creator included.
    pub quorum: u16,
    /// Turns that agents may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_cap: Option<u32>,
    /// What the room may spend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<RoomBudget>,
    /// When the room ends, whatever its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Timestamp>,
    /// Who must approve a conclusion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub approvers: Vec<MemberId>,
    /// What new members can read.
    pub history: HistoryAccess,
    /// Milliseconds that the holder of the floor may be silent.
    pub silence_ms: u64,
    /// Milliseconds after which a silent room is archived.
    pub idle_ms: u64,
    /// Milliseconds that a task may take.
    pub task_ms: u64,
    /// Milliseconds that a vote is open.
    pub vote_ms: u64,
    /// Milliseconds that a pause lasts at most.
    pub pause_ms: u64,
    /// Milliseconds that approvers have.
    pub approval_ms: u64,
    /// Milliseconds that an invitation holds.
    pub invitation_ms: u64,
    /// Rules of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

impl Default for RoomSettings {
    fn default() -> Self {
        Self {
            floor: FloorPolicy::default(),
            moderator: None,
            reply_mode: ReplyMode::default(),
            default_agent: None,
            agent_depth: DEPTH,
            loop_limit: LOOP,
            quorum: 1,
            turn_cap: None,
            budget: None,
            deadline: None,
            approvers: Vec::new(),
            history: HistoryAccess::default(),
            silence_ms: SILENCE,
            idle_ms: IDLE,
            task_ms: TASK,
            vote_ms: VOTE,
            pause_ms: PAUSE,
            approval_ms: APPROVAL,
            invitation_ms: INVITATION,
            extra: JsonMap::new(),
        }
    }
}

/// A rule that cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    /// A time limit out of range.
    #[error("`{0}` must be between {SHORTEST} and {LONGEST} milliseconds")]
    Time(&'static str),
    /// Too many approvers.
    #[error("at most {MAX_APPROVERS} approvers are possible; use a vote instead")]
    Approvers,
    /// A moderated room without a moderator.
    #[error("name a `moderator`, or choose another `floor` and `reply_mode`")]
    NoModerator,
    /// A limit of zero.
    #[error("`{0}` must be at least 1")]
    Zero(&'static str),
}

impl RoomSettings {
    /// Refuses rules that would let a room wait without end, or that contradict each other.
    ///
    /// # Errors
    /// [`BadSettings`] names the rule.
    pub fn check(&self) -> Result<(), BadSettings> {
        let times = [
            ("silence_ms", self.silence_ms),
            ("idle_ms", self.idle_ms),
            ("task_ms", self.task_ms),
            ("vote_ms", self.vote_ms),
            ("pause_ms", self.pause_ms),
            ("approval_ms", self.approval_ms),
            ("invitation_ms", self.invitation_ms),
        ];
        if let Some((name, _)) = times.into_iter().find(|(_, time)| !(SHORTEST..=LONGEST).contains(time)) {
            return Err(BadSettings::Time(name));
        }
        if self.approvers.len() > MAX_APPROVERS {
            return Err(BadSettings::Approvers);
        }
        let moderated = self.floor == FloorPolicy::Moderator || self.reply_mode == ReplyMode::Moderated;
        if moderated && self.moderator.is_none() {
            return Err(BadSettings::NoModerator);
        }
        match (self.quorum, self.loop_limit) {
            (0, _) => Err(BadSettings::Zero("quorum")),
            (_, 0) => Err(BadSettings::Zero("loop_limit")),
            _ => Ok(()),
        }
    }

    /// The moment of a limit that a message may name: not before now, and not later than the longest one.
    pub(super) fn bounded(named: Option<Timestamp>, limit_ms: u64, now: Timestamp) -> Timestamp {
        let last = now.plus(Duration::from_millis(LONGEST));
        named.unwrap_or_else(|| now.plus(Duration::from_millis(limit_ms))).clamp(now, last)
    }
}

//! The blocks of envelope v1: what a message says besides its content, one for each type that needs it.
//!
//! Promises: a block stands under the name of its type; members that this version does not know are kept.
//! Lengths and counts are checked by [`super::Envelope::check`]; whether a block fits the room is decided
//! by [`super::Room::decide`].

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{BadEnvelope, MemberId, MemberKind, MemberRole, RoomBudget, RoomSettings};
use crate::{JsonMap, MessageId, SIGNATURE_BYTES, Timestamp};

/// Longest `kid`: a DID with a fragment.
const MAX_KID: usize = 512;

/// Letters of a signature in base64url without padding.
const SIGNATURE_LETTERS: usize = (SIGNATURE_BYTES * 8).div_ceil(6);

/// Whether the room waits for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssignMode {
    /// The room waits for the results.
    #[default]
    Blocking,
    /// The room continues; results arrive as messages.
    Detached,
}

/// A task for members.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AssignBlock {
    /// What is to be done.
    pub task_desc: String,
    /// The same in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_abstract: Option<String>,
    /// What the assignees need to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Messages and artefacts that the task builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// When it counts as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_criteria: Option<String>,
    /// The JSON Schema of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Whether the room waits for it.
    #[serde(default)]
    pub mode: AssignMode,
    /// Who does it.
    #[schemars(with = "Vec<String>")]
    pub assignees: Vec<MemberId>,
    /// Until when the assignees may accept; without it they need not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub accept_by: Option<Timestamp>,
    /// The escrow that pays for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escrow_id: Option<String>,
    /// Members of later versions, `verify`, `retry` and `on_fail` among them.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// Why a task, an invitation or a conclusion is declined.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeclineBlock {
    /// `busy`, `ineligible`, `price`, `policy` or `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reason as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProgressBlock {
    /// Per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pct: Option<u8>,
    /// What is being done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// What a task gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ResultBlock {
    /// The result in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<String>,
    /// What was made, by reference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artefacts: Vec<String>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<RoomBudget>,
    /// What proves it, by reference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// Why a task failed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FailBlock {
    /// A code for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Whether another attempt may help.
    #[serde(default)]
    pub retryable: bool,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// How many triggers end a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TriggerNeed {
    /// Every one.
    #[default]
    All,
    /// The first.
    Any,
    /// So many.
    Count(u16),
}

/// What happens when a pause ends without its triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutAction {
    /// The pauser gets the floor.
    #[default]
    Resume,
    /// The room ends.
    Abort,
}

/// What a member waits for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PauseBlock {
    /// Tasks of the room, by their ids.
    #[schemars(with = "Vec<String>")]
    pub triggers: Vec<MessageId>,
    /// How many of them.
    #[serde(default)]
    #[schemars(with = "Value")]
    pub need: TriggerNeed,
    /// How long at most, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What happens then.
    #[serde(default)]
    pub on_timeout: TimeoutAction,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// A change of the plan.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PlanBlock {
    /// The number of this version.
    pub version: u32,
    /// What changes: text, or a JSON Patch.
    pub patch: Value,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// A question with options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VoteBlock {
    /// The id that ballots name.
    #[schemars(with = "String")]
    pub proposal_id: MessageId,
    /// What can be chosen.
    pub options: Vec<String>,
    /// Ballots that are needed for a decision; one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u16>,
    /// Until when ballots count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub closes_at: Option<Timestamp>,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// One ballot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BallotBlock {
    /// The vote.
    #[schemars(with = "String")]
    pub proposal_id: MessageId,
    /// The option, as the vote has it.
    pub option: String,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// The answer of the room.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ConcludeBlock {
    /// The answer.
    pub answer: String,
    /// Who does not agree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub dissent: Vec<MemberId>,
    /// Whether tasks that still run are cancelled; without it they hold up the conclusion.
    #[serde(default)]
    pub force: bool,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// What holds for the room from now on; later messages refer to goal and team by hash.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RoomStateBlock {
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the room works on; its hash is [`super::content_ref`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Value>,
    /// The hash of the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_ref: Option<String>,
    /// Descriptions of the members, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub team: BTreeMap<String, String>,
    /// The hash of the team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_ref: Option<String>,
    /// The rules; all of them, not only those that change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Box<RoomSettings>>,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// Who is invited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InviteBlock {
    /// Who.
    #[schemars(with = "String")]
    pub member: MemberId,
    /// What it is.
    #[serde(default)]
    pub kind: MemberKind,
    /// In which role.
    #[serde(default)]
    pub role: MemberRole,
    /// Until when the invitation can be accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Timestamp>,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// Who is removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemoveBlock {
    /// Who.
    #[schemars(with = "String")]
    pub member: MemberId,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// Who gets which role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleBlock {
    /// Who.
    #[schemars(with = "String")]
    pub member: MemberId,
    /// Which role.
    pub role: MemberRole,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// How the room is closed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CloseBlock {
    /// What it came to.
    pub summary: String,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// A reaction to a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReactBlock {
    /// The message.
    #[schemars(with = "String")]
    pub target: MessageId,
    /// The reaction; empty takes it back.
    pub emoji: String,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// The sender's signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvelopeSignature {
    /// Which key signed, as a DID.
    pub kid: String,
    /// The algorithm, `EdDSA` or `ES256`.
    pub alg: String,
    /// The signature, base64url.
    pub val: String,
}

impl EnvelopeSignature {
    pub(super) fn check(&self) -> Result<(), BadEnvelope> {
        let sized = self.kid.len() <= MAX_KID && self.val.len() == SIGNATURE_LETTERS;
        let known = matches!(self.alg.as_str(), "EdDSA" | "ES256");
        if sized && known {
            Ok(())
        } else {
            Err(BadEnvelope::Value(
                "sig",
                "must have a kid, the alg EdDSA or ES256, and 64 bytes of base64url",
            ))
        }
    }
}

impl Serialize for TriggerNeed {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => out.serialize_str("all"),
            Self::Any => out.serialize_str("any"),
            Self::Count(count) => out.serialize_u16(*count),
        }
    }
}

impl<'de> Deserialize<'de> for TriggerNeed {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(NeedVisitor)
    }
}

struct NeedVisitor;

impl Visitor<'_> for NeedVisitor {
    type Value = TriggerNeed;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("`all`, `any` or a number")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<TriggerNeed, E> {
        match word {
            "all" => Ok(TriggerNeed::All),
            "any" => Ok(TriggerNeed::Any),
            _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
        }
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<TriggerNeed, E> {
        let known = u16::try_from(count).ok().filter(|count| *count > 0);
        known.map(TriggerNeed::Count).ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(count), &self))
    }
}

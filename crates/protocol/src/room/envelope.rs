//! Envelope v1: the one form of a message in a room (ioa.md 7.1).
//!
//! Promises: members that this version does not know are kept and written again; the canonical form
//! (RFC 8785) of one envelope is one text, and the signature covers all of it except what the site of the
//! room adds (`seq`, `recv_ts`, `sig`). Bytes from outside are read by [`Envelope::decode`] only, which
//! checks every limit. It does not know who sent the bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::block::{
    AssignBlock, BallotBlock, CloseBlock, ConcludeBlock, DeclineBlock, FailBlock, InviteBlock, PauseBlock,
    PlanBlock, ProgressBlock, ReactBlock, RemoveBlock, ResultBlock, RoleBlock, RoomStateBlock, VoteBlock,
};
use super::{
    BadEnvelope, ENVELOPE_VERSION, EnvelopeSignature, MAX_ENVELOPE, MemberId, MessageType, RoomBudget,
    StateWord,
};
use crate::message::plain_text;
use crate::{
    JsonMap, MessageId, Nesting, NoCanonicalForm, Part, RoomId, Timestamp, canonical_json, read_unambiguous,
};

/// Where a statement comes from, as its sender says.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who operates the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// What it was made from, by reference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Members of later versions.
    #[serde(flatten)]
    pub extra: JsonMap,
}

macro_rules! envelope {
    (
        required { $($(#[$rmeta:meta])* $rname:ident: $rtype:ty,)* }
        optional { $($(#[$ometa:meta])* $oname:ident: $otype:ty,)* }
        lists { $($(#[$lmeta:meta])* $lname:ident: $ltype:ty,)* }
    ) => {
        /// One message of a room.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct Envelope {
            $($(#[$rmeta])* pub $rname: $rtype,)*
            $($(#[$ometa])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $oname: Option<$otype>,)*
            $($(#[$lmeta])* #[serde(default, skip_serializing_if = "Vec::is_empty")] pub $lname: Vec<$ltype>,)*
            /// Members of later versions, and `ext`.
            #[serde(flatten)]
            pub extra: JsonMap,
        }

        impl Envelope {
            /// A message that says nothing yet.
            #[must_use]
            pub fn new(
                id: MessageId,
                group_id: RoomId,
                sender_id: MemberId,
                kind: MessageType,
                ts: Timestamp,
            ) -> Self {
                Self {
                    v: ENVELOPE_VERSION,
                    id,
                    group_id,
                    sender_id,
                    ts,
                    kind,
                    $($oname: None,)*
                    $($lname: Vec::new(),)*
                    extra: JsonMap::new(),
                }
            }
        }
    };
}

envelope! {
    required {
        /// The version of the form.
        v: u32,
        /// The sender's id of the message; the same id sent twice is the same message.
        #[schemars(with = "String")]
        id: MessageId,
        /// The room.
        #[schemars(with = "String")]
        group_id: RoomId,
        /// Who sent it.
        #[schemars(with = "String")]
        sender_id: MemberId,
        /// When it was sent, by the sender's clock.
        #[schemars(with = "String")]
        ts: Timestamp,
        /// What it is.
        #[serde(rename = "type")]
        #[schemars(with = "String")]
        kind: MessageType,
    }
    optional {
        /// Its number in the room, without gaps; the site of the room gives it.
        seq: u64,
        /// The sender's own count of its messages.
        sender_seq: u64,
        /// When the site of the room took it.
        #[schemars(with = "Option<String>")]
        recv_ts: Timestamp,
        /// The state of the room as its sender sees it.
        #[schemars(with = "Option<String>")]
        state: StateWord,
        /// The message that its thread began with.
        #[schemars(with = "Option<String>")]
        thread_id: MessageId,
        /// The message that it answers.
        #[schemars(with = "Option<String>")]
        reply_to: MessageId,
        /// The task at the root of the work.
        #[schemars(with = "Option<String>")]
        root_task: MessageId,
        /// The task above.
        #[schemars(with = "Option<String>")]
        parent_task: MessageId,
        /// The task that it is about.
        #[schemars(with = "Option<String>")]
        task_id: MessageId,
        /// How deep teams are nested.
        depth: u32,
        /// When what it asks for must be done.
        #[schemars(with = "Option<String>")]
        deadline: Timestamp,
        /// When it may be forgotten.
        #[schemars(with = "Option<String>")]
        expires_at: Timestamp,
        /// Higher is more urgent.
        priority: i32,
        /// `best_effort`, `at_least_once` or `ordered`.
        qos: String,
        /// What may be spent on it.
        budget: RoomBudget,
        /// Where it comes from.
        provenance: Provenance,
        /// The W3C trace parent.
        trace: String,
        /// A key under which a repetition is recognised, besides `id`.
        idem: String,
        /// The hash of the sender's message before.
        prev: String,
        /// The sender's signature.
        sig: EnvelopeSignature,
        /// How the content is encrypted.
        enc: Value,
        /// A task for members.
        assign: AssignBlock,
        /// Why something is declined.
        decline: DeclineBlock,
        /// How far a task is.
        progress: ProgressBlock,
        /// What a task gave.
        result: ResultBlock,
        /// Why a task failed.
        fail: FailBlock,
        /// What the sender waits for.
        pause: PauseBlock,
        /// A change of the plan.
        plan: PlanBlock,
        /// A question with options.
        vote: VoteBlock,
        /// A ballot.
        ballot: BallotBlock,
        /// The answer.
        conclude: ConcludeBlock,
        /// What holds for the room.
        room_state: RoomStateBlock,
        /// Who is invited.
        invite: InviteBlock,
        /// Who is removed.
        remove: RemoveBlock,
        /// Who gets which role.
        role: RoleBlock,
        /// How the room is closed.
        close: CloseBlock,
        /// A reaction.
        react: ReactBlock,
    }
    lists {
        /// Who is to speak next.
        #[schemars(with = "Vec<String>")]
        to: MemberId,
        /// Who is mentioned.
        #[schemars(with = "Vec<String>")]
        mentions: MemberId,
        /// What it refers to: messages, artefacts, hashes.
        refs: String,
        /// Policies that travel with it.
        policy: String,
        /// Labels of what it was made from.
        taint: String,
        /// What is said.
        #[schemars(with = "Vec<JsonMap>")]
        content: Part,
    }
}

impl Envelope {
    /// A message of one text.
    #[must_use]
    pub fn discuss(
        id: MessageId,
        room: RoomId,
        sender: MemberId,
        ts: Timestamp,
        text: impl Into<String>,
    ) -> Self {
        let mut envelope = Self::new(id, room, sender, MessageType::Discuss, ts);
        envelope.content = vec![Part::text(text)];
        envelope
    }

    /// Reads bytes from outside.
    ///
    /// # Errors
    /// [`BadEnvelope`] says what is wrong; nothing larger than [`MAX_ENVELOPE`] is read.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadEnvelope> {
        if bytes.len() > MAX_ENVELOPE {
            return Err(BadEnvelope::Size);
        }
        Nesting::REQUEST.check(bytes).map_err(|error| BadEnvelope::Form(error.to_string()))?;
        let value = read_unambiguous(bytes).map_err(|error| BadEnvelope::Form(error.to_string()))?;
        Self::from_value(value)
    }

    /// Reads a value from outside whose size and nesting are bounded.
    ///
    /// # Errors
    /// [`BadEnvelope`] says what is wrong.
    pub fn from_value(value: Value) -> Result<Self, BadEnvelope> {
        let envelope: Self =
            serde_json::from_value(value).map_err(|error| BadEnvelope::Form(error.to_string()))?;
        envelope.check()?;
        Ok(envelope)
    }

    /// The message as a JSON value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("an envelope is always written")
    }

    /// The canonical form (RFC 8785).
    ///
    /// # Errors
    /// [`NoCanonicalForm`] for numbers that not every reader holds exactly.
    pub fn canonical(&self) -> Result<Vec<u8>, NoCanonicalForm> {
        canonical_json(&self.to_value())
    }

    /// What was said, as text.
    #[must_use]
    pub fn plain_text(&self) -> String {
        plain_text(&self.content)
    }

    /// Whether a member is to speak next or is mentioned.
    #[must_use]
    pub fn addresses(&self, member: &MemberId) -> bool {
        self.to.contains(member) || self.mentions.contains(member)
    }

    /// The task that it is about; a message that assigns one without naming it gives it its own id.
    #[must_use]
    pub fn task(&self) -> &MessageId {
        self.task_id.as_ref().unwrap_or(&self.id)
    }
}

//! The words of envelope v1 for the state of a room and the type of a message.
//!
//! Promises: a word that this version does not know survives a round trip; an unknown state counts as
//! discussion and an unknown type changes nothing (ioa.md 7.1). It does not decide transitions.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest word that is read; the longest known one has eleven letters.
const MAX_WORD: usize = 64;

/// Where a room is in its course.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoomState {
    /// Members are invited; not enough have accepted yet.
    Forming,
    /// Members talk.
    Discussion,
    /// A task is offered and its assignees have not all answered.
    Assigning,
    /// A member waits for tasks that it assigned (sync barrier).
    Waiting,
    /// A member waits for triggers.
    Paused,
    /// A vote is open.
    Voting,
    /// A conclusion waits for its approvers.
    Concluding,
    /// The room has an answer.
    Concluded,
    /// The room was ended without an answer.
    Aborted,
    /// The room is closed and can only be read.
    Archived,
}

impl RoomState {
    /// All states, in the order in which a room may pass through them.
    pub const ALL: [Self; 10] = [
        Self::Forming,
        Self::Discussion,
        Self::Assigning,
        Self::Waiting,
        Self::Paused,
        Self::Voting,
        Self::Concluding,
        Self::Concluded,
        Self::Aborted,
        Self::Archived,
    ];

    /// Whether messages change nothing any more, unless the room is reopened.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Concluded | Self::Aborted | Self::Archived)
    }

    /// The word of the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Forming => "forming",
            Self::Discussion => "discussion",
            Self::Assigning => "assigning",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Voting => "voting",
            Self::Concluding => "concluding",
            Self::Concluded => "concluded",
            Self::Aborted => "aborted",
            Self::Archived => "archived",
        }
    }

    /// Reads [`Self::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

impl fmt::Display for RoomState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.word())
    }
}

impl Serialize for RoomState {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for RoomState {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let word = Cow::<'de, str>::deserialize(input)?;
        Self::from_word(&word).ok_or_else(|| serde::de::Error::custom("unknown state of a room"))
    }
}

/// The state that a sender names, as it wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateWord(Cow<'static, str>);

impl StateWord {
    /// The state; one that this version does not know counts as discussion.
    #[must_use]
    pub fn state(&self) -> RoomState {
        RoomState::from_word(&self.0).unwrap_or(RoomState::Discussion)
    }

    /// Whether this version knows the word.
    #[must_use]
    pub fn is_known(&self) -> bool {
        RoomState::from_word(&self.0).is_some()
    }

    /// The word as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<RoomState> for StateWord {
    fn from(state: RoomState) -> Self {
        Self(Cow::Borrowed(state.word()))
    }
}

impl Serialize for StateWord {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for StateWord {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Ok(Self(Cow::Owned(read_word(input)?)))
    }
}

macro_rules! message_types {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// What a message of a room is.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum MessageType {
            $($(#[$doc])* $name,)*
            /// A type of a later version: delivered, without a transition.
            Other(String),
        }

        impl MessageType {
            /// All types that this version knows.
            pub const KNOWN: &'static [Self] = &[$(Self::$name,)*];

            /// The word of the wire.
            #[must_use]
            pub fn word(&self) -> &str {
                match self {
                    $(Self::$name => $word,)*
                    Self::Other(word) => word,
                }
            }

            /// Reads a word; one that is not known is kept.
            #[must_use]
            pub fn from_word(word: &str) -> Self {
                match word {
                    $($word => Self::$name,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }
    };
}

message_types! {
    /// Says something.
    Discuss = "discuss",
    /// Gives a task to members.
    Assign = "assign",
    /// Accepts a task, an invitation or a conclusion.
    Accept = "accept",
    /// Declines a task, an invitation or a conclusion.
    Decline = "decline",
    /// Reports on a task that runs.
    Progress = "progress",
    /// Completes a task.
    Result = "result",
    /// Reports that a task failed.
    Fail = "fail",
    /// Cancels a task.
    Cancel = "cancel",
    /// Waits for triggers.
    Pause = "pause",
    /// Ends one's own pause.
    Resume = "resume",
    /// Changes the plan.
    Plan = "plan",
    /// Opens a vote.
    Vote = "vote",
    /// Casts a ballot.
    Ballot = "ballot",
    /// Proposes the answer of the room.
    Conclude = "conclude",
    /// Changes title, goal, team or rules.
    RoomState = "room_state",
    /// A person takes the floor.
    Interrupt = "interrupt",
    /// Reacts to a message.
    React = "react",
    /// Invites a member.
    Invite = "invite",
    /// Joins by a link.
    Join = "join",
    /// Leaves.
    Leave = "leave",
    /// Removes a member.
    Remove = "remove",
    /// Gives a member another role.
    Role = "role",
    /// Closes the room with a summary.
    Close = "close",
    /// Continues a room that has ended.
    Reopen = "reopen",
    /// Ends the room without an answer.
    Abort = "abort",
    /// The first message of a room, written by its site.
    Created = "created",
    /// A deadline passed, written by the site of the room.
    Expired = "expired",
    /// Messages before this one are no longer kept, written by the site of the room.
    Gap = "gap",
}

impl MessageType {
    /// Whether only the site of the room writes it.
    #[must_use]
    pub const fn is_of_site(&self) -> bool {
        matches!(self, Self::Created | Self::Expired | Self::Gap)
    }

    /// Whether it is a turn of the conversation, which caps and budgets count.
    #[must_use]
    pub const fn is_turn(&self) -> bool {
        matches!(
            self,
            Self::Discuss
                | Self::Assign
                | Self::Pause
                | Self::Plan
                | Self::Vote
                | Self::Conclude
                | Self::Other(_)
        )
    }
}

impl fmt::Display for MessageType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.word())
    }
}

impl Serialize for MessageType {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for MessageType {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Ok(Self::from_word(&read_word(input)?))
    }
}

/// A word of the sender: short, printable, not empty.
fn read_word<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    let word = Cow::<'de, str>::deserialize(input)?;
    if word.is_empty() || word.len() > MAX_WORD || word.contains(char::is_control) {
        return Err(serde::de::Error::custom(format_args!(
            "a state or type must have 1 to {MAX_WORD} characters and no control characters"
        )));
    }
    Ok(word.into_owned())
}

//! Utterance: what a person says in a conversation, and where.
//!
//! Promises: plain values, read from a request; nothing is checked here.

use agentsite_protocol::{AgentName, MessageId, Part, TaskId};

/// Where a new turn hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placing {
    /// After the turn that is shown last.
    #[default]
    Last,
    /// After this turn.
    After(TaskId),
    /// Beside this turn: an edit, or without words of its own a retry.
    Instead(TaskId),
    /// Nowhere: the words answer what the agent of this turn asked back, and its task continues.
    Answering(TaskId),
}

/// What a person says.
#[derive(Debug, Clone, Default)]
pub struct Utterance {
    /// To whom; the agent of the turn it stands beside or answers, else the one that the conversation was
    /// begun with.
    pub agent: Option<AgentName>,
    /// What; may be left out only beside a turn, whose words are then said again.
    pub parts: Option<Vec<Part>>,
    /// The sender's id; the same one again is the same message.
    pub message: Option<MessageId>,
    /// Where.
    pub placing: Placing,
}

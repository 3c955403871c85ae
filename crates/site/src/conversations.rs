//! Conversations: what a person keeps of talking with agents, as a tree of turns.
//!
//! Promises: a turn comes with its task in one commit and is named by it; question and answer are read from
//! the task. What is decided here is decided by pure functions (`decide`, `passage`, `export`); the verbs are
//! in `site`. It starts no work; it takes part in the commits of tasks by a hook.

pub(crate) mod decide;
pub(crate) mod export;
mod feed;
mod hook;
pub(crate) mod passage;
mod view;

use agentsite_protocol::{AgentName, MessageId, Part, TaskId};

pub use feed::ConversationEvent;
pub(crate) use feed::{Feed, FeedChange, FeedEvent};
pub(crate) use hook::NewTurn;
pub(crate) use view::STARTED;
pub use view::{ArtifactView, AsksView, ConversationView, Passage, SaidView, StartedView, TurnView};

/// Most conversations of one owner. A person who begins thirty a day needs a year for them; the list and the
/// search stay quick.
pub const MAX_CONVERSATIONS: usize = 10_000;

/// Most turns of one conversation, on all branches: ten times what the pages are measured with.
pub const MAX_TURNS: u64 = 100_000;

/// Longest title, in letters; more fits no list.
pub const MAX_TITLE: usize = 200;

/// Longest text that is searched for, in bytes; people type a few words.
pub const MAX_SEARCH: usize = 512;

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

/// What is to be changed; what is left out stays.
#[derive(Debug, Clone, Default)]
pub struct ConversationEdit {
    /// What it is called from now on.
    pub title: Option<String>,
    /// Whether it stands before the others.
    pub pinned: Option<bool>,
    /// The branch that is shown: the one that goes through this turn.
    pub head: Option<TaskId>,
    /// The revision that the change was decided on; the change is refused when there is a newer one.
    pub revision: Option<u64>,
}

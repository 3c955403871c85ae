//! Conversation: what a person keeps of talking with agents, and what can be asked and changed about it.
//!
//! Promises: a conversation keeps its owner for life; a change names the revision that it was decided on, so
//! that of two that meet one is refused. A turn is named by the task that answers it, and question and answer
//! stand in that task alone: here is only where it hangs in the tree. The tasks of its turns stay as long as
//! the conversation does. It does not know SQL, and what makes a good title is `site`'s.

use agentsite_protocol::{AgentName, ContextId, ConversationId, MessageId, Principal, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

/// A tree of turns that a person has with agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// To whom it belongs.
    pub owner: Principal,
    /// What it is called.
    pub title: String,
    /// Whether its owner chose the title.
    pub named: bool,
    /// Whether it stands before the others.
    pub pinned: bool,
    /// The agent it was begun with.
    pub agent: AgentName,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it was last changed; the end of a turn counts.
    pub updated_at: Timestamp,
    /// How often it was changed: 1 for a new one. The end of a turn counts.
    pub revision: u64,
    /// The turn that is shown last; the path to it from the first one is what is shown.
    pub head: Option<TaskId>,
    /// How many turns it has, on all branches.
    pub turns: u64,
}

/// One message of a person to one agent, and the task that answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The task, by which the turn is named.
    pub task: TaskId,
    /// Its conversation.
    pub conversation: ConversationId,
    /// The turn before it; none for a first one.
    pub parent: Option<TaskId>,
    /// The agent that was asked.
    pub agent: AgentName,
    /// The message; the same for turns that ask several agents at once.
    pub message: MessageId,
    /// The context in which the agent was asked.
    pub context: ContextId,
    /// When it was said.
    pub at: Timestamp,
}

/// A turn with its siblings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPosition {
    /// The turn.
    pub turn: Turn,
    /// The first turns with the same parent, itself among them when it is one of these, in the order in which
    /// they were said.
    pub siblings: Vec<TaskId>,
}

/// Most siblings that are listed for a turn: more than a person looks through.
pub const MAX_SIBLINGS: usize = 100;

/// Turns that fit a search and are looked at, the newest first: a common word must not make a search long.
pub const SEARCHED: usize = 2_000;

/// Bytes of a question or an answer that are found by their words; what comes later in a long one is not.
pub const INDEXED_BYTES: usize = 64 << 10;

/// What happens to a conversation.
#[derive(Debug, Clone)]
pub enum ConversationChange {
    /// It is written. Its `revision` is the one after that which was read, so 1 means that there must be none
    /// of this id.
    Put(Box<Conversation>),
    /// It is written, and a turn is added.
    Said {
        /// The conversation, guarded in the same way.
        conversation: Box<Conversation>,
        /// The new turn.
        turn: Box<Turn>,
        /// What the person said, to be found by.
        words: String,
    },
    /// The task of a turn has ended. A turn that is no more is left alone.
    Ended {
        /// The turn.
        task: TaskId,
        /// What the agent answered, to be found by.
        words: String,
        /// When.
        at: Timestamp,
    },
    /// It goes with its turns, if it is still as it was read; their tasks go with the next expiry after they
    /// have ended.
    Remove {
        /// Which.
        id: ConversationId,
        /// To whom it belongs.
        owner: Principal,
        /// The revision that was read.
        revision: u64,
    },
}

impl ConversationChange {
    /// Which conversation it is about, whose it must be and at which revision (0 when it must not exist), and
    /// whether it is there afterwards; none for what needs no guard.
    pub(crate) fn assumes(&self) -> Option<(ConversationId, &Principal, u64, bool)> {
        match self {
            Self::Put(new) | Self::Said { conversation: new, .. } => {
                Some((new.id, &new.owner, new.revision.saturating_sub(1), true))
            }
            Self::Remove { id, owner, revision } => Some((*id, owner, *revision, false)),
            Self::Ended { .. } => None,
        }
    }

    /// The task that becomes a turn by it.
    pub(crate) fn keeps(&self) -> Option<TaskId> {
        match self {
            Self::Said { turn, .. } => Some(turn.task),
            _ => None,
        }
    }
}

/// Which conversations are wanted.
#[derive(Debug, Clone)]
pub struct ConversationQuery {
    /// Of this owner.
    pub owner: Principal,
    /// In whose title, questions or answers these words stand; each may be the beginning of a word.
    pub text: Option<String>,
}

/// A conversation that was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationMatch {
    /// The conversation.
    pub conversation: Conversation,
    /// Where the words stand, the newest turn first; none when no words were wanted.
    pub spot: Option<Spot>,
}

/// Where in a conversation words were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// In its title.
    Title,
    /// In what the person said in this turn.
    Question(TaskId),
    /// In what the agent answered in this turn.
    Answer(TaskId),
}

/// Position in the list of conversations: pinned ones first, then by last change and id, all descending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConversationCursor {
    /// Whether the last one of the page was pinned.
    pub pinned: bool,
    /// Its last change.
    pub updated_at: Timestamp,
    /// Its id.
    pub id: ConversationId,
}

impl ConversationCursor {
    /// The place of a conversation.
    pub(crate) fn of(conversation: &Conversation) -> Self {
        let Conversation { pinned, updated_at, id, .. } = conversation;
        Self { pinned: *pinned, updated_at: *updated_at, id: *id }
    }
}

//! The events of a task, as they are stored and replayed.
//!
//! Promises: dense numbers from 1 within a task; an event never changes once it is stored. The stored form is
//! our own JSON; the form other agents see is made from it in `wire`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentInstance, AgentName, Artifact, ContextId, ConversationId, Message, Principal, RoomId, TaskId,
    TaskState, Timestamp, Usage,
};

/// One thing that happened to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskEvent {
    /// The task it happened to.
    #[serde(skip, default = "no_task")]
    pub task: TaskId,
    /// Its number within the task, from 1 without gaps.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub kind: TaskEventKind,
}

/// The store keeps the task's id once rather than in each event, and puts it back when it reads.
const fn no_task() -> TaskId {
    TaskId::from_bytes([0; 16])
}

/// What can happen to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskEventKind {
    /// It was accepted.
    Opened(Box<Opening>),
    /// The caller said more.
    Said {
        /// What the caller said.
        message: Message,
    },
    /// A runner began to work on it.
    Started {
        /// One for the first time, more after a retry or a further message.
        attempt: u32,
    },
    /// The status changed, or the agent commented on it.
    Status {
        /// The state.
        state: TaskState,
        /// The agent's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Message>,
    },
    /// The agent made something, or a further piece of it.
    Artifact {
        /// The thing or the piece.
        artifact: Artifact,
        /// Whether it continues the artifact of the same id.
        #[serde(default)]
        append: bool,
        /// Whether nothing more of it will come.
        #[serde(default)]
        last_chunk: bool,
    },
    /// The runner asked to be reminded of this in its next run.
    Memo {
        /// Additional data of the runner.
        memo: Value,
    },
    /// Tokens and calls were used.
    Used {
        /// How much.
        usage: Usage,
    },
}

/// How a task begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// The agent that is asked.
    pub agent: AgentName,
    /// Which holder of that name is asked; none for an agent of the site itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<AgentInstance>,
    /// The conversation it belongs to.
    pub context: ContextId,
    /// The caller.
    pub owner: Principal,
    /// What is asked.
    pub message: Message,
    /// The task in whose course it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// When it must be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// How long it is kept after it has ended, in milliseconds, when the caller requests less than the site's
    /// own rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// The kept conversation of which it is a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The room in which its agent was addressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<RoomId>,
}

//! Origin: where a task came from.
//!
//! Promises: the origin is a fact about the task and is stored with its first event. What merely travels with
//! a message is in `request`. It decides nothing.

use agentsite_protocol::{ConversationId, RoomId, Task, TaskId};

/// Where a task came from. Stored in the fields of the first event that existed before this type (`parent`,
/// `conversation`), so that tasks of earlier versions have an origin, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// A caller sent a message to the agent.
    #[default]
    Call,
    /// An agent called another one in the course of this task.
    Task(TaskId),
    /// A turn of this conversation.
    Conversation(ConversationId),
    /// The agent was addressed in this room.
    Room(RoomId),
}

impl Origin {
    /// Where a stored task came from.
    #[must_use]
    pub const fn of(task: &Task) -> Self {
        match (task.conversation, task.room, task.head.parent) {
            (Some(conversation), _, _) => Self::Conversation(conversation),
            (None, Some(room), _) => Self::Room(room),
            (None, None, Some(parent)) => Self::Task(parent),
            (None, None, None) => Self::Call,
        }
    }

    /// The task in whose course an agent asked.
    pub(crate) const fn parent(self) -> Option<TaskId> {
        if let Self::Task(parent) = self { Some(parent) } else { None }
    }

    /// The room.
    pub(crate) const fn room(self) -> Option<RoomId> {
        if let Self::Room(id) = self { Some(id) } else { None }
    }

    /// The conversation.
    pub(crate) const fn conversation(self) -> Option<ConversationId> {
        if let Self::Conversation(id) = self { Some(id) } else { None }
    }
}

//! Why tasks did not do what was asked, from the checks that a site makes of a message to the store.
//!
//! Promises: variants are what a caller can act on, and each sentence says what to do. Codes and statuses are
//! the gateway's, which knows these errors as those of the site.

use std::time::Duration;

use agentsite_protocol::{AgentName, Refusal, TaskState};
use agentsite_store::StoreError;

/// Why tasks did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// There is none, or it is not for this caller.
    #[error("there is no agent `{0}` here; list the agents to see which there are")]
    NoSuchAgent(String),
    /// There is none, or it belongs to another owner.
    #[error("task not found: there is no task `{0}` here")]
    NoSuchTask(String),
    /// It has ended.
    #[error("the task cannot be canceled: it is {}", .0.word())]
    NotCancelable(TaskState),
    /// It has ended and takes no further message.
    #[error("the task has ended ({}); send the message without its id to begin another", .0.word())]
    TaskEnded(TaskState),
    /// It is at work and takes no message now.
    #[error("the task is {}; wait until it asks for input, or cancel it", .0.word())]
    TaskBusy(TaskState),
    /// The agent that the task was opened with is gone, and its name belongs to another one.
    #[error(
        "The agent `{0}` that this task was opened with is gone; another agent has its name now. Send the message without the task id to begin a new task."
    )]
    AgentReplaced(AgentName),
    /// The message names another context than its task's.
    #[error("the message's contextId is not that of its task; leave it out or send the task's own")]
    ContextMismatch,
    /// The message is not well formed.
    #[error("{0}")]
    BadMessage(String),
    /// The agent wants its callers to use an extension of the protocol.
    #[error("this agent requires the extension {0}; name it in A2A-Extensions and follow its rules")]
    ExtensionRequired(String),
    /// A part is of a type that the agent does not take.
    #[error("content of the type `{given}` is not supported by this agent; it takes {taken}")]
    MediaType {
        /// The type of the part.
        given: String,
        /// The types that the agent takes.
        taken: String,
    },
    /// Two different messages with one id.
    #[error("this messageId was used before for another message; give each message an id of its own")]
    IdReused,
    /// Too many tasks wait for the agent.
    #[error("{agent} has as many tasks waiting as it may (limits.queue); try again in {} s", .retry_after.as_secs().max(1))]
    QueueFull {
        /// The agent.
        agent: AgentName,
        /// When a slot may be free.
        retry_after: Duration,
    },
    /// A hook refused the message, or the task must stay.
    #[error("{0}")]
    Forbidden(String),
    /// The agent failed where there is no task that could say so.
    #[error("{0}")]
    Agent(String),
    /// The site is closing.
    #[error("the site is stopping; try again when it is back")]
    Stopping,
    /// The store did not take it.
    #[error(transparent)]
    Store(StoreError),
}

impl TaskError {
    /// Whether the disk is full, so that the same request may succeed later.
    #[must_use]
    pub const fn is_store_full(&self) -> bool {
        matches!(self, Self::Store(StoreError::Full))
    }

    /// What a refusal of the task machine means to a caller.
    pub(crate) const fn refused(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Ended(state) => Self::TaskEnded(state),
            Refusal::Busy(state) | Refusal::NotWorking(state) => Self::TaskBusy(state),
            Refusal::TooManyEvents => Self::TaskBusy(TaskState::Working),
        }
    }
}

impl From<StoreError> for TaskError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Stopped(_) => Self::Stopping,
            other => Self::Store(other),
        }
    }
}

//! Why a conversation did not do what was asked.
//!
//! Promises: variants are what a caller can act on, and each sentence says what to do. Codes and statuses are
//! the gateway's, which knows these errors as those of the site.

use agentsite_store::StoreError;
use agentsite_tasks::TaskError;

/// Why a conversation did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// There is none, or it belongs to another owner.
    #[error("there is no conversation `{0}` here")]
    NoSuchConversation(String),
    /// The conversation has none of this id.
    #[error("the conversation has no turn `{0}`; read its turns to see which there are")]
    NoSuchTurn(String),
    /// It was changed since it was read.
    #[error("the conversation has changed meanwhile; read it again, then try again")]
    Changed,
    /// A title or a search is not well formed.
    #[error("{0}")]
    Invalid(String),
    /// The caller has as many conversations as it may.
    #[error("you keep {0} conversations, as many as you may; delete one first")]
    TooManyConversations(usize),
    /// The conversation has as many turns as it may.
    #[error("the conversation has {0} turns, as many as it may; begin another")]
    TooManyTurns(u64),
    /// The caller is anonymous.
    #[error(
        "conversations are kept for those who are known here; sign in or send an API key, or ask the agent without one"
    )]
    Anonymous,
    /// What is wrong with the message, the agent or the task.
    #[error(transparent)]
    Task(TaskError),
    /// The site is closing.
    #[error("{}", TaskError::Stopping)]
    Stopping,
    /// The store did not take it.
    #[error(transparent)]
    Store(StoreError),
}

impl ConversationError {
    /// Whether a concurrent change of the conversation refused this one, so that it must be decided again.
    pub(crate) const fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(StoreError::Moved(_)))
    }
}

impl From<StoreError> for ConversationError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Stopped(_) => Self::Stopping,
            other => Self::Store(other),
        }
    }
}

impl From<TaskError> for ConversationError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Store(error) => error.into(),
            TaskError::Stopping => Self::Stopping,
            other => Self::Task(other),
        }
    }
}

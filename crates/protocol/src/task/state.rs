//! The eight states of A2A 1.0 and which may follow which.
//!
//! Promises: four states are terminal and nothing follows them; two wait for the caller. It holds no history.

use serde::{Deserialize, Serialize};

use crate::{Message, Timestamp};

/// State of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TaskState {
    /// Accepted and waiting for its turn.
    #[serde(rename = "TASK_STATE_SUBMITTED")]
    Submitted,
    /// The agent works on it.
    #[serde(rename = "TASK_STATE_WORKING")]
    Working,
    /// The agent waits for an answer of the caller.
    #[serde(rename = "TASK_STATE_INPUT_REQUIRED")]
    InputRequired,
    /// The agent waits for a permission or a credential.
    #[serde(rename = "TASK_STATE_AUTH_REQUIRED")]
    AuthRequired,
    /// Done.
    #[serde(rename = "TASK_STATE_COMPLETED")]
    Completed,
    /// Ended by an error.
    #[serde(rename = "TASK_STATE_FAILED")]
    Failed,
    /// Ended by the caller.
    #[serde(rename = "TASK_STATE_CANCELED")]
    Canceled,
    /// The agent would not do it.
    #[serde(rename = "TASK_STATE_REJECTED")]
    Rejected,
}

impl TaskState {
    /// All states, in the order a task may pass through them.
    pub const ALL: [Self; 8] = [
        Self::Submitted,
        Self::Working,
        Self::InputRequired,
        Self::AuthRequired,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Rejected,
    ];

    /// Whether nothing follows.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether the task waits for its caller.
    #[must_use]
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// Whether a blocking caller is answered now: the task has ended or waits for the caller.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        self.is_terminal() || self.is_interrupted()
    }

    /// A word for people, tables and metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::InputRequired => "input-required",
            Self::AuthRequired => "auth-required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Rejected => "rejected",
        }
    }

    /// Reads [`Self::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

impl std::fmt::Display for TaskState {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.pad(self.word())
    }
}

/// State of a task, since when, with the agent's message about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// What the agent says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Since when.
    pub timestamp: Timestamp,
}

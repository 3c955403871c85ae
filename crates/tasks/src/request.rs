//! TaskRequest: a message for an agent, and what goes with it.
//!
//! Promises: only the message and the origin are written to the task; the rest is for its opening, for the
//! first run, or for one commit. It checks nothing.

use std::sync::Arc;
use std::time::Duration;

use agentsite_host::Ephemeral;
use agentsite_protocol::{Message, TaskId, Timestamp};

use crate::hook::TaskHook;
use crate::origin::Origin;

/// A message for an agent, and what goes with it.
#[derive(Debug)]
pub struct TaskRequest {
    /// What the caller says; it names the task that it continues.
    pub message: Message,
    /// Where a new task comes from; a task that is continued keeps its origin.
    pub origin: Origin,
    /// The id of a new task, when it had to be known before.
    pub id: Option<TaskId>,
    /// How many calls of agents by agents lead to this one.
    pub depth: u32,
    /// When a new task must be done.
    pub deadline: Option<Timestamp>,
    /// How long a new task is kept after it has ended.
    pub ttl: Option<Duration>,
    /// What only the agent sees, in its first run only.
    pub ephemeral: Ephemeral,
    /// Hooks for the commit of this message alone.
    pub attached: Vec<Arc<dyn TaskHook>>,
}

impl From<Message> for TaskRequest {
    fn from(message: Message) -> Self {
        Self {
            message,
            origin: Origin::Call,
            id: None,
            depth: 0,
            deadline: None,
            ttl: None,
            ephemeral: Ephemeral::default(),
            attached: Vec::new(),
        }
    }
}

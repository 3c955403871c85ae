//! TaskRequest: a message for an agent, and what goes with it.
//!
//! Promises: only the message and the origin are written to the task; the rest is for its opening, for the
//! first run, or for one commit. It checks nothing.

use std::sync::Arc;
use std::time::Duration;

use agentsite_host::Ephemeral;
use agentsite_protocol::{Message, TaskId, Timestamp};

use super::hook::TaskHook;
use super::origin::Origin;

/// A message for an agent, and what goes with it.
#[derive(Debug)]
pub(crate) struct TaskRequest {
    /// What the caller says; it names the task that it continues.
    pub(crate) message: Message,
    /// Where a new task comes from; a task that is continued keeps its origin.
    pub(crate) origin: Origin,
    /// The id of a new task, when it had to be known before.
    pub(crate) id: Option<TaskId>,
    /// How many calls of agents by agents lead to this one.
    pub(crate) depth: u32,
    /// When a new task must be done.
    pub(crate) deadline: Option<Timestamp>,
    /// How long a new task is kept after it has ended.
    pub(crate) ttl: Option<Duration>,
    /// What only the agent sees, in its first run only.
    pub(crate) ephemeral: Ephemeral,
    /// Hooks for the commit of this message alone.
    pub(crate) attached: Vec<Arc<dyn TaskHook>>,
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

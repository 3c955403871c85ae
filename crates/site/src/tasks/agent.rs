//! What tasks need to know of an agent: its manifest, its runner, its lane, and which holder of its name it
//! is.
//!
//! Promises: a task stays with the agent that it was opened with; a later holder of the same name does not
//! get it. It does not know who may call the agent, nor how it is listed.

use std::fmt;
use std::sync::Arc;

use agentsite_host::{Answers, Manifest, Runner};
use agentsite_protocol::{AgentInstance, AgentName, Message, Task, Timestamp};

use super::error::TaskError;
use super::lane::Lane;

/// An agent as tasks see it.
#[derive(Debug)]
pub(crate) struct TaskAgent {
    pub(crate) manifest: Manifest,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) lane: Arc<Lane>,
    /// Since when which holder has the name; none for an agent of the site itself.
    pub(crate) tenure: Option<(AgentInstance, Timestamp)>,
}

impl TaskAgent {
    pub(crate) fn new(
        manifest: Manifest,
        runner: Arc<dyn Runner>,
        tenure: Option<(AgentInstance, Timestamp)>,
    ) -> Arc<Self> {
        let lane = Arc::new(Lane::new(&manifest.limits));
        Arc::new(Self { manifest, runner, lane, tenure })
    }

    /// Which holder of its name this is; none for an agent of the site itself.
    pub(super) fn instance(&self) -> Option<&AgentInstance> {
        self.tenure.as_ref().map(|(instance, _)| instance)
    }

    /// Whether this is the agent that a task was opened with, rather than a later holder of the same name.
    pub(crate) fn holds(&self, task: &Task) -> bool {
        if self.manifest.name != task.head.agent {
            return false;
        }
        match (&self.tenure, &task.instance) {
            (None, None) => true,
            (Some((own, _)), Some(instance)) => own == instance,
            // Tasks of earlier versions have no instance: they are this holder's if it had the name already.
            (Some((_, since)), None) => *since <= task.head.created_at,
            (None, Some(_)) => false,
        }
    }

    /// Refuses a task that was opened with another holder of the name.
    pub(crate) fn check_holds(&self, task: &Task) -> Result<(), TaskError> {
        if self.holds(task) { Ok(()) } else { Err(TaskError::AgentReplaced(task.head.agent.clone())) }
    }

    /// Whether callers get a message and nothing else.
    pub(crate) fn is_message_only(&self) -> bool {
        self.manifest.answers == Answers::Message
    }

    /// Whether the agent may choose to answer this message at once.
    pub(crate) fn may_reply(&self, message: &Message) -> bool {
        message.task_id.is_none() && self.manifest.answers == Answers::Either
    }
}

/// Finds an agent by its name.
type FindAgent = dyn Fn(&AgentName) -> Option<Arc<TaskAgent>> + Send + Sync;

/// Finds the agents of the site by name, as they are now.
#[derive(Clone)]
pub(crate) struct AgentDirectory(Arc<FindAgent>);

impl AgentDirectory {
    pub(crate) fn new(find: impl Fn(&AgentName) -> Option<Arc<TaskAgent>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    pub(super) fn find(&self, name: &AgentName) -> Option<Arc<TaskAgent>> {
        (self.0)(name)
    }
}

impl fmt::Debug for AgentDirectory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("AgentDirectory")
    }
}

//! What tasks need to know of an agent: its manifest, its runner, its lane, and which holder of its name it
//! is.
//!
//! Promises: a task stays with the agent that it was opened with; a later holder of the same name does not
//! get it. It does not know who may call the agent, nor how it is listed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentsite_host::{Answers, Manifest, Runner, Runtime};
use agentsite_protocol::{AgentInstance, AgentName, Message, Task, Timestamp};

use crate::error::TaskError;
use crate::lane::{Lane, Slot};

/// An agent as tasks see it.
#[derive(Debug)]
pub struct TaskAgent {
    /// What its file says.
    pub manifest: Manifest,
    /// How it runs.
    pub runner: Arc<dyn Runner>,
    /// How many of its tasks run and wait.
    pub(crate) lane: Arc<Lane>,
    /// Since when which holder has the name; none for an agent of the site itself.
    pub(crate) tenure: Option<(AgentInstance, Timestamp)>,
}

impl TaskAgent {
    /// An agent with a lane of its own; `tenure` says which holder has the name since when, none for an agent
    /// of the site itself.
    #[must_use]
    pub fn new(
        manifest: Manifest,
        runner: Arc<dyn Runner>,
        tenure: Option<(AgentInstance, Timestamp)>,
    ) -> Arc<Self> {
        let lane = Arc::new(Lane::new(&manifest.limits));
        Arc::new(Self { manifest, runner, lane, tenure })
    }

    /// Which holder of its name this is; none for an agent of the site itself.
    pub(crate) fn instance(&self) -> Option<&AgentInstance> {
        self.tenure.as_ref().map(|(instance, _)| instance)
    }

    /// Whether this is the agent that a task was opened with, rather than a later holder of the same name.
    #[must_use]
    pub fn holds(&self, task: &Task) -> bool {
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
    ///
    /// # Errors
    /// [`TaskError::AgentReplaced`].
    pub fn check_holds(&self, task: &Task) -> Result<(), TaskError> {
        if self.holds(task) { Ok(()) } else { Err(TaskError::AgentReplaced(task.head.agent.clone())) }
    }

    /// Whether a model answers, which can be given a history.
    #[must_use]
    pub fn has_model(&self) -> bool {
        matches!(self.manifest.runtime, Runtime::Llm(_))
    }

    /// Whether callers get a message and nothing else.
    #[must_use]
    pub fn is_message_only(&self) -> bool {
        self.manifest.answers == Answers::Message
    }

    /// Whether the agent may choose to answer this message at once.
    #[must_use]
    pub fn may_reply(&self, message: &Message) -> bool {
        message.task_id.is_none() && self.manifest.answers == Answers::Either
    }

    /// Whether this process can run the agent now; false while another one must: its program or its server is
    /// there, or its concurrency is too small for each process to have a share.
    #[must_use]
    pub fn can_run_here(&self) -> bool {
        self.runner.is_here() && self.lane.has_share()
    }

    /// Waits for a slot in the agent's lane. Cancellation safe: dropping the future gives the position in the
    /// queue up.
    ///
    /// # Errors
    /// The time after which to try again, when too many wait.
    pub async fn slot(&self) -> Result<Slot, Duration> {
        Ok(self.lane.admit(false)?.slot().await)
    }

    /// How many slots are taken.
    #[must_use]
    pub fn running(&self) -> usize {
        self.lane.running()
    }

    /// How many wait for a slot.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lane.waiting()
    }

    /// Learns how long something took that had a slot, for the advice on when to try again.
    pub fn took(&self, time: Duration) {
        self.lane.took(time);
    }
}

/// Finds an agent by its name.
type FindAgent = dyn Fn(&AgentName) -> Option<Arc<TaskAgent>> + Send + Sync;

/// Finds the agents of the site by name, as they are now.
#[derive(Clone)]
pub struct AgentDirectory(Arc<FindAgent>);

impl AgentDirectory {
    /// A directory that finds agents by this function.
    pub fn new(find: impl Fn(&AgentName) -> Option<Arc<TaskAgent>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// The agent that has this name now.
    #[must_use]
    pub fn find(&self, name: &AgentName) -> Option<Arc<TaskAgent>> {
        (self.0)(name)
    }
}

impl fmt::Debug for AgentDirectory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("AgentDirectory")
    }
}

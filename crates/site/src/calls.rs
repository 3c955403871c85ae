//! The way from a running agent to the other agents of its site.
//!
//! Promises: a called agent's task belongs to the same owner, names the task it was started from, and is
//! cancelled when the caller no longer waits. Chains of agents have a bounded length.

mod tools;

use std::sync::{Arc, Weak};

use agentsite_host::{CallError, CallFrom, Calls, Ephemeral, Toolbox};
use agentsite_protocol::{AgentName, Caller, Ids, Message, Role, Task, TaskState};
use futures::future::BoxFuture;

use crate::local_agents::LocalAgents;
use crate::remote_toolbox::RemoteToolbox;
use agentsite_tasks::{CancelGuard, Origin, TaskError, TaskRequest, TaskWatch, Tasks, WeakTasks};
use tools::Neighbour;

/// Longest chain of agents that call each other; people's own delegations are three or four deep.
const MAX_DEPTH: u32 = 16;

/// Calls within one site.
#[derive(Debug)]
pub(crate) struct SiteCalls {
    tasks: WeakTasks,
    ids: Ids,
    local: Weak<LocalAgents>,
}

impl SiteCalls {
    pub(crate) fn new(tasks: WeakTasks, local: &Arc<LocalAgents>, ids: Ids) -> Self {
        Self { tasks, local: Arc::downgrade(local), ids }
    }

    async fn ask(&self, from: CallFrom, agent: AgentName, text: String) -> Result<String, CallError> {
        let gone = || CallError::Failed("the site is stopping".into());
        let (tasks, local) = (self.tasks.upgrade().ok_or_else(gone)?, self.local.upgrade().ok_or_else(gone)?);
        let message = Message::text(self.ids.message(), Role::User, text);
        let ephemeral = Ephemeral { trace: from.trace.clone(), ..Ephemeral::default() };
        match begin(&tasks, &local, from, agent, message, ephemeral).await? {
            StartedCall::Answered(answer) => Ok(answer.plain_text()),
            StartedCall::Working(watch, guard) => {
                let task = watch.settled().await;
                guard.release();
                if task.head.state == TaskState::Completed {
                    Ok(task.answer())
                } else {
                    Err(unfinished(&task))
                }
            }
        }
    }
}

/// A call that was taken.
#[derive(Debug)]
pub(crate) enum StartedCall {
    /// The agent answered at once; there is no task.
    Answered(Message),
    /// A task is at work; it is cancelled when the guard is dropped.
    Working(TaskWatch, CancelGuard),
}

/// Gives a message to an agent, or continues the task that the message names.
pub(crate) async fn begin(
    tasks: &Tasks,
    local: &LocalAgents,
    from: CallFrom,
    agent: AgentName,
    mut message: Message,
    ephemeral: Ephemeral,
) -> Result<StartedCall, CallError> {
    if from.depth >= MAX_DEPTH {
        return Err(CallError::TooDeep(MAX_DEPTH));
    }
    let ephemeral = Ephemeral { budget: from.budget, ..ephemeral };
    let caller = Caller::inside(from.owner).in_trace(from.trace);
    let entry = local.visible(&caller, &agent).map_err(|_| CallError::Unknown(agent))?;
    message.context_id = Some(from.context);
    let failed = |error: TaskError| CallError::Failed(error.to_string());
    if entry.is_message_only() {
        return tasks
            .ask(&caller, &entry, message, ephemeral)
            .await
            .map(StartedCall::Answered)
            .map_err(failed);
    }
    let spending = Ephemeral { budget: ephemeral.budget.clone(), ..Ephemeral::default() };
    let at_once = tasks.reply(&caller, &entry, &message, &spending).await.map_err(failed)?;
    if let Some(answer) = at_once {
        return Ok(StartedCall::Answered(answer));
    }
    let request = TaskRequest {
        origin: Origin::Task(from.task),
        depth: from.depth + 1,
        deadline: from.deadline,
        ephemeral,
        ..TaskRequest::from(message)
    };
    let watch = tasks.send(&caller, entry.agent.clone(), request).await.map_err(failed)?;
    let guard = tasks.control().cancel_guard(&caller, watch.id());
    Ok(StartedCall::Working(watch, guard))
}

/// Why a task that settled is no answer.
pub(crate) fn unfinished(task: &Task) -> CallError {
    let words = task.status.message.as_ref().map(Message::plain_text).unwrap_or_default();
    CallError::Failed(format!("{}: {words}", task.head.state.word()))
}

impl Calls for SiteCalls {
    fn call(
        &self,
        from: CallFrom,
        agent: AgentName,
        text: String,
    ) -> BoxFuture<'_, Result<String, CallError>> {
        Box::pin(self.ask(from, agent, text))
    }

    fn describe(&self, agent: &AgentName) -> Option<String> {
        let entry = self.local.upgrade()?.get(agent)?;
        let mut words = entry.manifest.description.clone();
        for skill in entry.skills() {
            words.push_str(&format!(" {}: {}", skill.name, skill.description));
            if let Some(example) = skill.examples.first() {
                words.push_str(&format!(" (for example: {example})"));
            }
        }
        Some(words)
    }

    fn toolbox(&self, from: &CallFrom, agent: &AgentName) -> Option<Arc<dyn Toolbox>> {
        if from.depth >= MAX_DEPTH {
            return None;
        }
        let caller = Caller::inside(from.owner.clone());
        let entry = self.local.upgrade()?.visible(&caller, agent).ok()?;
        let calls = self.tasks.upgrade()?.control().process_calls();
        let toolbox = RemoteToolbox::near(&entry, &entry.runner.toolbox()?, &calls);
        Some(Arc::new(Neighbour { entry, toolbox, calls }))
    }
}

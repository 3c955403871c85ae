//! The Runner seam: what the site hands to an agent's runtime, and what comes back.
//!
//! Promises: one [`Job`] is one run; steps flow through a bounded [`Reporter`], so a runner that talks faster
//! than the disk writes is slowed down, not buffered. A runner must end soon after `job.cancel` fires; the
//! site drops one that does not. Dropping the future of a run must stop everything it started.

use std::fmt;
use std::sync::Arc;

use agentsite_protocol::{
    AgentCard, AgentName, Artifact, ContextId, Ids, Message, Outcome, Principal, Role, Step, TaskId,
    Timestamp, TraceContext, Usage,
};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{Ephemeral, ServerLogin, TaskBudget, ToolPins, Toolbox};

/// Steps that may wait between a runner and the store: two group commits' worth of small chunks. More would
/// only hide that the disk is slower than the agent.
pub const STEP_QUEUE: usize = 64;

/// Runs an agent. One value serves all tasks of the agent.
pub trait Runner: Send + Sync + fmt::Debug + 'static {
    /// Works on one job until it ends, asks back, or is canceled.
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome>;

    /// Answers a message at once with a message, so that no task is opened; `None` opens one. It is asked
    /// only of agents whose manifest says `answers = "either"`, and only about messages that begin something;
    /// the task and context of `job` are those that would be used. Dropping the future must stop everything
    /// it started.
    fn reply(&self, job: &Job) -> BoxFuture<'static, Option<Message>> {
        let _ = job;
        Box::pin(std::future::ready(None))
    }

    /// Whether a run changes nothing in the world, so that it may begin before its task is on disk and be
    /// repeated.
    fn is_pure(&self) -> bool {
        false
    }

    /// Whether runs can happen in this process now; false while what they need, such as the program of a
    /// connected agent, is not here and may be with another process of the site.
    fn is_here(&self) -> bool {
        true
    }

    /// How many earlier messages of the conversation the agent needs.
    fn memory(&self) -> usize {
        0
    }

    /// Whether the agent can work now.
    fn health(&self) -> Health {
        Health::Ready
    }

    /// The card of an agent that lives elsewhere, once it is known; the site shows its skills under its own
    /// address.
    fn card(&self) -> Option<Arc<AgentCard>> {
        None
    }

    /// The tools, resources and prompts of an agent that is a set of them; `None` for one that is talked to.
    fn toolbox(&self) -> Option<Arc<dyn Toolbox>> {
        None
    }

    /// The caller gave up a task while it waited for them; what the agent holds for it can go.
    fn forget(&self, task: TaskId) {
        let _ = task;
    }

    /// The tools of a server that is not ours, and what was approved of them.
    fn pins(&self) -> Option<Arc<ToolPins>> {
        None
    }

    /// The login of an agent whose server requires one.
    fn login(&self) -> Option<Arc<ServerLogin>> {
        None
    }

    /// What the operator should look at, although the agent works.
    fn notice(&self) -> Option<String> {
        self.pins().and_then(|pins| pins.notice())
    }

    /// Ends everything that outlives a single run, such as a supervised server.
    fn stop(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Whether an agent can work now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It can.
    Ready,
    /// It is being started.
    Starting,
    /// It lacks something that its owner must provide, such as a model; the text names it.
    Needs(String),
    /// It does not answer; the text gives the reason and what happens next.
    Down(String),
}

impl Health {
    /// One word for tables and metrics.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Starting => "starting",
            Self::Needs(_) => "needs-setup",
            Self::Down(_) => "down",
        }
    }

    /// The reason, when there is one.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Needs(reason) | Self::Down(reason) => Some(reason),
            Self::Ready | Self::Starting => None,
        }
    }
}

/// One run of one task.
#[derive(Debug, Clone)]
pub struct Job {
    /// The task.
    pub task: TaskId,
    /// Its conversation.
    pub context: ContextId,
    /// The agent that runs.
    pub agent: AgentName,
    /// The owner of the task.
    pub owner: Principal,
    /// What was said last by the caller.
    pub message: Message,
    /// What was said in this task before `message`, oldest first.
    pub history: Vec<Message>,
    /// What was said in earlier tasks of the conversation, oldest first, as far as [`Runner::memory`] asked
    /// for it.
    pub conversation: Vec<Message>,
    /// What an earlier run of this task asked to be reminded of.
    pub memo: Option<Value>,
    /// One for the first run.
    pub attempt: u32,
    /// How often the work on `message` was begun again after an interruption; part of what `limits.retry`
    /// allows.
    pub retries: u32,
    /// When the run must be done: the agent's own time limit, or an earlier one of the task that it is part
    /// of.
    pub deadline: Option<Timestamp>,
    /// How many agents are between the first caller and this run.
    pub depth: u32,
    /// What was sent with `message` and is not stored; empty when the run is repeated.
    pub ephemeral: Ephemeral,
    /// What the task has used before this run.
    pub used: Usage,
    /// What the agent has used today in all tasks.
    pub used_today: Usage,
    /// Fires when the run must stop.
    pub cancel: CancellationToken,
    /// Makes ids and tells the time.
    pub ids: Ids,
    /// The way to other agents of the site.
    pub calls: Arc<dyn Calls>,
}

impl Job {
    /// A message of the agent, placed in this task.
    #[must_use]
    pub fn words(&self, text: impl Into<String>) -> Message {
        let mut message = Message::text(self.ids.message(), Role::Agent, text);
        message.task_id = Some(self.task.to_string());
        message.context_id = Some(self.context.clone());
        message
    }

    /// The run failed; `why` says what happened and what to do.
    #[must_use]
    pub fn failed(&self, why: impl Into<String>) -> Outcome {
        Outcome::Failed(self.words(why))
    }

    /// From where calls of other agents come.
    #[must_use]
    pub fn from(&self) -> CallFrom {
        CallFrom {
            task: self.task,
            context: self.context.clone(),
            agent: self.agent.clone(),
            owner: self.owner.clone(),
            depth: self.depth,
            deadline: self.deadline,
            trace: self.ephemeral.trace.clone(),
            budget: self.ephemeral.budget.clone(),
        }
    }
}

/// The site no longer listens: the task was ended. The run should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the task has ended; steps of this run are no longer taken")]
pub struct Gone;

/// Where a runner reports its steps. Steps travel boxed: the channel reserves its places in blocks, and
/// blocks of whole steps would cost every small task eight kilobytes.
#[derive(Debug, Clone)]
pub struct Reporter(mpsc::Sender<Box<Step>>);

/// Where the site listens to the steps of a run.
#[derive(Debug)]
pub struct Reports(mpsc::Receiver<Box<Step>>);

impl Reports {
    /// The next step; `None` when the runner reports no more. Cancellation safe.
    pub async fn recv(&mut self) -> Option<Step> {
        self.0.recv().await.map(|step| *step)
    }

    /// The next step, if it is there already.
    pub fn try_recv(&mut self) -> Option<Step> {
        self.0.try_recv().ok().map(|step| *step)
    }

    /// Accepts no more steps; the runner learns of it with its next one.
    pub fn close(&mut self) {
        self.0.close();
    }
}

impl Reporter {
    /// A reporter and the end at which the site listens.
    #[must_use]
    pub fn channel() -> (Self, Reports) {
        let (sender, receiver) = mpsc::channel(STEP_QUEUE);
        (Self(sender), Reports(receiver))
    }

    /// Reports a step; waits while the site is busy writing earlier ones.
    ///
    /// # Errors
    /// [`Gone`] when the task was ended.
    pub async fn step(&self, step: Step) -> Result<(), Gone> {
        self.0.send(Box::new(step)).await.map_err(|_| Gone)
    }

    /// Reports a whole artifact of text.
    ///
    /// # Errors
    /// [`Gone`] when the task was ended.
    pub async fn text(&self, artifact: &str, text: impl Into<String>) -> Result<(), Gone> {
        self.step(Step::Artifact {
            artifact: Artifact::text(artifact, text),
            append: false,
            last_chunk: true,
        })
        .await
    }

    /// Reports a piece of an artifact of text; `append` is false for the first piece.
    ///
    /// # Errors
    /// [`Gone`] when the task was ended.
    pub async fn chunk(&self, artifact: &str, text: impl Into<String>, append: bool) -> Result<(), Gone> {
        self.step(Step::Artifact { artifact: Artifact::text(artifact, text), append, last_chunk: false })
            .await
    }
}

/// From where an agent calls another one.
#[derive(Debug, Clone)]
pub struct CallFrom {
    /// The task in whose course the call happens.
    pub task: TaskId,
    /// Its conversation.
    pub context: ContextId,
    /// The agent that calls.
    pub agent: AgentName,
    /// The owner of the task; the called agent's task has the same owner.
    pub owner: Principal,
    /// How many agents are between the first caller and this one.
    pub depth: u32,
    /// When the calling task must be done; the called one has no more time than that.
    pub deadline: Option<Timestamp>,
    /// In which trace the call happens.
    pub trace: Option<TraceContext>,
    /// What the calling run and its own callers may still spend.
    pub budget: TaskBudget,
}

/// Why another agent could not be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There is none of this name.
    #[error("there is no agent `{0}` here")]
    Unknown(AgentName),
    /// Agents call each other in too long a chain.
    #[error("agents called each other {0} deep; that is the limit")]
    TooDeep(u32),
    /// It did not succeed; the text is its own.
    #[error("{0}")]
    Failed(String),
}

/// The way from a running agent to the other agents of its site.
pub trait Calls: Send + Sync + fmt::Debug + 'static {
    /// Asks an agent and waits for its answer as text.
    fn call(
        &self,
        from: CallFrom,
        agent: AgentName,
        text: String,
    ) -> BoxFuture<'_, Result<String, CallError>>;

    /// What an agent does, as text for a model; `None` when there is none of this name.
    fn describe(&self, agent: &AgentName) -> Option<String>;

    /// The tools of an agent that is a set of them; `None` when there is no such agent for this caller.
    fn toolbox(&self, from: &CallFrom, agent: &AgentName) -> Option<Arc<dyn Toolbox>> {
        let _ = (from, agent);
        None
    }
}

/// No other agents, for runs outside a site.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCalls;

impl Calls for NoCalls {
    fn call(&self, _: CallFrom, agent: AgentName, _: String) -> BoxFuture<'_, Result<String, CallError>> {
        Box::pin(std::future::ready(Err(CallError::Unknown(agent))))
    }

    fn describe(&self, _: &AgentName) -> Option<String> {
        None
    }
}

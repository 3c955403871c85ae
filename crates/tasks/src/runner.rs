//! TaskRunner: the one owner of a live task. It waits for a slot, runs the agent, and writes what happens.
//!
//! Promises: nothing is shown before it is on disk; everything that is ready goes into one commit; a run that
//! is cancelled, too long, over its output limit or broken ends with a reason. A run of an agent that changes
//! the world begins only after its start is on disk.
//!
//! Decisions are the task machine's (`protocol`); this is the thin driver around it.

mod write;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use agentsite_host::{Ephemeral, Job, Reporter};
use agentsite_protocol::{
    Command, Message, Outcome, Refusal, Role, Step, Task, TaskEvent, TaskState, Timestamp,
};
use agentsite_store::{Admittance, SentKey};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::agent::TaskAgent;
use crate::error::TaskError;
use crate::followed::catch_up;
use crate::hook::TaskHook;
use crate::job::run_deadline;
use crate::lane::{Admission, QueueTicket, Slot};
use crate::live::TaskOrder;
use crate::log::TaskLog;
use crate::supervisor::TaskSupervisor;

/// Steps gathered for one commit; more only delays what watchers see.
const MAX_GATHERED: usize = 64;

/// How long a run may take to stop after it was told to; then it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// What a runner begins with: events that are decided and must be written first, and what came with the
/// message.
pub(crate) struct TaskStart {
    /// The events.
    pub(crate) events: Vec<TaskEvent>,
    /// The last event on disk before them.
    pub(crate) committed: u64,
    /// By what a repeat of the message is recognised.
    pub(crate) sent: Option<SentKey>,
    /// Hooks for the first commit alone.
    pub(crate) attached: Vec<Arc<dyn TaskHook>>,
    /// How many calls of agents by agents lead to this one.
    pub(crate) depth: u32,
    /// What only the agent sees, in its first run only.
    pub(crate) ephemeral: Ephemeral,
}

/// The runner ends without a result: the store or the site stopped.
struct Halted;

/// What a wait for a place came to.
enum Turn {
    Mine(Slot),
    Never(Command),
    Moved,
}

/// Why a run ended.
enum End {
    Outcome(Outcome),
    Cancelled,
    Expired,
    OutputLimit(u64),
    /// The agent is in another process now.
    Moved,
}

/// The owner of a live task.
pub(crate) struct TaskRunner {
    tasks: Arc<TaskSupervisor>,
    agent: Arc<TaskAgent>,
    /// The task with everything decided so far, written or not.
    task: Task,
    log: Arc<TaskLog>,
    orders: mpsc::Receiver<TaskOrder>,
    pending: Vec<TaskEvent>,
    /// Number of the last event on disk.
    committed: u64,
    /// Whether the task was taken from the store.
    resumed: bool,
    sent: Option<SentKey>,
    /// Hooks for the first commit alone.
    attached: Vec<Arc<dyn TaskHook>>,
    accepted: Option<oneshot::Sender<Result<(), TaskError>>>,
    admission: Option<Admission>,
    slot: Option<Slot>,
    depth: u32,
    ephemeral: Ephemeral,
    produced: u64,
    /// How the next commit stands to the limits of storage.
    admittance: Admittance,
    /// Whether the task goes to the process that runs its agent now.
    moved: bool,
}

impl TaskRunner {
    /// A runner for a task that is in the store as it is given.
    pub(crate) fn new(
        tasks: Arc<TaskSupervisor>,
        agent: Arc<TaskAgent>,
        task: Task,
        log: Arc<TaskLog>,
        orders: mpsc::Receiver<TaskOrder>,
        admission: Admission,
    ) -> Self {
        let committed = task.head.seq;
        Self {
            tasks,
            agent,
            task,
            log,
            orders,
            pending: Vec::new(),
            committed,
            resumed: true,
            sent: None,
            attached: Vec::new(),
            accepted: None,
            admission: Some(admission),
            slot: None,
            depth: 0,
            ephemeral: Ephemeral::default(),
            produced: 0,
            admittance: Admittance::Running,
            moved: false,
        }
    }

    /// Begins with events that are decided and not written yet, and with what came with them.
    pub(crate) fn starting_with(
        mut self,
        start: TaskStart,
        accepted: oneshot::Sender<Result<(), TaskError>>,
    ) -> Self {
        (self.pending, self.committed) = (start.events, start.committed);
        (self.sent, self.attached, self.accepted) = (start.sent, start.attached, Some(accepted));
        (self.depth, self.ephemeral) = (start.depth, start.ephemeral);
        self.resumed = start.committed > 0;
        self.admittance = Admittance::New;
        self
    }

    /// The same, for a task to which so many calls of agents by agents lead.
    pub(crate) fn at_depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    /// Works until the task has ended, waits for its caller, or the site stops.
    pub(crate) async fn run(mut self) {
        let _ = self.work().await;
        let id = self.task.head.id;
        self.tasks.live.remove(id, &self.log);
        let continues = self.log.task().is_some_and(|task| !task.head.state.is_settled());
        if continues && self.tasks.live.shared && !self.tasks.lifetime.is_stopping() {
            // Another process continues the task, or this one does later; the watchers follow it.
            self.tasks.live.followed.keep(id, &self.log);
            if let Err(error) = catch_up(&self.tasks.store, id, &self.log).await {
                tracing::debug!(task = %id, %error, "A task is followed from its next change on.");
            }
        } else {
            self.log.close();
        }
    }

    async fn work(&mut self) -> Result<(), Halted> {
        loop {
            match self.task.head.state {
                TaskState::Submitted if self.moved => return self.release().await,
                TaskState::Submitted => self.take_turn().await?,
                TaskState::Working => self.run_once().await?,
                _ => return self.flush().await,
            }
        }
    }

    /// Waits for a place and starts the run; an order to cancel ends the task instead.
    async fn take_turn(&mut self) -> Result<(), Halted> {
        let slot = match self.admission.take() {
            Some(Admission::Now(slot)) => slot,
            Some(Admission::Later(place)) => {
                self.flush().await?;
                self.tasks.metrics.queued.inc();
                let turn = self.wait_for_turn(&place).await;
                self.tasks.metrics.queued.dec();
                match turn? {
                    Turn::Mine(slot) => slot,
                    Turn::Never(command) => return self.decide(command),
                    Turn::Moved => return self.move_away(),
                }
            }
            None => return Err(Halted),
        };
        if self.tasks.is_away(&self.agent) {
            return self.move_away();
        }
        self.slot = Some(slot);
        self.decide(Command::Start)?;
        if !self.agent.runner.is_pure() {
            self.flush().await?;
        }
        Ok(())
    }

    async fn wait_for_turn(&mut self, place: &QueueTicket) -> Result<Turn, Halted> {
        let left = self.task.deadline.map(|deadline| deadline.since(self.now()));
        let (slot, too_late) = (place.slot(), passed(left));
        tokio::pin!(slot, too_late);
        loop {
            let order = tokio::select! {
                // In this order: a task that must not begin here does not, although a slot is free.
                biased;
                Some(order) = self.orders.recv() => order,
                () = self.tasks.lifetime.stopping().cancelled() => return Err(Halted),
                slot = &mut slot => return Ok(Turn::Mine(slot)),
                () = &mut too_late => return Ok(Turn::Never(Command::Expire(self.too_late()))),
            };
            match order {
                TaskOrder::Cancel => return Ok(Turn::Never(Command::Cancel(None))),
                TaskOrder::Abandon => return Err(Halted),
                TaskOrder::HandOver if self.agent.runner.is_here() => {}
                TaskOrder::HandOver => return Ok(Turn::Moved),
            }
        }
    }

    /// Decides that the task goes to the process that runs its agent now.
    fn move_away(&mut self) -> Result<(), Halted> {
        self.moved = true;
        let text =
            format!("{} is with another process of the site now, which continues this", self.task.head.agent);
        self.decide(Command::HandOver(self.words(text)))
    }

    /// One run of the agent, from its start to its outcome.
    async fn run_once(&mut self) -> Result<(), Halted> {
        let began = self.now();
        self.tasks.metrics.started_after(began.since(self.task.head.created_at));
        let cancel = CancellationToken::new();
        let job = match self.tasks.job(&self.agent, &self.task, self.depth, cancel.clone()).await {
            Ok(job) => Job { ephemeral: std::mem::take(&mut self.ephemeral), ..job },
            Err(error) => {
                let why = self.words(format!("the task could not be prepared: {error}"));
                return self.decide(Command::Finish(Outcome::Failed(why)));
            }
        };
        let end = self.follow(job, &cancel).await?;
        self.agent.lane.took(self.now().since(began));
        self.slot = None;
        let limits = &self.agent.manifest.limits;
        let command = match end {
            End::Moved => return self.move_away(),
            End::Outcome(outcome) => Command::Finish(outcome),
            End::Cancelled => Command::Cancel(None),
            End::Expired if self.is_late() => Command::Expire(self.too_late()),
            End::Expired => Command::Expire(self.words(format!(
                "{} did not finish within {} (limits.timeout); raise it in agent.toml or ask for less",
                self.task.head.agent, limits.timeout
            ))),
            End::OutputLimit(size) => Command::Expire(self.words(format!(
                "{} produced more than {} ({size} bytes so far, limits.output); raise it in agent.toml or ask for less",
                self.task.head.agent, limits.output
            ))),
        };
        self.decide(command)
    }

    /// Runs the agent and takes its steps until it ends.
    async fn follow(&mut self, job: Job, cancel: &CancellationToken) -> Result<End, Halted> {
        let (reporter, mut reports) = Reporter::channel();
        let ids = job.ids.clone();
        let run = self.agent.runner.run(job, reporter);
        let mut run: BoxFuture<'_, Outcome> =
            Box::pin(AssertUnwindSafe(run).catch_unwind().map(move |ended| {
                ended.unwrap_or_else(|_| {
                    let text = "the agent's runner broke down; its log may say more";
                    Outcome::Failed(Message::text(ids.message(), Role::Agent, text))
                })
            }));
        let timeout = tokio::time::sleep(run_deadline(&self.agent, &self.task, self.now()).since(self.now()));
        tokio::pin!(timeout);
        let halted = self.tasks.lifetime.halted().clone();
        loop {
            let dirty = !self.pending.is_empty();
            let end = tokio::select! {
                biased;
                Some(order) = self.orders.recv() => match order {
                    TaskOrder::Cancel => End::Cancelled,
                    TaskOrder::HandOver if self.agent.runner.is_here() => continue,
                    TaskOrder::HandOver => End::Moved,
                    TaskOrder::Abandon => {
                        cancel.cancel();
                        let _ = tokio::time::timeout(STOP_GRACE, run).await;
                        return Err(Halted);
                    }
                },
                () = halted.cancelled() => {
                    cancel.cancel();
                    let _ = tokio::time::timeout(STOP_GRACE, run).await;
                    return Err(Halted);
                }
                Some(step) = reports.recv() => match self.take_step(step) {
                    Some(end) => end,
                    None => {
                        if self.pending.len() >= MAX_GATHERED {
                            self.flush().await?;
                        }
                        continue;
                    }
                },
                outcome = &mut run => {
                    while let Some(step) = reports.try_recv() {
                        if let Some(end) = self.take_step(step) {
                            return Ok(end);
                        }
                    }
                    return Ok(End::Outcome(outcome));
                }
                () = &mut timeout => End::Expired,
                // Nothing more is ready: write what has gathered.
                () = std::future::ready(()), if dirty => {
                    self.flush().await?;
                    continue;
                }
            };
            cancel.cancel();
            reports.close();
            let ended = tokio::time::timeout(STOP_GRACE, run).await;
            return Ok(match (end, ended) {
                // It had ended before it was told to stop.
                (End::Moved, Ok(outcome)) if !matches!(outcome, Outcome::Canceled(_)) => {
                    End::Outcome(outcome)
                }
                (end, _) => end,
            });
        }
    }

    /// Takes one step of the runner; gives an end when the run has gone too far.
    fn take_step(&mut self, step: Step) -> Option<End> {
        let step = match self.join_chunk(step) {
            None => return self.over_output(),
            Some(step) => step,
        };
        match &step {
            Step::Artifact { artifact, .. } => self.produced += artifact.size() as u64,
            Step::Used(_) | Step::Status(_) | Step::Memo(_) => {}
        }
        match self.task.decide(Command::Report(step), self.now()) {
            Ok(events) => self.apply(events),
            Err(Refusal::TooManyEvents) => {
                let why = self.words(format!("the task reached {} events", agentsite_protocol::MAX_EVENTS));
                return Some(End::Outcome(Outcome::Failed(why)));
            }
            Err(_) => {}
        }
        self.over_output()
    }

    /// Joins a chunk of text to the chunk before it, when that is not written yet; gives back what cannot be
    /// joined.
    fn join_chunk(&mut self, step: Step) -> Option<Step> {
        let Step::Artifact { artifact, append: true, last_chunk } = step else { return Some(step) };
        match self.task.join_chunk(self.pending.last_mut(), artifact, last_chunk) {
            Ok(size) => {
                self.produced += size as u64;
                None
            }
            Err(artifact) => Some(Step::Artifact { artifact, append: true, last_chunk }),
        }
    }

    fn over_output(&self) -> Option<End> {
        (self.produced > self.agent.manifest.limits.output.0).then_some(End::OutputLimit(self.produced))
    }

    /// Decides a command and keeps its events for the next commit.
    fn decide(&mut self, command: Command) -> Result<(), Halted> {
        match self.task.decide(command, self.now()) {
            Ok(events) => {
                self.apply(events);
                Ok(())
            }
            Err(refusal) => {
                tracing::error!(task = %self.task.head.id, %refusal, "A runner made an impossible move; the task is left as it is.");
                Err(Halted)
            }
        }
    }

    fn apply(&mut self, events: Vec<TaskEvent>) {
        for event in &events {
            self.task.apply(event).expect("decided events apply");
        }
        self.pending.extend(events);
    }

    fn is_late(&self) -> bool {
        self.task.deadline.is_some_and(|deadline| deadline <= self.now())
    }

    fn too_late(&self) -> Message {
        self.words("the task that asked for this has run out of time; raise limits.timeout of its agent or ask for less".into())
    }

    fn now(&self) -> Timestamp {
        self.tasks.ids.clock().now()
    }

    fn words(&self, text: String) -> Message {
        let mut message = Message::text(self.tasks.ids.message(), Role::Agent, text);
        message.task_id = Some(self.task.head.id.to_string());
        message.context_id = Some(self.task.head.context.clone());
        message
    }
}

/// Ends when the time that is left has passed; never when it is not limited.
async fn passed(left: Option<Duration>) {
    match left {
        Some(left) => tokio::time::sleep(left).await,
        None => std::future::pending().await,
    }
}

/// What a trace shows of the work on a task. Below the level that is logged, so that it costs nothing unless
/// traces are collected.
pub(crate) fn run_span(task: &Task) -> tracing::Span {
    let head = &task.head;
    tracing::debug_span!("task", otel.name = format!("task {}", head.agent), task = %head.id, agent = %head.agent)
}

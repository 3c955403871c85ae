//! Drive: the one owner of a live task. It waits for a place, runs the agent, and writes what happens.
//!
//! Promises: nothing is shown before it is on disk; everything that is ready goes into one commit; a run that is cancelled, too long,
//! too loud or broken ends with a reason. A run of an agent that changes the world begins only after its start is on disk.
//!
//! Decisions are the task machine's (`protocol`); this is the thin driver around it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use agentsite_host::{Aside, Job, Reporter};
use agentsite_protocol::{
    Command, Message, Outcome, PushConfig, Refusal, Role, Step, Task, TaskEvent, TaskState, Timestamp, Usage,
};
use agentsite_store::{
    Admittance, Change, ConversationChange, PushChange, SentKey, StoreError, TaskChange, Unjournaled,
    UsageChange,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::job::run_deadline;
use super::log::TaskLog;
use super::{Desk, journal};
use crate::SiteError;
use crate::conversations::{Said, ended};
use crate::hub::Entry;
use crate::lane::{Admission, Slot};

/// Steps gathered for one commit; more only delays what watchers see.
const MAX_GATHERED: usize = 64;

/// How long a run may take to stop after it was told to; then it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// How long to wait before a commit is tried again on a full disk.
const FULL_DISK_PAUSE: Duration = Duration::from_secs(1);

/// What others want of a live task.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    Cancel,
}

/// What made a task begin or go on.
pub(super) struct Cause {
    /// By what a repeat of the message is recognised.
    pub(super) sent: Option<SentKey>,
    /// Who is to be told from now on.
    pub(super) receiver: Option<PushConfig>,
    /// The turn of a conversation that the task becomes.
    pub(super) said: Option<Said>,
}

/// The drive ends without a result: the store or the site stopped.
struct Halted;

/// What a wait for a place came to.
enum Turn {
    Mine(Slot),
    Never(Command),
}

/// Why a run ended.
enum End {
    Outcome(Outcome),
    Cancelled,
    Expired,
    TooLoud(u64),
}

/// The owner of a live task.
pub(super) struct Drive {
    desk: Arc<Desk>,
    entry: Arc<Entry>,
    /// The task with everything decided so far, written or not.
    task: Task,
    log: Arc<TaskLog>,
    orders: mpsc::Receiver<Order>,
    pending: Vec<TaskEvent>,
    /// Number of the last event on disk.
    committed: u64,
    sent: Option<SentKey>,
    /// A receiver that comes with the first events.
    receiver: Option<PushConfig>,
    /// The turn that the task becomes with the first events.
    said: Option<Said>,
    accepted: Option<oneshot::Sender<Result<(), SiteError>>>,
    admission: Option<Admission>,
    slot: Option<Slot>,
    depth: u32,
    aside: Aside,
    produced: u64,
    used: Usage,
    /// How the next commit stands to the limits of storage.
    admittance: Admittance,
}

impl Drive {
    pub(super) fn new(
        desk: Arc<Desk>,
        entry: Arc<Entry>,
        task: Task,
        log: Arc<TaskLog>,
        orders: mpsc::Receiver<Order>,
    ) -> Self {
        let committed = task.head.seq;
        Self {
            desk,
            entry,
            task,
            log,
            orders,
            pending: Vec::new(),
            committed,
            sent: None,
            receiver: None,
            said: None,
            accepted: None,
            admission: None,
            slot: None,
            depth: 0,
            aside: Aside::default(),
            produced: 0,
            used: Usage::default(),
            admittance: Admittance::Running,
        }
    }

    /// Events that are decided and must be written first, and who waits for that.
    pub(super) fn with_pending(
        mut self,
        pending: Vec<TaskEvent>,
        committed: u64,
        cause: Cause,
        accepted: oneshot::Sender<Result<(), SiteError>>,
    ) -> Self {
        (self.pending, self.committed, self.accepted) = (pending, committed, Some(accepted));
        (self.sent, self.receiver, self.said) = (cause.sent, cause.receiver, cause.said);
        self.admittance = Admittance::New;
        self
    }

    /// The place of the task in the lane of its agent.
    pub(super) fn with_admission(mut self, admission: Admission, depth: u32) -> Self {
        (self.admission, self.depth) = (Some(admission), depth);
        self
    }

    /// What came with the caller's words, for the first run only.
    pub(super) fn with_aside(mut self, aside: Aside) -> Self {
        self.aside = aside;
        self
    }

    /// Works until the task has ended, waits for its caller, or the site stops.
    pub(super) async fn run(mut self) {
        let _ = self.work().await;
        self.desk.forget(self.task.head.id, &self.log);
        self.log.close();
    }

    async fn work(&mut self) -> Result<(), Halted> {
        loop {
            match self.task.head.state {
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
                self.desk.metrics.queued.inc();
                let left = self.task.deadline.map(|deadline| deadline.since(self.now()));
                let turn = tokio::select! {
                    slot = place.slot() => Ok(Turn::Mine(slot)),
                    Some(Order::Cancel) = self.orders.recv() => Ok(Turn::Never(Command::Cancel(None))),
                    () = passed(left) => Ok(Turn::Never(Command::Expire(self.too_late()))),
                    () = self.desk.stopping.cancelled() => Err(Halted),
                };
                self.desk.metrics.queued.dec();
                match turn? {
                    Turn::Mine(slot) => slot,
                    Turn::Never(command) => return self.decide(command),
                }
            }
            None => return Err(Halted),
        };
        self.slot = Some(slot);
        self.decide(Command::Start)?;
        if !self.entry.runner.is_pure() {
            self.flush().await?;
        }
        Ok(())
    }

    /// One run of the agent, from its start to its outcome.
    async fn run_once(&mut self) -> Result<(), Halted> {
        let began = self.now();
        self.desk.metrics.started_after(began.since(self.task.head.created_at));
        let cancel = CancellationToken::new();
        let job = match self.desk.job(&self.entry, &self.task, self.depth, cancel.clone()).await {
            Ok(job) => Job { aside: std::mem::take(&mut self.aside), ..job },
            Err(error) => {
                let why = self.words(format!("the task could not be prepared: {error}"));
                return self.decide(Command::Finish(Outcome::Failed(why)));
            }
        };
        let end = self.follow(job, &cancel).await?;
        self.entry.lane.took(self.now().since(began));
        self.slot = None;
        let limits = &self.entry.manifest.limits;
        let command = match end {
            End::Outcome(outcome) => Command::Finish(outcome),
            End::Cancelled => Command::Cancel(None),
            End::Expired if self.is_late() => Command::Expire(self.too_late()),
            End::Expired => Command::Expire(self.words(format!(
                "{} did not finish within {} (limits.timeout); raise it in agent.toml or ask for less",
                self.task.head.agent, limits.timeout
            ))),
            End::TooLoud(size) => Command::Expire(self.words(format!(
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
        let run = self.entry.runner.run(job, reporter);
        let mut run: BoxFuture<'_, Outcome> =
            Box::pin(AssertUnwindSafe(run).catch_unwind().map(move |ended| {
                ended.unwrap_or_else(|_| {
                    let text = "the agent's runner broke down; its log may say more";
                    Outcome::Failed(Message::text(ids.message(), Role::Agent, text))
                })
            }));
        let timeout = tokio::time::sleep(run_deadline(&self.entry, &self.task, self.now()).since(self.now()));
        tokio::pin!(timeout);
        let halted = self.desk.halted.clone();
        loop {
            let dirty = !self.pending.is_empty();
            let end = tokio::select! {
                biased;
                Some(Order::Cancel) = self.orders.recv() => End::Cancelled,
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
            let _ = tokio::time::timeout(STOP_GRACE, run).await;
            return Ok(end);
        }
    }

    /// Takes one step of the runner; gives an end when the run has gone too far.
    fn take_step(&mut self, step: Step) -> Option<End> {
        let step = match self.join_chunk(step) {
            None => return self.too_loud(),
            Some(step) => step,
        };
        match &step {
            Step::Artifact { artifact, .. } => self.produced += artifact.size() as u64,
            Step::Used(usage) => {
                self.used.add(*usage);
                self.desk.metrics.used(*usage);
                self.entry.use_today(self.now().day(), *usage);
            }
            Step::Status(_) | Step::Memo(_) => {}
        }
        match self.task.decide(Command::Report(step), self.now()) {
            Ok(events) => self.apply(events),
            Err(Refusal::TooManyEvents) => {
                let why = self.words(format!("the task reached {} events", agentsite_protocol::MAX_EVENTS));
                return Some(End::Outcome(Outcome::Failed(why)));
            }
            Err(_) => {}
        }
        self.too_loud()
    }

    /// Joins a chunk of text to the chunk before it, when that is not written yet; gives back what cannot be joined.
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

    fn too_loud(&self) -> Option<End> {
        (self.produced > self.entry.manifest.limits.output.0).then_some(End::TooLoud(self.produced))
    }

    /// Decides a command and keeps its events for the next commit.
    fn decide(&mut self, command: Command) -> Result<(), Halted> {
        match self.task.decide(command, self.now()) {
            Ok(events) => {
                self.apply(events);
                Ok(())
            }
            Err(refusal) => {
                tracing::error!(task = %self.task.head.id, %refusal, "A driver made an impossible move; the task is left as it is.");
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

    /// Writes what is pending, then shows it to watchers.
    async fn flush(&mut self) -> Result<(), Halted> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let events = std::mem::take(&mut self.pending);
        while let Err(error) = self.desk.store.commit(self.change(&events)).await {
            let first = self.accepted.is_some();
            if matches!(error, StoreError::OverLimit { .. }) && !first {
                return Err(self.end_over_limit(error).await);
            }
            if !matches!(error, StoreError::Full) || first {
                return Err(self.give_up(error));
            }
            tracing::warn!(task = %self.task.head.id, "The disk is full; the task waits until there is space.");
            tokio::select! {
                () = tokio::time::sleep(FULL_DISK_PAUSE) => {}
                () = self.desk.halted.cancelled() => return Err(Halted),
            }
        }
        self.committed = self.task.head.seq;
        self.admittance = Admittance::Running;
        (self.sent, self.receiver, self.said, self.used) = (None, None, None, Usage::default());
        self.count(&events);
        if self.log.is_told() {
            self.desk.bell.ring();
        }
        if self.task.head.state.is_settled() {
            // Before anybody sees the end, so that a prompt further message finds the task free.
            self.desk.forget(self.task.head.id, &self.log);
        }
        let moved = self.task.conversation.is_some() && events.iter().any(moves);
        self.log.publish(events);
        if moved {
            self.desk.tell_conversation(&self.task);
        }
        if let Some(accepted) = self.accepted.take() {
            let _ = accepted.send(Ok(()));
        }
        Ok(())
    }

    fn change(&self, events: &[TaskEvent]) -> Change {
        let head = &self.task.head;
        let usage = (!self.used.is_empty()).then(|| UsageChange {
            agent: head.agent.clone(),
            day: self.now().day(),
            usage: self.used,
        });
        let put = |config: PushConfig| {
            PushChange::Put(head.id, PushConfig { task_id: head.id.to_string(), ..config })
        };
        Change::of_lines(journal::lines(&self.task, events), Unjournaled::TaskProgress)
            .edit(TaskChange {
                expect_seq: self.committed,
                events: events.to_vec(),
                sent: self.sent.clone(),
                expires_at: self.task.expires_at(),
                head: head.clone(),
            })
            .edits(self.receiver.clone().map(put))
            .edits(self.desk.bell.notice(head.id, events, self.now()))
            .edits(usage)
            .edits(self.said.clone().map(ConversationChange::from))
            .edits(ended(&self.task))
            .admittance(self.admittance)
    }

    /// Ends a task whose owner has no storage left: what is on disk stays, what was refused was shown to nobody, and the task says why it
    /// failed. The run that is still under way is dropped with the drive.
    async fn end_over_limit(&mut self, error: StoreError) -> Halted {
        let id = self.task.head.id;
        let why = self.words(format!("the work was stopped: {error}"));
        match self.end_from_store(Command::Finish(Outcome::Failed(why))).await {
            Ok(()) => {
                tracing::warn!(task = %id, %error, "A task was ended because its owner has no storage left.");
            }
            Err(error) => {
                tracing::error!(task = %id, %error, "A task could not be ended and is left as it was.");
            }
        }
        Halted
    }

    /// Ends the task as it is on disk, whatever was decided since.
    async fn end_from_store(&mut self, command: Command) -> Result<(), SiteError> {
        let id = self.task.head.id;
        let Some(task) = self.desk.replay(id).await? else { return Ok(()) };
        self.task = self.desk.settle_unattended(task, command).await?;
        self.desk.forget(id, &self.log);
        let most = usize::try_from(self.task.head.seq - self.committed).unwrap_or(usize::MAX);
        self.log.publish(self.desk.store.events(id, self.committed, most).await?);
        self.committed = self.task.head.seq;
        Ok(())
    }

    fn give_up(&mut self, error: StoreError) -> Halted {
        let id = self.task.head.id;
        match self.accepted.take() {
            Some(accepted) => {
                self.desk.forget(id, &self.log);
                let _ = accepted.send(Err(error.into()));
            }
            None => tracing::error!(task = %id, %error, "A task could not be written and is left as it was."),
        }
        Halted
    }

    fn count(&self, events: &[TaskEvent]) {
        use agentsite_protocol::TaskEventKind::{Opened, Started, Status};
        let metrics = &self.desk.metrics;
        for event in events {
            match &event.kind {
                Opened(_) => metrics.entered(TaskState::Submitted),
                Started { .. } => metrics.entered(TaskState::Working),
                Status { state: TaskState::Working, .. } => {}
                Status { state, .. } => metrics.entered(*state),
                _ => {}
            }
        }
        if self.task.head.state.is_settled() {
            metrics.settled_after(self.task.head.updated_at.since(self.task.head.created_at));
        }
    }

    fn is_late(&self) -> bool {
        self.task.deadline.is_some_and(|deadline| deadline <= self.now())
    }

    fn too_late(&self) -> Message {
        self.words("the task that asked for this has run out of time; raise limits.timeout of its agent or ask for less".into())
    }

    fn now(&self) -> Timestamp {
        self.desk.ids.clock().now()
    }

    fn words(&self, text: String) -> Message {
        let mut message = Message::text(self.desk.ids.message(), Role::Agent, text);
        message.task_id = Some(self.task.head.id.to_string());
        message.context_id = Some(self.task.head.context.clone());
        message
    }
}

/// Whether an event changes where a task stands, so that a list of tasks would show it.
fn moves(event: &TaskEvent) -> bool {
    use agentsite_protocol::TaskEventKind::{Opened, Said, Started, Status};
    match &event.kind {
        Opened(_) | Said { .. } | Started { .. } => true,
        Status { state, .. } => *state != TaskState::Working,
        _ => false,
    }
}

/// Ends when the time that is left has passed; never when it is not limited.
async fn passed(left: Option<Duration>) {
    match left {
        Some(left) => tokio::time::sleep(left).await,
        None => std::future::pending().await,
    }
}

//! The fake of the Runner seam: an agent that does what a script says.
//!
//! Promises: one script per run, in order, the last one for all further runs; every job it saw is kept for
//! the test to read; a test can wait for a run to begin or for all to have ended, by event. It heeds a cancel
//! while it waits, unless its script says that it must not.
//!
//! It starts nothing and touches nothing outside of itself. It is for tests; no manifest names it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{Message, Outcome, Step, Usage};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use crate::runner::Gone;
use crate::{Health, Job, Reporter, Runner};

/// Jobs kept for reading; a test that runs more looks at the first ones only.
const JOBS_KEPT: usize = 1_000;

/// The id of the artifact that chunks go to.
const ANSWER: &str = "answer";

/// An agent that does what a script says.
///
/// Each method adds one act to the script of the run that is being written; [`ScriptedRunner::then`] begins
/// the script of the next run. A script that runs out completes.
#[derive(Debug)]
pub struct ScriptedRunner {
    scripts: Vec<Vec<Act>>,
    pure: bool,
    memory: usize,
    health: Health,
    /// What a message says, and the answer that it gets at once.
    at_once: Option<(String, String)>,
    record: Arc<ScriptLog>,
}

#[derive(Debug, Clone)]
enum Act {
    Step(Step),
    Chunk(String),
    Status(String),
    Echo,
    Gate(Arc<Semaphore>),
    Talk(String),
    End(Ending),
    Hold,
    Stubborn,
    Panic(String),
}

#[derive(Debug, Clone)]
enum Ending {
    Complete(String),
    Fail(String),
    Reject(String),
    Ask(String),
    AskPermission(String),
}

/// What a test can learn about the runs.
#[derive(Debug)]
struct ScriptLog {
    // A std lock: held for a push or a copy, never across an await.
    jobs: Mutex<Vec<Job>>,
    runs: watch::Sender<Runs>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Runs {
    started: usize,
    at_work: usize,
}

impl Default for ScriptedRunner {
    fn default() -> Self {
        Self::new()
    }
}

impl ScriptedRunner {
    /// An agent that completes at once and says nothing.
    #[must_use]
    pub fn new() -> Self {
        let record =
            Arc::new(ScriptLog { jobs: Mutex::default(), runs: watch::Sender::new(Runs::default()) });
        Self {
            scripts: vec![Vec::new()],
            pure: false,
            memory: 0,
            health: Health::Ready,
            at_once: None,
            record,
        }
    }

    /// Reports a piece of the answer; the first piece of a run begins the artifact `answer`.
    #[must_use]
    pub fn chunk(self, text: &str) -> Self {
        self.act(Act::Chunk(text.into()))
    }

    /// Reports how it goes.
    #[must_use]
    pub fn status(self, text: &str) -> Self {
        self.act(Act::Status(text.into()))
    }

    /// Answers with what was said to it.
    #[must_use]
    pub fn echo(self) -> Self {
        self.act(Act::Echo)
    }

    /// Asks to be reminded of this in its next run.
    #[must_use]
    pub fn memo(self, memo: Value) -> Self {
        self.act(Act::Step(Step::Memo(memo)))
    }

    /// Reports what it used.
    #[must_use]
    pub fn used(self, usage: Usage) -> Self {
        self.act(Act::Step(Step::Used(usage)))
    }

    /// Waits for a permit of the gate and takes it; `gate.add_permits(1)` lets one run pass. A cancel ends
    /// the wait and the run.
    #[must_use]
    pub fn gate(self, gate: &Arc<Semaphore>) -> Self {
        self.act(Act::Gate(gate.clone()))
    }

    /// Reports the same piece again and again until it is stopped or the task has ended.
    #[must_use]
    pub fn talk(self, text: &str) -> Self {
        self.act(Act::Talk(text.into()))
    }

    /// Ends well, with words.
    #[must_use]
    pub fn complete(self, text: &str) -> Self {
        self.act(Act::End(Ending::Complete(text.into())))
    }

    /// Ends with a failure.
    #[must_use]
    pub fn fail(self, text: &str) -> Self {
        self.act(Act::End(Ending::Fail(text.into())))
    }

    /// Turns the task away.
    #[must_use]
    pub fn reject(self, text: &str) -> Self {
        self.act(Act::End(Ending::Reject(text.into())))
    }

    /// Asks the caller.
    #[must_use]
    pub fn ask(self, text: &str) -> Self {
        self.act(Act::End(Ending::Ask(text.into())))
    }

    /// Asks the caller for a permission.
    #[must_use]
    pub fn ask_permission(self, text: &str) -> Self {
        self.act(Act::End(Ending::AskPermission(text.into())))
    }

    /// Works until it is cancelled.
    #[must_use]
    pub fn hold(self) -> Self {
        self.act(Act::Hold)
    }

    /// Works for ever and does not heed a cancel; only dropping the run ends it.
    #[must_use]
    pub fn stubborn(self) -> Self {
        self.act(Act::Stubborn)
    }

    /// Panics, as a runner with a defect would.
    #[must_use]
    pub fn panic(self, text: &str) -> Self {
        self.act(Act::Panic(text.into()))
    }

    /// Begins the script of the next run.
    #[must_use]
    pub fn then(mut self) -> Self {
        self.scripts.push(Vec::new());
        self
    }

    /// Says of itself that a run changes nothing in the world.
    #[must_use]
    pub const fn pure(mut self) -> Self {
        self.pure = true;
        self
    }

    /// Needs this many earlier messages.
    #[must_use]
    pub const fn remembering(mut self, messages: usize) -> Self {
        self.memory = messages;
        self
    }

    /// Answers a message of this text at once, without a task.
    #[must_use]
    pub fn at_once(mut self, text: &str, answer: &str) -> Self {
        self.at_once = Some((text.into(), answer.into()));
        self
    }

    /// Says that it is in this health.
    #[must_use]
    pub fn in_health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// The jobs seen so far, in the order in which their runs began.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        self.record.jobs().clone()
    }

    /// How many runs are at work.
    #[must_use]
    pub fn at_work(&self) -> usize {
        self.record.runs.borrow().at_work
    }

    /// Waits until this many runs have begun in all.
    pub async fn started(&self, runs: usize) {
        self.reaches(|now| now.started >= runs).await;
    }

    /// Waits until no run is at work.
    pub async fn idle(&self) {
        self.reaches(|now| now.at_work == 0).await;
    }

    async fn reaches(&self, wanted: impl FnMut(&Runs) -> bool) {
        self.record.runs.subscribe().wait_for(wanted).await.expect("the sender lives in self");
    }

    fn act(mut self, act: Act) -> Self {
        self.scripts.last_mut().expect("there is always a script being written").push(act);
        self
    }
}

impl Runner for ScriptedRunner {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let run = self.record.begin(&job);
        let script = self.scripts.get(run.number).or(self.scripts.last()).cloned().unwrap_or_default();
        Box::pin(async move {
            let _at_work = run;
            let stopped = Outcome::Canceled(None);
            play(script, &job, &report).await.unwrap_or(stopped)
        })
    }

    fn reply(&self, job: &Job) -> BoxFuture<'static, Option<Message>> {
        let wanted = self.at_once.as_ref().filter(|(text, _)| *text == job.message.plain_text());
        let answer = wanted.map(|(_, answer)| job.words(answer.as_str()));
        Box::pin(std::future::ready(answer))
    }

    fn is_pure(&self) -> bool {
        self.pure
    }

    fn memory(&self) -> usize {
        self.memory
    }

    fn health(&self) -> Health {
        self.health.clone()
    }
}

async fn play(script: Vec<Act>, job: &Job, report: &Reporter) -> Result<Outcome, Gone> {
    let mut begun = false;
    for act in script {
        match act {
            Act::Step(step) => report.step(step).await?,
            Act::Chunk(text) => report.chunk(ANSWER, text, std::mem::replace(&mut begun, true)).await?,
            Act::Status(text) => report.step(Step::Status(job.words(text))).await?,
            Act::Echo => report.text(ANSWER, job.message.plain_text()).await?,
            Act::Gate(gate) => tokio::select! {
                biased;
                () = job.cancel.cancelled() => return Err(Gone),
                permit = gate.acquire() => permit.map_err(|_| Gone)?.forget(),
            },
            Act::Talk(text) => loop {
                if job.cancel.is_cancelled() {
                    return Err(Gone);
                }
                report.chunk(ANSWER, text.as_str(), std::mem::replace(&mut begun, true)).await?;
            },
            Act::End(ending) => return Ok(ending.outcome(job)),
            Act::Hold => {
                job.cancel.cancelled().await;
                return Err(Gone);
            }
            Act::Stubborn => std::future::pending().await,
            Act::Panic(text) => panic!("{text}"),
        }
    }
    Ok(Outcome::Completed(None))
}

impl Ending {
    fn outcome(self, job: &Job) -> Outcome {
        match self {
            Self::Complete(text) => Outcome::Completed(Some(job.words(text))),
            Self::Fail(text) => job.failed(text),
            Self::Reject(text) => Outcome::Rejected(job.words(text)),
            Self::Ask(text) => Outcome::InputRequired(job.words(text)),
            Self::AskPermission(text) => Outcome::AuthRequired(job.words(text)),
        }
    }
}

/// One run at work; dropping it marks the run as ended.
struct ActiveRunGuard {
    number: usize,
    record: Arc<ScriptLog>,
}

impl ScriptLog {
    fn begin(self: &Arc<Self>, job: &Job) -> ActiveRunGuard {
        let mut jobs = self.jobs();
        if jobs.len() < JOBS_KEPT {
            jobs.push(job.clone());
        }
        drop(jobs);
        let mut number = 0;
        self.runs.send_modify(|runs| {
            number = runs.started;
            runs.started += 1;
            runs.at_work += 1;
        });
        ActiveRunGuard { number, record: self.clone() }
    }

    fn jobs(&self) -> MutexGuard<'_, Vec<Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActiveRunGuard {
    fn drop(&mut self) {
        self.record.runs.send_modify(|runs| runs.at_work -= 1);
    }
}

#[cfg(test)]
mod tests;

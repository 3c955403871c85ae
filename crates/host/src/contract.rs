//! The contract suite of the Runner seam: what every implementation must do.
//!
//! Promises: [`run_all`] checks answering, answering at once, cancelling, dropping, a listener that is gone,
//! and runs side by side. It waits for events; the one time limit only turns a hang into a failure. It does
//! not depend on an implementation, so that each can call it from its own tests.
//!
//! It also holds what those tests need: a [`job`] with a fixed clock and a seeded generator.
#![cfg(test)]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use agentsite_protocol::{
    Artifact, Caller, Clock, Ids, Message, Outcome, Rng, Role, Step, TaskId, Timestamp, Usage,
};
use futures::future::{BoxFuture, join_all};
use tokio_util::sync::CancellationToken;

use crate::{Ephemeral, Job, NoCalls, Reporter, Runner};

/// Longest that a step of the suite may take; it is only there to turn a hang into a failure, however busy
/// the machine is.
pub(crate) const HANG: Duration = Duration::from_secs(600);

/// 2023-11-14T22:13:20Z, where a [`VirtualClock`] begins.
pub(crate) const BEGINNING: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// A clock that moves only when the test moves it.
#[derive(Debug)]
pub(crate) struct VirtualClock(AtomicI64);

impl VirtualClock {
    /// A clock fixed at this moment.
    pub(crate) fn at(moment: Timestamp) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(moment.as_millis())))
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, time: std::time::Duration) {
        self.0.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Bytes that look random and are the same in every test.
#[derive(Debug, Default)]
pub(crate) struct SeededRng(AtomicU64);

impl Rng for SeededRng {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let step = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            let mixed = (step.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (step << 29)).rotate_left(31);
            chunk.copy_from_slice(&mixed.to_le_bytes()[..chunk.len()]);
        }
    }
}

/// A job that says `text`, at the [`BEGINNING`].
pub(crate) fn job(text: &str) -> Job {
    job_at(text, BEGINNING)
}

/// A job that says `text` at this moment.
pub(crate) fn job_at(text: &str, moment: Timestamp) -> Job {
    /// No two jobs are of one task, as in a site.
    static JOBS: AtomicU64 = AtomicU64::new(1);
    let ids = Ids::new(VirtualClock::at(moment), Arc::new(SeededRng::default()));
    let number = u128::from(JOBS.fetch_add(1, Ordering::Relaxed));
    Job {
        task: TaskId::from_bytes(number.to_be_bytes()),
        context: ids.context(),
        agent: "subject".parse().unwrap(),
        owner: Caller::local().owner().clone(),
        message: Message::text(ids.message(), Role::User, text),
        history: Vec::new(),
        conversation: Vec::new(),
        memo: None,
        attempt: 1,
        retries: 0,
        deadline: None,
        depth: 0,
        ephemeral: Ephemeral::default(),
        used: Usage::default(),
        used_today: Usage::default(),
        cancel: CancellationToken::new(),
        ids,
        calls: Arc::new(NoCalls),
    }
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    /// What was reported, in order.
    pub(crate) steps: Vec<Step>,
    /// How it ended.
    pub(crate) outcome: Outcome,
}

impl Ran {
    /// The artifacts, each joined from its chunks, as a task would hold them.
    pub(crate) fn artifacts(&self) -> Vec<Artifact> {
        let mut made: Vec<Artifact> = Vec::new();
        for step in &self.steps {
            let Step::Artifact { artifact, append, .. } = step else { continue };
            let earlier = made.iter_mut().find(|earlier| earlier.artifact_id == artifact.artifact_id);
            assert_eq!(*append, earlier.is_some(), "only later pieces of an artifact append: {artifact:?}");
            match earlier {
                Some(earlier) => earlier.append(artifact.clone()),
                None => made.push(artifact.clone()),
            }
        }
        made
    }

    /// The text of all artifacts.
    pub(crate) fn answer(&self) -> String {
        self.artifacts().iter().map(Artifact::plain_text).collect()
    }

    /// The word for the outcome, and what was said with it.
    pub(crate) fn ending(&self) -> (&'static str, String) {
        let (word, message) = match &self.outcome {
            Outcome::Completed(message) => ("completed", message.as_ref()),
            Outcome::Failed(message) => ("failed", Some(message)),
            Outcome::Rejected(message) => ("rejected", Some(message)),
            Outcome::Canceled(message) => ("canceled", message.as_ref()),
            Outcome::InputRequired(message) => ("input-required", Some(message)),
            Outcome::AuthRequired(message) => ("auth-required", Some(message)),
        };
        (word, message.map(Message::plain_text).unwrap_or_default())
    }
}

/// Runs a job to its end and listens to every step.
pub(crate) async fn run(runner: &dyn Runner, job: Job) -> Ran {
    let (report, mut listener) = Reporter::channel();
    let listening = async {
        let mut steps = Vec::new();
        while let Some(step) = listener.recv().await {
            steps.push(step);
        }
        steps
    };
    let both = async { tokio::join!(runner.run(job, report), listening) };
    let (outcome, steps) = soon("the run ends", both).await;
    Ran { steps, outcome }
}

/// Waits for something that must happen.
pub(crate) async fn soon<T>(what: &str, event: impl Future<Output = T>) -> T {
    match tokio::time::timeout(HANG, event).await {
        Ok(happened) => happened,
        Err(_) => panic!("it must happen that {what}, and it did not"),
    }
}

/// A runner and the event that everything its runs had started is gone.
pub(crate) struct Specimen {
    /// The runner.
    pub(crate) runner: Arc<dyn Runner>,
    /// Waits until no run is left.
    pub(crate) gone: BoxFuture<'static, ()>,
}

/// Makes a fresh specimen for each check.
pub(crate) type MakeSpecimen = Box<dyn Fn() -> Specimen>;

/// An implementation as the suite sees it.
pub(crate) struct Subject {
    /// Answers any text and completes.
    pub(crate) answering: Arc<dyn Runner>,
    /// The answer that it must give to a text.
    pub(crate) answer: fn(&str) -> String,
    /// Reports one step, then works until it is stopped; `None` when the implementation never waits.
    pub(crate) waiting: Option<MakeSpecimen>,
    /// Reports steps without end; `None` when the implementation always ends by itself.
    pub(crate) talking: Option<MakeSpecimen>,
}

/// Checks everything that is promised of a runner.
pub(crate) async fn run_all(subject: Subject) {
    a_run_answers_and_completes(&subject).await;
    runs_side_by_side_do_not_mix(&subject).await;
    an_answer_at_once_is_a_message_of_the_agent(&subject).await;
    a_run_ends_when_its_listener_was_never_there(&subject).await;
    if let Some(make) = &subject.waiting {
        a_cancelled_run_ends(make()).await;
        a_run_cancelled_before_it_began_ends(make()).await;
        a_dropped_run_leaves_nothing_behind(make()).await;
    }
    if let Some(make) = &subject.talking {
        a_talking_run_ends_with_its_listener(make()).await;
    }
}

async fn a_run_answers_and_completes(subject: &Subject) {
    let ran = run(&*subject.answering, job("one and one")).await;
    assert_eq!(ran.ending().0, "completed", "{ran:?}");
    assert_eq!(ran.answer(), (subject.answer)("one and one"));
}

async fn an_answer_at_once_is_a_message_of_the_agent(subject: &Subject) {
    let reply = soon("it is decided whether to answer at once", subject.answering.reply(&job("one and one")));
    if let Some(answer) = reply.await {
        assert_eq!((answer.role, answer.parts.is_empty()), (Role::Agent, false), "{answer:?}");
    }
}

async fn runs_side_by_side_do_not_mix(subject: &Subject) {
    let texts: Vec<String> = (0..8).map(|number| format!("text {number}")).collect();
    let all = join_all(texts.iter().map(|text| run(&*subject.answering, job(text)))).await;
    for (text, ran) in texts.iter().zip(all) {
        assert_eq!(ran.answer(), (subject.answer)(text));
    }
}

async fn a_run_ends_when_its_listener_was_never_there(subject: &Subject) {
    let (report, listener) = Reporter::channel();
    drop(listener);
    soon("a run without a listener ends", subject.answering.run(job("hello"), report)).await;
}

/// Begins a run and waits for its first step.
async fn begun(runner: &dyn Runner, job: Job) -> (BoxFuture<'static, Outcome>, crate::Reports) {
    let (report, mut listener) = Reporter::channel();
    let mut run = runner.run(job, report);
    let first = async {
        tokio::select! {
            outcome = &mut run => panic!("it must wait until it is stopped, and ended: {outcome:?}"),
            step = listener.recv() => step,
        }
    };
    assert!(soon("a first step is reported", first).await.is_some());
    (run, listener)
}

async fn a_cancelled_run_ends(specimen: Specimen) {
    let job = job("wait");
    let cancel = job.cancel.clone();
    let (run, _listener) = begun(&*specimen.runner, job).await;
    cancel.cancel();
    let outcome = soon("a cancelled run ends", run).await;
    assert!(matches!(outcome, Outcome::Canceled(_)), "{outcome:?}");
    soon("what a cancelled run started is gone", specimen.gone).await;
}

async fn a_run_cancelled_before_it_began_ends(specimen: Specimen) {
    let job = job("wait");
    job.cancel.cancel();
    let ran = run(&*specimen.runner, job).await;
    assert_eq!(ran.ending().0, "canceled");
}

async fn a_dropped_run_leaves_nothing_behind(specimen: Specimen) {
    let (run, _listener) = begun(&*specimen.runner, job("wait")).await;
    drop(run);
    soon("what a dropped run started is gone", specimen.gone).await;
}

async fn a_talking_run_ends_with_its_listener(specimen: Specimen) {
    let (run, listener) = begun(&*specimen.runner, job("talk")).await;
    drop(listener);
    soon("a run ends when its reports are no longer read", run).await;
    soon("what it started is gone", specimen.gone).await;
}

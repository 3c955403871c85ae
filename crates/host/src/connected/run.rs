//! One run of one task by the program of a connected agent.
//!
//! Promises: a run that has not begun waits for a program that is away; one whose session is lost is begun
//! again while the agent allows, from its beginning; a cancel reaches the program. It watches no deadline:
//! the site cancels.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::agent_session::{Assignment, Ending, EndingWay, FromSite, MAX_FRAME, Progress};
use agentsite_protocol::{Artifact, Message, Outcome, Step};

use super::sentences;
use super::sessions::{ActiveRun, AgentSessions, RunEvent};
use crate::{Job, Reporter};

/// How long a run that has not begun waits for a program that is away: longer than one that comes back takes,
/// also after a restart of the site, and no longer than people wait for an answer.
const RETURN_GRACE: Duration = Duration::from_secs(15);

/// The artifact that pieces of text become.
const ANSWER: &str = "answer";

/// Messages of a task that are sent along; programs that need more keep them.
const MAX_HISTORY: usize = 50;

/// Bytes of content of the messages that are sent along.
const MAX_HISTORY_SIZE: usize = 1 << 20;

/// One run of one task.
pub(super) struct ConnectedRun<'a> {
    sessions: &'a Arc<AgentSessions>,
    job: &'a Job,
    report: &'a Reporter,
    /// How often its session was lost, in this run and those before it that were interrupted.
    lost: u32,
}

/// How a run ended over one session.
enum RunEnd {
    /// The task has an outcome.
    Finished(Outcome),
    /// The task was canceled.
    Canceled,
    /// The session was lost.
    Lost,
}

impl<'a> ConnectedRun<'a> {
    pub(super) const fn new(sessions: &'a Arc<AgentSessions>, job: &'a Job, report: &'a Reporter) -> Self {
        Self { sessions, job, report, lost: job.retries }
    }

    pub(super) async fn run(mut self) -> Outcome {
        loop {
            let active = match self.begin().await {
                Ok(active) => active,
                Err(outcome) => return outcome,
            };
            match self.follow(active).await {
                RunEnd::Finished(outcome) => return outcome,
                RunEnd::Canceled => return Outcome::Canceled(None),
                RunEnd::Lost if self.lost < self.sessions.retry() => {
                    self.lost += 1;
                    let text = sentences::begun_again(self.lost, self.sessions.retry());
                    if self.report.step(Step::Status(self.job.words(text))).await.is_err() {
                        return Outcome::Canceled(None);
                    }
                }
                RunEnd::Lost => return self.job.failed(sentences::lost(self.sessions.name())),
            }
        }
    }

    /// Waits for the program and sends it the work.
    async fn begin(&self) -> Result<ActiveRun, Outcome> {
        let frame = FromSite::Run(Box::new(assignment(self.job, self.lost))).write();
        let frame = frame.expect("an assignment can be written");
        if frame.len() > MAX_FRAME {
            return Err(self.job.failed(sentences::TOO_LARGE));
        }
        let patience = async {
            // A run that may be begun again waits as long as it has time.
            if self.sessions.retry() > 0 {
                std::future::pending::<()>().await;
            } else {
                tokio::time::sleep(RETURN_GRACE).await;
            }
        };
        tokio::pin!(patience);
        loop {
            if self.job.cancel.is_cancelled() {
                return Err(Outcome::Canceled(None));
            }
            if let Some(end) = self.sessions.retired() {
                return Err(self.job.failed(sentences::gone(self.sessions.name(), end)));
            }
            if let Some(active) = self.sessions.begin(self.job.task, frame.clone()) {
                return Ok(active);
            }
            tokio::select! {
                biased;
                () = self.job.cancel.cancelled() => return Err(Outcome::Canceled(None)),
                () = &mut patience => return Err(self.job.failed(sentences::not_here(self.sessions.name(), self.sessions.presence()))),
                () = self.sessions.here() => {}
            }
        }
    }

    /// Passes on what the program reports until it is done.
    async fn follow(&self, mut active: ActiveRun) -> RunEnd {
        let mut answering = false;
        loop {
            let event = tokio::select! {
                biased;
                () = self.job.cancel.cancelled() => return RunEnd::Canceled,
                event = active.next() => event,
            };
            let step = match event {
                None => return RunEnd::Lost,
                Some(RunEvent::Ended(ending)) => {
                    active.done();
                    return RunEnd::Finished(self.outcome(ending));
                }
                Some(RunEvent::Malformed(what)) => {
                    return RunEnd::Finished(
                        self.job.failed(sentences::malformed(self.sessions.name(), &what)),
                    );
                }
                Some(RunEvent::Progress(progress)) => self.step(*progress, &mut answering),
            };
            if self.report.step(step).await.is_err() {
                return RunEnd::Canceled;
            }
        }
    }

    fn step(&self, progress: Progress, answering: &mut bool) -> Step {
        match progress {
            Progress::Text(text) => {
                let append = std::mem::replace(answering, true);
                Step::Artifact { artifact: Artifact::text(ANSWER, text), append, last_chunk: false }
            }
            Progress::Status(text) => Step::Status(self.job.words(text)),
            Progress::Said(message) => Step::Status(self.own(message)),
            Progress::Artifact { artifact, append, last_chunk } => {
                if artifact.artifact_id == ANSWER {
                    *answering = true;
                }
                Step::Artifact { artifact, append, last_chunk }
            }
        }
    }

    fn outcome(&self, ending: Ending) -> Outcome {
        let said = match (ending.message, ending.text) {
            (Some(message), _) => Some(self.own(message)),
            (None, Some(text)) if !text.is_empty() => Some(self.job.words(text)),
            (None, _) => None,
        };
        let or = |otherwise: &str| said.clone().unwrap_or_else(|| self.job.words(otherwise));
        match ending.way {
            EndingWay::Completed => Outcome::Completed(said),
            EndingWay::Canceled => Outcome::Canceled(said),
            EndingWay::Failed => Outcome::Failed(or(sentences::NO_REASON)),
            EndingWay::Rejected => Outcome::Rejected(or(sentences::NO_REFUSAL)),
            EndingWay::InputRequired => Outcome::InputRequired(or(sentences::NO_QUESTION)),
            EndingWay::AuthRequired => Outcome::AuthRequired(or(sentences::NO_DEMAND)),
        }
    }

    /// Text of the program as a message of this task, with this task's ids.
    fn own(&self, message: Message) -> Message {
        Message { parts: message.parts, extra: message.extra, ..self.job.words("") }
    }
}

/// What a program gets to know of a job.
fn assignment(job: &Job, lost: u32) -> Assignment {
    let trace = job.ephemeral.trace.as_ref();
    Assignment {
        task: job.task,
        context: job.context.clone(),
        attempt: job.attempt + lost.saturating_sub(job.retries),
        text: job.message.plain_text(),
        message: job.message.clone(),
        history: recent(&job.history),
        deadline: job.deadline,
        credential: job.ephemeral.credential.as_ref().map(|credential| credential.secret().to_owned()),
        traceparent: trace.map(|trace| trace.parent().to_owned()),
        tracestate: trace.and_then(|trace| trace.state().map(str::to_owned)),
    }
}

/// The last messages, as far as they fit.
fn recent(history: &[Message]) -> Vec<Message> {
    let mut space = MAX_HISTORY_SIZE;
    let fits = |message: &&Message| {
        let size: usize = message.parts.iter().map(agentsite_protocol::Part::size).sum();
        let fits = size <= space;
        space = space.saturating_sub(size);
        fits
    };
    let mut kept: Vec<Message> = history.iter().rev().take(MAX_HISTORY).take_while(fits).cloned().collect();
    kept.reverse();
    kept
}

//! Handing over: the concierge gives a request to an agent and passes on what comes of it.
//!
//! Promises: what the agent makes is told as it comes, piece by piece; when it asks back, the caller is asked
//! in its words, and the answer goes to its own task. An agent that has done nothing leaves the request to
//! the next, a bounded number of times; one that failed at work does not. When the caller no longer waits,
//! the agent is stopped. Whom to ask is `choice`'s matter.

use agentsite_host::{CallError, Health, Job};
use agentsite_protocol::{
    AgentName, JsonMap, Message, Outcome, Part, Role, Step, Task, TaskEvent, TaskEventKind, TaskState,
};
use serde::{Deserialize, Serialize};

use super::ConciergeRun;
use super::choice::Candidate;
use crate::calls::{StartedCall, begin, unfinished};
use agentsite_tasks::{CancelGuard, TaskWatch};

/// Agents asked one after the other for one request; whoever needs more had better name one.
const MAX_ASKED: usize = 3;

/// The artifact in which an answer is told that is none yet.
const ANSWER: &str = "answer";

/// An agent that asked back: the next message of the caller is for it.
#[derive(Serialize, Deserialize)]
pub(super) struct PendingQuestion {
    agent: AgentName,
    task: String,
}

impl PendingQuestion {
    /// Whom the message of this job is for, when an agent has asked.
    pub(super) fn of(job: &Job) -> Option<Self> {
        job.memo.as_ref().and_then(|memo| Self::deserialize(memo).ok())
    }
}

/// How a handover came out.
enum HandoverEnd {
    /// The agent has done it, or asks its caller.
    Ended(Outcome),
    /// It did not do it.
    Failed(CallError),
}

impl ConciergeRun {
    /// Asks one after the other until one has done it.
    pub(super) async fn hand_over(self, order: Vec<Candidate>, parts: Vec<Part>) -> Outcome {
        let mut refusals = String::new();
        for candidate in order.into_iter().take(MAX_ASKED) {
            let Candidate { name, why, .. } = candidate;
            let step = Step::Status(self.job.words(format!("{refusals}I ask {name}: {why}.")));
            if self.report.step(step).await.is_err() {
                return Outcome::Canceled(None);
            }
            let message = self.message(parts.clone());
            let error = match self.ask(&name, message, &refusals).await {
                HandoverEnd::Ended(outcome) => return outcome,
                HandoverEnd::Failed(error) => error,
            };
            refusals.push_str(&format!("I asked {name}; it said: {error}. "));
            if !self.leaves_it_to_others(&name, &error) {
                break;
            }
        }
        self.job.failed(refusals.trim_end())
    }

    /// Gives the agent that asked back what the caller said.
    pub(super) async fn go_on(self, asked: PendingQuestion) -> Outcome {
        let PendingQuestion { agent, task } = asked;
        let mut message = self.message(self.job.message.parts.clone());
        message.extra = self.job.message.extra.clone();
        message.task_id = Some(task);
        match self.ask(&agent, message, "").await {
            HandoverEnd::Ended(outcome) => outcome,
            HandoverEnd::Failed(error) => self.job.failed(format!("I asked {agent}; it said: {error}")),
        }
    }

    fn message(&self, parts: Vec<Part>) -> Message {
        let id = self.job.ids.message();
        Message {
            message_id: id,
            context_id: None,
            task_id: None,
            role: Role::User,
            parts,
            extra: JsonMap::new(),
        }
    }

    async fn ask(&self, name: &AgentName, message: Message, refusals: &str) -> HandoverEnd {
        let (tasks, local) = (&self.site.0.tasks, &self.site.0.local);
        // A credential is for whoever asked for it.
        let ephemeral = match &message.task_id {
            Some(_) => self.job.ephemeral.clone(),
            None => agentsite_host::Ephemeral { credential: None, ..self.job.ephemeral.clone() },
        };
        let begun = tokio::select! {
            begun = begin(tasks, local, self.job.from(), name.clone(), message, ephemeral) => begun,
            () = self.job.cancel.cancelled() => return HandoverEnd::Ended(Outcome::Canceled(None)),
        };
        let done = || Outcome::Completed(Some(self.job.words(format!("{refusals}I asked {name}."))));
        match begun {
            Err(error) => HandoverEnd::Failed(error),
            Ok(StartedCall::Answered(answer)) => {
                let _ = self.report.text(ANSWER, answer.plain_text()).await;
                HandoverEnd::Ended(done())
            }
            Ok(StartedCall::Working(watch, guard)) => match self.follow(watch, guard).await {
                None => HandoverEnd::Ended(Outcome::Canceled(None)),
                Some(task) => self.came_of(name, &task, done).await,
            },
        }
    }

    /// Passes on what an agent makes until it has ended or asks; nothing when the caller no longer waits.
    async fn follow(&self, mut watch: TaskWatch, guard: CancelGuard) -> Option<Task> {
        let _ = watch.opening();
        loop {
            let events = tokio::select! {
                events = watch.next() => events,
                () = self.job.cancel.cancelled() => return None,
            };
            let Some(events) = events else { break };
            for step in events.iter().filter_map(|event| made(event)) {
                self.report.step(step).await.ok()?;
            }
        }
        guard.release();
        Some(watch.snapshot())
    }

    async fn came_of(&self, name: &AgentName, task: &Task, done: impl FnOnce() -> Outcome) -> HandoverEnd {
        match task.head.state {
            TaskState::Completed => {
                if task.artifacts.is_empty() {
                    let _ = self.report.text(ANSWER, task.answer()).await;
                }
                HandoverEnd::Ended(done())
            }
            TaskState::InputRequired => self.pass_on(name, task, Outcome::InputRequired).await,
            TaskState::AuthRequired => self.pass_on(name, task, Outcome::AuthRequired).await,
            _ => HandoverEnd::Failed(unfinished(task)),
        }
    }

    /// Asks the caller what the agent asked, and remembers for whom the answer is.
    async fn pass_on(&self, name: &AgentName, task: &Task, asks: fn(Message) -> Outcome) -> HandoverEnd {
        let asked = PendingQuestion { agent: name.clone(), task: task.head.id.to_string() };
        let memo = serde_json::to_value(asked).expect("names and ids are text");
        if self.report.step(Step::Memo(memo)).await.is_err() {
            return HandoverEnd::Ended(Outcome::Canceled(None));
        }
        let mut question = self.job.words(format!("{name} asks for more."));
        if let Some(words) = &task.status.message {
            (question.parts, question.extra) = (words.parts.clone(), words.extra.clone());
        }
        HandoverEnd::Ended(asks(question))
    }

    /// Whether an agent has done nothing, so that another may be asked: it will not do it, is not there, or
    /// is down.
    fn leaves_it_to_others(&self, name: &AgentName, error: &CallError) -> bool {
        let rejected = format!("{}:", TaskState::Rejected.word());
        match error {
            CallError::Failed(words) if words.starts_with(&rejected) => true,
            CallError::Failed(_) => {
                self.site.0.local.get(name).is_none_or(|entry| entry.runner.health() != Health::Ready)
            }
            CallError::Unknown(_) => true,
            CallError::TooDeep(_) => false,
        }
    }
}

/// What an event made, as a step of ours.
fn made(event: &TaskEvent) -> Option<Step> {
    match &event.kind {
        TaskEventKind::Artifact { artifact, append, last_chunk } => {
            Some(Step::Artifact { artifact: artifact.clone(), append: *append, last_chunk: *last_chunk })
        }
        _ => None,
    }
}

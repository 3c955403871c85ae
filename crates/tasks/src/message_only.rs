//! Agents that answer with a message and keep no record, always or when they choose to.
//!
//! Promises: the same limits on time, slots and output as for tasks; nothing is kept. What cannot be said in
//! one message (a question back, a failure) becomes words or an error. An agent that may choose is asked
//! before a task exists, so that the path of tasks is the same for all. An agent that another process runs is
//! asked there (see `process_call`); the credential of a caller does not travel.

use std::sync::Arc;
use std::time::Duration;

use agentsite_host::{Ephemeral, Job, Reporter};
use agentsite_protocol::{
    AgentName, Caller, ContextId, Message, Outcome, Part, Principal, Role, Step, TraceContext, Usage,
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::agent::TaskAgent;
use crate::check::excerpt;
use crate::error::TaskError;
use crate::hook::TaskIntent;
use crate::origin::Origin;
use crate::process_call::ProcessCallError;
use crate::supervisor::TaskSupervisor;

/// The kind of a call between processes that asks an agent.
const ASK: &str = "ask";

/// A message for an agent that another process runs.
#[derive(Serialize, Deserialize)]
struct AskWork {
    owner: Principal,
    message: Message,
    extensions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<(String, Option<String>)>,
}

/// What came of it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum AskAnswer {
    Said(Message),
    Full { retry_after_ms: u64 },
    Failed(String),
}

impl TaskSupervisor {
    /// Asks an agent that keeps no record.
    pub(crate) async fn ask(
        &self,
        caller: &Caller,
        agent: &TaskAgent,
        message: Message,
        ephemeral: Ephemeral,
    ) -> Result<Message, TaskError> {
        if let Some(task) = &message.task_id {
            return Err(TaskError::NoSuchTask(excerpt(task)));
        }
        if caller.is_anonymous() {
            let (holder, message) = self.enter(caller, message).await?;
            let mut answer = Box::pin(self.ask(&holder, agent, message, ephemeral)).await?;
            self.cipher.show_message(&mut answer);
            return Ok(answer);
        }
        self.check_intent(caller, agent, &message)?;
        if self.live.shared && !agent.can_run_here() {
            return self.ask_elsewhere(caller, agent, message, ephemeral).await;
        }
        let slot = self.admit(agent)?.slot().await;
        let job = self.unrecorded(caller.owner(), agent, message, ephemeral);
        let _stops_the_run_with_its_caller = job.cancel.clone().drop_guard();
        let context = job.context.clone();
        let answer = self.listen(agent, job).await;
        drop(slot);
        Ok(placed(answer?, context))
    }

    /// Asks an agent that may choose ([`TaskAgent::may_reply`]) whether it answers this message at once;
    /// `None` when the message leads to a task.
    pub(crate) async fn reply(
        &self,
        caller: &Caller,
        agent: &TaskAgent,
        message: &Message,
        ephemeral: &Ephemeral,
    ) -> Result<Option<Message>, TaskError> {
        if !agent.may_reply(message) {
            return Ok(None);
        }
        if caller.is_anonymous() {
            let (holder, message) = self.enter(caller, message.clone()).await?;
            let mut answer = Box::pin(self.reply(&holder, agent, &message, ephemeral)).await?;
            answer.iter_mut().for_each(|answer| self.cipher.show_message(answer));
            return Ok(answer);
        }
        self.check_intent(caller, agent, message)?;
        let job = self.unrecorded(caller.owner(), agent, message.clone(), ephemeral.clone());
        let _stops_the_reply_with_its_caller = job.cancel.clone().drop_guard();
        let limit = agent.manifest.limits.timeout;
        match tokio::time::timeout(limit.0, agent.runner.reply(&job)).await {
            Ok(answer) => Ok(answer.map(|answer| placed(answer, job.context))),
            Err(_) => Err(too_slow(agent)),
        }
    }

    /// Lets the hooks refuse a message that leads to no task.
    fn check_intent(&self, caller: &Caller, agent: &TaskAgent, message: &Message) -> Result<(), TaskError> {
        let agent = &agent.manifest.name;
        self.hooks.admit(&TaskIntent { caller, agent, message, origin: Origin::Call, task: None })
    }

    /// A run of which nothing is kept.
    fn unrecorded(
        &self,
        owner: &Principal,
        agent: &TaskAgent,
        message: Message,
        ephemeral: Ephemeral,
    ) -> Job {
        Job {
            task: self.ids.task(),
            context: message.context_id.clone().unwrap_or_else(|| self.ids.context()),
            agent: agent.manifest.name.clone(),
            owner: owner.clone(),
            message,
            history: Vec::new(),
            conversation: Vec::new(),
            memo: None,
            attempt: 1,
            retries: 0,
            deadline: None,
            depth: 0,
            ephemeral,
            used: Usage::default(),
            used_today: Usage::default(),
            cancel: CancellationToken::new(),
            ids: self.ids.clone(),
            calls: self.calls(),
        }
    }

    /// Has an agent asked by the process that can run it. The position in the queue is that process's.
    async fn ask_elsewhere(
        &self,
        caller: &Caller,
        agent: &TaskAgent,
        message: Message,
        ephemeral: Ephemeral,
    ) -> Result<Message, TaskError> {
        if self.lifetime.is_stopping() {
            return Err(TaskError::Stopping);
        }
        let name = &agent.manifest.name;
        let context = message.context_id.clone().unwrap_or_else(|| self.ids.context());
        let message = Message { context_id: Some(context.clone()), ..message };
        let trace =
            ephemeral.trace.map(|trace| (trace.parent().to_owned(), trace.state().map(str::to_owned)));
        let (owner, extensions) = (caller.owner().clone(), ephemeral.extensions);
        let work = AskWork { owner, message, extensions, trace };
        let limit = agent.manifest.limits.timeout.0;
        match self.process_calls.call(ASK, name, &work, limit).await {
            Ok(AskAnswer::Said(answer)) => Ok(placed(answer, context)),
            Ok(AskAnswer::Full { retry_after_ms }) => {
                let retry_after = Duration::from_millis(retry_after_ms);
                Err(TaskError::QueueFull { agent: name.clone(), retry_after })
            }
            Ok(AskAnswer::Failed(why)) => Err(TaskError::Agent(why)),
            Err(ProcessCallError::Store(error)) => Err(error.into()),
            Err(error) => Err(TaskError::Agent(error.to_string())),
        }
    }

    /// Answers for the other processes of the site what agents are asked that only this one can run.
    pub(crate) fn serve_messages(self: &Arc<Self>) {
        let (can_run, serve) = (Arc::downgrade(self), Arc::downgrade(self));
        self.process_calls.serve(
            ASK,
            move |agent| can_run.upgrade().is_some_and(|tasks| tasks.here(agent).is_some()),
            move |agent, work, cancel| {
                let tasks = serve.upgrade();
                async move {
                    let answer = match (tasks, serde_json::from_value(work)) {
                        (Some(tasks), Ok(work)) => tasks.answer_for_others(&agent, work, cancel).await,
                        (None, _) => AskAnswer::Failed(TaskError::Stopping.to_string()),
                        (_, Err(error)) => AskAnswer::Failed(format!("the message cannot be read: {error}")),
                    };
                    serde_json::to_value(answer).unwrap_or_default()
                }
            },
        );
    }

    async fn answer_for_others(
        &self,
        name: &AgentName,
        work: AskWork,
        cancel: CancellationToken,
    ) -> AskAnswer {
        let Some(agent) = self.here(name) else {
            return AskAnswer::Failed(ProcessCallError::Nobody(name.clone()).to_string());
        };
        let slot = match self.admit(&agent) {
            Ok(admission) => tokio::select! {
                slot = admission.slot() => slot,
                () = cancel.cancelled() => return AskAnswer::Failed(TaskError::Stopping.to_string()),
            },
            Err(TaskError::QueueFull { retry_after, .. }) => {
                let retry_after_ms = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
                return AskAnswer::Full { retry_after_ms };
            }
            Err(error) => return AskAnswer::Failed(error.to_string()),
        };
        let trace = work.trace.and_then(|(parent, state)| TraceContext::read(&parent, state.as_deref()));
        let ephemeral = Ephemeral { extensions: work.extensions, trace, ..Ephemeral::default() };
        let job = self.unrecorded(&work.owner, &agent, work.message, ephemeral);
        // The run stops with the call, and the call with the run.
        let job = Job { cancel: cancel.child_token(), ..job };
        let _stops_the_run = job.cancel.clone().drop_guard();
        let answer = self.listen(&agent, job).await;
        drop(slot);
        match answer {
            Ok(answer) => AskAnswer::Said(answer),
            Err(error) => AskAnswer::Failed(error.to_string()),
        }
    }

    async fn listen(&self, agent: &TaskAgent, job: Job) -> Result<Message, TaskError> {
        let limits = &agent.manifest.limits;
        let (reporter, mut reports) = Reporter::channel();
        let mut run = agent.runner.run(job, reporter);
        let timeout = tokio::time::sleep(limits.timeout.0);
        tokio::pin!(timeout);
        let mut parts: Vec<Part> = Vec::new();
        let mut size = 0;
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut run => break outcome,
                Some(step) = reports.recv() => gather(step, &mut parts, &mut size),
                () = &mut timeout => {
                    return Err(too_slow(agent));
                }
            }
            if size as u64 > limits.output.0 {
                return Err(TaskError::Agent(format!(
                    "{} produced more than {} (limits.output)",
                    agent.manifest.name, limits.output
                )));
            }
        };
        while let Some(step) = reports.try_recv() {
            gather(step, &mut parts, &mut size);
        }
        match outcome {
            Outcome::Completed(last) => parts.extend(last.map(|message| message.parts).unwrap_or_default()),
            Outcome::InputRequired(question) | Outcome::AuthRequired(question) => {
                parts.extend(question.parts);
            }
            Outcome::Failed(why) | Outcome::Rejected(why) => return Err(TaskError::Agent(why.plain_text())),
            Outcome::Canceled(_) => return Err(TaskError::Stopping),
        }
        let mut answer = Message::text(self.ids.message(), Role::Agent, "");
        answer.parts = parts;
        Ok(answer)
    }
}

/// An answer in its conversation and in no task.
fn placed(mut answer: Message, context: ContextId) -> Message {
    answer.context_id = Some(context);
    answer.task_id = None;
    answer
}

fn too_slow(agent: &TaskAgent) -> TaskError {
    let (name, limit) = (&agent.manifest.name, agent.manifest.limits.timeout);
    TaskError::Agent(format!("{name} did not answer within {limit} (limits.timeout)"))
}

/// Takes the content of a step; chunks of text become one text.
fn gather(step: Step, parts: &mut Vec<Part>, size: &mut usize) {
    let Step::Artifact { artifact, append, .. } = step else { return };
    *size += artifact.size();
    let mut whole = agentsite_protocol::Artifact { parts: std::mem::take(parts), ..Default::default() };
    if append {
        whole.append(artifact);
    } else {
        whole.parts.extend(artifact.parts);
    }
    *parts = whole.parts;
}

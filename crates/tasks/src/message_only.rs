//! Agents that answer with a message and keep no record, always or when they choose to.
//!
//! Promises: the same limits on time, slots and output as for tasks; nothing is written. What cannot be said
//! in one message (a question back, a failure) becomes words or an error. An agent that may choose is asked
//! before a task exists, so that the path of tasks is the same for all.

use agentsite_host::{Ephemeral, Job, Reporter};
use agentsite_protocol::{Caller, ContextId, Message, Outcome, Part, Role, Step, Usage};
use tokio_util::sync::CancellationToken;

use crate::agent::TaskAgent;
use crate::check::excerpt;
use crate::error::TaskError;
use crate::hook::TaskIntent;
use crate::origin::Origin;
use crate::supervisor::TaskSupervisor;

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
        let slot = self.admit(agent)?.slot().await;
        let job = self.unrecorded(caller, agent, message, ephemeral);
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
        let job = self.unrecorded(caller, agent, message.clone(), ephemeral.clone());
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
    fn unrecorded(&self, caller: &Caller, agent: &TaskAgent, message: Message, ephemeral: Ephemeral) -> Job {
        Job {
            task: self.ids.task(),
            context: message.context_id.clone().unwrap_or_else(|| self.ids.context()),
            agent: agent.manifest.name.clone(),
            owner: caller.owner().clone(),
            message,
            history: Vec::new(),
            conversation: Vec::new(),
            memo: None,
            attempt: 1,
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

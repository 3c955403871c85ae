//! Agents that answer with a message and keep no record, always or when they choose to.
//!
//! Promises: the same limits on time, places and output as for tasks; nothing is written. What cannot be said in one message (a question
//! back, a failure) becomes words or an error. An agent that may choose is asked before a task exists, so that the path of tasks is the
//! same for all.

use agentsite_host::{Answers, Aside, Job, Reporter};
use agentsite_protocol::{Caller, ContextId, Message, Outcome, Part, Role, Step, Usage};
use tokio_util::sync::CancellationToken;

use super::check::excerpt;
use super::hook::TaskIntent;
use super::origin::Origin;
use super::supervisor::TaskSupervisor;
use crate::SiteError;
use crate::hub::Entry;
use crate::lane::Admission;

impl Entry {
    /// Whether callers get a message and nothing else.
    pub(crate) fn is_message_only(&self) -> bool {
        self.manifest.answers == Answers::Message
    }

    /// Whether the agent may choose to answer this message at once.
    pub(crate) fn may_reply(&self, message: &Message) -> bool {
        message.task_id.is_none() && self.manifest.answers == Answers::Either
    }
}

impl TaskSupervisor {
    /// Asks an agent that keeps no record.
    pub(crate) async fn ask(
        &self,
        caller: &Caller,
        entry: &Entry,
        message: Message,
        aside: Aside,
    ) -> Result<Message, SiteError> {
        if let Some(task) = &message.task_id {
            return Err(SiteError::NoSuchTask(excerpt(task)));
        }
        if caller.is_anonymous() {
            let (holder, message) = self.enter(caller, message).await?;
            let mut answer = Box::pin(self.ask(&holder, entry, message, aside)).await?;
            self.cipher.show_message(&mut answer);
            return Ok(answer);
        }
        self.check_intent(caller, entry, &message)?;
        let slot = match self.admit(entry)? {
            Admission::Now(slot) => slot,
            Admission::Later(place) => place.slot().await,
        };
        let job = self.unrecorded(caller, entry, message, aside);
        let _stops_the_run_when_nobody_waits = job.cancel.clone().drop_guard();
        let context = job.context.clone();
        let answer = self.listen(entry, job).await;
        drop(slot);
        Ok(placed(answer?, context))
    }

    /// Asks an agent that may choose ([`Entry::may_reply`]) whether it answers this message at once; `None` when the message leads to a task.
    pub(crate) async fn reply(
        &self,
        caller: &Caller,
        entry: &Entry,
        message: &Message,
        aside: &Aside,
    ) -> Result<Option<Message>, SiteError> {
        if !entry.may_reply(message) {
            return Ok(None);
        }
        if caller.is_anonymous() {
            let (holder, message) = self.enter(caller, message.clone()).await?;
            let mut answer = Box::pin(self.reply(&holder, entry, &message, aside)).await?;
            answer.iter_mut().for_each(|answer| self.cipher.show_message(answer));
            return Ok(answer);
        }
        self.check_intent(caller, entry, message)?;
        let job = self.unrecorded(caller, entry, message.clone(), aside.clone());
        let _stops_the_reply_when_nobody_waits = job.cancel.clone().drop_guard();
        let limit = entry.manifest.limits.timeout;
        match tokio::time::timeout(limit.0, entry.runner.reply(&job)).await {
            Ok(answer) => Ok(answer.map(|answer| placed(answer, job.context))),
            Err(_) => Err(too_slow(entry)),
        }
    }

    /// Lets the hooks refuse a message that leads to no task.
    fn check_intent(&self, caller: &Caller, entry: &Entry, message: &Message) -> Result<(), SiteError> {
        let agent = &entry.manifest.name;
        self.hooks.admit(&TaskIntent { caller, agent, message, origin: Origin::Call, task: None })
    }

    /// A run of which nothing is kept.
    fn unrecorded(&self, caller: &Caller, entry: &Entry, message: Message, aside: Aside) -> Job {
        Job {
            task: self.ids.task(),
            context: message.context_id.clone().unwrap_or_else(|| self.ids.context()),
            agent: entry.manifest.name.clone(),
            owner: caller.owner().clone(),
            message,
            history: Vec::new(),
            conversation: Vec::new(),
            memo: None,
            attempt: 1,
            deadline: None,
            depth: 0,
            aside,
            used: Usage::default(),
            used_today: Usage::default(),
            cancel: CancellationToken::new(),
            ids: self.ids.clone(),
            calls: self.calls(),
        }
    }

    async fn listen(&self, entry: &Entry, job: Job) -> Result<Message, SiteError> {
        let limits = &entry.manifest.limits;
        let (reporter, mut reports) = Reporter::channel();
        let mut run = entry.runner.run(job, reporter);
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
                    return Err(too_slow(entry));
                }
            }
            if size as u64 > limits.output.0 {
                return Err(SiteError::Agent(format!(
                    "{} produced more than {} (limits.output)",
                    entry.manifest.name, limits.output
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
            Outcome::Failed(why) | Outcome::Rejected(why) => return Err(SiteError::Agent(why.plain_text())),
            Outcome::Canceled(_) => return Err(SiteError::Stopping),
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

fn too_slow(entry: &Entry) -> SiteError {
    let (name, limit) = (&entry.manifest.name, entry.manifest.limits.timeout);
    SiteError::Agent(format!("{name} did not answer within {limit} (limits.timeout)"))
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

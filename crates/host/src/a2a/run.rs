//! One run of one task, done at a remote agent.
//!
//! Promises: a message is sent once, or again with the same id to an agent that takes it only once; when
//! the connection breaks, the task is looked for at the agent before the run fails. What the agent reports
//! is reported at once. A run that is cancelled, dropped or no longer listened to stops the agent's task
//! too, as far as the agent lets it.
//!
//! It does not judge what the agent says and keeps no clock: the site ends a run that takes too long.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use agentsite_client::{
    A2aClient, ClientError, RemoteStatus, RemoteTask, Reply, SendOptions, StreamItem, TaskStream,
};
use agentsite_protocol::extension::TASK_AUTH_CREDENTIAL;
use agentsite_protocol::{
    Artifact, ByteSize, ContextId, JsonMap, Message, MessageId, Outcome, Part, Role, Step, TaskState,
};
use futures::StreamExt;
use http::HeaderValue;
use serde_json::Value;

use super::contexts::Contexts;
use super::memo::RemoteMemo;
use super::work::RemoteWork;
use crate::child::Watch;
use crate::{Credential, Gone, Job, Reporter};

/// How often an agent that cannot be reached is asked for the task before the run fails; with
/// [`LONGEST_PAUSE`] about ten seconds, which is longer than a small server takes to start again.
const TRIES: u32 = 8;

/// How long an agent may work before its first answer; the site's own limits end a run much earlier.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// How long an agent that takes each message only once may take to accept it: such an agent is a site,
/// which accepts before it works, and the message can be sent again.
const ACCEPTANCE: Duration = Duration::from_secs(30);

/// Between two questions after a task; doubled each time up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The artifact that holds the answer of an agent that replies with a message instead of a task.
const ANSWER: &str = "answer";

/// One run of one task.
pub(super) struct RemoteRun {
    job: Job,
    report: Reporter,
    watch: Watch<A2aClient>,
    contexts: Arc<Contexts>,
    start_timeout: Duration,
    output: ByteSize,
    memo: RemoteMemo,
    made: u64,
    /// Fingerprints of the whole artifacts that were reported, so that asking again does not report them
    /// again.
    shown: HashMap<String, u64>,
    last_words: Option<MessageId>,
    work: Option<RemoteWork>,
    /// Whether the message must begin another task at the agent, though it may have begun one before.
    anew: bool,
}

/// Why a run ends without an outcome of the agent.
enum Stop {
    Gone,
    /// The way to the agent failed before it accepted the message.
    Unsent(String),
    Failed(String),
}

impl From<Gone> for Stop {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

/// What to do next.
enum Next {
    Done(Outcome),
    /// The connection is lost or was never a stream: query the agent for the task's status.
    Ask,
}

impl RemoteRun {
    pub(super) fn new(
        job: Job,
        report: Reporter,
        watch: Watch<A2aClient>,
        contexts: Arc<Contexts>,
        start_timeout: Duration,
        output: ByteSize,
    ) -> Self {
        let memo = RemoteMemo::read(job.memo.as_ref());
        let (made, shown, last_words, work, anew) = (0, HashMap::new(), None, None, false);
        Self {
            job,
            report,
            watch,
            contexts,
            start_timeout,
            output,
            memo,
            made,
            shown,
            last_words,
            work,
            anew,
        }
    }

    /// Does it.
    pub(super) async fn run(mut self) -> Outcome {
        let cancel = self.job.cancel.clone();
        let end = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Stop::Gone),
            end = self.work() => end,
        };
        match end {
            Ok(outcome) => {
                self.work.iter_mut().for_each(RemoteWork::let_be);
                outcome
            }
            Err(Stop::Gone) => {
                if let Some(work) = self.work.take() {
                    work.cancel().await;
                }
                Outcome::Canceled(None)
            }
            Err(Stop::Failed(why) | Stop::Unsent(why)) => self.job.failed(why),
        }
    }

    async fn work(&mut self) -> Result<Outcome, Stop> {
        let parts = sendable(&self.job.message.parts);
        if parts.is_empty() {
            return Err(Stop::Failed("the message is empty; write what the agent should do".into()));
        }
        let unready = |reason| Stop::Failed(format!("the agent cannot be called now: {reason}"));
        let client = self.watch.ready(self.start_timeout).await.map_err(unready)?;
        let client = self.traced(&client);
        let mut next = match self.begun_before(&client).await? {
            Some(next) => next,
            None => self.deliver(&client, parts).await?,
        };
        loop {
            match next {
                Next::Done(outcome) => return Ok(outcome),
                Next::Ask => next = self.ask().await?,
            }
        }
    }

    /// Finds the work that an earlier run of this task left at the agent; `None` when there is none to
    /// resume.
    async fn begun_before(&mut self, client: &Arc<A2aClient>) -> Result<Option<Next>, Stop> {
        let Some(task) = self.memo.at_work_on(&self.job.message.message_id) else { return Ok(None) };
        let found = match client.get_task(&task, Some(0)).await {
            Ok(found) => found,
            Err(error) if error.is_unknown_task() => return Ok(self.forget()),
            Err(_) => {
                self.work = Some(RemoteWork::new(client, task));
                return Ok(Some(Next::Ask));
            }
        };
        if found.status.state == TaskState::Canceled {
            // An earlier run was stopped and stopped it; this one is meant to work.
            return Ok(self.forget());
        }
        let outcome = self.take_task(client, found).await?;
        Ok(Some(outcome.map_or(Next::Ask, Next::Done)))
    }

    /// Forgets the agent's task, so that the message begins another one there.
    fn forget(&mut self) -> Option<Next> {
        self.memo.remote_task = None;
        self.anew = true;
        None
    }

    /// Sends the message; again, with the same id, as long as the way fails and the agent takes a message
    /// only once.
    async fn deliver(&mut self, client: &Arc<A2aClient>, parts: Vec<Part>) -> Result<Next, Stop> {
        let message = self.outgoing(parts);
        let mut pause = FIRST_PAUSE;
        for _ in 1..TRIES {
            match self.send(client, &message).await {
                Err(Stop::Unsent(why)) if client.sends_once() => {
                    tracing::debug!(why, "the message is sent again");
                }
                done => return done,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.send(client, &message).await
    }

    async fn send(&mut self, client: &Arc<A2aClient>, message: &Message) -> Result<Next, Stop> {
        // A first message without a stream is answered at once and asked after later, so that the task is
        // known and can be cancelled. A further message is waited for: an early answer could still be the
        // question that it answers.
        let streams = client.card().capabilities.streaming;
        let options = SendOptions {
            return_immediately: !streams && message.task_id.is_none(),
            history_length: Some(0),
            timeout: Some(if streams && client.sends_once() { ACCEPTANCE } else { PATIENCE }),
            ..SendOptions::default()
        };
        self.work = message.task_id.clone().map(|task| RemoteWork::new(client, task));
        if streams {
            return self.follow(client, client.stream(message, &options)).await;
        }
        let reply = client.send(message, options).await.map_err(|error| refused(&error))?;
        let outcome = match reply {
            Reply::Message(message) => Some(self.take_message(message).await?),
            Reply::Task(task) => self.take_task(client, task).await?,
        };
        Ok(outcome.map_or(Next::Ask, Next::Done))
    }

    /// The client for the caller, with the caller's trace in every request, and with those of the wanted
    /// extensions that the agent has.
    fn traced(&self, client: &A2aClient) -> Arc<A2aClient> {
        let mut headers = self.job.ephemeral.trace_headers();
        let known = &client.card().capabilities.extensions;
        let wanted =
            self.job.ephemeral.extensions.iter().filter(|uri| known.iter().any(|one| one.uri == **uri));
        let wanted: Vec<&str> = wanted.map(String::as_str).collect();
        if let Ok(value) = HeaderValue::from_str(&wanted.join(","))
            && !wanted.is_empty()
        {
            headers.insert("a2a-extensions", value);
        }
        let client = client.clone().calling_for(self.job.owner.as_str());
        Arc::new(client.with_headers(headers))
    }

    /// The caller's words as the agent gets them: with the agent's own ids of task and conversation, if it
    /// has given some.
    fn outgoing(&mut self, parts: Vec<Part>) -> Message {
        let Job { owner, context, ids, .. } = &self.job;
        let known = || self.contexts.find(owner, context);
        let mut message = Message {
            message_id: if self.anew { ids.message() } else { message_id(&self.job) },
            context_id: self.memo.remote_context.clone().or_else(known),
            task_id: self.memo.remote_task.clone(),
            role: Role::User,
            parts,
            extra: with_credential(self.job.message.extra.clone(), self.job.ephemeral.credential.as_ref()),
        };
        // The ids of our tasks mean nothing there.
        message.refer_to(&[]);
        message
    }

    /// Reads a stream to its end.
    async fn follow(&mut self, client: &Arc<A2aClient>, mut stream: TaskStream) -> Result<Next, Stop> {
        // A task that waits may be only the picture of before our message; it counts when nothing follows.
        let mut waiting = None;
        while let Some(item) = stream.next().await {
            waiting = match item {
                Ok(StreamItem::Message(message)) => return self.take_message(message).await.map(Next::Done),
                Ok(StreamItem::Task(task)) => match self.take_task(client, task).await? {
                    Some(outcome @ (Outcome::InputRequired(_) | Outcome::AuthRequired(_))) => Some(outcome),
                    Some(outcome) => return Ok(Next::Done(outcome)),
                    None => None,
                },
                Ok(StreamItem::Status { task_id, context_id, status }) => {
                    self.know(client, task_id, context_id).await?;
                    match self.take_status(status).await? {
                        Some(outcome) => return Ok(Next::Done(outcome)),
                        None => None,
                    }
                }
                Ok(StreamItem::Artifact { task_id, context_id, artifact, append, last_chunk }) => {
                    self.know(client, task_id, context_id).await?;
                    self.take_artifact(artifact, append, last_chunk).await?;
                    None
                }
                Err(error) if self.work.is_some() && error.may_pass() => return Ok(Next::Ask),
                Err(error) => return Err(refused(&error)),
            };
        }
        Ok(waiting.map_or(Next::Ask, Next::Done))
    }

    /// Queries the status of the task until it is final, and follows it again where the agent streams.
    async fn ask(&mut self) -> Result<Next, Stop> {
        let Some(task) = self.work.as_ref().map(|work| work.task.clone()) else {
            return Err(Stop::Failed("the agent ended the connection before it accepted the task".into()));
        };
        let (mut pause, mut failures) = (FIRST_PAUSE, 0);
        let mut follows = true;
        loop {
            let trouble = match self.watch.now().map(|client| self.traced(&client)) {
                Err(down) => down,
                Ok(client) => match client.get_task(&task, Some(0)).await {
                    Ok(found) => {
                        failures = 0;
                        if let Some(outcome) = self.take_task(&client, found).await? {
                            return Ok(Next::Done(outcome));
                        }
                        if follows && client.card().capabilities.streaming {
                            match self.follow(&client, client.subscribe(&task)).await {
                                Ok(Next::Ask) => {}
                                Ok(done) => return Ok(done),
                                // It streams, but not this; it can still be asked.
                                Err(Stop::Failed(_) | Stop::Unsent(_)) => follows = false,
                                Err(stop) => return Err(stop),
                            }
                        }
                        String::new()
                    }
                    Err(error) if error.is_unknown_task() => return Err(lost("it no longer knows the task")),
                    Err(error) if error.may_pass() => error.to_string(),
                    Err(error) => return Err(refused(&error)),
                },
            };
            if !trouble.is_empty() {
                failures += 1;
                if failures == TRIES {
                    return Err(lost(&trouble));
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Takes the whole task; gives the outcome when it is final.
    async fn take_task(
        &mut self,
        client: &Arc<A2aClient>,
        task: RemoteTask,
    ) -> Result<Option<Outcome>, Stop> {
        self.know(client, task.id, task.context_id).await?;
        let mut size = 0;
        for artifact in task.artifacts {
            size += artifact.size() as u64;
            let print = fingerprint(&artifact);
            if self.shown.insert(artifact.artifact_id.clone(), print) != Some(print) {
                let artifact = joined(artifact);
                self.report.step(Step::Artifact { artifact, append: false, last_chunk: true }).await?;
            }
        }
        self.made = size;
        self.within_output()?;
        self.take_status(task.status).await
    }

    async fn take_artifact(
        &mut self,
        artifact: Artifact,
        append: bool,
        last_chunk: bool,
    ) -> Result<(), Stop> {
        self.made += artifact.size() as u64;
        self.within_output()?;
        self.shown.remove(&artifact.artifact_id);
        Ok(self.report.step(Step::Artifact { artifact, append, last_chunk }).await?)
    }

    fn within_output(&self) -> Result<(), Stop> {
        if self.made <= self.output.0 {
            return Ok(());
        }
        let why = format!(
            "the agent made more than {}; raise limits.output in its agent.toml if that is intended",
            self.output
        );
        Err(Stop::Failed(why))
    }

    async fn take_message(&mut self, message: Message) -> Result<Outcome, Stop> {
        if let Some(context) = message.context_id {
            self.contexts.remember(&self.job.owner, &self.job.context, context);
        }
        let artifact = Artifact { artifact_id: ANSWER.into(), parts: message.parts, ..Artifact::default() };
        self.take_artifact(artifact, false, true).await?;
        Ok(Outcome::Completed(None))
    }

    /// Takes the status of the task; gives the outcome when it is final.
    async fn take_status(&mut self, status: RemoteStatus) -> Result<Option<Outcome>, Stop> {
        let words = status.message.map(|message| self.placed(message));
        let or = |words: Option<Message>, text: &str| words.unwrap_or_else(|| self.job.words(text));
        Ok(Some(match status.state {
            TaskState::Completed => Outcome::Completed(words),
            TaskState::Failed => Outcome::Failed(or(words, "the agent failed without a reason")),
            TaskState::Rejected => Outcome::Rejected(or(words, "the agent refused without a reason")),
            TaskState::Canceled => Outcome::Canceled(words),
            TaskState::InputRequired => Outcome::InputRequired(or(words, "the agent waits for an answer")),
            TaskState::AuthRequired => Outcome::AuthRequired(or(words, "the agent waits for a permission")),
            TaskState::Submitted | TaskState::Working => {
                if let Some(words) = words
                    && self.last_words.as_ref() != Some(&words.message_id)
                {
                    self.last_words = Some(words.message_id.clone());
                    self.report.step(Step::Status(words)).await?;
                }
                return Ok(None);
            }
        }))
    }

    /// The agent's words, placed in our task.
    fn placed(&self, mut message: Message) -> Message {
        message.role = Role::Agent;
        message.task_id = Some(self.job.task.to_string());
        message.context_id = Some(self.job.context.clone());
        message
    }

    /// Takes note of the agent's ids, and has them kept, as soon as they are known.
    async fn know(
        &mut self,
        client: &Arc<A2aClient>,
        task: String,
        context: Option<String>,
    ) -> Result<(), Stop> {
        let context: Option<ContextId> = context.and_then(|context| context.parse().ok());
        let sent = Some(self.job.message.message_id.clone());
        let memo = RemoteMemo {
            remote_context: context.or_else(|| self.memo.remote_context.clone()),
            remote_task: Some(task.clone()),
            sent,
        };
        if self.work.is_none() {
            self.work = Some(RemoteWork::new(client, task));
        }
        if memo != self.memo {
            if let Some(context) = &memo.remote_context {
                self.contexts.remember(&self.job.owner, &self.job.context, context.clone());
            }
            self.memo = memo;
            self.report.step(Step::Memo(self.memo.value())).await?;
        }
        Ok(())
    }
}

/// What else the message says, with the credential that the caller gave for this run: an agent of another
/// site reads it there.
fn with_credential(mut extra: JsonMap, credential: Option<&Credential>) -> JsonMap {
    let Some(credential) = credential else { return extra };
    let metadata = extra.entry("metadata").or_insert_with(|| JsonMap::new().into());
    if let Value::Object(metadata) = metadata {
        metadata.insert(TASK_AUTH_CREDENTIAL.into(), credential.secret().into());
    }
    extra
}

/// The parts that an agent can take: text that says nothing makes common servers fail.
fn sendable(parts: &[Part]) -> Vec<Part> {
    let says_nothing = |part: &&Part| part.text.as_ref().is_some_and(|text| text.trim().is_empty());
    parts.iter().filter(|part| !says_nothing(part)).cloned().collect()
}

/// An artifact with its plain texts joined: servers keep each streamed chunk as a separate part.
fn joined(mut artifact: Artifact) -> Artifact {
    for part in std::mem::take(&mut artifact.parts) {
        artifact.append(Artifact { parts: vec![part], ..Artifact::default() });
    }
    artifact
}

/// The id under which the agent gets the caller's words: the same in every run, so that an agent which takes
/// a message only once gives the same task to a run that was started again before it could note which task
/// that was.
fn message_id(job: &Job) -> MessageId {
    let turn = job.history.iter().filter(|message| message.role == Role::User).count();
    format!("{}-{turn}", job.task).parse().unwrap_or_else(|_| job.ids.message())
}

fn fingerprint(artifact: &Artifact) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(artifact).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

fn refused(error: &ClientError) -> Stop {
    if error.may_pass() {
        return Stop::Unsent(format!("the agent was lost before it accepted the task: {error}"));
    }
    Stop::Failed(format!("the agent could not be called: {error}"))
}

fn lost(why: &str) -> Stop {
    Stop::Failed(format!(
        "the connection to the agent was lost while it worked, and the task cannot be found again: {why}"
    ))
}

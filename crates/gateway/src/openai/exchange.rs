//! Exchange: one message to an agent and its answer, whichever of the two interfaces asked.
//!
//! Promises: the message goes to the conversation and the task that it continues, if the caller names one or
//! the transcript shows it; the answer comes piece by piece. A caller that hangs up before the end cancels
//! the task, unless the caller said that it runs in the background; a gateway that stops cancels nothing. How
//! an answer is written is the matter of `chat` and `responses`.

use std::sync::Arc;

use agentsite_protocol::{
    AgentName, Caller, ContextId, JsonMap, Message, Period, Role, TaskId, TaskState, Timestamp,
};
use agentsite_site::{Sent, Submission, TaskFilter, TaskWatch};

use super::OpenAiCall;
use super::parameters::Format;
use super::speech::Speech;
use super::turn::Turn;
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::transcripts::Thread;

/// What is to be sent, and where it belongs.
pub(super) struct AgentRequest {
    pub(super) agent: AgentName,
    pub(super) speech: Speech,
    pub(super) format: Format,
    /// The conversation that the caller names.
    pub(super) thread: Option<Thread>,
    /// Whether the speech repeats what was said in the conversation before.
    pub(super) repeats: bool,
    /// What the caller wants to have with the message.
    pub(super) metadata: JsonMap,
    /// Whether the task is kept when it has ended.
    pub(super) keep: bool,
    /// Whether the task continues when the caller hangs up.
    pub(super) background: bool,
}

/// One message that was sent, and what the agent says to it.
pub(super) struct Exchange {
    front: Arc<Front>,
    caller: Caller,
    pub(super) agent: AgentName,
    pub(super) context: ContextId,
    /// The task, and its last event before the agent's turn; none of an agent that answered with a message.
    pub(super) task: Option<(TaskId, u64)>,
    pub(super) created: Timestamp,
    pub(super) turn: Turn,
    watch: Option<TaskWatch>,
    /// An answer that was there at once and is not shown yet.
    ready: Option<String>,
    hang_up: Option<HangUp>,
    /// What was said, to find the conversation again.
    speech: Option<Speech>,
}

impl Exchange {
    /// Sends the message.
    pub(super) async fn begin(call: &OpenAiCall, errand: AgentRequest) -> Result<Self, Failure> {
        let AgentRequest { agent, speech, format, thread, repeats, metadata, keep, background } = errand;
        let (site, owner) = (&call.front.site, call.caller.owner());
        let named = thread.is_some();
        let earlier = speech.earlier(owner, &agent).finish();
        let known = if named || !speech.has_earlier() { None } else { call.front.transcripts.take(earlier) };
        let retell = !(known.is_some() || named && repeats);
        let found = known.clone();
        let thread = match known {
            Some(thread) => Some(call.still(&agent, thread).await),
            None => thread,
        };
        let mut message = Message::text(site.ids().message(), Role::User, "");
        message.parts = speech.parts(retell, format.request());
        message.task_id = thread.as_ref().and_then(|thread| thread.waiting).map(|task| task.to_string());
        message.context_id = thread.map(|thread| thread.context);
        if !metadata.is_empty() {
            message.extra.insert("metadata".into(), metadata.into());
        }
        let ttl = (!keep).then(|| Period::seconds(0));
        let submission = Submission { ttl, ..message.into() };
        let sent = match site.send(&call.caller, &agent, submission).await {
            Ok(sent) => sent,
            Err(error) => {
                // Nothing was said, so the conversation stands where it stood.
                found.into_iter().for_each(|thread| call.front.transcripts.remember(earlier, thread));
                return Err(error.into());
            }
        };
        let mut exchange = Self::of(call, agent, sent, format.is_json(), background);
        exchange.speech = keep.then_some(speech);
        exchange.close_if_settled();
        Ok(exchange)
    }

    fn of(call: &OpenAiCall, agent: AgentName, sent: Sent, is_json: bool, background: bool) -> Self {
        let (front, caller) = (call.front.clone(), call.caller.clone());
        let ids = front.site.ids().clone();
        let exchange = |context, turn| Self {
            created: ids.clock().now(),
            front,
            caller,
            agent,
            context,
            task: None,
            turn,
            watch: None,
            ready: None,
            hang_up: None,
            speech: None,
        };
        match sent {
            Sent::Message(message) => {
                let context = message.context_id.clone().unwrap_or_else(|| ids.context());
                let turn = Turn::of_message(&message, is_json);
                let ready = Some(turn.text.clone());
                Self { ready, ..exchange(context, turn) }
            }
            Sent::Task(mut watch) => {
                let opened = watch.opening().head;
                let mut exchange = exchange(opened.context, Turn::new(is_json));
                exchange.task = Some((opened.id, opened.seq));
                exchange.hang_up = (!background).then(|| HangUp::on(&exchange, opened.id));
                exchange.watch = Some(watch);
                exchange
            }
        }
    }

    /// A turn of a task that was begun before, from its start.
    pub(super) async fn again(call: &OpenAiCall, id: TaskId, seq: u64) -> Result<Self, Failure> {
        let task = call.front.site.tasks().get(&call.caller, id).await?;
        let watch = call.front.site.tasks().watch(&call.caller, id, seq).await?;
        Ok(Self {
            front: call.front.clone(),
            caller: call.caller.clone(),
            agent: task.head.agent,
            context: task.head.context,
            task: Some((id, seq)),
            created: task.head.created_at,
            turn: Turn::new(false),
            watch: Some(watch),
            ready: None,
            hang_up: None,
            speech: None,
        })
    }

    /// What is to be shown next, perhaps nothing; `None` when the turn is over. Safe to cancel.
    pub(super) async fn next(&mut self) -> Option<String> {
        if let Some(ready) = self.ready.take() {
            return Some(ready);
        }
        if self.turn.is_settled() {
            return None;
        }
        let events = self.watch.as_mut()?.next().await?;
        let mut shown = String::new();
        for event in &events {
            shown.push_str(&self.turn.take(event));
            if self.turn.is_settled() {
                break;
            }
        }
        self.close_if_settled();
        Some(shown)
    }

    /// Waits for the whole answer.
    pub(super) async fn whole(&mut self) -> Result<(), Failure> {
        let closing = self.front.closing.clone();
        tokio::select! {
            () = async { while self.next().await.is_some() {} } => {}
            () = closing.cancelled() => {}
        }
        self.unsettled()
    }

    /// What is said of a turn that broke off because the site stops.
    pub(super) fn unsettled(&self) -> Result<(), Failure> {
        if self.turn.is_settled() {
            return Ok(());
        }
        let sentence = "the site is stopping; the task continues when it is back, try again then";
        Err(Failure::new(Fault::Stopping, sentence))
    }

    /// What programs can read about the exchange, beside the answer.
    pub(super) fn metadata(&self) -> JsonMap {
        let mut metadata = JsonMap::new();
        metadata.insert("context_id".into(), self.context.as_str().into());
        if let Some((task, _)) = self.task {
            metadata.insert("task_id".into(), task.to_string().into());
        }
        metadata.insert("state".into(), self.turn.state.word().into());
        metadata
    }

    /// Where the exchange stands among the answers of this interface: the task and the number of the turn, or
    /// an id of its own.
    pub(super) fn name(&self) -> String {
        match self.task {
            Some((task, seq)) => format!("{task}-{seq}"),
            None => self.front.site.ids().message().to_string(),
        }
    }

    fn close_if_settled(&mut self) {
        if !self.turn.is_settled() {
            return;
        }
        if let Some(hang_up) = self.hang_up.take() {
            hang_up.disarm();
        }
        let Some(speech) = self.speech.take().filter(|_| self.turn.fault.is_none()) else { return };
        let answered = speech.answered(self.caller.owner(), &self.agent, &self.turn.text).finish();
        let waiting = self.task.map(|(id, _)| id).filter(|_| self.turn.state.is_interrupted());
        // Two anonymous callers at one address may say the same words, and must not meet in one conversation.
        // Only a question that waits is found again by its words, once.
        if self.caller.is_anonymous() && waiting.is_none() {
            return;
        }
        self.front.transcripts.remember(answered, Thread { context: self.context.clone(), waiting });
    }
}

impl OpenAiCall {
    /// A conversation as it stands now: a task that no longer waits is not continued.
    async fn still(&self, agent: &AgentName, mut thread: Thread) -> Thread {
        if let Some(id) = thread.waiting {
            let task = self.front.site.tasks().get(&self.caller, id).await;
            let waits = task.is_ok_and(|task| task.head.state.is_interrupted() && task.head.agent == *agent);
            thread.waiting = thread.waiting.filter(|_| waits);
        }
        thread
    }

    /// A conversation that the caller names, with the task of the agent that waits for an answer in it.
    pub(super) async fn thread(&self, agent: &AgentName, context: ContextId) -> Result<Thread, Failure> {
        let filter = TaskFilter {
            owner: Some(self.caller.owner().clone()),
            agent: Some(agent.clone()),
            context: Some(context.clone()),
            states: vec![TaskState::InputRequired, TaskState::AuthRequired],
            ..TaskFilter::default()
        };
        let page = self.front.site.tasks().list(&self.caller, filter, None, 1).await?;
        Ok(Thread { context, waiting: page.items.first().map(|head| head.id) })
    }
}

/// Cancels a task when it is dropped: its caller has hung up.
struct HangUp(Option<(Arc<Front>, Caller, TaskId)>);

impl HangUp {
    fn on(exchange: &Exchange, task: TaskId) -> Self {
        Self(Some((exchange.front.clone(), exchange.caller.clone(), task)))
    }

    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for HangUp {
    fn drop(&mut self) {
        let Some((front, caller, task)) = self.0.take() else { return };
        // A gateway that stops ends its streams; their tasks continue, or are resumed at the next start.
        if front.stop.is_cancelled() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        // It ends by itself: the site answers a cancellation or stops.
        runtime.spawn(async move {
            match front.site.tasks().cancel(&caller, task).await {
                Ok(_) => tracing::debug!(%task, "the caller hung up, the task is canceled"),
                Err(error) => tracing::debug!(%task, %error, "the caller hung up"),
            }
        });
    }
}

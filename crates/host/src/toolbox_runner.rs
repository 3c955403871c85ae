//! ToolboxRunner: a set of tools as an agent that takes messages.
//!
//! Promises: a message with a data part `{"tool": NAME, "arguments": {…}}` is one call; its progress becomes
//! status updates, its result an artifact from which the result can be read back without loss, a question the
//! state input-required. What the tool must be reminded of is in the memo of the task, so a call that asks
//! back survives a restart. A tool server that asks or tells too much is bounded.
//!
//! It does not turn plain language into calls: a runtime with a model does that before.

mod answer;
mod artifact;
mod open_call;
mod question;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentsite_protocol::mcp::{Abilities, Reply, Round, Tool, ToolCall, ToolResult};
use agentsite_protocol::{AgentCapabilities, AgentCard, Caller, JsonMap, Message, Outcome, Skill, Step};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::{Exchange, Gone, Job, Notice, Reporter, Runner, ToolFault, Toolbox};
pub(crate) use open_call::OpenCall;

pub use artifact::result_of;
pub use open_call::open_questions;

/// Shortest time between two status updates: progress is for people, and each update is written to disk.
const BETWEEN_STATUSES: Duration = Duration::from_millis(250);

/// Most status updates of one run, so that a tool which never stops telling leaves space among the events of
/// its task.
const MAX_STATUSES: usize = 1_000;

/// How often a call may be made again, with answers or because the tool requires it, before it counts as a
/// loop.
const MAX_ROUNDS: u32 = 32;

/// Pause before a call is made again for which nothing was asked.
const BEFORE_AGAIN: Duration = Duration::from_millis(500);

/// Tools that are listed to a caller who named none.
const NAMED: usize = 20;

/// A set of tools as an agent that takes messages.
#[derive(Debug, Clone)]
pub struct ToolboxRunner {
    toolbox: Arc<dyn Toolbox>,
    // A std lock: held for a look or a swap, never across an await.
    card: Arc<Mutex<Option<Written>>>,
}

/// A card, and the tools of which it tells.
#[derive(Debug)]
struct Written {
    tools: Arc<[Tool]>,
    card: Arc<AgentCard>,
}

impl ToolboxRunner {
    /// The tools of this toolbox.
    #[must_use]
    pub fn new(toolbox: Arc<dyn Toolbox>) -> Self {
        Self { toolbox, card: Arc::default() }
    }

    /// Whether a message asks for a tool in structured form.
    #[must_use]
    pub fn takes(message: &Message) -> bool {
        requested(message).is_some()
    }

    /// A message that asks for a tool, as [`Runner::run`] of this type reads it. `answers` are those to
    /// questions that the tool has asked before, by its own names.
    #[must_use]
    pub fn request(message: Message, call: &ToolCall) -> Message {
        let mut data = JsonMap::new();
        data.insert("tool".into(), call.name.clone().into());
        data.insert("arguments".into(), Value::Object(call.arguments.clone()));
        if !call.round.answers.is_empty() {
            data.insert("answers".into(), call.round.answers.clone().into_iter().collect());
        }
        Message { parts: vec![agentsite_protocol::Part::data(Value::Object(data))], ..message }
    }
}

impl Runner for ToolboxRunner {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let toolbox = self.toolbox.clone();
        Box::pin(async move { work(&*toolbox, &job, &report).await.unwrap_or(Outcome::Canceled(None)) })
    }

    fn card(&self) -> Option<Arc<AgentCard>> {
        let unread = Exchange::silent(Caller::local(), Abilities::default());
        // The list of a toolbox is available once it is known; until then there is no card.
        let tools = self.toolbox.tools(&unread).now_or_never()?.ok()?;
        let mut known = self.card.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(written) if Arc::ptr_eq(&written.tools, &tools) => Some(written.card.clone()),
            _ => {
                let card = Arc::new(card_of(&*self.toolbox, &tools));
                *known = Some(Written { tools, card: card.clone() });
                Some(card)
            }
        }
    }

    fn toolbox(&self) -> Option<Arc<dyn Toolbox>> {
        Some(self.toolbox.clone())
    }
}

/// One run: the call, or what an earlier run left of it.
async fn work(toolbox: &dyn Toolbox, job: &Job, report: &Reporter) -> Result<Outcome, Gone> {
    let mut open = match job.memo.as_ref().and_then(OpenCall::remembered) {
        Some(open) => open,
        None => match requested(&job.message) {
            Some(data) => OpenCall::begin(data, job.ephemeral.state.clone()),
            None => return Ok(Outcome::Rejected(job.words(what_to_send(toolbox, job).await))),
        },
    };
    let misread = open.take_answer(&job.message);
    loop {
        if !open.is_answered() {
            report.step(Step::Memo(open.memo())).await?;
            return Ok(Outcome::InputRequired(open.question(job, misread.as_deref())));
        }
        let round = open.next_round();
        if open.round() > MAX_ROUNDS {
            return Ok(
                job.failed(format!("{} was called {MAX_ROUNDS} times and still wants more", open.tool()))
            );
        }
        let needed = match call(toolbox, &open, round, job, report).await? {
            Ok(Reply::Done(result)) => return deliver(result, job, report).await,
            Ok(Reply::Input(needed)) => needed,
            Err(fault) => return Ok(ended(&fault, job)),
        };
        let again = needed.requests.is_empty();
        if let Err(why) = open.ask(needed) {
            return Ok(job.failed(why));
        }
        if again {
            tokio::time::sleep(BEFORE_AGAIN).await;
        }
    }
}

/// Uses the tool and tells on the way how far it is.
async fn call(
    toolbox: &dyn Toolbox,
    open: &OpenCall,
    round: Round,
    job: &Job,
    report: &Reporter,
) -> Result<Result<Reply<ToolResult>, ToolFault>, Gone> {
    let abilities = Abilities { tasks: false, ..Abilities::ALL };
    let (mut exchange, mut notices) = Exchange::new(Caller::inside(job.owner.clone()), abilities);
    exchange.cancel = job.cancel.clone();
    exchange.budget = job.ephemeral.budget.clone();
    let mut call = toolbox.call(exchange, open.call(round));
    tokio::select! {
        biased;
        () = job.cancel.cancelled() => Err(Gone),
        played = &mut call => Ok(played),
        Err(Gone) = tell(&mut notices, job, report) => Err(Gone),
    }
}

/// Turns progress into status updates, not too many and never one that is old when it is written. It ends
/// only when the task has ended.
async fn tell(notices: &mut mpsc::Receiver<Notice>, job: &Job, report: &Reporter) -> Result<(), Gone> {
    let mut latest: Option<Message> = None;
    let mut due = Instant::now();
    let mut told = 0;
    loop {
        tokio::select! {
            notice = notices.recv() => match notice {
                Some(Notice::Progress { progress, total, message }) if told < MAX_STATUSES => {
                    latest = Some(job.words(message.unwrap_or_else(|| how_far(progress, total))));
                }
                Some(_) => {}
                None => std::future::pending().await,
            },
            () = tokio::time::sleep_until(due), if latest.is_some() => {
                if let Some(words) = latest.take() {
                    report.step(Step::Status(words)).await?;
                    told += 1;
                    due = Instant::now() + BETWEEN_STATUSES;
                }
            }
        }
    }
}

fn how_far(progress: f64, total: Option<f64>) -> String {
    total.map_or_else(|| progress.to_string(), |total| format!("{progress} of {total}"))
}

/// Hands the result over; one that says what failed fails the task, in the tool's words.
async fn deliver(result: ToolResult, job: &Job, report: &Reporter) -> Result<Outcome, Gone> {
    let failed = result.is_error.then(|| result.plain_text());
    let artifact = artifact::artifact_of(result);
    report.step(Step::Artifact { artifact, append: false, last_chunk: true }).await?;
    Ok(match failed {
        None => Outcome::Completed(None),
        Some(words) if words.is_empty() => job.failed("the tool failed without a reason"),
        Some(words) => job.failed(words),
    })
}

/// What a fault means to the sender of a message.
fn ended(fault: &ToolFault, job: &Job) -> Outcome {
    match fault {
        ToolFault::NoSuchTool(_) | ToolFault::BadArguments(_) => {
            Outcome::Rejected(job.words(fault.to_string()))
        }
        _ => job.failed(fault.to_string()),
    }
}

/// The data part of a message that names a tool.
fn requested(message: &Message) -> Option<&JsonMap> {
    let data = message.parts.iter().filter_map(|part| part.data.as_ref()?.as_object());
    let mut named = data.filter(|data| named_tool(data).is_some());
    named.next()
}

fn named_tool(data: &JsonMap) -> Option<&str> {
    data.get("tool").or_else(|| data.get("skill")).and_then(Value::as_str)
}

/// Explains to a caller who named no tool how to name one.
async fn what_to_send(toolbox: &dyn Toolbox, job: &Job) -> String {
    let exchange = Exchange::silent(Caller::inside(job.owner.clone()), Abilities::default());
    let tools = match toolbox.tools(&exchange).await {
        Ok(tools) => tools,
        Err(fault) => return fault.to_string(),
    };
    let names: Vec<&str> = tools.iter().take(NAMED).map(|tool| tool.name.as_str()).collect();
    let more = if tools.len() > NAMED { ", and more" } else { "" };
    format!(
        "this agent does not accept plain language; send a data part such as {{\"tool\": \"NAME\", \
         \"arguments\": {{}}}}. Its tools: {}{more}",
        names.join(", ")
    )
}

/// The card of an agent whose skills are these tools.
fn card_of(toolbox: &dyn Toolbox, tools: &[Tool]) -> AgentCard {
    let about = toolbox.about();
    AgentCard {
        name: about.name,
        description: about.instructions.unwrap_or_default(),
        version: about.version,
        supported_interfaces: Vec::new(),
        provider: None,
        capabilities: AgentCapabilities::default(),
        default_input_modes: vec!["application/json".into(), "text/plain".into()],
        default_output_modes: vec!["text/plain".into(), "application/json".into()],
        skills: tools.iter().map(skill_of).collect(),
        extra: JsonMap::new(),
    }
}

fn skill_of(tool: &Tool) -> Skill {
    Skill {
        id: tool.name.clone(),
        name: tool.title.clone().unwrap_or_else(|| tool.name.clone()),
        description: tool.description.clone().unwrap_or_default(),
        tags: vec!["tool".into()],
        input_modes: vec!["application/json".into()],
        ..Skill::default()
    }
}

#[cfg(test)]
mod tests;

//! An agent that is talked to, as a tool: a message goes out, its answer is the result.
//!
//! Promises: what the agent says on the way is told as progress; a question of the agent is a question to the
//! client, or words that say how to answer. A call that nobody waits for ends its task; one that takes longer
//! than a client should wait is handed back as a task where the client can follow one. What a model could
//! mend comes back as a result, not as an error.

use std::sync::LazyLock;
use std::time::Duration;

use agentsite_host::{Exchange, Notice, SkillEntry, ToolFault};
use agentsite_protocol::mcp::{InputNeeded, Reply, Round, ToolResult, misfit};
use agentsite_protocol::{JsonMap, Message, Part, Role, TaskEvent, TaskEventKind, TaskId, TaskState};
use serde_json::{Value, json};

use super::answer::{ANSWER, Form, of_message, question, result, words_schema};
use super::parts::ToolkitParts;
use super::task::view;
use super::{ToolOutcome, ToolkitError};
use crate::local_agents::Entry;
use crate::{Sent, SiteError, TaskWatch};

/// How long a client that can follow tasks is kept waiting before it gets one: most answers of small agents
/// come sooner, and people begin to wonder about here.
const PATIENCE: Duration = Duration::from_secs(2);

/// Most files that come with one message.
const MAX_FILES: usize = 32;

/// Longest text of one notice of progress.
const MAX_PROGRESS: usize = 1_000;

/// The key of the one question that an agent asks at a time.
const QUESTION: &str = "question";

/// The JSON Schema of what is said to an agent, made once: every call is held against it.
static WORDS_INPUT: LazyLock<Value> = LazyLock::new(make_words_input);

/// The JSON Schema of what is said to an agent.
pub(super) fn words_input() -> Value {
    WORDS_INPUT.clone()
}

fn make_words_input() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    json!({
        "type": "object",
        "properties": {
            "message": { "type": "string", "minLength": 1, "description": "What you want, in plain language" },
            "context": text("Goes on with a conversation: the `context` of an earlier answer"),
            "task": text("Answers a question of the agent: the `task` that asked"),
            "files": files_schema(),
        },
        "required": ["message"],
        "additionalProperties": false,
    })
}

/// The JSON Schema of files that come with a message.
pub(super) fn files_schema() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "array",
        "maxItems": MAX_FILES,
        "description": "Files for the agent",
        "items": {
            "type": "object",
            "properties": {
                "name": text,
                "mimeType": text,
                "data": { "type": "string", "description": "The content in base64" },
                "uri": { "type": "string", "description": "Where the content can be had instead" },
            },
        },
    })
}

/// The JSON Schema of what an agent answers.
pub(super) fn words_output() -> Value {
    words_schema()
}

/// Says something to an agent.
pub(super) async fn say(
    site: &ToolkitParts,
    entry: &Entry,
    exchange: Exchange,
    arguments: JsonMap,
    round: &Round,
) -> Result<ToolOutcome, ToolkitError> {
    if let Some(task) = asked_before(round) {
        return Box::pin(answer(site, entry, exchange, task, round)).await;
    }
    let arguments = Value::Object(arguments);
    if let Some(why) = misfit(&WORDS_INPUT, &arguments) {
        return Ok(wrong(&why));
    }
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut message = Message::text(site.ids.message(), Role::User, text("message"));
    for file in arguments.get("files").and_then(Value::as_array).into_iter().flatten() {
        match part_of(file) {
            Some(part) => message.parts.push(part),
            None => return Ok(wrong("each of `files` needs either `data` or `uri`")),
        }
    }
    message.task_id = Some(text("task").to_owned()).filter(|task| !task.is_empty());
    if !text("context").is_empty() {
        match text("context").parse() {
            Ok(context) => message.context_id = Some(context),
            Err(error) => return Ok(wrong(&format!("`context`: {error}"))),
        }
    }
    send(site, entry, exchange, message).await
}

/// Uses a skill of an agent that declares the arguments.
pub(super) async fn use_skill(
    site: &ToolkitParts,
    entry: &Entry,
    skill: &SkillEntry,
    exchange: Exchange,
    arguments: JsonMap,
    round: &Round,
) -> Result<ToolOutcome, ToolkitError> {
    if let Some(task) = asked_before(round) {
        return Box::pin(answer(site, entry, exchange, task, round)).await;
    }
    let arguments = Value::Object(arguments);
    let schema = skill.input_schema.as_ref().and_then(|entry| entry.table());
    if let Some(why) = schema.and_then(|schema| misfit(&Value::Object(schema.clone()), &arguments)) {
        return Ok(wrong(&why));
    }
    let data = json!({ "skill": skill.id, "arguments": arguments });
    let mut message = Message::text(site.ids.message(), Role::User, "");
    message.parts = vec![Part::data(data)];
    send(site, entry, exchange, message).await
}

/// The task that asked in an earlier round.
fn asked_before(round: &Round) -> Option<TaskId> {
    round.state.as_ref()?["task"].as_str()?.parse().ok()
}

/// Goes on with a task that asked: with the answer, or by asking again.
async fn answer(
    site: &ToolkitParts,
    entry: &Entry,
    exchange: Exchange,
    task: TaskId,
    round: &Round,
) -> Result<ToolOutcome, ToolkitError> {
    let answered = round.answers.get(QUESTION).filter(|answer| answer.is_object());
    let Some(given) = answered else {
        let watch = site.tasks.watch(&exchange.caller, task, 0).await?;
        return follow(site, exchange, watch).await;
    };
    match words_of(given) {
        Some(words) => {
            let mut message = Message::text(site.ids.message(), Role::User, words);
            message.task_id = Some(task.to_string());
            send(site, entry, exchange, message).await
        }
        None => {
            let _ = site.tasks.cancel(&exchange.caller, task).await;
            let words = "The question was not answered, so the task was canceled.";
            Ok(ToolOutcome::Reply(Reply::Done(ToolResult::error(words))))
        }
    }
}

/// What was answered in the form; `None` when it was turned down.
pub(super) fn words_of(answer: &Value) -> Option<String> {
    let accepted = answer["action"].as_str().is_none_or(|action| action == "accept");
    let content = if answer["content"].is_object() { &answer["content"] } else { answer };
    let words = content[ANSWER].as_str().map(str::trim).filter(|words| !words.is_empty());
    words.filter(|_| accepted).map(str::to_owned)
}

async fn send(
    site: &ToolkitParts,
    entry: &Entry,
    exchange: Exchange,
    message: Message,
) -> Result<ToolOutcome, ToolkitError> {
    match site.send(&exchange.caller, &entry.manifest.name, message).await {
        Ok(Sent::Task(watch)) => Box::pin(follow(site, exchange, watch)).await,
        Ok(Sent::Message(message)) => Ok(ToolOutcome::Reply(Reply::Done(of_message(&message)))),
        Err(error) => mendable(error).map(|result| ToolOutcome::Reply(Reply::Done(result))),
    }
}

/// Follows a task until it has settled, or as long as the client should wait.
async fn follow(
    site: &ToolkitParts,
    exchange: Exchange,
    mut watch: TaskWatch,
) -> Result<ToolOutcome, ToolkitError> {
    let guard = site.tasks.control().cancel_guard(&exchange.caller, watch.id());
    let patience = tokio::time::sleep(PATIENCE);
    tokio::pin!(patience);
    let mut told = 0.0;
    loop {
        tokio::select! {
            biased;
            () = exchange.cancel.cancelled() => {
                return Err(ToolFault::Failed("the call was given up, and its task is canceled".into()).into());
            }
            events = watch.next() => match events {
                Some(events) => events.iter().for_each(|event| tell(&exchange, event, &mut told)),
                None => break,
            },
            () = &mut patience, if exchange.abilities.tasks => {
                guard.release();
                return Ok(ToolOutcome::Task(Box::new(view(site, &watch.snapshot()))));
            }
        }
    }
    guard.release();
    let task = watch.snapshot();
    match task.head.state {
        state if !state.is_settled() => Err(SiteError::Stopping.into()),
        TaskState::InputRequired | TaskState::AuthRequired if exchange.abilities.forms => {
            let requests = [(QUESTION.to_owned(), question(&task))].into();
            let state = Some(json!({ "task": task.head.id }));
            Ok(ToolOutcome::Reply(Reply::Input(InputNeeded { requests, state })))
        }
        _ => Ok(ToolOutcome::Reply(Reply::Done(result(&task, &Form::of(site, &task))))),
    }
}

/// Tells what the agent says on the way.
fn tell(exchange: &Exchange, event: &TaskEvent, told: &mut f64) {
    let words = match &event.kind {
        TaskEventKind::Status { state: TaskState::Working, message: Some(message) } => message.plain_text(),
        TaskEventKind::Artifact { artifact, .. } => artifact.plain_text(),
        _ => return,
    };
    if words.is_empty() {
        return;
    }
    *told += 1.0;
    let message = Some(words.chars().take(MAX_PROGRESS).collect());
    exchange.tell(Notice::Progress { progress: *told, total: None, message });
}

fn part_of(file: &Value) -> Option<Part> {
    let text = |name: &str| file[name].as_str().map(str::to_owned);
    let (raw, url) = (text("data"), text("uri"));
    if raw.is_some() == url.is_some() {
        return None;
    }
    Some(Part { raw, url, media_type: text("mimeType"), filename: text("name"), ..Part::default() })
}

/// A result that says what is wrong with the arguments.
pub(super) fn wrong(why: &str) -> ToolOutcome {
    ToolOutcome::Reply(Reply::Done(ToolResult::error(format!("The arguments do not fit: {why}."))))
}

/// What a model can mend becomes a result; everything else stays an error.
pub(super) fn mendable(error: SiteError) -> Result<ToolResult, ToolkitError> {
    match error {
        SiteError::NoSuchTask(_)
        | SiteError::NoSuchAgent(_)
        | SiteError::TaskEnded(_)
        | SiteError::TaskBusy(_)
        | SiteError::NotCancelable(_)
        | SiteError::ContextMismatch
        | SiteError::BadMessage(_)
        | SiteError::BadQuery(_)
        | SiteError::MediaType { .. }
        | SiteError::Agent(_) => Ok(ToolResult::error(error.to_string())),
        other => Err(other.into()),
    }
}

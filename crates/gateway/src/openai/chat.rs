//! `/v1/chat/completions`: a transcript goes to an agent, its next words come back.
//!
//! Promises: the answer in OpenAI's form, whole or in chunks, with the task's usage; `metadata` of the answer
//! names the conversation, the task and its state, and that of a request may name them to go on there. A task
//! that failed is an error, a question of the agent is an answer.

mod stream;

use std::sync::Arc;

use agentsite_protocol::{JsonMap, TaskId, Usage};
use axum::extract::{Request, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exchange::{AgentRequest, Exchange};
use super::parameters::{self, Format};
use super::speech::Speech;
use super::{OpenAiCall, json, named_agent, respond, seconds, wrong};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::transcripts::Thread;

#[derive(Deserialize)]
struct ChatRequest {
    model: String,
    #[serde(default)]
    messages: Value,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    response_format: Value,
    #[serde(default)]
    metadata: Option<JsonMap>,
    #[serde(default)]
    store: Option<bool>,
    #[serde(flatten)]
    rest: JsonMap,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StreamOptions {
    include_usage: Option<bool>,
}

/// The tokens of an answer; nought where an agent does not count.
#[derive(Debug, Clone, Copy, Serialize)]
struct Tokens {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: usage.tokens(),
        }
    }
}

/// The whole answer.
#[derive(Serialize)]
struct Completion<'a> {
    id: String,
    object: &'static str,
    created: i64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: Tokens,
    metadata: JsonMap,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: ChatReply<'a>,
    logprobs: Option<()>,
    finish_reason: &'static str,
}

#[derive(Serialize)]
struct ChatReply<'a> {
    role: &'static str,
    content: &'a str,
    refusal: Option<&'a str>,
    annotations: [(); 0],
}

pub(super) async fn complete(front: State<Arc<Front>>, request: Request) -> Response {
    respond(answer(front, request).await)
}

async fn answer(front: State<Arc<Front>>, request: Request) -> Result<Response, Failure> {
    let (call, body) = OpenAiCall::enter(front, request)?;
    let asked: ChatRequest = call.read(body).await?;
    let wants_usage = asked.stream_options.as_ref().and_then(|options| options.include_usage) == Some(true);
    let is_stream = asked.stream == Some(true);
    let errand = errand(&call, asked).await?;
    if is_stream {
        let place = call.stream_place()?;
        let exchange = Exchange::begin(&call, errand).await?;
        return Ok(stream::respond(&call.front, place, exchange, wants_usage));
    }
    let _at_work = call.at_work()?;
    let mut exchange = Exchange::begin(&call, errand).await?;
    exchange.whole().await?;
    failed(&exchange)?;
    let message =
        ChatReply { role: "assistant", content: &exchange.turn.text, refusal: None, annotations: [] };
    json(&Completion {
        id: format!("chatcmpl-{}", exchange.name()),
        object: "chat.completion",
        created: seconds(exchange.created),
        model: exchange.agent.as_str(),
        choices: [Choice { index: 0, message, logprobs: None, finish_reason: "stop" }],
        usage: exchange.turn.usage.into(),
        metadata: exchange.metadata(),
    })
}

async fn errand(call: &OpenAiCall, asked: ChatRequest) -> Result<AgentRequest, Failure> {
    parameters::check(&asked.rest)?;
    let agent = named_agent(&asked.model)?;
    let speech = Speech::read(&asked.messages, "messages", None)?;
    let format = Format::read(&asked.response_format, "response_format")?;
    let mut metadata = asked.metadata.unwrap_or_default();
    let context = taken(&mut metadata, "context_id")?;
    let task: Option<TaskId> = taken(&mut metadata, "task_id")?;
    let thread = match (task, context) {
        (Some(task), _) => {
            let context = call.front.site.tasks().get(&call.caller, task).await?.head.context;
            Some(Thread { context, waiting: Some(task) })
        }
        (None, Some(context)) => Some(call.thread(&agent, context).await?),
        (None, None) => None,
    };
    let keep = asked.store != Some(false);
    Ok(AgentRequest { agent, speech, format, thread, repeats: true, metadata, keep, background: false })
}

/// Takes an id out of the metadata.
fn taken<T: std::str::FromStr>(metadata: &mut JsonMap, name: &str) -> Result<Option<T>, Failure> {
    let Some(given) = metadata.remove(name).filter(|given| !given.is_null()) else { return Ok(None) };
    let read = given.as_str().and_then(|text| text.parse().ok());
    read.map(Some).ok_or_else(|| wrong(&format!("metadata.{name}"), "must be the one of an earlier answer"))
}

/// What is answered for a turn that ended without an answer.
fn failed(exchange: &Exchange) -> Result<(), Failure> {
    match &exchange.turn.fault {
        Some(words) => Err(Failure::new(Fault::AgentFailed, words.clone())),
        None => Ok(()),
    }
}

//! What a request for a response asks.
//!
//! Promises: reads the fields that mean something to an agent, refuses those that would change the answer,
//! and leaves the rest.

use agentsite_protocol::{ContextId, JsonMap};
use agentsite_site::TaskError;
use serde::Deserialize;
use serde_json::Value;

use super::super::exchange::AgentRequest;
use super::super::parameters::{self, Format};
use super::super::speech::Speech;
use super::super::{OpenAiCall, named_agent, wrong};
use super::title::Title;
use super::view::Frame;
use crate::failure::{Failure, Fault};
use crate::transcripts::Thread;

#[derive(Deserialize)]
pub(super) struct ResponsesRequest {
    model: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    background: Option<bool>,
    #[serde(default)]
    store: Option<bool>,
    #[serde(default)]
    previous_response_id: Option<String>,
    #[serde(default)]
    conversation: Option<Conversation>,
    #[serde(default)]
    metadata: Option<JsonMap>,
    #[serde(default)]
    text: Value,
    #[serde(flatten)]
    rest: JsonMap,
}

/// A conversation by its id alone or as an object.
#[derive(Deserialize)]
#[serde(untagged)]
enum Conversation {
    Id(String),
    Object { id: String },
}

impl ResponsesRequest {
    pub(super) fn is_stream(&self) -> bool {
        self.stream == Some(true)
    }

    pub(super) fn is_background(&self) -> bool {
        self.background == Some(true)
    }

    /// What of the request its response repeats.
    pub(super) fn frame(&self) -> Frame {
        Frame {
            instructions: self.instructions.clone(),
            previous: self.previous_response_id.clone(),
            metadata: self.metadata.clone().unwrap_or_default(),
            background: self.is_background(),
            store: self.store != Some(false),
            format: self.text["format"].clone(),
        }
    }

    pub(super) async fn errand(self, call: &OpenAiCall) -> Result<AgentRequest, Failure> {
        parameters::check(&self.rest)?;
        let agent = named_agent(&self.model)?;
        let speech = Speech::read(&self.input, "input", self.instructions.as_deref())?;
        let format = Format::read(&self.text["format"], "text.format")?;
        let (background, keep) = (self.is_background(), self.store != Some(false));
        if background && !keep {
            return Err(wrong("store", "must not be false in the background: the answer could not be read"));
        }
        let thread = match (self.previous_response_id, self.conversation) {
            (Some(_), Some(_)) => {
                return Err(wrong("previous_response_id", "cannot be used together with conversation"));
            }
            (Some(previous), None) => Some(call.after(&agent, &previous).await?),
            (None, Some(Conversation::Id(id) | Conversation::Object { id })) => {
                let context: ContextId =
                    id.parse().map_err(|_| wrong("conversation", "must have 1 to 128 characters"))?;
                Some(call.thread(&agent, context).await?)
            }
            (None, None) => None,
        };
        let metadata = self.metadata.unwrap_or_default();
        Ok(AgentRequest { agent, speech, format, thread, repeats: false, metadata, keep, background })
    }
}

impl OpenAiCall {
    /// The conversation of an earlier response, with its task if that waits for an answer of this agent.
    async fn after(&self, agent: &agentsite_protocol::AgentName, previous: &str) -> Result<Thread, Failure> {
        let missing = || {
            let short: String = previous.chars().take(80).collect();
            let mut failure =
                wrong("previous_response_id", &format!("names no response of yours: `{short}`"));
            failure.fault = Fault::NoSuchTask;
            failure
        };
        match Title::read(previous).ok_or_else(missing)? {
            Title::Message(_, context) => Ok(Thread { context, waiting: None }),
            Title::Task(id, _) => match self.front.site.tasks().get(&self.caller, id).await {
                Ok(task) => {
                    let waits = task.head.state.is_interrupted() && task.head.agent == *agent;
                    Ok(Thread { context: task.head.context, waiting: waits.then_some(id) })
                }
                Err(TaskError::NoSuchTask(_)) => Err(missing()),
                Err(error) => Err(error.into()),
            },
        }
    }
}

//! The Model seam: one verb, a chat that is answered as a stream of events.
//!
//! Promises: a stream is any number of texts and tool calls, then one usage, then one end; or it breaks off
//! with one error. Every error says what to do and never contains a key. Dropping the stream ends the
//! request.
//!
//! It does not know budgets, tools or conversations; the runner does. See docs/decisions/0003-model-seam.md.

use std::fmt;
use std::time::Duration;

use agentsite_protocol::Usage;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes of text per token when there is no count; a rule of thumb for English; most other
/// scripts have fewer, so their tokens are counted too low.
const BYTES_PER_TOKEN: u64 = 4;

/// What a message costs besides its text: role marks and separators of the usual chat templates.
const TOKENS_PER_MESSAGE: u64 = 4;

/// A language model that chats.
pub trait Model: Send + Sync + fmt::Debug {
    /// Sends a conversation and gives the answer as it is written.
    fn chat(&self, request: ChatRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>>;
}

/// The answer of a model as it is written.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A conversation that is sent to a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatRequest {
    /// Who the model is and how it should answer.
    pub system: String,
    /// What was said, oldest first.
    pub messages: Vec<ChatMessage>,
    /// What the model may call.
    pub tools: Vec<ToolSpec>,
    /// Sampling temperature; the server's own when left out.
    pub temperature: Option<f32>,
    /// Most tokens of the answer.
    pub max_tokens: u32,
}

/// One utterance as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatMessage {
    /// The caller's words.
    User(String),
    /// The model's own words and calls.
    Assistant {
        /// What it said.
        text: String,
        /// What it called.
        calls: Vec<ToolCall>,
    },
    /// What a call gave.
    Tool {
        /// The id of the call.
        call: String,
        /// The result, or the error as text.
        text: String,
        /// Whether it is an error.
        failed: bool,
    },
}

/// Something that a model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does, as text for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
}

/// One call that a model makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The model's id of the call; its result names it.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// The arguments as the model wrote them; they should be JSON and need not be.
    pub arguments: String,
}

/// One event of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelEvent {
    /// Further words.
    Text(String),
    /// A complete call.
    ToolCall(ToolCall),
    /// What the answer cost; turns and calls are zero.
    Usage(Usage),
    /// The answer is complete.
    End(EndReason),
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// Everything was said.
    Stop,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// `max_tokens` was reached.
    Length,
    /// The server's filter stepped in.
    Filtered,
    /// Something else, in the server's word.
    Other(String),
}

/// Why a model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No server answers there.
    #[error("the model server {place} cannot be reached ({why}); start it, or correct its base_url")]
    Unreachable {
        /// Host and port.
        place: String,
        /// What happened.
        why: String,
    },
    /// The key is missing or refused.
    #[error("the model server {place} refuses the key; {remedy}")]
    Unauthorized {
        /// Host and port.
        place: String,
        /// Which variable to set.
        remedy: String,
    },
    /// The server does not have the model.
    #[error(
        "the model server {place} has no model `{model}`; set `model` in agent.toml to one that it has, or load it there"
    )]
    NoSuchModel {
        /// Host and port.
        place: String,
        /// The name that was asked for.
        model: String,
    },
    /// Too many requests, or too few credits.
    #[error("the model server {place} accepts no more requests now ({why}); try again {}", later(*retry_after))]
    RateLimited {
        /// Host and port.
        place: String,
        /// The server's words.
        why: String,
        /// When to try again, if the server says so.
        retry_after: Option<Duration>,
    },
    /// The conversation does not fit into the model.
    #[error(
        "the conversation is too long for the model ({why}); lower `memory` in agent.toml, shorten the prompt, or choose a \
         model with a longer context"
    )]
    TooLong {
        /// The server's words.
        why: String,
    },
    /// The answer cannot be read as one.
    #[error(
        "the model server {place} answered with something unusable: {why}; check its base_url and api, and its log"
    )]
    BadAnswer {
        /// Host and port.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// The server fell silent.
    #[error(
        "the model server {place} was silent for {after:?}; see whether it is overloaded or still loading the model"
    )]
    TimedOut {
        /// Host and port.
        place: String,
        /// How long.
        after: Duration,
    },
    /// The connection ended in the middle of an answer.
    #[error(
        "the answer of the model server {place} was cut off in the middle; ask again, and see its log if this repeats"
    )]
    CutOff {
        /// Host and port.
        place: String,
    },
}

fn later(after: Option<Duration>) -> String {
    after.map_or_else(|| "later".into(), |after| format!("in {} s", after.as_secs().max(1)))
}

impl ChatRequest {
    /// About how many tokens the model reads, when there is no count.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let messages: u64 = self.messages.iter().map(ChatMessage::estimated_tokens).sum();
        let tools = self.tools.iter().map(|tool| {
            let words = tool.name.len() + tool.description.len() + tool.schema.to_string().len();
            estimated_tokens(words) + TOKENS_PER_MESSAGE
        });
        messages + tools.sum::<u64>() + estimated_tokens(self.system.len()) + TOKENS_PER_MESSAGE
    }
}

impl ChatMessage {
    /// About how many tokens the message takes.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let bytes = match self {
            Self::User(text) | Self::Tool { text, .. } => text.len(),
            Self::Assistant { text, calls } => text.len() + calls.iter().map(ToolCall::size).sum::<usize>(),
        };
        estimated_tokens(bytes) + TOKENS_PER_MESSAGE
    }
}

impl ToolCall {
    /// Bytes that the model wrote for the call.
    #[must_use]
    pub fn size(&self) -> usize {
        self.name.len() + self.arguments.len()
    }
}

/// About how many tokens a text of so many bytes has.
#[must_use]
pub fn estimated_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_says_what_to_do() {
        let place = || "models.example:443".to_owned();
        let why = || "words".to_owned();
        let after = Duration::from_secs(7);
        let errors = [
            (ModelError::Unreachable { place: place(), why: why() }, "start it"),
            (
                ModelError::Unauthorized { place: place(), remedy: "set OPENAI_API_KEY".into() },
                "set OPENAI_API_KEY",
            ),
            (ModelError::NoSuchModel { place: place(), model: "m".into() }, "set `model`"),
            (
                ModelError::RateLimited { place: place(), why: why(), retry_after: Some(after) },
                "try again in 7 s",
            ),
            (ModelError::RateLimited { place: place(), why: why(), retry_after: None }, "try again later"),
            (ModelError::TooLong { why: why() }, "lower `memory`"),
            (ModelError::BadAnswer { place: place(), why: why() }, "check its base_url"),
            (ModelError::TimedOut { place: place(), after }, "see whether it is overloaded"),
            (ModelError::CutOff { place: place() }, "ask again"),
        ];
        for (error, remedy) in errors {
            assert!(error.to_string().contains(remedy), "{error}");
        }
    }

    #[test]
    fn a_request_is_estimated_from_all_its_words() {
        let mut request = ChatRequest { system: "abcd".into(), ..ChatRequest::default() };
        let empty = request.estimated_tokens();
        request.messages.push(ChatMessage::User("x".repeat(400)));
        assert_eq!(request.estimated_tokens(), empty + 104);
        let call = ToolCall { id: "1".into(), name: "ask_calc".into(), arguments: "{}".into() };
        request.messages.push(ChatMessage::Assistant { text: String::new(), calls: vec![call] });
        assert_eq!(request.estimated_tokens(), empty + 104 + 7);
    }
}

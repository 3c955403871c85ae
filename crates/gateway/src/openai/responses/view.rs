//! View: a turn of a task as a response.
//!
//! Promises: every field that the official clients want is there; what an agent has no word for has the value
//! that says so. The output is one message with one text. `metadata` carries what the caller sent and where
//! the task stands.

use agentsite_protocol::{JsonMap, Message, Task, TaskState};
use serde_json::{Value, json};

use super::super::exchange::Exchange;
use super::super::seconds;
use super::title::Title;

/// What of a request its response repeats.
#[derive(Debug, Clone, Default)]
pub(super) struct Frame {
    pub(super) instructions: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) metadata: JsonMap,
    pub(super) background: bool,
    pub(super) store: bool,
    pub(super) format: Value,
}

impl Frame {
    /// As much as a task remembers of the request.
    pub(super) fn of_task(task: &Task) -> Self {
        let said = |message: &&Message| message.extra.get("metadata").is_some_and(Value::is_object);
        let metadata =
            task.history.iter().rev().find(said).and_then(|message| message.extra["metadata"].as_object());
        Self { metadata: metadata.cloned().unwrap_or_default(), store: true, ..Self::default() }
    }
}

/// A turn as a response.
pub(super) struct View<'a> {
    exchange: &'a Exchange,
    title: &'a Title,
    frame: &'a Frame,
}

impl<'a> View<'a> {
    pub(super) const fn of(exchange: &'a Exchange, title: &'a Title, frame: &'a Frame) -> Self {
        Self { exchange, title, frame }
    }

    /// How far it is.
    pub(super) const fn status(&self) -> &'static str {
        match self.exchange.turn.state {
            TaskState::Submitted => "queued",
            TaskState::Working => "in_progress",
            TaskState::Failed => "failed",
            TaskState::Canceled => "cancelled",
            TaskState::Completed
            | TaskState::Rejected
            | TaskState::InputRequired
            | TaskState::AuthRequired => "completed",
        }
    }

    /// The whole response.
    pub(super) fn json(&self) -> Value {
        let (exchange, frame) = (self.exchange, self.frame);
        let turn = &exchange.turn;
        let is_done = self.status() == "completed";
        let error = turn.fault.as_ref().filter(|_| turn.state == TaskState::Failed);
        let mut metadata = frame.metadata.clone();
        metadata.extend(exchange.metadata());
        let format = if frame.format.is_null() { json!({ "type": "text" }) } else { frame.format.clone() };
        json!({
            "id": self.title.to_string(),
            "object": "response",
            "created_at": seconds(exchange.created),
            "completed_at": turn.at.filter(|_| is_done).or(is_done.then_some(exchange.created)).map(seconds),
            "status": self.status(),
            "background": frame.background,
            "error": error.map(|words| json!({ "code": "server_error", "message": words })),
            "incomplete_details": null,
            "instructions": frame.instructions,
            "max_output_tokens": null,
            "model": exchange.agent.as_str(),
            "output": if turn.text.is_empty() && !is_done { json!([]) } else { json!([self.item()]) },
            "parallel_tool_calls": true,
            "previous_response_id": frame.previous,
            "conversation": { "id": exchange.context.as_str() },
            "reasoning": null,
            "store": frame.store,
            "temperature": null,
            "text": { "format": format },
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
            "truncation": "disabled",
            "usage": turn.is_settled().then(|| self.usage()),
            "metadata": metadata,
        })
    }

    /// The one message of the output.
    pub(super) fn item(&self) -> Value {
        let status = match self.status() {
            "completed" => "completed",
            "queued" | "in_progress" => "in_progress",
            _ => "incomplete",
        };
        json!({
            "id": self.title.item(), "type": "message", "status": status, "role": "assistant",
            "content": [part(&self.exchange.turn.text)],
        })
    }

    fn usage(&self) -> Value {
        let usage = self.exchange.turn.usage;
        json!({
            "input_tokens": usage.input_tokens,
            "input_tokens_details": { "cached_tokens": 0, "cache_write_tokens": 0 },
            "output_tokens": usage.output_tokens,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": usage.tokens(),
        })
    }
}

/// A text of the output.
pub(super) fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

//! Words: what a message to a tool server means.
//!
//! Promises: a data part that names a tool is a call. So are plain words that begin with the name of a tool,
//! followed by its arguments as JSON, by nothing, or by the one text that it takes. Other words go to a model
//! when there is one; a server with a single tool understands them without. It calls nothing itself.

use std::sync::Arc;

use agentsite_protocol::mcp::{Abilities, Tool, ToolCall};
use agentsite_protocol::{Caller, JsonMap, Message, Outcome};
use serde_json::Value;

use super::hosted::HostedServer;
use crate::llm::LlmRunner;
use crate::{Exchange, Health, Job, Reporter, Runner, Toolbox, ToolboxRunner};

/// Finds out what messages mean.
#[derive(Debug)]
pub(super) struct Interpreter {
    server: Arc<HostedServer>,
    speech: Option<LlmRunner>,
}

/// What a message means.
#[derive(Debug)]
pub(super) enum Interpretation {
    /// A call of a tool, in structured form; or nothing, which is refused with words that say how to call.
    Call(Message),
    /// Something for the model.
    Talk,
}

impl Interpreter {
    /// Understands calls of this server's tools, and other words with the help of `speech`.
    pub(super) const fn new(server: Arc<HostedServer>, speech: Option<LlmRunner>) -> Self {
        Self { server, speech }
    }

    /// How many earlier messages the model needs; none when there is no model.
    pub(super) fn memory(&self) -> usize {
        let speech = self.speech.as_ref().filter(|speech| speech.health() == Health::Ready);
        speech.map_or(0, Runner::memory)
    }

    /// What the message of a job means.
    pub(super) async fn understand(&self, job: &Job) -> Interpretation {
        let as_it_is = || Interpretation::Call(job.message.clone());
        if let Some(memo) = &job.memo {
            return if LlmRunner::remembers(memo) { Interpretation::Talk } else { as_it_is() };
        }
        if ToolboxRunner::takes(&job.message) {
            return as_it_is();
        }
        let exchange = Exchange::silent(Caller::inside(job.owner.clone()), Abilities::default());
        // Without its tools nothing can be understood; the call says why.
        let Ok(tools) = self.server.tools(&exchange).await else { return as_it_is() };
        let text = job.message.plain_text();
        let called =
            |call: &ToolCall| Interpretation::Call(ToolboxRunner::request(job.message.clone(), call));
        if let Some(call) = by_name(&tools, &text) {
            return called(&call);
        }
        match &self.speech {
            Some(speech) if speech.has_model().await => Interpretation::Talk,
            _ => match &*tools {
                [only] => arguments(only, text.trim()).map_or_else(as_it_is, |call| called(&call)),
                _ => as_it_is(),
            },
        }
    }

    /// Lets the model answer.
    pub(super) async fn talk(&self, job: Job, report: Reporter) -> Outcome {
        match &self.speech {
            Some(speech) => speech.run(job, report).await,
            None => job.failed("this agent has no model to understand plain language"),
        }
    }
}

/// A text call that begins with the name of a tool.
fn by_name(tools: &[Tool], text: &str) -> Option<ToolCall> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_whitespace() || c == '{').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    arguments(tools.iter().find(|tool| tool.name == name)?, rest.trim())
}

/// The call of a tool with arguments as text: JSON, nothing, or the one text that it takes.
fn arguments(tool: &Tool, words: &str) -> Option<ToolCall> {
    let call =
        |arguments: JsonMap| Some(ToolCall { name: tool.name.clone(), arguments, ..ToolCall::default() });
    if let Ok(arguments) = serde_json::from_str::<JsonMap>(words) {
        return call(arguments);
    }
    let schema = &tool.input_schema;
    if words.is_empty() {
        let needs = schema["required"].as_array().is_some_and(|needs| !needs.is_empty());
        return if needs { None } else { call(JsonMap::new()) };
    }
    let mut fields = schema["properties"].as_object()?.iter();
    let ((name, field), None) = (fields.next()?, fields.next()) else { return None };
    if field["type"] != "string" {
        return None;
    }
    call(JsonMap::from_iter([(name.clone(), Value::String(words.to_owned()))]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, properties: &Value, required: &[&str]) -> Tool {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        Tool { name: name.into(), input_schema: schema, ..Tool::default() }
    }

    fn understood(text: &str) -> Option<Value> {
        let tools = [
            tool("echo", &json!({"message": {"type": "string"}}), &["message"]),
            tool("add", &json!({"a": {"type": "number"}, "b": {"type": "number"}}), &["a", "b"]),
            tool("env", &json!({}), &[]),
        ];
        by_name(&tools, text).map(|call| json!([call.name, call.arguments]))
    }

    #[test]
    fn words_that_begin_with_a_tool_are_a_call() {
        for (text, means) in [
            ("add {\"a\": 1, \"b\": 2}", json!(["add", {"a": 1, "b": 2}])),
            ("  add{\"a\":1}", json!(["add", {"a": 1}])),
            ("echo hello there", json!(["echo", {"message": "hello there"}])),
            ("echo\n{\"message\": \"x\"}", json!(["echo", {"message": "x"}])),
            ("env", json!(["env", {}])),
        ] {
            assert_eq!(understood(text), Some(means), "{text}");
        }
    }

    #[test]
    fn other_words_are_none() {
        for text in ["", "please add 1 and 2", "add 1 and 2", "add", "adding {}", "env vars", "echo", "{}"] {
            assert_eq!(understood(text), None, "{text}");
        }
    }
}

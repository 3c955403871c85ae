//! Tool: something a tool server does for its clients, and what comes back.
//!
//! Promises: schemas and fields of later revisions survive a round trip unread. It does not check arguments
//! against a schema.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Content, Round};
use crate::JsonMap;

/// Whether a call of a tool may be handed back as a task to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskSupport {
    /// The result comes with the answer.
    #[default]
    Never,
    /// A task when the client can follow one, the result otherwise.
    Optional,
    /// Always a task; a client that cannot follow one is refused.
    Required,
    /// It asks its caller first, as part of the answer; the call that comes with the answers is a task, as
    /// with `Required`.
    AfterInput,
}

/// Something a tool server does.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Its identifier.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for people and models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of its arguments; an object.
    pub input_schema: Value,
    /// JSON Schema of its structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints such as `readOnlyHint`; the server's own word, to be trusted no further than the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<JsonMap>,
    /// Whether a call may become a task. Not on the wire: the extension leaves it to the server.
    #[serde(skip)]
    pub tasks: TaskSupport,
    /// Everything else, such as icons and `_meta`.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// A request to use a tool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolCall {
    /// Which one.
    pub name: String,
    /// Its arguments.
    pub arguments: JsonMap,
    /// What was answered to earlier questions.
    pub round: Round,
}

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// For people and models.
    #[serde(default)]
    pub content: Vec<Content>,
    /// For programs; fits the tool's output schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the tool failed; the content then says why, for the model to try otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Everything else.
    #[serde(flatten)]
    pub extra: JsonMap,
}

impl ToolResult {
    /// A result of words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// A failure that the model may read and mend.
    #[must_use]
    pub fn error(why: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(why) }
    }

    /// A result for programs, with the same as text for other readers.
    #[must_use]
    pub fn structured(value: Value) -> Self {
        let words = value.to_string();
        Self { structured_content: Some(value), ..Self::text(words) }
    }

    /// The text of the content, joined by a line feed.
    #[must_use]
    pub fn plain_text(&self) -> String {
        let words: Vec<&str> = self.content.iter().filter_map(|piece| piece.text.as_deref()).collect();
        words.join("\n")
    }
}

//! Prompt: a text template that a tool server offers, with arguments; and completions of those arguments.
//!
//! Promises: fields of later revisions survive a round trip. It does not fill places.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Content, Round};
use crate::JsonMap;

/// A text template with arguments.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Prompt {
    /// Its identifier.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The places to fill.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// A place to fill.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What belongs there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the prompt requires it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Everything else.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// A request for a prompt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PromptCall {
    /// Which one.
    pub name: String,
    /// What fills its places.
    pub arguments: BTreeMap<String, String>,
    /// What was answered to earlier questions.
    pub round: Round,
}

/// A prompt with its places filled.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PromptText {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What to send to a model.
    pub messages: Vec<PromptMessage>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// One thing to be said to a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PromptMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// The content.
    pub content: Content,
}

impl PromptMessage {
    /// Something the user says.
    #[must_use]
    pub fn user(content: Content) -> Self {
        Self { role: "user".into(), content }
    }
}

/// What is being completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CompletionOf {
    /// A place of the prompt of this name.
    Prompt(String),
    /// A place of this template of resources.
    Template(String),
}

/// A request for completions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completing {
    /// Of what.
    pub of: CompletionOf,
    /// The place.
    pub argument: String,
    /// What was typed so far.
    pub value: String,
    /// What fills the other places.
    pub others: BTreeMap<String, String>,
}

/// What may be meant.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completions {
    /// The best ones, at most a hundred.
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

//! Task, TaskStatus and Artifact in protobuf.
//!
//! Promises: a task is written as other agents see it, from the same view that makes the JSON. Reading one
//! back is the client's matter, which has its own form of a foreign task and reads it from JSON.

use prost_types::{Struct, Timestamp};
use serde::{Serialize, Serializer};

use super::message::{Part, keep_metadata, keep_texts, metadata_of, said, texts_of};
use super::{Message, Problem, WrongField, each, is_default, json};
use crate::{JsonMap, WireTask};

/// State of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum TaskState {
    /// Not said.
    Unspecified = 0,
    /// Accepted.
    Submitted = 1,
    /// At work.
    Working = 2,
    /// Done.
    Completed = 3,
    /// Ended by an error.
    Failed = 4,
    /// Ended by the caller.
    Canceled = 5,
    /// Waits for an answer.
    InputRequired = 6,
    /// Not wanted by the agent.
    Rejected = 7,
    /// Waits for a permission or a credential.
    AuthRequired = 8,
}

impl TaskState {
    /// The name in ProtoJSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unspecified => "TASK_STATE_UNSPECIFIED",
            Self::Submitted => "TASK_STATE_SUBMITTED",
            Self::Working => "TASK_STATE_WORKING",
            Self::Completed => "TASK_STATE_COMPLETED",
            Self::Failed => "TASK_STATE_FAILED",
            Self::Canceled => "TASK_STATE_CANCELED",
            Self::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            Self::Rejected => "TASK_STATE_REJECTED",
            Self::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
        }
    }

    /// The state of this number; none when nothing was said.
    ///
    /// # Errors
    /// [`WrongField`] when no state has the number.
    pub fn noun(number: i32) -> Result<Option<crate::TaskState>, WrongField> {
        use crate::TaskState as Noun;
        Ok(Some(match Self::try_from(number).map_err(|_| WrongField::new("", Problem::Word))? {
            Self::Unspecified => return Ok(None),
            Self::Submitted => Noun::Submitted,
            Self::Working => Noun::Working,
            Self::Completed => Noun::Completed,
            Self::Failed => Noun::Failed,
            Self::Canceled => Noun::Canceled,
            Self::InputRequired => Noun::InputRequired,
            Self::Rejected => Noun::Rejected,
            Self::AuthRequired => Noun::AuthRequired,
        }))
    }
}

/// Writes the name of a state, which JSON has in place of its number; the number when it has no name.
fn state_word<S: Serializer>(number: &i32, out: S) -> Result<S::Ok, S::Error> {
    match TaskState::try_from(*number) {
        Ok(state) => out.serialize_str(state.word()),
        Err(_) => out.serialize_i32(*number),
    }
}

impl From<crate::TaskState> for TaskState {
    fn from(state: crate::TaskState) -> Self {
        use crate::TaskState as Noun;
        match state {
            Noun::Submitted => Self::Submitted,
            Noun::Working => Self::Working,
            Noun::Completed => Self::Completed,
            Noun::Failed => Self::Failed,
            Noun::Canceled => Self::Canceled,
            Noun::InputRequired => Self::InputRequired,
            Noun::Rejected => Self::Rejected,
            Noun::AuthRequired => Self::AuthRequired,
        }
    }
}

/// One piece of work.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its id.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The conversation it belongs to.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub context_id: String,
    /// Its status.
    #[prost(message, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// What was made.
    #[prost(message, repeated, tag = "4")]
    #[serde(skip_serializing_if = "is_default")]
    pub artifacts: Vec<Artifact>,
    /// What was said.
    #[prost(message, repeated, tag = "5")]
    #[serde(skip_serializing_if = "is_default")]
    pub history: Vec<Message>,
    /// Additional data of the agent.
    #[prost(message, optional, tag = "6")]
    #[serde(with = "json::free_object", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Struct>,
}

/// State of a task, since when, with the agent's message about it.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct TaskStatus {
    /// The state.
    #[prost(enumeration = "TaskState", tag = "1")]
    #[serde(serialize_with = "state_word")]
    pub state: i32,
    /// What the agent says about it.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Since when.
    #[prost(message, optional, tag = "3")]
    #[serde(with = "json::when", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

/// A result of a task.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Unique within the task.
    #[prost(string, tag = "1")]
    pub artifact_id: String,
    /// A name for people.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// What it is.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub description: String,
    /// The content.
    #[prost(message, repeated, tag = "4")]
    pub parts: Vec<Part>,
    /// Additional data of the agent.
    #[prost(message, optional, tag = "5")]
    #[serde(with = "json::free_object", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Struct>,
    /// Extensions that it makes use of.
    #[prost(string, repeated, tag = "6")]
    #[serde(skip_serializing_if = "is_default")]
    pub extensions: Vec<String>,
}

impl TryFrom<&WireTask<'_>> for Task {
    type Error = WrongField;

    fn try_from(task: &WireTask<'_>) -> Result<Self, WrongField> {
        let metadata = if task.metadata.is_empty() { None } else { Some(json::object(&task.metadata)?) };
        Ok(Self {
            id: task.id.to_string(),
            context_id: task.context_id.to_string(),
            status: Some(task.status.try_into().map_err(|wrong: WrongField| wrong.within("status"))?),
            artifacts: each("artifacts", task.artifacts, Artifact::try_from)?,
            history: each("history", task.history, Message::try_from)?,
            metadata,
        })
    }
}

impl TryFrom<&crate::TaskStatus> for TaskStatus {
    type Error = WrongField;

    fn try_from(status: &crate::TaskStatus) -> Result<Self, WrongField> {
        let message = status.message.as_ref().map(Message::try_from).transpose();
        Ok(Self {
            state: TaskState::from(status.state).into(),
            message: message.map_err(|wrong| wrong.within("message"))?,
            timestamp: Some(json::time(status.timestamp)),
        })
    }
}

impl TryFrom<TaskStatus> for crate::TaskStatus {
    type Error = WrongField;

    fn try_from(status: TaskStatus) -> Result<Self, WrongField> {
        let state = TaskState::noun(status.state).map_err(|wrong| wrong.within("state"))?;
        let message = status.message.map(crate::Message::try_from).transpose();
        let time = status.timestamp.ok_or_else(|| WrongField::new("timestamp", Problem::Missing))?;
        Ok(Self {
            state: state.ok_or_else(|| WrongField::new("state", Problem::Missing))?,
            message: message.map_err(|wrong| wrong.within("message"))?,
            timestamp: json::moment(&time).map_err(|wrong| wrong.within("timestamp"))?,
        })
    }
}

impl TryFrom<&crate::Artifact> for Artifact {
    type Error = WrongField;

    fn try_from(artifact: &crate::Artifact) -> Result<Self, WrongField> {
        Ok(Self {
            artifact_id: artifact.artifact_id.clone(),
            name: artifact.name.clone().unwrap_or_default(),
            description: artifact.description.clone().unwrap_or_default(),
            parts: each("parts", &artifact.parts, Part::try_from)?,
            metadata: metadata_of(&artifact.extra)?,
            extensions: texts_of(&artifact.extra, "extensions"),
        })
    }
}

impl TryFrom<Artifact> for crate::Artifact {
    type Error = WrongField;

    fn try_from(artifact: Artifact) -> Result<Self, WrongField> {
        let mut noun = Self {
            artifact_id: artifact.artifact_id,
            name: said(artifact.name),
            description: said(artifact.description),
            parts: each("parts", artifact.parts, crate::Part::try_from)?,
            extra: JsonMap::new(),
        };
        keep_metadata(&mut noun.extra, artifact.metadata)?;
        keep_texts(&mut noun.extra, "extensions", artifact.extensions);
        Ok(noun)
    }
}

//! What an A2A agent answers, as values: tasks, messages and the items of a stream.
//!
//! Promises: reads the ProtoJSON of A2A 1.0 as servers write it: default values left out, `null` for absent;
//! unknown fields are kept. Ids of the other side are text, because we do not choose them. It does not send
//! anything.

use agentsite_protocol::{Artifact, JsonMap, Message, TaskState, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};

/// A task at another agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteTask {
    /// The other side's id.
    pub id: String,
    /// The other side's conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// Its status.
    pub status: RemoteStatus,
    /// What was made so far.
    #[serde(default, deserialize_with = "absent_or", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What was said so far.
    #[serde(default, deserialize_with = "absent_or", skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Message>,
    /// Fields that this version does not read.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// Status of a task at another agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemoteStatus {
    /// The state.
    pub state: TaskState,
    /// What the agent says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Since when; absent when the other side does not say or says it in no form we read.
    #[serde(default, deserialize_with = "readable_time", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

/// The answer to a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// A task that was begun or continued.
    Task(RemoteTask),
    /// Words, and no task.
    Message(Message),
}

/// One item of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamItem {
    /// The whole task; the first item.
    Task(RemoteTask),
    /// Words instead of a task; then the only item.
    Message(Message),
    /// The status of the task changed.
    #[serde(rename = "statusUpdate", rename_all = "camelCase")]
    Status {
        /// The task.
        task_id: String,
        /// Its conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_id: Option<String>,
        /// Its status.
        status: RemoteStatus,
    },
    /// Something was made, or a further piece of it.
    #[serde(rename = "artifactUpdate", rename_all = "camelCase")]
    Artifact {
        /// The task.
        task_id: String,
        /// Its conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_id: Option<String>,
        /// The thing or the piece.
        artifact: Artifact,
        /// Whether it continues the artifact of the same id.
        #[serde(default, deserialize_with = "absent_or")]
        append: bool,
        /// Whether nothing more of it will come.
        #[serde(default, deserialize_with = "absent_or")]
        last_chunk: bool,
    },
}

impl StreamItem {
    /// The state that the item tells, if it tells one.
    #[must_use]
    pub const fn state(&self) -> Option<TaskState> {
        match self {
            Self::Task(task) => Some(task.status.state),
            Self::Status { status, .. } => Some(status.state),
            Self::Message(_) | Self::Artifact { .. } => None,
        }
    }

    /// The task that the item is about, if it is about one.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        match self {
            Self::Task(task) => Some(&task.id),
            Self::Status { task_id, .. } | Self::Artifact { task_id, .. } => Some(task_id),
            Self::Message(_) => None,
        }
    }

    /// Whether the stream may end after this item.
    #[must_use]
    pub fn settles(&self) -> bool {
        matches!(self, Self::Message(_)) || self.state().is_some_and(TaskState::is_settled)
    }

    /// Whether nothing can follow. A task that waits for its caller may be only the picture before a further
    /// message.
    pub(super) fn closes(&self) -> bool {
        match self {
            Self::Message(_) => true,
            Self::Task(task) => task.status.state.is_terminal(),
            Self::Status { status, .. } => status.state.is_settled(),
            Self::Artifact { .. } => false,
        }
    }
}

/// Reads `null` as the default value.
pub(super) fn absent_or<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    input: D,
) -> Result<T, D::Error> {
    Option::deserialize(input).map(Option::unwrap_or_default)
}

fn readable_time<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(input)?;
    Ok(text.and_then(|text| Timestamp::parse(&text).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_task_event_of_the_official_sdk_is_read() {
        let wire = r#"{"task": {"id": "7ae1", "contextId": "407e", "status": {"state": "TASK_STATE_SUBMITTED"}, "history": [{"messageId": "70e6", "contextId": "407e", "taskId": "7ae1", "role": "ROLE_USER", "parts": [{"text": "hello there"}]}]}}"#;
        let StreamItem::Task(task) = serde_json::from_str(wire).unwrap() else { panic!("a task") };
        assert_eq!((task.id.as_str(), task.status.state), ("7ae1", TaskState::Submitted));
        assert_eq!(task.status.timestamp, None);
        assert_eq!(task.history[0].plain_text(), "hello there");
    }

    #[test]
    fn a_chunk_of_the_official_sdk_is_read() {
        let wire = r#"{"artifactUpdate": {"taskId": "7ae1", "contextId": "407e", "artifact": {"artifactId": "shout", "name": "shout", "parts": [{"text": "THERE"}]}, "append": true, "lastChunk": true}}"#;
        let item: StreamItem = serde_json::from_str(wire).unwrap();
        assert!(matches!(item, StreamItem::Artifact { append: true, last_chunk: true, .. }), "{item:?}");
        assert!(!item.settles());
    }

    #[test]
    fn null_is_absent_and_a_strange_time_is_no_time() {
        let wire = r#"{"id":"t","contextId":null,"status":{"state":"TASK_STATE_COMPLETED","message":null,"timestamp":"yesterday"},"artifacts":null,"history":null,"metadata":{"a":1},"mood":"good"}"#;
        let task: RemoteTask = serde_json::from_str(wire).unwrap();
        assert_eq!(task.status, RemoteStatus { state: TaskState::Completed, message: None, timestamp: None });
        assert_eq!(task.extra["mood"], "good");
    }

    #[test]
    fn a_status_that_waits_closes_the_stream_but_its_picture_does_not() {
        let status = RemoteStatus { state: TaskState::InputRequired, message: None, timestamp: None };
        let item = StreamItem::Status { task_id: "t".into(), context_id: None, status: status.clone() };
        assert!(item.settles() && item.closes());
        let task = RemoteTask {
            id: "t".into(),
            context_id: None,
            status,
            artifacts: Vec::new(),
            history: Vec::new(),
            extra: JsonMap::new(),
        };
        let item = StreamItem::Task(task);
        assert!(item.settles() && !item.closes());
    }
}

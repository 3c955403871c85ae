//! Answers in protobuf: what a message led to, pages of tasks, and the items of a stream.
//!
//! Promises: an item of a stream is made from the same view that makes the JSON. It does not carry the number
//! of an event: the specification has no field for it.

use prost_types::Struct;
use serde::Serialize;

use super::{Artifact, Message, Task, TaskPushNotificationConfig, TaskStatus, WrongField, is_default, json};
use crate::{JsonMap, WireStreamItem};

/// What a message led to.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct SendMessageResponse {
    /// A task or a message.
    #[prost(oneof = "SendPayload", tags = "1, 2")]
    #[serde(flatten)]
    pub payload: Option<SendPayload>,
}

/// A task or a message.
#[derive(Clone, PartialEq, prost::Oneof, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SendPayload {
    /// A task that was begun or continued.
    #[prost(message, tag = "1")]
    Task(Task),
    /// Words, and no task.
    #[prost(message, tag = "2")]
    Message(Message),
}

/// One item of a stream.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct StreamResponse {
    /// The item.
    #[prost(oneof = "StreamItem", tags = "1, 2, 3, 4")]
    #[serde(flatten)]
    pub payload: Option<StreamItem>,
}

/// What an item of a stream tells.
#[derive(Clone, PartialEq, prost::Oneof, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamItem {
    /// The whole task.
    #[prost(message, tag = "1")]
    Task(Task),
    /// Words instead of a task.
    #[prost(message, tag = "2")]
    Message(Message),
    /// The status of the task changed.
    #[prost(message, tag = "3")]
    StatusUpdate(TaskStatusUpdateEvent),
    /// Something was made.
    #[prost(message, tag = "4")]
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

/// The status of the task changed.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatusUpdateEvent {
    /// The task.
    #[prost(string, tag = "1")]
    pub task_id: String,
    /// Its conversation.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub context_id: String,
    /// Its status.
    #[prost(message, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// Additional data of the agent.
    #[prost(message, optional, tag = "4")]
    #[serde(with = "json::free_object", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Struct>,
}

/// Something was made, or a further piece of it.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskArtifactUpdateEvent {
    /// The task.
    #[prost(string, tag = "1")]
    pub task_id: String,
    /// Its conversation.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub context_id: String,
    /// The thing or the piece.
    #[prost(message, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// Whether it continues the artifact of the same id.
    #[prost(bool, tag = "4")]
    pub append: bool,
    /// Whether nothing more of it will come.
    #[prost(bool, tag = "5")]
    pub last_chunk: bool,
    /// Additional data of the agent.
    #[prost(message, optional, tag = "6")]
    #[serde(with = "json::free_object", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Struct>,
}

/// A page of tasks.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksResponse {
    /// The tasks, the last changed first.
    #[prost(message, repeated, tag = "1")]
    pub tasks: Vec<Task>,
    /// Leads to the next page; empty on the last.
    #[prost(string, tag = "2")]
    pub next_page_token: String,
    /// Most tasks of a page.
    #[prost(int32, tag = "3")]
    pub page_size: i32,
    /// Tasks on all pages.
    #[prost(int32, tag = "4")]
    pub total_size: i32,
}

/// A page of the push receivers of a task.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTaskPushNotificationConfigsResponse {
    /// The places.
    #[prost(message, repeated, tag = "1")]
    pub configs: Vec<TaskPushNotificationConfig>,
    /// Leads to the next page; empty on the last.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub next_page_token: String,
}

impl TryFrom<&WireStreamItem<'_>> for StreamResponse {
    type Error = WrongField;

    fn try_from(item: &WireStreamItem<'_>) -> Result<Self, WrongField> {
        let within = |field: &'static str| move |wrong: WrongField| wrong.within(field);
        let payload = match item {
            WireStreamItem::Task(task) => StreamItem::Task(task.try_into().map_err(within("task"))?),
            WireStreamItem::Message(message) => {
                StreamItem::Message((*message).try_into().map_err(within("message"))?)
            }
            WireStreamItem::StatusUpdate { task_id, context_id, status, metadata } => {
                StreamItem::StatusUpdate(TaskStatusUpdateEvent {
                    task_id: task_id.to_string(),
                    context_id: context_id.to_string(),
                    status: Some(status.try_into().map_err(within("statusUpdate.status"))?),
                    metadata: shown(metadata).map_err(within("statusUpdate.metadata"))?,
                })
            }
            WireStreamItem::ArtifactUpdate {
                task_id,
                context_id,
                artifact,
                append,
                last_chunk,
                metadata,
            } => StreamItem::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: task_id.to_string(),
                context_id: context_id.to_string(),
                artifact: Some((*artifact).try_into().map_err(within("artifactUpdate.artifact"))?),
                append: *append,
                last_chunk: *last_chunk,
                metadata: shown(metadata).map_err(within("artifactUpdate.metadata"))?,
            }),
        };
        Ok(Self { payload: Some(payload) })
    }
}

/// Metadata, left out when there is none.
fn shown(metadata: &JsonMap) -> Result<Option<Struct>, WrongField> {
    if metadata.is_empty() { Ok(None) } else { json::object(metadata).map(Some) }
}

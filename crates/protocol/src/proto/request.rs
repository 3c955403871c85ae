//! Requests in protobuf, one for each of the eleven operations, and the configuration of push notifications.
//!
//! Promises: plain data; what a request means and whether it may be done is decided where it is served. An
//! absent field and an empty one are the same, except for those that protobuf marks as optional.

use prost_types::{Struct, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Message, WrongField, is_default, json};

/// A message for an agent. Both ways to send have it.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SendMessageRequest {
    /// The agent, where several share an address.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The message.
    #[prost(message, optional, tag = "2")]
    pub message: Option<Message>,
    /// How the answer is wanted.
    #[prost(message, optional, tag = "3")]
    pub configuration: Option<SendMessageConfiguration>,
    /// Additional data of the caller.
    #[prost(message, optional, tag = "4")]
    pub metadata: Option<Struct>,
}

/// How the answer to a message is wanted.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SendMessageConfiguration {
    /// Media types that the caller takes.
    #[prost(string, repeated, tag = "1")]
    pub accepted_output_modes: Vec<String>,
    /// Where to tell of the task's changes.
    #[prost(message, optional, tag = "2")]
    pub task_push_notification_config: Option<TaskPushNotificationConfig>,
    /// Most messages of the history.
    #[prost(int32, optional, tag = "3")]
    pub history_length: Option<i32>,
    /// Whether the answer comes before the task has ended.
    #[prost(bool, tag = "4")]
    pub return_immediately: bool,
}

/// Asks for a task.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetTaskRequest {
    /// The agent, where several share an address.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The task.
    #[prost(string, tag = "2")]
    pub id: String,
    /// Most messages of the history.
    #[prost(int32, optional, tag = "3")]
    pub history_length: Option<i32>,
}

/// Asks for a page of tasks.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListTasksRequest {
    /// The agent, where several share an address.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// Only of this conversation.
    #[prost(string, tag = "2")]
    pub context_id: String,
    /// Only in this state.
    #[prost(enumeration = "super::TaskState", tag = "3")]
    pub status: i32,
    /// Most tasks of the page.
    #[prost(int32, optional, tag = "4")]
    pub page_size: Option<i32>,
    /// The page, as the one before named it.
    #[prost(string, tag = "5")]
    pub page_token: String,
    /// Most messages of each task's history.
    #[prost(int32, optional, tag = "6")]
    pub history_length: Option<i32>,
    /// Only changed since.
    #[prost(message, optional, tag = "7")]
    pub status_timestamp_after: Option<Timestamp>,
    /// Whether artifacts are wanted.
    #[prost(bool, optional, tag = "8")]
    pub include_artifacts: Option<bool>,
}

impl ListTasksRequest {
    /// The moment since which tasks must have changed.
    ///
    /// # Errors
    /// [`WrongField`] when it is not a moment.
    pub fn changed_since(&self) -> Result<Option<crate::Timestamp>, WrongField> {
        let moment = self.status_timestamp_after.as_ref().map(json::moment).transpose();
        moment.map_err(|wrong| wrong.within("statusTimestampAfter"))
    }
}

/// Asks for the end of a task.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CancelTaskRequest {
    /// The agent, where several share an address.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The task.
    #[prost(string, tag = "2")]
    pub id: String,
    /// Additional data of the caller.
    #[prost(message, optional, tag = "3")]
    pub metadata: Option<Struct>,
}

/// Asks for the events of a task.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SubscribeToTaskRequest {
    /// The agent, where several share an address.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The task.
    #[prost(string, tag = "2")]
    pub id: String,
}

/// Asks for the card that callers who sign in may see.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetExtendedAgentCardRequest {
    /// The agent, where several share an address.
    #[prost(string, tag = "1")]
    pub tenant: String,
}

/// Where to tell of a task's changes; also the request that creates it.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskPushNotificationConfig {
    /// The agent, where several share an address.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub tenant: String,
    /// Unique within the task.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub id: String,
    /// The task.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub task_id: String,
    /// Where to call.
    #[prost(string, tag = "4")]
    pub url: String,
    /// Sent along, so that the receiver knows whose call it is.
    #[prost(string, tag = "5")]
    #[serde(skip_serializing_if = "is_default")]
    pub token: String,
    /// What the receiver requests.
    #[prost(message, optional, tag = "6")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationInfo>,
}

/// What the receiver of a push notification requests.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct AuthenticationInfo {
    /// `Bearer`, `Basic` and the like.
    #[prost(string, tag = "1")]
    pub scheme: String,
    /// What goes with it.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub credentials: String,
}

/// Asks for one configuration of push notifications.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetTaskPushNotificationConfigRequest {
    /// The agent, where several share an address.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The task.
    #[prost(string, tag = "2")]
    pub task_id: String,
    /// The configuration.
    #[prost(string, tag = "3")]
    pub id: String,
}

/// Asks for the end of one configuration of push notifications.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DeleteTaskPushNotificationConfigRequest {
    /// The agent, where several share an address.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The task.
    #[prost(string, tag = "2")]
    pub task_id: String,
    /// The configuration.
    #[prost(string, tag = "3")]
    pub id: String,
}

/// Asks for the configurations of push notifications of a task.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListTaskPushNotificationConfigsRequest {
    /// The task.
    #[prost(string, tag = "1")]
    pub task_id: String,
    /// Most configurations of the page.
    #[prost(int32, tag = "2")]
    pub page_size: i32,
    /// The page, as the one before named it.
    #[prost(string, tag = "3")]
    pub page_token: String,
    /// The agent, where several share an address.
    #[prost(string, tag = "4")]
    pub tenant: String,
}

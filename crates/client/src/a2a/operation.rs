//! Operation: a request to an agent, independent of the binding.
//!
//! Promises: the eleven operations of A2A 1.0 with their parameters in ProtoJSON order; whether one may be
//! repeated safely is defined here, once. It contains no addresses and no wire frames.

use agentsite_protocol::{Message, PushConfig, TaskState, Timestamp};
use serde::Serialize;

/// What is asked. Written as JSON it is the parameters, without the tenant.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Operation<'a> {
    Send(Sending<'a>),
    Stream(Sending<'a>),
    #[serde(rename_all = "camelCase")]
    Get {
        id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        history_length: Option<u32>,
    },
    List(&'a ListTasks),
    Cancel {
        id: &'a str,
    },
    Subscribe {
        id: &'a str,
    },
    CreatePush(&'a PushConfig),
    #[serde(rename_all = "camelCase")]
    GetPush {
        task_id: &'a str,
        id: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    ListPush {
        task_id: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    DeletePush {
        task_id: &'a str,
        id: &'a str,
    },
    ExtendedCard {},
}

/// A message and how its answer is wanted.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Sending<'a> {
    pub(super) message: &'a Message,
    pub(super) configuration: Configuration,
}

/// How the answer to a message is wanted.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Configuration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) history_length: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) return_immediately: bool,
}

/// Which tasks are wanted; everything that is left out is decided by the agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasks {
    /// Only of this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// Only in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskState>,
    /// How many at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    /// Where to continue, from the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
    /// How many messages of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u32>,
    /// Only those that changed after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_timestamp_after: Option<Timestamp>,
    /// Whether with what they made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_artifacts: Option<bool>,
}

impl Operation<'_> {
    /// The name that all bindings share.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Send(_) => "SendMessage",
            Self::Stream(_) => "SendStreamingMessage",
            Self::Get { .. } => "GetTask",
            Self::List(_) => "ListTasks",
            Self::Cancel { .. } => "CancelTask",
            Self::Subscribe { .. } => "SubscribeToTask",
            Self::CreatePush(_) => "CreateTaskPushNotificationConfig",
            Self::GetPush { .. } => "GetTaskPushNotificationConfig",
            Self::ListPush { .. } => "ListTaskPushNotificationConfigs",
            Self::DeletePush { .. } => "DeleteTaskPushNotificationConfig",
            Self::ExtendedCard {} => "GetExtendedAgentCard",
        }
    }

    /// Whether the operation is idempotent. Sending a message is not: A2A makes no promise about two with the
    /// same id.
    pub(super) const fn repeats_safely(&self) -> bool {
        !matches!(self, Self::Send(_) | Self::Stream(_) | Self::CreatePush(_))
    }
}

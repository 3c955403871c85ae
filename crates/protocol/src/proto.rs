//! The protobuf form of A2A 1.0: package `lf.a2a.v1`, without generated code, and its conversion to and from
//! the domain types.
//!
//! Promises: field numbers and types are those of the specification's `a2a.proto`; conversions are total,
//! bounded in depth, and name the field that is wrong. Every message is also ProtoJSON by serde
//! ([`to_json`]), so that a client reads answers of any binding alike.
//!
//! Protobuf cannot carry what it does not name: unknown fields in `extra` are left out, an empty text or list
//! is an absent one, and numbers in free JSON are doubles, so that whole ones beyond 2^53 lose their last
//! digits.

mod card;
mod flows;
mod json;
mod message;
mod request;
mod response;
mod rpc;
mod shape;
mod task;

#[cfg(test)]
mod tests;

pub use card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface, AgentProvider,
    AgentSkill, ApiKeySecurityScheme, HttpAuthSecurityScheme, MutualTlsSecurityScheme, OAuth2SecurityScheme,
    OpenIdConnectSecurityScheme, Scheme, SecurityRequirement, SecurityScheme, StringList,
};
pub use flows::{
    AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow, Flow, ImplicitOAuthFlow,
    OAuthFlows, PasswordOAuthFlow,
};
pub use message::{Content, Message, Part, Role};
pub use request::{
    AuthenticationInfo, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageConfiguration, SendMessageRequest,
    SubscribeToTaskRequest, TaskPushNotificationConfig,
};
pub use response::{
    ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse, SendPayload, StreamItem,
    StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent,
};
pub use rpc::{BadRequest, ErrorInfo, FieldViolation, RetryInfo, Status};
pub use shape::{Shape, Unreadable, decode};
pub use task::{Artifact, Task, TaskState, TaskStatus};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The full name of the service, as it appears in the path of every call.
pub const SERVICE: &str = "lf.a2a.v1.A2AService";

/// Deepest nesting of free JSON (data, metadata). Readers of protobuf give up below 100 messages within each
/// other; a level of JSON costs up to three of these, and a part in a task in a list has used five before its
/// content begins.
pub const MAX_DEPTH: usize = 30;

/// A field that has no counterpart on the other side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {problem}")]
pub struct WrongField {
    /// Where, by the names of ProtoJSON with dots and indexes: `message.parts[2].raw`.
    pub field: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is not there.
    #[error("is required")]
    Missing,
    /// An id that no message or context can have.
    #[error("must have 1 to {max} characters and no control characters", max = crate::MAX_FOREIGN_ID)]
    Id,
    /// A number without a known meaning.
    #[error("is not one of the values of A2A 1.0")]
    Word,
    /// More than one of `text`, `raw`, `url` and `data`.
    #[error("must have one of `text`, `raw`, `url` and `data`")]
    Contents,
    /// Text that is not base64.
    #[error("is not base64")]
    Base64,
    /// A number that JSON cannot write.
    #[error("must be a finite number")]
    Number,
    /// A moment outside of the years 1 to 9999.
    #[error("is not a moment between the years 1 and 9999")]
    Time,
    /// Nested too deep.
    #[error("nests deeper than {MAX_DEPTH} levels; flatten it")]
    Depth,
    /// Not of the type that the field has.
    #[error("has the wrong type")]
    Type,
}

impl WrongField {
    pub(crate) fn new(field: &str, problem: Problem) -> Self {
        Self { field: field.into(), problem }
    }

    /// The same, seen from the message around it.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        let dot = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        self.field = format!("{outer}{dot}{}", self.field);
        self
    }
}

/// Converts a list, naming the index of what is wrong.
fn each<A, B>(
    field: &str,
    items: impl IntoIterator<Item = A>,
    convert: impl Fn(A) -> Result<B, WrongField>,
) -> Result<Vec<B>, WrongField> {
    let one = |(at, item)| convert(item).map_err(|wrong: WrongField| wrong.within(&format!("{field}[{at}]")));
    items.into_iter().enumerate().map(one).collect()
}

/// A message as ProtoJSON.
///
/// # Errors
/// [`WrongField`] for a number or a moment that JSON has no form for.
pub fn to_json(message: &impl Serialize) -> Result<serde_json::Value, WrongField> {
    serde_json::to_value(message).map_err(|_| WrongField::new("", Problem::Number))
}

/// A message from ProtoJSON; fields that it does not have are left out.
///
/// # Errors
/// [`WrongField`] when a field has another type, or nests too deep.
pub fn from_json<M: DeserializeOwned>(json: serde_json::Value) -> Result<M, WrongField> {
    serde_json::from_value(json).map_err(|_| WrongField::new("", Problem::Type))
}

/// Metadata of a request as JSON.
///
/// # Errors
/// [`WrongField`] for a number that JSON has no form for, or for too many levels.
pub fn object(metadata: prost_types::Struct) -> Result<crate::JsonMap, WrongField> {
    json::map(metadata)
}

/// Whether a field has the value that protobuf does not write.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

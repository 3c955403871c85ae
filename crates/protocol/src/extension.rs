//! Extensions of A2A that every agent of a site has, and the names that request them.
//!
//! Promises: each is optional for callers and declared on every card; what each means is written in
//! docs/extensions.md. Values travel in the `metadata` of requests, messages, tasks and events, under keys
//! that begin with the extension's URI, as the specification requires.

use serde::{Deserialize, Serialize};

use crate::JsonMap;

/// Streams resume where they were cut, by the number of the last event received.
pub const RESUME: &str = "urn:agentsite:a2a:resume:v1";

/// The number of the last event a caller has seen, in the metadata of a request.
pub const RESUME_AFTER: &str = "urn:agentsite:a2a:resume:v1/after";

/// The number of an event, in its metadata; of a task, the number of its last event.
pub const RESUME_SEQUENCE: &str = "urn:agentsite:a2a:resume:v1/sequence";

/// The same message sent twice gives the same task.
pub const SEND_ONCE: &str = "urn:agentsite:a2a:send-once:v1";

/// The caller says how long the finished task is kept.
pub const TASK_TTL: &str = "urn:agentsite:a2a:task-ttl:v1";

/// Seconds that the task is kept after it has ended, in the metadata of a request.
pub const TASK_TTL_SECONDS: &str = "urn:agentsite:a2a:task-ttl:v1/seconds";

/// When the task will be removed, in its metadata.
pub const TASK_TTL_EXPIRES_AT: &str = "urn:agentsite:a2a:task-ttl:v1/expiresAt";

/// A credential that an agent asked for reaches it without being written down.
pub const TASK_AUTH: &str = "urn:agentsite:a2a:task-auth:v1";

/// The credential, in the metadata of the message that answers the agent.
pub const TASK_AUTH_CREDENTIAL: &str = "urn:agentsite:a2a:task-auth:v1/credential";

/// The bounds within which an agent works; only on the extended card.
pub const LIMITS: &str = "urn:agentsite:a2a:limits:v1";

/// What a tool of MCP gave, asked or was asked for, in the metadata of messages, artifacts and parts where
/// A2A has no place for it.
pub const MCP: &str = "urn:agentsite:a2a:mcp:v1";

/// An extension that an agent declares on its card.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AgentExtension {
    /// Its name.
    pub uri: String,
    /// What it does, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether the agent refuses callers that do not ask for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// What a client has to know about the extension in advance.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub params: JsonMap,
    /// Fields that this version does not read.
    #[serde(flatten)]
    pub extra: JsonMap,
}

impl AgentExtension {
    fn new(uri: &str, description: &str) -> Self {
        Self { uri: uri.into(), description: description.into(), ..Self::default() }
    }

    /// Those that every agent of a site has.
    #[must_use]
    pub fn of_every_agent() -> Vec<Self> {
        vec![
            Self::new(RESUME, "A stream that was cut resumes after the last event that the caller received."),
            Self::new(SEND_ONCE, "The same message sent again gives the same task, never a second one."),
            Self::new(TASK_TTL, "The caller says how long the finished task is kept."),
            Self::new(TASK_AUTH, "A credential that the agent asks for reaches it without being stored."),
        ]
    }

    /// The bounds within which an agent works.
    #[must_use]
    pub fn limits(params: JsonMap) -> Self {
        Self { params, ..Self::new(LIMITS, "The limits of the agent.") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_is_written_without_its_defaults() {
        let resume = &AgentExtension::of_every_agent()[0];
        let wire = serde_json::to_value(resume).unwrap();
        assert_eq!(wire.as_object().unwrap().keys().collect::<Vec<_>>(), ["description", "uri"]);
        assert_eq!(serde_json::from_value::<AgentExtension>(wire).unwrap(), *resume);
    }

    #[test]
    fn keys_begin_with_the_name_of_their_extension() {
        for (key, uri) in [
            (RESUME_AFTER, RESUME),
            (RESUME_SEQUENCE, RESUME),
            (TASK_TTL_SECONDS, TASK_TTL),
            (TASK_TTL_EXPIRES_AT, TASK_TTL),
            (TASK_AUTH_CREDENTIAL, TASK_AUTH),
        ] {
            assert!(key.strip_prefix(uri).is_some_and(|rest| rest.starts_with('/')), "{key}");
        }
    }

    #[test]
    fn fields_of_a_later_version_survive() {
        let wire = serde_json::json!({"uri": "x", "required": true, "params": {"a": 1}, "since": "1.1"});
        let read: AgentExtension = serde_json::from_value(wire.clone()).unwrap();
        assert!(read.required);
        assert_eq!(serde_json::to_value(read).unwrap(), wire);
    }
}

//! Push configurations and pages of tasks: the lesser values of A2A, as they go over the wire.
//!
//! Promises: fields that we do not know survive; `null` and left out are the same. A token is never printed.

use std::fmt;

use agentsite_protocol::JsonMap;
use serde::{Deserialize, Serialize};

use super::wire::{RemoteTask, absent_or};

/// Where an agent shall call when a task changes.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushConfig {
    /// Which one of the task; the agent chooses when it is left out.
    #[serde(deserialize_with = "absent_or", skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The task.
    #[serde(deserialize_with = "absent_or", skip_serializing_if = "String::is_empty")]
    pub task_id: String,
    /// Where to call.
    pub url: String,
    /// Sent along, so that the receiver knows who calls.
    #[serde(deserialize_with = "absent_or", skip_serializing_if = "String::is_empty")]
    pub token: String,
    /// How the agent shows who it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<PushAuthentication>,
    /// Fields that this version does not read.
    #[serde(flatten)]
    pub extra: JsonMap,
}

/// How an agent shows who it is when it calls back.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushAuthentication {
    /// A scheme of HTTP, such as `Bearer`.
    pub scheme: String,
    /// What goes with it.
    #[serde(deserialize_with = "absent_or", skip_serializing_if = "String::is_empty")]
    pub credentials: String,
}

impl fmt::Debug for PushConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, task_id, url, .. } = self;
        out.debug_struct("PushConfig")
            .field("id", id)
            .field("task_id", task_id)
            .field("url", url)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PushAuthentication {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("PushAuthentication").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// Some of the tasks that a caller has at an agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskPage {
    /// The tasks, the one that changed last first.
    #[serde(deserialize_with = "absent_or")]
    pub tasks: Vec<RemoteTask>,
    /// How to ask for the next page; empty on the last.
    #[serde(deserialize_with = "absent_or")]
    pub next_page_token: String,
    /// How many were asked for at once.
    #[serde(deserialize_with = "absent_or")]
    pub page_size: u32,
    /// How many there are in all.
    #[serde(deserialize_with = "absent_or")]
    pub total_size: u32,
}

/// The push configurations of a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PushPage {
    #[serde(deserialize_with = "absent_or")]
    pub(super) configs: Vec<PushConfig>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_survives_and_does_not_print_its_secrets() {
        let wire = r#"{"id":"c","taskId":"t","url":"https://h/","token":"hush","authentication":{"scheme":"Bearer","credentials":"hush"},"mood":1}"#;
        let config: PushConfig = serde_json::from_str(wire).unwrap();
        assert_eq!(serde_json::to_string(&config).unwrap(), wire);
        assert!(!format!("{config:?} {:?}", config.authentication).contains("hush"));
    }

    #[test]
    fn an_empty_page_is_a_page() {
        let page: TaskPage = serde_json::from_str(r#"{"tasks":null,"totalSize":0}"#).unwrap();
        assert!(page.tasks.is_empty() && page.next_page_token.is_empty());
    }
}

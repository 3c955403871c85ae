//! Pages: lists of tasks and of push configurations, as they go over the wire.
//!
//! Promises: `null` and left out are the same. It does not fetch further pages.

use agentsite_protocol::PushConfig;
use serde::{Deserialize, Serialize};

use super::wire::{RemoteTask, absent_or};

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
    fn an_empty_page_is_a_page() {
        let page: TaskPage = serde_json::from_str(r#"{"tasks":null,"totalSize":0}"#).unwrap();
        assert!(page.tasks.is_empty() && page.next_page_token.is_empty());
    }
}

//! RemoteMemo: what a run asks to be reminded of, so that the next run of the task finds its work at the
//! agent.
//!
//! Promises: a memo of another version or shape counts as none, not as an error. `sent` names our message
//! that the agent has got: only a further message is sent, the same one is not sent twice.

use agentsite_protocol::{ContextId, MessageId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where the work of a task continues at the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RemoteMemo {
    /// The agent's id of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote_task: Option<String>,
    /// The agent's id of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote_context: Option<ContextId>,
    /// Our message that the agent got last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sent: Option<MessageId>,
}

impl RemoteMemo {
    /// Reads what an earlier run left.
    pub(super) fn read(memo: Option<&Value>) -> Self {
        memo.and_then(|memo| Self::deserialize(memo).ok()).unwrap_or_default()
    }

    /// The agent's task that already works on this message.
    pub(super) fn at_work_on(&self, message: &MessageId) -> Option<String> {
        if self.sent.as_ref() == Some(message) { self.remote_task.clone() } else { None }
    }

    /// The form in which it is kept.
    pub(super) fn value(&self) -> Value {
        serde_json::to_value(self).expect("three texts have a JSON form")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_message_that_was_sent_is_at_work() {
        let wire = serde_json::json!({"remoteTask": "t", "remoteContext": "c", "sent": "m1"});
        let memo = RemoteMemo::read(Some(&wire));
        assert_eq!(memo.at_work_on(&"m1".parse().unwrap()).as_deref(), Some("t"));
        assert_eq!(memo.at_work_on(&"m2".parse().unwrap()), None);
        assert_eq!(memo.value(), wire);
    }

    #[test]
    fn a_strange_memo_is_none() {
        assert_eq!(RemoteMemo::read(Some(&serde_json::json!([1, 2]))), RemoteMemo::default());
        assert_eq!(RemoteMemo::read(None), RemoteMemo::default());
    }
}

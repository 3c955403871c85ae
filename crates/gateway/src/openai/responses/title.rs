//! Title: the id of a response, in which everything stands that is needed to find it again.
//!
//! Promises: what is written is what is read back; foreign text is bounded. An id is not authority: the site
//! checks whose task it is, and the name of a conversation opens nothing that is another caller's.

use std::fmt;

use agentsite_protocol::{ContextId, MAX_FOREIGN_ID, TaskId};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::exchange::Exchange;

const MARK: &str = "resp_";

/// Stands before the id of an answer that was no task.
const MESSAGE: &str = "m_";

/// What a response is a view of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Title {
    /// A task, from the event on with which the agent's turn began.
    Task(TaskId, u64),
    /// An answer that was not kept: an id of its own, and its conversation.
    Message(String, ContextId),
}

impl Title {
    pub(super) fn of(exchange: &Exchange) -> Self {
        match exchange.task {
            Some((task, seq)) => Self::Task(task, seq),
            None => Self::Message(exchange.name(), exchange.context.clone()),
        }
    }

    /// Reads the id of a response; `None` when it is none of ours.
    pub(super) fn read(id: &str) -> Option<Self> {
        // Base64 is a third longer than what it stands for.
        if id.len() > 2 * MAX_FOREIGN_ID + 80 {
            return None;
        }
        let rest = id.strip_prefix(MARK)?;
        match rest.strip_prefix(MESSAGE) {
            Some(message) => {
                let (own, context) = message.split_once('_')?;
                let context = String::from_utf8(URL_SAFE_NO_PAD.decode(context).ok()?).ok()?;
                Some(Self::Message(own.to_owned(), context.parse().ok()?))
            }
            None => {
                let (task, seq) = rest.split_once('_')?;
                Some(Self::Task(task.parse().ok()?, seq.parse().ok()?))
            }
        }
    }

    /// The id of the one message that a response consists of.
    pub(super) fn item(&self) -> String {
        match self {
            Self::Task(task, seq) => format!("msg_{task}_{seq}"),
            Self::Message(own, _) => format!("msg_{own}"),
        }
    }
}

impl fmt::Display for Title {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task, seq) => write!(out, "{MARK}{task}_{seq}"),
            Self::Message(own, context) => {
                write!(out, "{MARK}{MESSAGE}{own}_{}", URL_SAFE_NO_PAD.encode(context.as_str()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let task = Title::Task("0198c0de-0000-7000-8000-000000000001".parse().unwrap(), 7);
        assert_eq!(task.to_string(), "resp_0198c0de-0000-7000-8000-000000000001_7");
        let message = Title::Message("0198".into(), "my / conversation_ü".parse().unwrap());
        for title in [task, message] {
            assert_eq!(Title::read(&title.to_string()), Some(title));
        }
    }

    #[test]
    fn what_is_no_id_of_ours_is_none() {
        let long = format!("resp_m_x_{}", "A".repeat(500));
        for id in ["", "resp_", "resp_x_1", "resp_m_", "resp_m_x_?", "chatcmpl-1", &long] {
            assert_eq!(Title::read(id), None, "{id}");
        }
    }
}

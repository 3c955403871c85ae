//! Pause: a run that waits because a tool asked something.
//!
//! Promises: it fits in the memo of the task, so that the run continues where it was when the caller has
//! answered, also after a restart. The open call has the same place as that of a set of tools, so that every
//! protocol shows and answers it alike.

use std::collections::VecDeque;

use agentsite_protocol::JsonMap;
use agentsite_protocol::mcp::{self, InputNeeded};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model::{ChatMessage, ToolCall};
use crate::Job;
use crate::toolbox_runner::OpenCall;

/// The key of the memo under which it is kept.
const MEMO: &str = "llm";

/// Most bytes that are kept with a task; a conversation in the memory of a model is a quarter of it.
const MAX_BYTES: usize = 512 << 10;

/// The messages a model has sent and received, and its calls without a result yet.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Talk {
    /// The conversation.
    pub(super) messages: Vec<ChatMessage>,
    /// Calls without a result, the next one first.
    pub(super) calls: VecDeque<ToolCall>,
}

/// A run that waits.
pub(super) struct Pause {
    pub(super) talk: Talk,
    pub(super) open: OpenCall,
}

impl Pause {
    /// Waits for answers to what a tool asked when it was called like this; the error explains why that is
    /// impossible.
    pub(super) fn begin(
        talk: Talk,
        called: &mcp::ToolCall,
        needed: InputNeeded,
        open: Option<OpenCall>,
    ) -> Result<Self, (Talk, String)> {
        let data = JsonMap::from_iter([
            ("tool".into(), called.name.clone().into()),
            ("arguments".into(), Value::Object(called.arguments.clone())),
        ]);
        let mut open = open.unwrap_or_else(|| {
            let mut open = OpenCall::begin(&data, None);
            open.next_round();
            open
        });
        if let Err(why) = open.ask(needed) {
            return Err((talk, why));
        }
        let pause = Self { talk, open };
        let size = pause.memo().to_string().len();
        if size > MAX_BYTES {
            return Err((
                pause.talk,
                format!("the conversation of {size} bytes is too long to be stored until the answer"),
            ));
        }
        Ok(pause)
    }

    /// The run that an earlier one left waiting.
    pub(super) fn remembered(job: &Job) -> Option<Self> {
        let memo = job.memo.as_ref()?;
        let talk = serde_json::from_value(memo.get(MEMO)?.clone()).ok()?;
        Some(Self { talk, open: OpenCall::remembered(memo)? })
    }

    /// Whether a memo is one of these.
    pub(super) fn is_in(memo: &Value) -> bool {
        memo.get(MEMO).is_some()
    }

    /// What the next run must be reminded of.
    pub(super) fn memo(&self) -> Value {
        let mut memo = self.open.memo();
        memo[MEMO] = serde_json::to_value(&self.talk).unwrap_or_default();
        memo
    }
}

//! ToolTask: a call of a tool that goes on after its answer.
//!
//! Promises: it is a view of a task of the site, made anew from what is on disk. It does not hold anything.

use std::collections::BTreeMap;

use agentsite_protocol::mcp::{InputRequest, ToolResult};
use agentsite_protocol::{Period, TaskId, Timestamp};

/// A call of a tool that can be followed as a task.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolTask {
    /// The task of the site.
    pub id: TaskId,
    /// How far it is.
    pub state: ToolTaskState,
    /// What it said last, for people.
    pub words: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
    /// How long after its beginning it is kept at least; `None` when no end is set.
    pub ttl: Option<Period>,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolTaskState {
    /// At work.
    Working,
    /// It waits for answers to these questions.
    Input(BTreeMap<String, InputRequest>),
    /// Here is the result; also one that says what failed.
    Done(ToolResult),
    /// It broke off in a way that is no result.
    Failed(String),
    /// It was ended.
    Canceled,
}

//! ToolTask: a call of a tool that goes on after its answer.
//!
//! Promises: it is a view of a task of the site, made anew from what is on disk, so it is the same after a
//! restart. It does not hold anything.

use std::collections::BTreeMap;

use agentsite_host::{open_questions, result_of};
use agentsite_protocol::mcp::{InputRequest, ToolResult};
use agentsite_protocol::{Message, Period, Task, TaskId, TaskState, Timestamp};

use super::answer::{Form, question, result};
use super::parts::ToolkitParts;

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

/// A task of the site as a call that goes on.
pub(super) fn view(site: &ToolkitParts, task: &Task) -> ToolTask {
    ToolTask {
        id: task.head.id,
        state: state(site, task),
        words: words(task),
        created_at: task.head.created_at,
        updated_at: task.head.updated_at,
        ttl: Some(task.ttl.map_or(site.settings.retention.age, Period)),
    }
}

/// The questions that a task waits for, by names that are unique in its life.
pub(super) fn open(task: &Task) -> BTreeMap<String, InputRequest> {
    match task.head.state {
        TaskState::InputRequired | TaskState::AuthRequired if is_call(task) => open_questions(task),
        TaskState::InputRequired | TaskState::AuthRequired => {
            // The number of the event that asked is unique, and stays the same until somebody answers.
            BTreeMap::from([(format!("{}.answer", task.head.seq), question(task))])
        }
        _ => BTreeMap::new(),
    }
}

/// Whether a task is a call of a tool, and not a conversation.
pub(super) fn is_call(task: &Task) -> bool {
    let first = task.history.first().into_iter().flat_map(|message| &message.parts);
    first.into_iter().any(|part| part.data.as_ref().is_some_and(|data| data["tool"].is_string()))
        || task.artifacts.iter().any(|artifact| result_of(artifact).is_some())
        || !open_questions(task).is_empty()
}

fn state(site: &ToolkitParts, task: &Task) -> ToolTaskState {
    match task.head.state {
        TaskState::Submitted | TaskState::Working => ToolTaskState::Working,
        TaskState::InputRequired | TaskState::AuthRequired => ToolTaskState::Input(open(task)),
        TaskState::Canceled => ToolTaskState::Canceled,
        TaskState::Completed | TaskState::Failed | TaskState::Rejected if is_call(task) => {
            match task.artifacts.iter().find_map(result_of) {
                Some(result) => ToolTaskState::Done(result),
                None if task.head.state == TaskState::Completed => ToolTaskState::Done(ToolResult::default()),
                None => ToolTaskState::Failed(words(task).unwrap_or_else(|| "it did not say why".into())),
            }
        }
        TaskState::Completed | TaskState::Failed | TaskState::Rejected => {
            ToolTaskState::Done(result(task, &Form::of(site, task)))
        }
    }
}

fn words(task: &Task) -> Option<String> {
    task.status.message.as_ref().map(Message::plain_text).filter(|words| !words.is_empty())
}

//! What people read about a task: one line for each turn it takes.
//!
//! Promises: pure; names who did what, with a short excerpt of the words. Chunks and notes in between are
//! left out, because the journal is read by people.

use std::sync::Arc;

use agentsite_protocol::{JournalKind, JournalLine, Message, Task, TaskEvent, TaskEventKind, TaskState};

use crate::kinds;

/// The lines for some events of a task, given the task after them.
pub(crate) fn lines(task: &Task, events: &[Arc<TaskEvent>]) -> Vec<JournalLine> {
    events.iter().filter_map(|event| line(task, event)).collect()
}

fn line(task: &Task, event: &TaskEvent) -> Option<JournalLine> {
    let (owner, agent) = (task.head.owner.as_str(), task.head.agent.as_str());
    let (kind, actor, text) = match &event.kind {
        TaskEventKind::Opened(opening) => {
            (kinds::OPENED, owner, format!("asked {agent}: {}", words(Some(&opening.message))))
        }
        TaskEventKind::Said { message } => {
            (kinds::ANSWERED, owner, format!("answered {agent}: {}", words(Some(message))))
        }
        TaskEventKind::Status { state, message } => {
            let (kind, text) = turn(*state, message.as_ref(), task)?;
            (kind, agent, text)
        }
        _ => return None,
    };
    let line = JournalLine::new(kind, event.at, actor, text);
    Some(line.about_task(task.head.id, Some(task.head.agent.clone())))
}

fn turn(state: TaskState, message: Option<&Message>, task: &Task) -> Option<(JournalKind, String)> {
    Some(match state {
        TaskState::Working => return None,
        TaskState::Submitted if message.is_none() => return None,
        TaskState::Submitted => (kinds::REQUEUED, format!("goes back to the queue: {}", words(message))),
        TaskState::Completed => (kinds::COMPLETED, format!("completed it: {}", excerpt(&task.answer()))),
        TaskState::Failed => (kinds::FAILED, format!("failed: {}", words(message))),
        TaskState::Canceled => (kinds::CANCELED, "was told to stop".into()),
        TaskState::Rejected => (kinds::REJECTED, format!("would not do it: {}", words(message))),
        TaskState::InputRequired => (kinds::INPUT_REQUIRED, format!("asks back: {}", words(message))),
        TaskState::AuthRequired => (kinds::AUTH_REQUIRED, format!("needs a permission: {}", words(message))),
    })
}

fn words(message: Option<&Message>) -> String {
    excerpt(&message.map(Message::plain_text).unwrap_or_default())
}

fn excerpt(text: &str) -> String {
    JournalLine::excerpt(text)
}

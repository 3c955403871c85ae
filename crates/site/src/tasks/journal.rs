//! What people read about a task: one line for each turn it takes.
//!
//! Promises: pure; names who did what, with a short excerpt of the words. Chunks and notes in between are
//! left out, because the journal is read by people.

use std::sync::Arc;

use agentsite_protocol::{JournalLine, Message, Task, TaskEvent, TaskEventKind, TaskState};

/// The lines for some events of a task, given the task after them.
pub(super) fn lines(task: &Task, events: &[Arc<TaskEvent>]) -> Vec<JournalLine> {
    events.iter().filter_map(|event| line(task, event)).collect()
}

fn line(task: &Task, event: &TaskEvent) -> Option<JournalLine> {
    let (owner, agent) = (task.head.owner.as_str(), task.head.agent.as_str());
    let (actor, text) = match &event.kind {
        TaskEventKind::Opened(opening) => {
            (owner, format!("asked {agent}: {}", words(Some(&opening.message))))
        }
        TaskEventKind::Said { message } => (owner, format!("answered {agent}: {}", words(Some(message)))),
        TaskEventKind::Status { state, message } => (agent, turn(*state, message.as_ref(), task)?),
        _ => return None,
    };
    Some(JournalLine {
        at: event.at,
        actor: actor.into(),
        agent: Some(task.head.agent.clone()),
        task: Some(task.head.id),
        text,
    })
}

fn turn(state: TaskState, message: Option<&Message>, task: &Task) -> Option<String> {
    Some(match state {
        TaskState::Working => return None,
        TaskState::Submitted if message.is_none() => return None,
        TaskState::Submitted => format!("goes back to the queue: {}", words(message)),
        TaskState::Completed => format!("completed it: {}", excerpt(&task.answer())),
        TaskState::Failed => format!("failed: {}", words(message)),
        TaskState::Canceled => "was told to stop".into(),
        TaskState::Rejected => format!("would not do it: {}", words(message)),
        TaskState::InputRequired => format!("asks back: {}", words(message)),
        TaskState::AuthRequired => format!("needs a permission: {}", words(message)),
    })
}

fn words(message: Option<&Message>) -> String {
    excerpt(&message.map(Message::plain_text).unwrap_or_default())
}

fn excerpt(text: &str) -> String {
    JournalLine::excerpt(text)
}

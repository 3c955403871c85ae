//! A room as people read it, one line for each event.
//!
//! Promises: pure; time, who, in which state, what. It does not escape Markdown of members.

use agentsite_protocol::room::{MemberId, MessageType, RoomEvent};

/// One event as people read it: time, who, what, state.
pub(crate) fn transcript(event: &RoomEvent) -> String {
    let envelope = &event.envelope;
    let said = match (&envelope.kind, &envelope.assign, &envelope.conclude) {
        (MessageType::Assign, Some(assign), _) => {
            let names: Vec<&str> = assign.assignees.iter().map(MemberId::as_str).collect();
            format!("gives {} a task: {}", names.join(", "), assign.task_desc)
        }
        (MessageType::Conclude, _, Some(conclude)) => format!("concludes: {}", conclude.answer),
        (MessageType::Discuss, _, _) => envelope.plain_text(),
        (kind, _, _) if envelope.content.is_empty() => format!("*{kind}*"),
        (kind, _, _) => format!("*{kind}*: {}", envelope.plain_text()),
    };
    let said = said.replace('\n', "\n  ");
    format!("- `{}` **{}** ({}) {said}\n", event.at, envelope.sender_id, event.state)
}

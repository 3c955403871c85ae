//! The published example of an IoA message: `group_id`, `sender_id`, `state`, `task_desc`, with the states
//! discussion, task_assignment, execution and conclusion.
//!
//! Promises: see [`super`]. The next speakers come as `next_speaker` or `receiver_id`, as name or list.

use serde_json::{Value, json};

use super::{Arrival, BadForm, content, keep, object, text};
use crate::MessageId;
use crate::room::{AssignBlock, ConcludeBlock, Envelope, MessageType, ResultBlock, RoomState};

/// Members that this form has.
const KNOWN: [&str; 10] = [
    "group_id",
    "sender_id",
    "state",
    "task_desc",
    "content",
    "message",
    "next_speaker",
    "receiver_id",
    "task_id",
    "task_conclusion",
];

/// Reads a message of the published example.
///
/// # Errors
/// [`BadForm`] says what is wrong.
pub fn from_example(value: &Value, arrival: &Arrival<'_>) -> Result<Envelope, BadForm> {
    let members = object(value)?;
    arrival.check_room(text(members, "group_id"))?;
    arrival.check_sender(text(members, "sender_id"))?;
    let next = members.get("next_speaker").or_else(|| members.get("receiver_id"));
    let next = arrival.names(next)?;
    let said = text(members, "content").or_else(|| text(members, "message"));
    let described = text(members, "task_desc");
    let concluded = text(members, "task_conclusion");
    let mut envelope = match text(members, "state") {
        Some("task_assignment") => {
            let mut envelope = arrival.envelope(MessageType::Assign);
            let task_desc = described.or(said).unwrap_or_default().to_owned();
            envelope.assign = Some(AssignBlock { task_desc, assignees: next, ..AssignBlock::default() });
            envelope
        }
        Some("execution") if concluded.is_some() => {
            let mut envelope = arrival.envelope(MessageType::Result);
            let conclusion = concluded.map(ToOwned::to_owned);
            envelope.result = Some(ResultBlock { conclusion, ..ResultBlock::default() });
            envelope
        }
        Some("execution") => arrival.envelope(MessageType::Progress),
        Some("conclusion") => {
            let mut envelope = arrival.envelope(MessageType::Conclude);
            let answer = said.or(described).unwrap_or_default().to_owned();
            envelope.conclude = Some(ConcludeBlock { answer, ..ConcludeBlock::default() });
            envelope
        }
        // Every other state is treated as discussion.
        _ => {
            let mut envelope = arrival.envelope(MessageType::Discuss);
            envelope.to = next;
            envelope
        }
    };
    envelope.content = content(said.or(described));
    envelope.task_id = text(members, "task_id")
        .map(str::parse::<MessageId>)
        .transpose()
        .map_err(|error| BadForm::Form(error.to_string()))?;
    keep(&mut envelope, "example", members, &KNOWN);
    envelope.check()?;
    Ok(envelope)
}

/// Writes a message as the published example has it.
#[must_use]
pub fn to_example(envelope: &Envelope, state: RoomState) -> Value {
    let (named, described) = match (&envelope.kind, &envelope.assign) {
        (MessageType::Assign, Some(assign)) => ("task_assignment", Some(assign.task_desc.as_str())),
        (MessageType::Progress | MessageType::Result | MessageType::Fail, _) => ("execution", None),
        (MessageType::Conclude, _) => ("conclusion", None),
        _ if state == RoomState::Concluded => ("conclusion", None),
        _ => ("discussion", None),
    };
    let answer = envelope.conclude.as_ref().map(|conclude| conclude.answer.clone());
    let mut message = json!({
        "group_id": envelope.group_id.to_string(),
        "sender_id": envelope.sender_id.as_str(),
        "state": named,
        "content": answer.unwrap_or_else(|| envelope.plain_text()),
    });
    let next = envelope.assign.as_ref().map_or(&envelope.to, |assign| &assign.assignees);
    if !next.is_empty() {
        message["next_speaker"] = next.iter().map(|id| Value::from(id.as_str())).collect();
    }
    if let Some(described) = described {
        message["task_desc"] = described.into();
    }
    if let Some(task) = &envelope.task_id {
        message["task_id"] = task.as_str().into();
    }
    if let Some(conclusion) = envelope.result.as_ref().and_then(|result| result.conclusion.as_deref()) {
        message["task_conclusion"] = conclusion.into();
    }
    message
}

//! The messages of the IoA server: `comm_id`, `sender`, `next_speaker` and numbers for state and type.
//!
//! Promises: see [`super`]. The numbers are those of its code (ioa.md 1.2): the conversation is steered by
//! `type`, and `state` is always discussion. Words are read for numbers too.

use serde_json::{Value, json};

use super::{Arrival, BadForm, content, form, keep, object, text};
use crate::MessageId;
use crate::room::{
    AssignBlock, AssignMode, ConcludeBlock, Envelope, MemberId, MessageType, PauseBlock, PlanBlock,
    ProgressBlock, ResultBlock,
};

/// The state that its server always writes: discussion.
const DISCUSSION_STATE: u64 = 1;
const DISCUSSION: u64 = 4;
const SYNC_ASSIGNMENT: u64 = 5;
const ASYNC_ASSIGNMENT: u64 = 6;
const RESULT: u64 = 7;
const PROGRESS: u64 = 8;
const PAUSE: u64 = 9;
const CONCLUDE: u64 = 10;
const CONCLUSION: u64 = 11;

/// Members that are read, or that mean nothing outside of its own clients.
const KNOWN: [&str; 11] = [
    "content",
    "sender",
    "comm_id",
    "next_speaker",
    "state",
    "type",
    "task_id",
    "task_desc",
    "task_conclusion",
    "task_abstract",
    "triggers",
];

/// Reads a message of the IoA server.
///
/// # Errors
/// [`BadForm`] says what is wrong.
pub fn from_ioa(value: &Value, arrival: &Arrival<'_>) -> Result<Envelope, BadForm> {
    let members = object(value)?;
    arrival.check_room(text(members, "comm_id"))?;
    arrival.check_sender(text(members, "sender"))?;
    let next = arrival.names(members.get("next_speaker"))?;
    let said = text(members, "content");
    let kind = number(members.get("type"))?;
    let own = |name: &str| text(members, name).map(ToOwned::to_owned);
    let mut envelope = match kind {
        SYNC_ASSIGNMENT | ASYNC_ASSIGNMENT => {
            let mut envelope = arrival.envelope(MessageType::Assign);
            envelope.assign = Some(AssignBlock {
                task_desc: own("task_desc").or_else(|| said.map(ToOwned::to_owned)).unwrap_or_default(),
                task_abstract: own("task_abstract"),
                mode: if kind == SYNC_ASSIGNMENT { AssignMode::Blocking } else { AssignMode::Detached },
                assignees: next,
                ..AssignBlock::default()
            });
            envelope
        }
        RESULT => {
            let mut envelope = arrival.envelope(MessageType::Result);
            envelope.result =
                Some(ResultBlock { conclusion: own("task_conclusion"), ..ResultBlock::default() });
            envelope
        }
        PROGRESS => {
            let mut envelope = arrival.envelope(MessageType::Progress);
            envelope.progress =
                Some(ProgressBlock { note: said.map(Into::into), ..ProgressBlock::default() });
            envelope
        }
        PAUSE => {
            let mut envelope = arrival.envelope(MessageType::Pause);
            let triggers = ids(members.get("triggers"))?;
            envelope.pause = Some(PauseBlock { triggers, ..PauseBlock::default() });
            envelope
        }
        CONCLUSION => {
            let mut envelope = arrival.envelope(MessageType::Conclude);
            let answer = said.unwrap_or_default().to_owned();
            envelope.conclude = Some(ConcludeBlock { answer, ..ConcludeBlock::default() });
            envelope
        }
        _ => {
            let mut envelope = arrival.envelope(MessageType::Discuss);
            envelope.to = next;
            if let Some(plan) = own("updated_plan") {
                envelope.plan = Some(PlanBlock { patch: plan.into(), ..PlanBlock::default() });
            }
            envelope
        }
    };
    envelope.content = content(said);
    envelope.task_id = text(members, "task_id").map(id).transpose()?;
    keep(&mut envelope, "ioa", members, &KNOWN);
    envelope.check()?;
    Ok(envelope)
}

/// Writes a message as the IoA server does; goal and team are not repeated in it.
#[must_use]
pub fn to_ioa(envelope: &Envelope) -> Value {
    let assign = envelope.assign.as_ref();
    let detached = assign.is_some_and(|assign| assign.mode == AssignMode::Detached);
    let kind = match &envelope.kind {
        MessageType::Assign if detached => ASYNC_ASSIGNMENT,
        MessageType::Assign => SYNC_ASSIGNMENT,
        MessageType::Result | MessageType::Fail => RESULT,
        MessageType::Progress | MessageType::Accept => PROGRESS,
        MessageType::Pause => PAUSE,
        MessageType::Conclude => CONCLUSION,
        _ => DISCUSSION,
    };
    let next = assign.map_or(&envelope.to, |assign| &assign.assignees);
    let answer = envelope.conclude.as_ref().map(|conclude| conclude.answer.clone());
    json!({
        "content": answer.unwrap_or_else(|| envelope.plain_text()),
        "sender": envelope.sender_id.as_str(),
        "comm_id": envelope.group_id.to_string().replace('-', ""),
        "next_speaker": next.iter().map(MemberId::as_str).collect::<Vec<_>>(),
        "state": DISCUSSION_STATE,
        "type": kind,
        "task_id": envelope.task_id.as_ref().map_or("", MessageId::as_str),
        "task_desc": assign.map_or("", |assign| assign.task_desc.as_str()),
        "task_abstract": assign.and_then(|assign| assign.task_abstract.as_deref()).unwrap_or_default(),
        "task_conclusion": envelope.result.as_ref().and_then(|result| result.conclusion.as_deref()).unwrap_or_default(),
        "triggers": envelope.pause.iter().flat_map(|pause| &pause.triggers).map(MessageId::as_str).collect::<Vec<_>>(),
    })
}

/// The number of a type, also when it is written as a word.
fn number(value: Option<&Value>) -> Result<u64, BadForm> {
    match value {
        None | Some(Value::Null) => Ok(DISCUSSION),
        Some(Value::Number(number)) => number.as_u64().ok_or_else(|| form("`type` must be a whole number")),
        Some(Value::String(word)) => Ok(match word.as_str() {
            "sync_task_assign" | "SYNC_TASK_ASSIGNMENT" => SYNC_ASSIGNMENT,
            "async_task_assign" | "ASYNC_TASK_ASSIGNMENT" => ASYNC_ASSIGNMENT,
            "INFORM_TASK_RESULT" => RESULT,
            "INFORM_TASK_PROGRESS" => PROGRESS,
            "pause" | "PAUSE" => PAUSE,
            "conclude_group_discussion" | "CONCLUDE_GROUP_DISCUSSION" => CONCLUDE,
            "CONCLUSION" => CONCLUSION,
            _ => DISCUSSION,
        }),
        Some(_) => Err(form("`type` must be a number or a word")),
    }
}

fn ids(value: Option<&Value>) -> Result<Vec<MessageId>, BadForm> {
    let Some(listed) = value.filter(|value| !value.is_null()) else { return Ok(Vec::new()) };
    let listed = listed.as_array().ok_or_else(|| form("`triggers` must be a list"))?;
    listed.iter().map(|item| id(item.as_str().unwrap_or_default())).collect()
}

fn id(text: &str) -> Result<MessageId, BadForm> {
    text.parse().map_err(|error: crate::IdTooLong| BadForm::Form(error.to_string()))
}

//! Messages of A2A in a room.
//!
//! Promises: see [`super`]. The message id of A2A is the id of the envelope, so that a repetition is
//! recognised in both forms. What A2A cannot say travels in the metadata under this extension's name.

use serde_json::{Value, json};

use super::{Arrival, BadForm, keep};
use crate::room::{Envelope, MemberKind, MessageType, RoomEvent};
use crate::{ContextId, JsonMap, Message, Part, Role};

/// The member of A2A metadata that holds what a room adds.
const ROOM: &str = "agentsite.room";

/// Most references that are taken from a message of A2A.
const MAX_REFERENCES: usize = 64;

/// Reads a message of A2A. One that carries a whole envelope in its metadata is read as that envelope.
///
/// # Errors
/// [`BadForm`] says what is wrong.
pub fn from_a2a(message: &Message, arrival: &Arrival<'_>) -> Result<Envelope, BadForm> {
    Part::check_all(&message.parts).map_err(|error| BadForm::Form(error.to_string()))?;
    let metadata = message.extra.get("metadata").and_then(Value::as_object);
    let said = metadata.and_then(|metadata| metadata.get(ROOM)).and_then(Value::as_object);
    let mut envelope = arrival.envelope(MessageType::Discuss);
    if let Some(said) = said {
        arrival.check_room(said.get("group_id").and_then(Value::as_str))?;
        arrival.check_sender(said.get("sender_id").and_then(Value::as_str))?;
        let mut whole = said.clone();
        let own = envelope.to_value();
        for (name, value) in own.as_object().into_iter().flatten().filter(|(name, _)| *name != "type") {
            whole.insert(name.clone(), value.clone());
        }
        whole.entry("type").or_insert_with(|| MessageType::Discuss.word().into());
        for of_site in ["seq", "recv_ts"] {
            whole.remove(of_site);
        }
        envelope = serde_json::from_value(whole.into()).map_err(|error| BadForm::Form(error.to_string()))?;
    }
    envelope.id = message.message_id.clone();
    envelope.content.clone_from(&message.parts);
    envelope.refs.extend(message.references(MAX_REFERENCES).iter().map(ToString::to_string));
    let rest: JsonMap = metadata.into_iter().flatten().filter(|(name, _)| *name != ROOM).map(own).collect();
    if !rest.is_empty() {
        keep(&mut envelope, "a2a", &rest, &[]);
    }
    envelope.check()?;
    Ok(envelope)
}

/// Writes an event of a room as a message of A2A: what agents say in the role of the agent.
#[must_use]
pub fn to_a2a(event: &RoomEvent, kind: MemberKind) -> Message {
    let envelope = event.delivered();
    let mut said = envelope.to_value();
    if let Value::Object(members) = &mut said {
        for in_the_message in ["id", "content"] {
            members.remove(in_the_message);
        }
        members.insert("state".into(), event.state.word().into());
    }
    let parts = if envelope.content.is_empty() {
        vec![Part::data(json!({ "type": envelope.kind.word() }))]
    } else {
        envelope.content
    };
    let mut extra = JsonMap::new();
    extra.insert("metadata".into(), json!({ ROOM: said }));
    Message {
        message_id: envelope.id,
        context_id: event.room.to_string().parse::<ContextId>().ok(),
        task_id: None,
        role: if kind == MemberKind::Agent { Role::Agent } else { Role::User },
        parts,
        extra,
    }
}

fn own((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

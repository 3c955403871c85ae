//! The thread tools of Coral over MCP, as messages of a room: a thread is a room.
//!
//! Promises: see [`super`]. The wait tools are not messages: they are reads from a cursor. Unlike in Coral,
//! closing a thread keeps its messages and needs the right to do so.

use serde_json::{Value, json};

use super::{Arrival, BadForm, content, form, object, text};
use crate::room::{
    CloseBlock, Envelope, InviteBlock, MemberId, MemberKind, MemberRole, MessageType, RemoveBlock, RoomEvent,
};

/// A thread tool of Coral.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoralCall {
    /// `coral_send_message(threadId, content, mentions)`.
    SendMessage,
    /// `coral_close_thread(threadId, summary)`.
    CloseThread,
    /// `coral_add_participant(threadId, participantName)`.
    AddParticipant,
    /// `coral_remove_participant(threadId, participantName)`.
    RemoveParticipant,
}

impl CoralCall {
    /// The tool of this name, if it sends a message.
    #[must_use]
    pub fn named(tool: &str) -> Option<Self> {
        match tool {
            "coral_send_message" => Some(Self::SendMessage),
            "coral_close_thread" => Some(Self::CloseThread),
            "coral_add_participant" => Some(Self::AddParticipant),
            "coral_remove_participant" => Some(Self::RemoveParticipant),
            _ => None,
        }
    }

    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// [`BadForm`] says what is wrong.
    pub fn read(self, arguments: &Value, arrival: &Arrival<'_>) -> Result<Envelope, BadForm> {
        let members = object(arguments)?;
        arrival.check_room(text(members, "threadId"))?;
        let participant = || {
            let name =
                text(members, "participantName").ok_or_else(|| form("`participantName` is missing"))?;
            arrival.resolve(name)
        };
        let mut envelope = match self {
            Self::SendMessage => {
                let mut envelope = arrival.envelope(MessageType::Discuss);
                envelope.content = content(text(members, "content"));
                envelope.mentions = arrival.names(members.get("mentions"))?;
                if envelope.mentions.contains(&arrival.sender) {
                    return Err(form("a sender cannot mention itself"));
                }
                envelope
            }
            Self::CloseThread => {
                let mut envelope = arrival.envelope(MessageType::Close);
                let summary = text(members, "summary").unwrap_or_default().to_owned();
                envelope.close = Some(CloseBlock { summary, ..CloseBlock::default() });
                envelope
            }
            Self::AddParticipant => {
                let mut envelope = arrival.envelope(MessageType::Invite);
                envelope.invite = Some(InviteBlock {
                    member: participant()?,
                    kind: MemberKind::Agent,
                    role: MemberRole::Member,
                    deadline: None,
                    extra: crate::JsonMap::new(),
                });
                envelope
            }
            Self::RemoveParticipant => {
                let mut envelope = arrival.envelope(MessageType::Remove);
                let member = participant()?;
                envelope.remove = Some(RemoveBlock { member, extra: crate::JsonMap::new() });
                envelope
            }
        };
        envelope.thread_id = None;
        envelope.check()?;
        Ok(envelope)
    }
}

/// Writes an event as a message of a Coral thread, with the number that serves as its cursor.
#[must_use]
pub fn to_coral(event: &RoomEvent) -> Value {
    let envelope = &event.envelope;
    json!({
        "id": envelope.id.as_str(),
        "threadId": event.room.to_string(),
        "senderName": envelope.sender_id.as_str(),
        "content": envelope.plain_text(),
        "mentions": envelope.mentions.iter().map(MemberId::as_str).collect::<Vec<_>>(),
        "timestamp": event.at.as_millis(),
        "seq": event.seq,
    })
}

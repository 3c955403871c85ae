//! Other forms of a room's messages: the published IoA example, the messages of the IoA server, A2A messages,
//! and the thread tools of Coral.
//!
//! Promises: what is read becomes an [`Envelope`] that passed every check and whose sender is the one that
//! the receiver has authenticated: a form that names another sender is refused, so that none can be spoofed.
//! Names are resolved by the receiver; an unknown name is an error, it is never dropped. What is written
//! loses only what the other form cannot say. It does not know sockets or tools.

mod a2a;
mod coral;
mod example;
mod ioa;

pub use a2a::{from_a2a, to_a2a};
pub use coral::{CoralCall, to_coral};
pub use example::{from_example, to_example};
pub use ioa::{from_ioa, to_ioa};

use std::fmt;

use serde_json::Value;

use super::{BadEnvelope, Envelope, MemberId, MessageType};
use crate::{JsonMap, MessageId, Part, RoomId, Timestamp};

/// What the receiver of a message in another form knows about it.
pub struct Arrival<'a> {
    /// The id that the message gets, because most other forms have none.
    pub id: MessageId,
    /// The room that it was sent to.
    pub room: RoomId,
    /// Who sent it, proven.
    pub sender: MemberId,
    /// When it arrived.
    pub at: Timestamp,
    /// The member of the room that a name means.
    pub member: &'a dyn Fn(&str) -> Option<MemberId>,
}

impl fmt::Debug for Arrival<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Arrival").field("id", &self.id).field("room", &self.room).finish_non_exhaustive()
    }
}

/// Why a message in another form cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadForm {
    /// Not of this form.
    #[error("not a message of this form: {0}")]
    Form(String),
    /// It names another sender than the one who sent it.
    #[error("the message names the sender `{0}`, which is not who sent it")]
    OtherSender(String),
    /// It names another room than the one it was sent to.
    #[error("the message names another room: `{0}`")]
    OtherRoom(String),
    /// It names a member that the room has not.
    #[error("`{0}` is not a member of this room")]
    UnknownName(String),
    /// It does not make an envelope.
    #[error(transparent)]
    Envelope(#[from] BadEnvelope),
}

impl Arrival<'_> {
    /// An envelope of this type without content.
    fn envelope(&self, kind: MessageType) -> Envelope {
        Envelope::new(self.id.clone(), self.room, self.sender.clone(), kind, self.at)
    }

    /// Refuses a named sender that is not the proven one; an absent or empty name says nothing.
    fn check_sender(&self, name: Option<&str>) -> Result<(), BadForm> {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(()) };
        if (self.member)(name).as_ref() == Some(&self.sender) || name == self.sender.as_str() {
            return Ok(());
        }
        Err(BadForm::OtherSender(short(name)))
    }

    /// Refuses a named room that is not the one that the message was sent to.
    fn check_room(&self, named: Option<&str>) -> Result<(), BadForm> {
        let Some(named) = named.filter(|named| !named.is_empty()) else { return Ok(()) };
        if named.parse::<RoomId>().is_ok_and(|id| id == self.room) {
            return Ok(());
        }
        Err(BadForm::OtherRoom(short(named)))
    }

    fn resolve(&self, name: &str) -> Result<MemberId, BadForm> {
        (self.member)(name).ok_or_else(|| BadForm::UnknownName(short(name)))
    }

    /// The members that a member of JSON names: one name, or a list of names.
    fn names(&self, value: Option<&Value>) -> Result<Vec<MemberId>, BadForm> {
        match value {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(name)) if name.is_empty() => Ok(Vec::new()),
            Some(Value::String(name)) => Ok(vec![self.resolve(name)?]),
            Some(Value::Array(names)) => names
                .iter()
                .map(|name| self.resolve(name.as_str().ok_or_else(|| form("a name must be text"))?))
                .collect(),
            Some(_) => Err(form("names must be text or a list of texts")),
        }
    }
}

fn form(what: &str) -> BadForm {
    BadForm::Form(what.to_owned())
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

/// The members of a JSON object.
fn object(value: &Value) -> Result<&JsonMap, BadForm> {
    value.as_object().ok_or_else(|| form("it must be a JSON object"))
}

/// A text that is there and not empty.
fn text<'a>(members: &'a JsonMap, name: &str) -> Option<&'a str> {
    members.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Content of one text, or none.
fn content(said: Option<&str>) -> Vec<Part> {
    said.map(Part::text).into_iter().collect()
}

/// Keeps what this form says and the envelope does not, under the name of the form.
fn keep(envelope: &mut Envelope, name: &str, members: &JsonMap, known: &[&str]) {
    let rest: JsonMap = members
        .iter()
        .filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if !rest.is_empty() {
        envelope.extra.insert("ext".into(), serde_json::json!({ name: rest }));
    }
}

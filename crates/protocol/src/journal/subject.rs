//! What a journal line is about, as a type and an id.
//!
//! Promises: one text form, `type:id` (`site` alone has no id), the same on the wire and in the store; a
//! subject that a later version wrote is kept as its text. It says nothing about who did it: that is the
//! line's actor.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{AgentName, ConversationId, KeyId, TaskId};

/// What a journal line is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum JournalSubject {
    /// The site itself.
    #[default]
    Site,
    /// An agent of the site, or one that is connected to it.
    Agent(AgentName),
    /// A task.
    Task(TaskId),
    /// A conversation.
    Conversation(ConversationId),
    /// An API key or a session.
    Key(KeyId),
    /// An entry of the registry.
    Listing(String),
    /// A saved query.
    Query(String),
    /// A delivery that leaves the site.
    Delivery(u64),
    /// A name that is reserved or free again.
    Name(String),
    /// What a later version writes, as text.
    Other(String),
}

impl JournalSubject {
    /// Reads the text form; what is not known is kept as it is.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let known = match text.split_once(':') {
            None if text == "site" => Some(Self::Site),
            Some(("agent", id)) => id.parse().ok().map(Self::Agent),
            Some(("task", id)) => id.parse().ok().map(Self::Task),
            Some(("conversation", id)) => id.parse().ok().map(Self::Conversation),
            Some(("key", id)) => id.parse().ok().map(Self::Key),
            Some(("listing", id)) => Some(Self::Listing(id.to_owned())),
            Some(("query", id)) => Some(Self::Query(id.to_owned())),
            Some(("delivery", id)) => id.parse().ok().map(Self::Delivery),
            Some(("name", id)) => Some(Self::Name(id.to_owned())),
            _ => None,
        };
        known.unwrap_or_else(|| Self::Other(text.to_owned()))
    }
}

impl fmt::Display for JournalSubject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Site => out.write_str("site"),
            Self::Agent(name) => write!(out, "agent:{name}"),
            Self::Task(id) => write!(out, "task:{id}"),
            Self::Conversation(id) => write!(out, "conversation:{id}"),
            Self::Key(id) => write!(out, "key:{id}"),
            Self::Listing(id) => write!(out, "listing:{id}"),
            Self::Query(id) => write!(out, "query:{id}"),
            Self::Delivery(id) => write!(out, "delivery:{id}"),
            Self::Name(name) => write!(out, "name:{name}"),
            Self::Other(text) => out.write_str(text),
        }
    }
}

impl From<JournalSubject> for String {
    fn from(subject: JournalSubject) -> Self {
        subject.to_string()
    }
}

impl From<String> for JournalSubject {
    fn from(text: String) -> Self {
        Self::read(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_is_read_back_from_its_text() {
        let subjects = [
            JournalSubject::Site,
            JournalSubject::Agent("echo".parse().unwrap()),
            JournalSubject::Task(TaskId::from_bytes([7; 16])),
            JournalSubject::Conversation(ConversationId::from_bytes([8; 16])),
            JournalSubject::Key("abc".parse().unwrap()),
            JournalSubject::Listing("urn:air:example.org:a:b".into()),
            JournalSubject::Query("q".into()),
            JournalSubject::Delivery(9),
            JournalSubject::Name("poet".into()),
            JournalSubject::Other("escrow:12".into()),
            JournalSubject::Other("delivery:none".into()),
        ];
        for subject in subjects {
            assert_eq!(JournalSubject::read(&subject.to_string()), subject);
            let wire = serde_json::to_string(&subject).unwrap();
            assert_eq!(serde_json::from_str::<JournalSubject>(&wire).unwrap(), subject);
        }
    }
}

//! Names and ids as distinct types, so that one cannot be used as another.
//!
//! Promises: every value was checked once, when it was made. Ids that callers choose (context, message) are
//! bounded in length and free of control characters; ids that the site makes are UUIDs. Possession of an id
//! is never authority: see [`crate::Caller`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Longest id that a caller may choose; UUIDs need 36, and longer ones only cost index pages.
pub const MAX_FOREIGN_ID: usize = 128;

/// Longest agent name; it must fit one DNS label, because later it becomes one.
pub const MAX_NAME: usize = 63;

/// A name that is not of the form an agent's name has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid agent name `{name}`: use 1 to {MAX_NAME} of a-z, 0-9 and -, not starting or ending with -")]
pub struct BadName {
    /// The name as it was given, shortened.
    pub name: String,
}

/// An id that a caller chose and that is empty, too long or not printable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an id must have 1 to {MAX_FOREIGN_ID} characters and no control characters")]
pub struct IdTooLong;

/// The name of an agent, unique in its site.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(std::sync::Arc<str>);

impl AgentName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Beginnings of names that the site gives to agents itself: `far-` to registry entries that were opened to
/// be called. Users cannot choose one.
pub const RESERVED_PREFIXES: [&str; 1] = ["far-"];

/// A name that only the site itself gives.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "The name `{name}` is reserved: names that begin with `{prefix}` are given by the site itself. Choose another name."
)]
pub struct ReservedName {
    /// The name.
    pub name: AgentName,
    /// The reserved beginning.
    pub prefix: &'static str,
}

impl AgentName {
    /// Refuses a name that is reserved for the site; checked wherever a user chooses a name.
    ///
    /// # Errors
    /// [`ReservedName`] names the reserved beginning.
    pub fn check_choice(&self) -> Result<(), ReservedName> {
        match RESERVED_PREFIXES.into_iter().find(|prefix| self.0.starts_with(prefix)) {
            Some(prefix) => Err(ReservedName { name: self.clone(), prefix }),
            None => Ok(()),
        }
    }
}

/// Which holder of a name a task was opened with. A name can pass to another owner; its tasks do not.
///
/// The same value after a restart and after a reconnect of the same owner; another one when the name has
/// another owner. Agents of the site itself have none. It is a digest, so that it tells callers nothing about
/// the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentInstance(std::sync::Arc<str>);

impl AgentInstance {
    /// The instance of an agent of this kind with these properties, which together tell its owner apart.
    #[must_use]
    pub fn of(kind: &str, properties: &[&str]) -> Self {
        let mut digest = Sha256::new();
        for property in properties {
            digest.update((property.len() as u64).to_le_bytes());
            digest.update(property.as_bytes());
        }
        let digest: String = digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self(format!("{kind}:{digest}").into())
    }
}

impl FromStr for AgentName {
    type Err = BadName;

    fn from_str(name: &str) -> Result<Self, BadName> {
        let letters = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let edges = !name.starts_with('-') && !name.ends_with('-');
        if letters && edges && (1..=MAX_NAME).contains(&name.len()) {
            Ok(Self(name.into()))
        } else {
            Err(BadName { name: name.chars().take(MAX_NAME).collect() })
        }
    }
}

impl TryFrom<String> for AgentName {
    type Error = BadName;

    fn try_from(name: String) -> Result<Self, BadName> {
        name.parse()
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> Self {
        name.0.as_ref().into()
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for AgentName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, out)
    }
}

impl schemars::JsonSchema for AgentName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AgentName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" })
    }
}

macro_rules! own_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(uuid::Uuid);

        impl $name {
            /// Wraps a UUID.
            #[must_use]
            pub const fn from_uuid(id: uuid::Uuid) -> Self {
                Self(id)
            }

            /// The sixteen bytes, as the store keeps them.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// Reads the sixteen bytes back.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(uuid::Uuid::from_bytes(bytes))
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                uuid::Uuid::from_str(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, out)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, out)
            }
        }
    };
}

own_id! {
    /// The id of a task, made by the site that runs it.
    TaskId
}

own_id! {
    /// The id of a conversation that a person keeps with agents, made by the site.
    ConversationId
}

own_id! {
    /// The id of a room, made by the site that orders its messages.
    RoomId
}

macro_rules! foreign_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Uses a UUID as the id.
            #[must_use]
            pub fn from_uuid(id: uuid::Uuid) -> Self {
                let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
                Self((&*id.as_hyphenated().encode_lower(&mut text)).into())
            }
        }

        impl FromStr for $name {
            type Err = IdTooLong;

            fn from_str(id: &str) -> Result<Self, IdTooLong> {
                let sized = !id.is_empty() && id.len() <= MAX_FOREIGN_ID;
                if sized && !id.chars().any(char::is_control) { Ok(Self(id.into())) } else { Err(IdTooLong) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdTooLong;

            fn try_from(id: String) -> Result<Self, IdTooLong> {
                id.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, out)
            }
        }
    };
}

foreign_id! {
    /// Joins the tasks of one conversation; the caller may choose it.
    ContextId
}

foreign_id! {
    /// The sender's own id of a message; the same id sent twice is the same message.
    MessageId
}

foreign_id! {
    /// The public half of an API key, which lists and revokes it.
    KeyId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_names_are_dns_labels() {
        for good in ["a", "upper", "a2a-python", "7", &"x".repeat(63)] {
            assert!(good.parse::<AgentName>().is_ok(), "{good}");
        }
        for bad in ["", "Upper", "-a", "a-", "a_b", "a/b", "..", "é", &"x".repeat(64)] {
            assert!(bad.parse::<AgentName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn foreign_ids_are_bounded() {
        assert!("my-context".parse::<ContextId>().is_ok());
        assert!("x".repeat(MAX_FOREIGN_ID + 1).parse::<MessageId>().is_err());
        assert!("".parse::<MessageId>().is_err());
        assert!("a\nb".parse::<MessageId>().is_err());
    }

    #[test]
    fn a_task_id_survives_its_bytes() {
        let id: TaskId = "0198c0de-0000-7000-8000-000000000001".parse().unwrap();
        assert_eq!(TaskId::from_bytes(*id.as_bytes()), id);
        assert_eq!(id.to_string(), "0198c0de-0000-7000-8000-000000000001");
    }
}

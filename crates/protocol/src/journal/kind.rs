//! What kind of event a journal line tells of, for filters and programs that do not read sentences.
//!
//! Promises: a kind is `capability.event` in small letters, such as `task.completed`; each capability
//! declares its own as constants. A kind that a later version wrote is kept as its text. It does not say what
//! the line is about: see [`JournalSubject`](super::JournalSubject).

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of a journal line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JournalKind(Cow<'static, str>);

impl JournalKind {
    /// Declares a kind.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Reads a kind back, whether or not this version knows it.
    #[must_use]
    pub const fn stored(name: String) -> Self {
        Self(Cow::Owned(name))
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JournalKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_is_kept_as_its_text() {
        let known = JournalKind::new("task.completed");
        assert_eq!(serde_json::to_string(&known).unwrap(), "\"task.completed\"");
        assert_eq!(JournalKind::stored("task.completed".into()), known);
        let later: JournalKind = serde_json::from_str("\"market.settled\"").unwrap();
        assert_eq!(later.to_string(), "market.settled");
    }
}

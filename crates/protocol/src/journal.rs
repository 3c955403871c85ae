//! The journal: one line for each accepted change, readable like a team chat.
//!
//! Promises: a line names who did what to whom in plain words; ids stand in fields of their own so that a
//! reader can filter by them. It holds no secrets and no message bodies beyond a short excerpt.

use serde::{Deserialize, Serialize};

use crate::{AgentName, TaskId, Timestamp};

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalLine {
    /// When it happened.
    pub at: Timestamp,
    /// Who did it: an owner, an agent or the site itself.
    pub actor: String,
    /// The agent concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The task concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// What happened, as a sentence.
    pub text: String,
}

impl JournalLine {
    /// Longest excerpt of foreign text that a line repeats; enough to recognise it, too short to hoard
    /// content.
    pub const EXCERPT: usize = 80;

    /// Shortens foreign text to one line of at most [`Self::EXCERPT`] characters.
    #[must_use]
    pub fn excerpt(text: &str) -> String {
        let mut short = String::new();
        for (count, letter) in text.trim().chars().enumerate() {
            if count == Self::EXCERPT {
                short.push('…');
                break;
            }
            short.push(if letter.is_control() { ' ' } else { letter });
        }
        short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(JournalLine::excerpt(" two\nlines "), "two lines");
        let long = JournalLine::excerpt(&"é".repeat(500));
        assert_eq!(long.chars().count(), JournalLine::EXCERPT + 1);
    }
}

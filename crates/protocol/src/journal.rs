//! The journal: one line for each accepted change, readable like a team chat.
//!
//! Promises: a line names who did what to whom in plain language; ids are separate fields so that a reader
//! can filter by them, and a kind and a subject state the same for programs. It holds no secrets and no
//! message bodies beyond a short excerpt.

mod kind;
mod subject;

use serde::{Deserialize, Serialize};

use crate::{AgentName, TaskId, Timestamp};

pub use kind::JournalKind;
pub use subject::JournalSubject;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalLine {
    /// When it happened.
    pub at: Timestamp,
    /// Who did it: an owner, an agent or the site itself.
    pub actor: String,
    /// What kind of event it tells of; none for lines of versions that had no kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<JournalKind>,
    /// What it is about.
    #[serde(default)]
    pub subject: JournalSubject,
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
    /// A line about the site itself.
    #[must_use]
    pub fn new(kind: JournalKind, at: Timestamp, actor: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            at,
            actor: actor.into(),
            kind: Some(kind),
            subject: JournalSubject::Site,
            agent: None,
            task: None,
            text: text.into(),
        }
    }

    /// The line about an agent.
    #[must_use]
    pub fn about_agent(mut self, agent: AgentName) -> Self {
        self.agent = Some(agent);
        self.subject = self.implied_subject();
        self
    }

    /// The line about a task of an agent.
    #[must_use]
    pub fn about_task(mut self, task: TaskId, agent: Option<AgentName>) -> Self {
        (self.task, self.agent) = (Some(task), agent);
        self.subject = JournalSubject::Task(task);
        self
    }

    /// The line about something else.
    #[must_use]
    pub fn about(mut self, subject: JournalSubject) -> Self {
        self.subject = subject;
        self
    }

    /// What a line is about that says nothing else: its task, else its agent, else the site.
    #[must_use]
    pub fn implied_subject(&self) -> JournalSubject {
        match (self.task, &self.agent) {
            (Some(task), _) => JournalSubject::Task(task),
            (None, Some(agent)) => JournalSubject::Agent(agent.clone()),
            (None, None) => JournalSubject::Site,
        }
    }

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

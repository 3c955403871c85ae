//! The limits of every member of an envelope that comes from outside.
//!
//! Promises: an envelope that passed [`Envelope::check`] has bounded lists and texts, parts with exactly one
//! content, and the block that its type needs. It does not judge content.

use serde_json::Value;

use super::{BadEnvelope, ENVELOPE_VERSION, Envelope, MessageType};
use crate::{JsonMap, Part};

/// Most members, references or parts in one list: more than a person can follow.
const MAX_LIST: usize = 64;
/// Most options of a vote.
const MAX_OPTIONS: usize = 32;
/// Longest short text: references, words, options, names.
const MAX_SHORT: usize = 512;
/// Longest description: tasks, contexts, answers, summaries.
const MAX_LONG: usize = 64 << 10;
/// Longest title.
const MAX_TITLE: usize = 200;
/// Longest reaction: an emoji of several code points.
const MAX_EMOJI: usize = 64;
/// Most members of later versions.
const MAX_EXTRA: usize = 64;

type Checked = Result<(), BadEnvelope>;

impl Envelope {
    /// Checks every limit, and that the block of its type is there.
    ///
    /// # Errors
    /// [`BadEnvelope`] names the first member that is wrong.
    pub fn check(&self) -> Checked {
        if self.v != ENVELOPE_VERSION {
            return Err(BadEnvelope::Version(self.v));
        }
        self.check_lists()?;
        self.check_texts()?;
        self.check_blocks()?;
        self.check_task_blocks()?;
        self.check_needed()
    }

    fn check_lists(&self) -> Checked {
        count("to", self.to.len(), MAX_LIST)?;
        count("mentions", self.mentions.len(), MAX_LIST)?;
        count("content", self.content.len(), MAX_LIST)?;
        count("ext", self.extra.len(), MAX_EXTRA)?;
        texts("refs", &self.refs)?;
        texts("policy", &self.policy)?;
        texts("taint", &self.taint)?;
        if self.content.iter().all(is_whole) { Ok(()) } else { Err(BadEnvelope::Part) }
    }

    fn check_texts(&self) -> Checked {
        for (name, value) in
            [("qos", &self.qos), ("trace", &self.trace), ("idem", &self.idem), ("prev", &self.prev)]
        {
            text(name, value.as_deref(), MAX_SHORT)?;
        }
        if let Some(provenance) = &self.provenance {
            text("provenance", provenance.model.as_deref(), MAX_SHORT)?;
            text("provenance", provenance.operator.as_deref(), MAX_SHORT)?;
            texts("provenance", &provenance.inputs)?;
            if provenance.confidence.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
                return Err(BadEnvelope::Value("confidence", "must be between 0 and 1"));
            }
        }
        match &self.sig {
            Some(sig) => sig.check(),
            None => Ok(()),
        }
    }

    fn check_task_blocks(&self) -> Checked {
        if let Some(assign) = &self.assign {
            filled("task_desc", &assign.task_desc, MAX_LONG)?;
            text("task_abstract", assign.task_abstract.as_deref(), MAX_SHORT)?;
            text("context", assign.context.as_deref(), MAX_LONG)?;
            text("completion_criteria", assign.completion_criteria.as_deref(), MAX_LONG)?;
            text("escrow_id", assign.escrow_id.as_deref(), MAX_SHORT)?;
            texts("inputs", &assign.inputs)?;
            count("assignees", assign.assignees.len(), MAX_LIST)?;
            if assign.assignees.is_empty() {
                return Err(BadEnvelope::Value("assignees", "must name at least one member"));
            }
        }
        if let Some(decline) = &self.decline {
            text("reason", decline.reason.as_deref(), MAX_SHORT)?;
            text("note", decline.note.as_deref(), MAX_LONG)?;
        }
        if let Some(progress) = &self.progress {
            text("note", progress.note.as_deref(), MAX_LONG)?;
            if progress.pct.is_some_and(|pct| pct > 100) {
                return Err(BadEnvelope::Value("pct", "must be between 0 and 100"));
            }
        }
        if let Some(result) = &self.result {
            text("conclusion", result.conclusion.as_deref(), MAX_LONG)?;
            texts("artefacts", &result.artefacts)?;
            texts("evidence", &result.evidence)?;
        }
        text("code", self.fail.as_ref().and_then(|fail| fail.code.as_deref()), MAX_SHORT)
    }

    fn check_blocks(&self) -> Checked {
        if let Some(pause) = &self.pause {
            count("triggers", pause.triggers.len(), MAX_LIST)?;
        }
        if let Some(vote) = &self.vote {
            count("options", vote.options.len(), MAX_OPTIONS)?;
            vote.options.iter().try_for_each(|option| filled("options", option, MAX_SHORT))?;
            let distinct: std::collections::BTreeSet<&String> = vote.options.iter().collect();
            if distinct.len() < 2 || distinct.len() != vote.options.len() {
                return Err(BadEnvelope::Value("options", "must name at least two different options"));
            }
        }
        if let Some(ballot) = &self.ballot {
            text("option", Some(&ballot.option), MAX_SHORT)?;
        }
        if let Some(conclude) = &self.conclude {
            text("answer", Some(&conclude.answer), MAX_LONG)?;
            count("dissent", conclude.dissent.len(), MAX_LIST)?;
        }
        if let Some(close) = &self.close {
            text("summary", Some(&close.summary), MAX_LONG)?;
        }
        if let Some(react) = &self.react {
            text("emoji", Some(&react.emoji), MAX_EMOJI)?;
        }
        let Some(state) = &self.room_state else { return Ok(()) };
        text("title", state.title.as_deref(), MAX_TITLE)?;
        text("goal_ref", state.goal_ref.as_deref(), MAX_SHORT)?;
        text("team_ref", state.team_ref.as_deref(), MAX_SHORT)?;
        count("team", state.team.len(), super::MAX_MEMBERS)
    }

    /// The block without which the type means nothing.
    fn check_needed(&self) -> Checked {
        let (name, there) = match self.kind {
            MessageType::Assign => ("assign", self.assign.is_some()),
            MessageType::Pause => ("pause", self.pause.is_some()),
            MessageType::Plan => ("plan", self.plan.is_some()),
            MessageType::Vote => ("vote", self.vote.is_some()),
            MessageType::Ballot => ("ballot", self.ballot.is_some()),
            MessageType::Conclude => ("conclude", self.conclude.is_some()),
            MessageType::RoomState => ("room_state", self.room_state.is_some()),
            MessageType::Invite => ("invite", self.invite.is_some()),
            MessageType::Remove => ("remove", self.remove.is_some()),
            MessageType::Role => ("role", self.role.is_some()),
            MessageType::React => ("react", self.react.is_some()),
            MessageType::Progress | MessageType::Result | MessageType::Fail | MessageType::Cancel => {
                ("task_id", self.task_id.is_some())
            }
            MessageType::Discuss => ("content", !self.content.is_empty()),
            _ => return Ok(()),
        };
        if there { Ok(()) } else { Err(BadEnvelope::NoBlock(name)) }
    }
}

fn count(name: &'static str, found: usize, most: usize) -> Checked {
    if found <= most { Ok(()) } else { Err(BadEnvelope::TooLong(name, most)) }
}

fn text(name: &'static str, value: Option<&str>, most: usize) -> Checked {
    count(name, value.map_or(0, str::len), most)
}

fn filled(name: &'static str, value: &str, most: usize) -> Checked {
    if value.trim().is_empty() {
        return Err(BadEnvelope::Value(name, "must not be empty"));
    }
    text(name, Some(value), most)
}

fn texts(name: &'static str, values: &[String]) -> Checked {
    count(name, values.len(), MAX_LIST)?;
    values.iter().try_for_each(|value| text(name, Some(value), MAX_SHORT))
}

/// Exactly one content; a file that is sent by its hash counts as one.
fn is_whole(part: &Part) -> bool {
    let by_hash = part.extra.get("file").and_then(Value::as_object).is_some_and(|file: &JsonMap| {
        file.get("sha256").and_then(Value::as_str).is_some_and(|hash| hash.len() == 64)
    });
    part.contents() + usize::from(by_hash) == 1
}

//! Export: a conversation as Markdown for people and as JSON for programs, written piece by piece.
//!
//! Promises: pure; Markdown has the path that is shown, JSON every turn on every branch. What people and
//! agents wrote is written as it is. It does not carry files: it names them.

use serde_json::json;

use crate::view::{ConversationView, TurnView};

/// How a conversation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExportFormat {
    /// The path that is shown, to be read.
    #[default]
    Markdown,
    /// Every turn, to be read by programs.
    Json,
}

impl ExportFormat {
    /// What stands before the turns.
    pub(crate) fn beginning(self, conversation: &ConversationView) -> String {
        match self {
            Self::Markdown => {
                let ConversationView { title, agent, created_at, .. } = conversation;
                format!("# {title}\n\nWith {agent}, begun {created_at}.\n")
            }
            Self::Json => {
                let head = serde_json::to_string(conversation).unwrap_or_default();
                format!("{{\"conversation\":{head},\"turns\":[")
            }
        }
    }

    /// One turn.
    pub(crate) fn turn(self, turn: &TurnView, first: bool) -> String {
        match self {
            Self::Markdown => markdown(turn),
            Self::Json => {
                let comma = if first { "" } else { "," };
                format!("{comma}\n{}", serde_json::to_string(turn).unwrap_or_default())
            }
        }
    }

    /// What follows the turns.
    pub(crate) fn end(self) -> &'static str {
        match self {
            Self::Markdown => "",
            Self::Json => "\n]}\n",
        }
    }
}

fn markdown(turn: &TurnView) -> String {
    let mut out = format!("\n## You to {}, {}\n\n", turn.agent, turn.at);
    for part in &turn.question {
        if let Some(text) = part["text"].as_str() {
            out.push_str(text.trim_end());
        } else if let Some(name) = part["filename"].as_str().or_else(|| part["url"].as_str()) {
            out.push_str(&format!("[file: {name}]"));
        } else {
            out.push_str(&format!("```json\n{}\n```", json!(part["data"])));
        }
        out.push('\n');
    }
    out.push_str(&format!("\n## {}\n\n", turn.agent));
    if turn.state != "completed" {
        out.push_str(&format!("*{}*\n\n", turn.state));
    }
    out.push_str(turn.answer.trim_end());
    out.push('\n');
    if turn.cut {
        out.push_str(&format!("\n*The answer goes on; it is whole in task {}.*\n", turn.id));
    }
    let files: Vec<&str> = turn.artifacts.iter().filter_map(|made| made.name.as_deref()).collect();
    if !files.is_empty() {
        out.push_str(&format!("\nMade: {}\n", files.join(", ")));
    }
    out
}

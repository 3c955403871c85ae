//! What a model sees of a conversation.
//!
//! Promises: pure; earlier tasks, then this task, then the last message, oldest first, trimmed from the
//! oldest until it fits; the last message is always there. Roles alternate and the caller begins, because
//! many models require it. Progress notes are not part of a conversation.

use agentsite_protocol::{Message, Part, Role};
use serde_json::json;

use super::model::ChatMessage;
use crate::Job;

/// Most tokens of memory. With a prompt, tools and an answer it fits into the context of the models in use.
pub(super) const MEMORY_TOKENS: u32 = 16_000;

/// The mark of a message that only says how it goes, within its metadata.
const PROGRESS: &str = "agentsite/progress";

/// Placeholder for a message without text.
const NO_WORDS: &str = "(a message without text)";

/// Words about progress, marked as such.
pub(super) fn progress(job: &Job, words: String) -> Message {
    let mut message = job.words(words);
    message.extra.insert("metadata".into(), json!({ PROGRESS: true }));
    message
}

/// What the model sees, in at most about `most` tokens.
pub(super) fn recall(job: &Job, most: u64) -> Vec<ChatMessage> {
    let earlier = job.conversation.iter().chain(&job.history).filter(|message| !is_progress(message));
    let mut left = most.saturating_sub(spoken(&job.message).estimated_tokens());
    let mut newest_first = vec![spoken(&job.message)];
    for message in earlier.rev() {
        let said = spoken(message);
        let tokens = said.estimated_tokens();
        if tokens > left {
            break;
        }
        left -= tokens;
        newest_first.push(said);
    }
    newest_first.reverse();
    alternate(newest_first)
}

fn is_progress(message: &Message) -> bool {
    message.extra.get("metadata").is_some_and(|metadata| metadata.get(PROGRESS).is_some())
}

fn spoken(message: &Message) -> ChatMessage {
    let words: Vec<String> = message.parts.iter().filter_map(in_words).collect();
    let text = if words.is_empty() { NO_WORDS.to_owned() } else { words.join("\n") };
    match message.role {
        Role::User => ChatMessage::User(text),
        Role::Agent => ChatMessage::Assistant { text, calls: Vec::new() },
    }
}

/// A part as text: text files in full, other files are only mentioned.
fn in_words(part: &Part) -> Option<String> {
    let name = part.filename.as_deref().unwrap_or("without a name");
    if let Some(text) = &part.text {
        return Some(text.clone()).filter(|text| !text.is_empty());
    }
    if let Some(data) = &part.data {
        return Some(data.to_string());
    }
    if let Some(url) = &part.url {
        return Some(format!("[file {name} at {url}]"));
    }
    if let Some(text) = part.text_of_file() {
        return Some(format!("[file {name}]\n{text}\n[end of file {name}]"));
    }
    part.raw.as_ref().map(|raw| format!("[file {name}, {} bytes in base64]", raw.len()))
}

/// Joins what one speaker said in a row, and lets the caller begin.
fn alternate(messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
    let begins = messages.iter().position(|message| matches!(message, ChatMessage::User(_))).unwrap_or(0);
    let mut joined: Vec<ChatMessage> = Vec::new();
    for message in messages.into_iter().skip(begins) {
        match (joined.last_mut(), &message) {
            (Some(ChatMessage::User(said)), ChatMessage::User(more))
            | (Some(ChatMessage::Assistant { text: said, .. }), ChatMessage::Assistant { text: more, .. }) => {
                said.push_str("\n\n");
                said.push_str(more);
            }
            _ => joined.push(message),
        }
    }
    joined
}

//! What is checked about a message before anything else looks at it, and what is repeated to its sender.
//!
//! Promises: pure; nothing malformed reaches an agent or the store. It does not know what an agent can read:
//! see `local_agents/media` of `site`.

use agentsite_protocol::{JournalLine, Message, Part};
use sha2::{Digest, Sha256};

use crate::error::TaskError;

/// Checks what a caller sends; `most` is the largest size of its content in bytes.
///
/// # Errors
/// [`TaskError::BadMessage`].
pub fn check_message(message: &Message, most: u64) -> Result<(), TaskError> {
    message.check_request().map_err(|bad| TaskError::BadMessage(bad.to_string()))?;
    let size: usize = message.parts.iter().map(Part::size).sum();
    if size as u64 > most {
        return Err(TaskError::BadMessage(format!(
            "the message has {size} bytes of content; at most {most} are taken"
        )));
    }
    Ok(())
}

/// A name or id that a caller sent, short enough to be repeated to it.
#[must_use]
pub fn excerpt(text: &str) -> String {
    JournalLine::excerpt(text)
}

/// What makes two messages the same: their content, not their id.
pub(crate) fn body_hash(message: &Message) -> [u8; 16] {
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(&message.parts).unwrap_or_default());
    hash.update(message.task_id.as_deref().unwrap_or_default());
    let mut short = [0; 16];
    short.copy_from_slice(&hash.finalize()[..16]);
    short
}

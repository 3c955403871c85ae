//! echo: says what was said to it.
//!
//! Promises: every part of the message comes back as it was, text, files and data alike. It is the agent to
//! try a connection with, so it does nothing that could fail.

use agentsite_protocol::{Artifact, Message, Part};

/// The answer to a message.
pub(super) fn answer(id: &str, message: &Message) -> Artifact {
    let mut parts = message.parts.clone();
    if parts.is_empty() {
        parts.push(Part::text(""));
    }
    Artifact { artifact_id: id.to_owned(), parts, ..Artifact::default() }
}

//! Media types: what an agent takes, and the refusal of what it does not.
//!
//! Promises: content that would not reach the agent is refused, so that nothing disappears. A type that a
//! part names is judged by what the agent's card declares for the agent and its skills; text in any textual
//! form counts as text, in a file too. Agents that tell what they take when they are called (A2A, ACP) judge
//! for themselves. It does not look into content.

use agentsite_host::RuntimeKind;
use agentsite_protocol::{Message, Part};
use agentsite_tasks::TaskError;

use super::Entry;

/// What agents give that declare nothing else.
pub(super) const MODES: [&str; 2] = ["text/plain", "application/json"];

/// Longest foreign type that a refusal repeats.
const EXCERPT: usize = 80;

impl Entry {
    /// Refuses a message with a part of a type that the agent does not take.
    pub(crate) fn check_media_types(&self, message: &Message) -> Result<(), TaskError> {
        if matches!(self.manifest.runtime.kind(), RuntimeKind::A2a | RuntimeKind::Acp) {
            return Ok(());
        }
        let intake = self.manifest.runtime.intake();
        let modes = || {
            let skills = self.manifest.skills.iter().flat_map(|skill| &skill.input_modes);
            intake.modes().iter().copied().chain(skills.map(String::as_str))
        };
        for part in &message.parts {
            let given = part.media_type.as_deref().map(essence).filter(|given| !given.is_empty());
            let is_written = part.text.is_some() && given.is_none_or(|given| matches(given, "text/*"));
            let is_text = || is_written || part.text_of_file().is_some();
            let is_declared = given.is_none_or(|given| modes().any(|mode| matches(given, essence(mode))));
            if intake.takes(part) && (is_declared || is_text()) {
                continue;
            }
            let given: String = given.unwrap_or_else(|| usual_type(part)).chars().take(EXCERPT).collect();
            let form = match (&part.raw, &part.url) {
                (Some(_), _) => " in a file",
                (_, Some(_)) => " at an address",
                _ => "",
            };
            let taken = modes().collect::<Vec<_>>().join(", ");
            return Err(TaskError::MediaType { given: format!("{given}{form}"), taken });
        }
        Ok(())
    }
}

/// The type of a part that names none.
const fn usual_type(part: &Part) -> &'static str {
    if part.text.is_some() {
        "text/plain"
    } else if part.data.is_some() {
        "application/json"
    } else {
        "application/octet-stream"
    }
}

/// A media type without its parameters.
fn essence(media: &str) -> &str {
    media.split(';').next().unwrap_or_default().trim()
}

/// Whether a type is the one declared, or of the family that a star stands for.
fn matches(given: &str, declared: &str) -> bool {
    match declared.strip_suffix('*') {
        Some(family) if family == "*/" || family.is_empty() => true,
        Some(family) => given.get(..family.len()).is_some_and(|start| start.eq_ignore_ascii_case(family)),
        None => given.eq_ignore_ascii_case(declared),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_and_parameters_are_understood() {
        assert!(matches("image/png", "image/*"));
        assert!(matches("IMAGE/PNG", "image/png"));
        assert!(matches("image/png", "*/*") && matches("image/png", "*"));
        assert!(!matches("image/png", "text/*") && !matches("im", "image/*"));
        assert_eq!(essence("text/plain; charset=utf-8"), "text/plain");
    }
}

//! Media types: what an agent takes, and the refusal of what it does not.
//!
//! Promises: only a type that a part names is judged, by what the agent's card declares for the agent and its skills; text in any
//! textual form counts as text. Agents that tell what they take when they are called (A2A, ACP) judge for themselves. It does not look into content.

use agentsite_host::RuntimeKind;
use agentsite_protocol::{Message, Part};

use super::Entry;
use crate::SiteError;

/// What agents take and give that declare nothing else.
pub(super) const MODES: [&str; 2] = ["text/plain", "application/json"];

/// Longest foreign type that a refusal repeats.
const EXCERPT: usize = 80;

impl Entry {
    /// Refuses a message with a part of a type that the agent does not take.
    pub(crate) fn check_media_types(&self, message: &Message) -> Result<(), SiteError> {
        let named = |part: &Part| part.media_type.is_some();
        let judges = matches!(self.manifest.runtime.kind(), RuntimeKind::A2a | RuntimeKind::Acp);
        if judges || !message.parts.iter().any(named) {
            return Ok(());
        }
        let skills = self.manifest.skills.iter().flat_map(|skill| &skill.input_modes);
        let modes: Vec<&str> = MODES.into_iter().chain(skills.map(String::as_str)).collect();
        for part in &message.parts {
            let Some(given) = part.media_type.as_deref().map(essence) else { continue };
            let is_text = part.text.is_some() && matches(given, "text/*");
            if !is_text && !modes.iter().any(|mode| matches(given, essence(mode))) {
                return Err(SiteError::MediaType {
                    given: given.chars().take(EXCERPT).collect(),
                    taken: modes.join(", "),
                });
            }
        }
        Ok(())
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

//! What is decided about conversations without looking anywhere: titles, and in which context an agent is
//! asked.
//!
//! Promises: pure. A title is one line of printable letters. A context is never shared by two branches, so
//! that an agent which remembers by context, at this site or at another, never hears of a branch that was
//! left. It does not read tasks.

use agentsite_protocol::{AgentName, ContextId, Part};
use agentsite_store::TurnPosition;

use crate::error::ConversationError;

/// Longest title, in letters; more fits no list.
pub const MAX_TITLE: usize = 200;

/// Letters of a title that is made from the first words: a line of a narrow list.
const MADE_TITLE: usize = 60;

/// What a conversation without words is called.
const NO_TITLE: &str = "New conversation";

/// A title that its owner chose, or what is wrong with it.
pub(crate) fn title(text: &str) -> Result<String, ConversationError> {
    let title = one_line(text);
    let letters = title.chars().count();
    if (1..=MAX_TITLE).contains(&letters) {
        return Ok(title);
    }
    Err(ConversationError::Invalid(format!("a title has 1 to {MAX_TITLE} letters; this one has {letters}")))
}

/// A title made from what was said first.
pub(crate) fn made_title(parts: &[Part]) -> String {
    let text =
        parts.iter().find_map(|part| part.text.as_deref().map(one_line).filter(|line| !line.is_empty()));
    let named = || parts.iter().find_map(|part| part.filename.as_deref().map(one_line));
    let Some(line) = text.or_else(named).filter(|line| !line.is_empty()) else { return NO_TITLE.to_owned() };
    if line.chars().count() <= MADE_TITLE {
        return line;
    }
    let cut: String = line.chars().take(MADE_TITLE).collect();
    // At the end of a word, unless that would leave little.
    let end = cut.rfind(' ').filter(|end| *end > cut.len() / 2).unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end())
}

fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The context in which an agent continues that was asked before on this path; none when it begins a new one.
/// `path` is the way to the new turn, the nearest first; `alone` says that nothing else hangs where the new
/// turn will.
pub(crate) fn context<'a>(path: &'a [TurnPosition], agent: &AgentName, alone: bool) -> Option<&'a ContextId> {
    if !alone {
        return None;
    }
    for place in path {
        if place.turn.agent == *agent {
            return Some(&place.turn.context);
        }
        if place.siblings.len() > 1 {
            return None;
        }
    }
    None
}

/// The beginning of a text, at most so many bytes.
pub(crate) fn start(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::{ConversationId, TaskId, Timestamp};
    use agentsite_store::Turn;

    use super::*;

    fn place(number: u8, agent: &str, context: &str, siblings: usize) -> TurnPosition {
        let turn = Turn {
            task: TaskId::from_bytes([number; 16]),
            conversation: ConversationId::from_bytes([0; 16]),
            parent: None,
            agent: agent.parse().unwrap(),
            message: "m".parse().unwrap(),
            context: context.parse().unwrap(),
            at: Timestamp::from_millis(0),
        };
        TurnPosition { siblings: vec![turn.task; siblings], turn }
    }

    fn asked(path: &[TurnPosition], agent: &str, alone: bool) -> Option<String> {
        context(path, &agent.parse().unwrap(), alone).map(ToString::to_string)
    }

    #[test]
    fn an_agent_goes_on_in_its_context_while_the_path_is_straight() {
        let path = [place(3, "calc", "k", 1), place(2, "echo", "c", 1), place(1, "echo", "c", 1)];
        assert_eq!(asked(&path, "calc", true).as_deref(), Some("k"));
        assert_eq!(asked(&path, "echo", true).as_deref(), Some("c"));
        assert_eq!(asked(&path, "model", true), None);
        assert_eq!(asked(&[], "echo", true), None);
    }

    #[test]
    fn a_branch_begins_a_context_of_its_own() {
        let path = [place(2, "echo", "c", 1)];
        assert_eq!(asked(&path, "echo", false), None, "beside another turn");
        let path = [place(3, "calc", "k2", 2), place(2, "echo", "c", 1)];
        assert_eq!(asked(&path, "calc", true).as_deref(), Some("k2"), "its own branch is straight");
        assert_eq!(asked(&path, "echo", true), None, "the other branch may have gone on in this context");
    }

    #[test]
    fn titles_are_one_line_of_bounded_length() {
        assert_eq!(title("  My\n plan ").unwrap(), "My plan");
        for wrong in ["", " \u{7} ", &"x".repeat(MAX_TITLE + 1)] {
            assert!(matches!(title(wrong), Err(ConversationError::Invalid(_))));
        }
    }

    #[test]
    fn a_made_title_is_the_beginning_of_the_first_words() {
        assert_eq!(made_title(&[Part::text("What is\nthe time?")]), "What is the time?");
        let long = made_title(&[Part::text("word ".repeat(40))]);
        assert!(long.ends_with("word…") && long.chars().count() <= MADE_TITLE + 1, "{long}");
        assert_eq!(made_title(&[Part::text("字".repeat(80))]).chars().count(), MADE_TITLE + 1);
        let file = Part { raw: Some("aGk=".into()), filename: Some("plan.pdf".into()), ..Part::default() };
        assert_eq!(made_title(&[Part::text(" "), file]), "plan.pdf");
        assert_eq!(made_title(&[]), NO_TITLE);
    }
}

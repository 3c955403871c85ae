//! calc: works out expressions.
//!
//! Promises: whole numbers stay exact as long as they fit 128 bits, everything else is floating point,
//! written with 15 significant digits. Every error in an expression is a sentence with its position. Length
//! and depth are limited, so no expression takes long.
//!
//! It has no variables and no units, and angles are in radians.

mod lexer;
mod number;
mod parser;

#[cfg(test)]
mod tests;

use number::Trouble;

/// Longest expression, in bytes; longer ones are data, not questions.
const MAX_LENGTH: usize = 10_000;

/// Deepest nesting of parentheses, signs and powers; no person reads deeper, and the stack stays small.
const MAX_DEPTH: usize = 64;

/// Words before an expression that ask for it and mean nothing more.
const OPENINGS: [&str; 17] = [
    "what is",
    "what's",
    "whats",
    "how much is",
    "calculate",
    "compute",
    "evaluate",
    "work out",
    "solve",
    "tell me",
    "calc",
    "please",
    "the result of",
    "the value of",
    "help me",
    "can you",
    "could you",
];

/// The same after an expression.
const CLOSINGS: [&str; 6] = ["?", "=", ".", ",", "please", "equals"];

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum CalcError {
    /// It is too long.
    #[error("the expression is longer than {MAX_LENGTH} bytes; split it")]
    TooLong,
    /// Something is wrong at a place.
    #[error("position {position}: {what}")]
    At {
        /// Which character of the message, from 1.
        position: usize,
        /// What it is.
        what: Wrong,
    },
}

/// What can be wrong at one place of an expression.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Wrong {
    /// Another token is expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What is expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// An unknown word.
    #[error("unknown function or constant `{0}`; known: sqrt, sin, ln, log, abs, min, max, pi, e and others")]
    UnknownWord(String),
    /// A character that means nothing here.
    #[error("`{0}` has no meaning in an expression")]
    UnknownCharacter(char),
    /// Digits that do not form a number.
    #[error("`{0}` is not a number")]
    BadNumber(String),
    /// Too deep.
    #[error("the expression is nested more than {MAX_DEPTH} deep; simplify it")]
    TooDeep,
    /// A function got the wrong number of arguments.
    #[error("`{name}` takes {takes}, not {given}")]
    Arguments {
        /// The function.
        name: String,
        /// What it takes.
        takes: &'static str,
        /// How many it got.
        given: usize,
    },
    /// The arithmetic has no result.
    #[error("{0}")]
    Trouble(#[from] Trouble),
}

/// Works an expression out; `None` when there is none in the text.
pub(super) fn answer(text: &str) -> Option<Result<String, CalcError>> {
    if text.len() > MAX_LENGTH {
        return Some(Err(CalcError::TooLong));
    }
    let (start, expression) = unwrapped(text);
    if expression.is_empty() {
        return None;
    }
    let result = parser::value(expression).map(|number| number.to_string());
    Some(result.map_err(|(at, what)| {
        let position = text[..start + at.min(expression.len())].chars().count() + 1;
        CalcError::At { position, what }
    }))
}

/// The expression without the surrounding text, and where it begins.
fn unwrapped(text: &str) -> (usize, &str) {
    let mut rest = text.trim();
    loop {
        let before = rest.len();
        rest = rest.trim_start_matches(|sign: char| sign.is_whitespace() || "=:`\"".contains(sign));
        rest = rest.trim_end_matches(|sign: char| sign.is_whitespace() || "`\"".contains(sign));
        for opening in OPENINGS {
            let Some(head) = rest.get(..opening.len()) else { continue };
            let ends = !rest[opening.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_');
            if head.eq_ignore_ascii_case(opening) && ends {
                rest = &rest[opening.len()..];
            }
        }
        for closing in CLOSINGS {
            let Some(cut) = rest.len().checked_sub(closing.len()) else { continue };
            if rest.get(cut..).is_some_and(|tail| tail.eq_ignore_ascii_case(closing)) {
                rest = &rest[..cut];
            }
        }
        if rest.len() == before {
            let start = rest.as_ptr() as usize - text.as_ptr() as usize;
            return (start, rest);
        }
    }
}

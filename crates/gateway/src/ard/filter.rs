//! Filter: the expression with which `GET /agents` is narrowed.
//!
//! Promises: pure and bounded in length, depth and number of comparisons; whatever is wrong is named with its
//! place. The grammar:
//!
//! ```text
//! expression = term { "OR" term } ;
//! term       = factor { "AND" factor } ;
//! factor     = [ "NOT" ] ( "(" expression ")" | field operator value ) ;
//! operator   = "=" | "!=" | ">" | ">=" | "<" | "<=" | ":" ;
//! value      = "'" text "'" | '"' text '"' | word ;
//! ```
//!
//! A comma in a value parts alternatives (ARD, appendix A), but not in `displayName` and `description`. `:`
//! asks whether the text is contained. Case counts nowhere. `createdAfter` and `updatedAfter` take a moment.

use std::cmp::Ordering;

use agentsite_protocol::Timestamp;

use super::entry::Entry;
use super::path::Path;

#[cfg(test)]
mod tests;

/// Longest expression, in bytes: more than addresses of a page carry in practice.
const MAX_LENGTH: usize = 4096;

/// Most comparisons of an expression; each costs a look at every entry.
const MAX_COMPARISONS: usize = 32;

/// Most brackets and negations within each other.
const MAX_DEPTH: usize = 16;

/// What an entry must be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Compares { path: Path, operator: Operator, values: Vec<String> },
    CreatedAfter(Timestamp),
    UpdatedAfter(Timestamp),
}

/// How a field is compared with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Greater,
    AtLeast,
    Less,
    AtMost,
    Contains,
}

/// What is wrong with an expression, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("filter: at letter {}: {what}", at + 1)]
pub(super) struct BadFilter {
    at: usize,
    what: String,
}

impl Condition {
    /// Reads an expression.
    pub(super) fn read(text: &str) -> Result<Self, BadFilter> {
        if text.len() > MAX_LENGTH {
            return Err(BadFilter { at: MAX_LENGTH, what: format!("it is longer than {MAX_LENGTH} bytes") });
        }
        let mut reader = Reader { letters: text.chars().collect(), at: 0, comparisons: 0 };
        let condition = reader.expression(0)?;
        reader.skip_spaces();
        if reader.at < reader.letters.len() {
            return Err(reader.wrong("join comparisons with AND or OR"));
        }
        Ok(condition)
    }

    /// Whether an entry is as wanted.
    pub(super) fn holds(&self, entry: &Entry) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(entry)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(entry)),
            Self::Not(part) => !part.holds(entry),
            Self::CreatedAfter(moment) => entry.created > *moment,
            Self::UpdatedAfter(moment) => entry
                .members
                .get("updatedAt")
                .and_then(|at| Timestamp::parse(at.as_str()?).ok())
                .is_some_and(|at| at > *moment),
            Self::Compares { path, operator, values } => {
                let texts = path.texts(&entry.members);
                let any = |fits: &dyn Fn(&str, &str) -> bool| {
                    texts.iter().any(|text| values.iter().any(|value| fits(text, value)))
                };
                match operator {
                    Operator::Equal => any(&same),
                    Operator::Unequal => !any(&same),
                    Operator::Contains => {
                        any(&|text, value| text.to_lowercase().contains(&value.to_lowercase()))
                    }
                    Operator::Greater => any(&|text, value| order(text, value).is_gt()),
                    Operator::AtLeast => any(&|text, value| order(text, value).is_ge()),
                    Operator::Less => any(&|text, value| order(text, value).is_lt()),
                    Operator::AtMost => any(&|text, value| order(text, value).is_le()),
                }
            }
        }
    }
}

/// Whether two texts are the same but for case.
pub(super) fn same(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

/// Moments by time, numbers by size, all else as texts.
fn order(one: &str, other: &str) -> Ordering {
    if let (Some(one), Some(other)) = (moment(one), moment(other)) {
        return one.cmp(&other);
    }
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => one.total_cmp(&other),
        _ => one.to_lowercase().cmp(&other.to_lowercase()),
    }
}

/// A moment, or the beginning of a day.
pub(super) fn moment(text: &str) -> Option<Timestamp> {
    let day = text.len() == 10 && text.bytes().filter(|byte| *byte == b'-').count() == 2;
    if day { Timestamp::parse(&format!("{text}T00:00:00Z")).ok() } else { Timestamp::parse(text).ok() }
}

struct Reader {
    letters: Vec<char>,
    at: usize,
    comparisons: usize,
}

impl Reader {
    fn expression(&mut self, depth: usize) -> Result<Condition, BadFilter> {
        let mut parts = vec![self.term(depth)?];
        while self.takes_word("OR") {
            parts.push(self.term(depth)?);
        }
        Ok(joined(parts, Condition::Any))
    }

    fn term(&mut self, depth: usize) -> Result<Condition, BadFilter> {
        let mut parts = vec![self.factor(depth)?];
        while self.takes_word("AND") {
            parts.push(self.factor(depth)?);
        }
        Ok(joined(parts, Condition::All))
    }

    fn factor(&mut self, depth: usize) -> Result<Condition, BadFilter> {
        if depth >= MAX_DEPTH {
            return Err(self.wrong("there are too many brackets within each other"));
        }
        if self.takes_word("NOT") {
            return Ok(Condition::Not(Box::new(self.factor(depth + 1)?)));
        }
        if self.takes("(") {
            let inner = self.expression(depth + 1)?;
            if !self.takes(")") {
                return Err(self.wrong("a bracket is not closed"));
            }
            return Ok(inner);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Condition, BadFilter> {
        self.comparisons += 1;
        if self.comparisons > MAX_COMPARISONS {
            return Err(self.wrong(&format!("there are more than {MAX_COMPARISONS} comparisons")));
        }
        self.skip_spaces();
        let begun = self.at;
        let field = self.word();
        if field.is_empty() {
            return Err(self.wrong("name a field, like type = 'application/a2a-agent-card+json'"));
        }
        let operator = self.operator()?;
        let value = self.value()?;
        if matches!(field.as_str(), "createdAfter" | "updatedAfter") {
            return self.after(&field, operator, &value, begun);
        }
        let path = Path::read(&field).map_err(|error| BadFilter { at: begun, what: error.to_string() })?;
        let whole = matches!(field.as_str(), "displayName" | "description");
        let values: Vec<String> = if whole {
            vec![value]
        } else {
            value.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
        };
        if values.is_empty() {
            return Err(self.wrong("the value is empty"));
        }
        Ok(Condition::Compares { path, operator, values })
    }

    fn after(
        &self,
        field: &str,
        operator: Operator,
        value: &str,
        begun: usize,
    ) -> Result<Condition, BadFilter> {
        if !matches!(operator, Operator::Equal | Operator::Greater | Operator::AtLeast) {
            return Err(BadFilter {
                at: begun,
                what: format!("{field} takes = or >, because it says after what"),
            });
        }
        let moment = moment(value).ok_or_else(|| BadFilter {
            at: begun,
            what: format!("{field} takes a moment like 2026-01-01 or 2026-01-01T12:00:00Z"),
        })?;
        Ok(if field == "createdAfter" {
            Condition::CreatedAfter(moment)
        } else {
            Condition::UpdatedAfter(moment)
        })
    }

    fn operator(&mut self) -> Result<Operator, BadFilter> {
        let known = [
            ("!=", Operator::Unequal),
            (">=", Operator::AtLeast),
            ("<=", Operator::AtMost),
            ("=", Operator::Equal),
            (">", Operator::Greater),
            ("<", Operator::Less),
            (":", Operator::Contains),
        ];
        let found = known.into_iter().find(|(sign, _)| self.takes(sign));
        found
            .map(|(_, operator)| operator)
            .ok_or_else(|| self.wrong("put one of = != > >= < <= : behind the field"))
    }

    fn value(&mut self) -> Result<String, BadFilter> {
        self.skip_spaces();
        let Some(quote) = self.letters.get(self.at).copied().filter(|letter| matches!(letter, '\'' | '"'))
        else {
            let word = self.word();
            return if word.is_empty() {
                Err(self.wrong("a value is missing; quote it like 'this'"))
            } else {
                Ok(word)
            };
        };
        let begun = self.at;
        self.at += 1;
        let mut text = String::new();
        while let Some(letter) = self.letters.get(self.at).copied() {
            self.at += 1;
            match letter {
                '\\' => {
                    text.extend(self.letters.get(self.at));
                    self.at += 1;
                }
                letter if letter == quote => return Ok(text),
                letter => text.push(letter),
            }
        }
        Err(BadFilter { at: begun, what: "a quotation mark is not closed".into() })
    }

    /// Letters up to a space, a bracket, a quotation mark or the sign of an operator.
    fn word(&mut self) -> String {
        let ends = |letter: &char| letter.is_whitespace() || "()'\"=!<>:".contains(*letter);
        let word: String = self.letters[self.at..].iter().take_while(|letter| !ends(letter)).collect();
        self.at += word.chars().count();
        word
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.skip_spaces();
        let there = sign
            .chars()
            .enumerate()
            .all(|(place, letter)| self.letters.get(self.at + place) == Some(&letter));
        if there {
            self.at += sign.chars().count();
        }
        there
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let begun = self.at;
        let there = self.word().eq_ignore_ascii_case(word);
        if !there {
            self.at = begun;
        }
        there
    }

    fn skip_spaces(&mut self) {
        self.at += self.letters[self.at.min(self.letters.len())..]
            .iter()
            .take_while(|letter| letter.is_whitespace())
            .count();
    }

    fn wrong(&self, what: &str) -> BadFilter {
        BadFilter { at: self.at, what: what.to_owned() }
    }
}

fn joined(mut parts: Vec<Condition>, join: impl FnOnce(Vec<Condition>) -> Condition) -> Condition {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            join(parts)
        }
    }
}

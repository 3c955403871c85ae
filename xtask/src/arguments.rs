//! The arguments after the sub-command, taken one at a time.
//!
//! Promises: an argument that was not taken is an error, and so is a flag without its value. Deliberately no
//! derive macros and no abbreviations: the commands here have at most three options each.

use std::str::FromStr;

use crate::failure::{Failure, Outcome};

/// What is left of the command line.
#[derive(Debug)]
pub(crate) struct Arguments {
    words: Vec<String>,
}

impl Arguments {
    /// Wraps the arguments after the sub-command.
    pub(crate) fn new(words: impl IntoIterator<Item = String>) -> Self {
        Self { words: words.into_iter().collect() }
    }

    /// Takes a flag; true when it was given.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() != before
    }

    /// Takes `--name VALUE` or `--name=VALUE`.
    pub(crate) fn value<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, Failure> {
        let joined = format!("{name}=");
        let Some(at) = self.words.iter().position(|word| word == name || word.starts_with(&joined)) else {
            return Ok(None);
        };
        let word = self.words.remove(at);
        let value = match word.strip_prefix(&joined) {
            Some(value) => value.to_owned(),
            None if at < self.words.len() => self.words.remove(at),
            None => return Err(Failure::Usage(format!("`{name}` needs a value"))),
        };
        match value.parse() {
            Ok(parsed) => Ok(Some(parsed)),
            Err(_) => Err(Failure::Usage(format!("`{value}` does not fit `{name}`"))),
        }
    }

    /// Takes the first word that is not an option.
    pub(crate) fn word(&mut self) -> Option<String> {
        let at = self.words.iter().position(|word| !word.starts_with('-'))?;
        Some(self.words.remove(at))
    }

    /// Refuses arguments that were not taken.
    pub(crate) fn finish(self) -> Outcome {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(Failure::Usage(format!("`{word}` is not understood here"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &str) -> Arguments {
        Arguments::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn flags_values_and_words_may_come_in_any_order() {
        let mut arguments = given("--runs 7 rpc --check --seed=9");
        assert!(arguments.flag("--check"));
        assert_eq!(arguments.value::<u64>("--runs"), Ok(Some(7)));
        assert_eq!(arguments.value::<u32>("--seed"), Ok(Some(9)));
        assert_eq!(arguments.word().as_deref(), Some("rpc"));
        assert_eq!(arguments.finish(), Ok(()));
    }

    #[test]
    fn a_word_nobody_took_is_refused() {
        assert!(matches!(given("--checks").finish(), Err(Failure::Usage(_))));
    }

    #[test]
    fn a_flag_without_its_value_is_refused() {
        assert!(matches!(given("--runs").value::<u64>("--runs"), Err(Failure::Usage(_))));
        assert!(matches!(given("--runs many").value::<u64>("--runs"), Err(Failure::Usage(_))));
    }
}

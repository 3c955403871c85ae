//! Exit codes, and the one error that ends the program.
//!
//! Promises: every way to end has one number, listed in one table that the documentation prints; every error
//! is a sentence that says what to do. It does not print: `main` does, once.

use std::fmt;
use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// It did what was asked.
    Ok = 0,
    /// Something went wrong.
    Error = 1,
    /// The command line was not understood.
    Usage = 2,
    /// The task waits for an answer.
    NeedsInput = 3,
    /// The task failed, was rejected or was canceled.
    TaskFailed = 4,
    /// No site is running here.
    NotRunning = 5,
    /// There is no such agent, task, key or file.
    NotFound = 6,
    /// The site refused: no permission, or too busy.
    Refused = 7,
    /// A second signal ended a stop that took too long.
    Forced = 130,
}

impl Exit {
    /// All codes in order, for the documentation.
    pub(crate) const ALL: [Self; 9] = [
        Self::Ok,
        Self::Error,
        Self::Usage,
        Self::NeedsInput,
        Self::TaskFailed,
        Self::NotRunning,
        Self::NotFound,
        Self::Refused,
        Self::Forced,
    ];

    /// The number.
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    /// When it happens, in a few words.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "Success.",
            Self::Error => "An error occurred; the message on stderr says what to do.",
            Self::Usage => "The command line is invalid.",
            Self::NeedsInput => "The task waits for an answer; its id was printed.",
            Self::TaskFailed => "The task failed, was rejected or was canceled.",
            Self::NotRunning => "No site is running here.",
            Self::NotFound => "There is no such agent, task, key or file.",
            Self::Refused => "The site refused: no permission, or too busy.",
            Self::Forced => "A second signal ended a stop that took too long.",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

/// Why the program ends early: a code and a sentence.
#[derive(Debug)]
pub(crate) struct CliError {
    exit: Exit,
    sentence: String,
}

impl CliError {
    /// An error with its own exit code.
    pub(crate) fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { exit, sentence: sentence.into() }
    }

    /// An error of no particular kind.
    pub(crate) fn error(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Error, sentence)
    }

    /// An error of the command line.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Usage, sentence)
    }

    /// The error was printed already; only the code is left.
    pub(crate) fn reported(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    /// A file that could not be used, with what the system says.
    pub(crate) fn file(what: &str, path: &std::path::Path, source: &std::io::Error) -> Self {
        let exit = if source.kind() == std::io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Error };
        Self::new(exit, format!("cannot {what} {}: {source}", path.display()))
    }

    /// The code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.sentence)
    }
}

impl std::error::Error for CliError {}

/// Writing to a terminal or a pipe failed. A reader that has gone, as in `… | head`, is not an error.
impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::reported(Exit::Ok),
            _ => Self::error(format!("cannot write the answer: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_number() {
        let mut numbers: Vec<u8> = Exit::ALL.iter().map(|exit| exit.number()).collect();
        numbers.dedup();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 130]);
        assert!(Exit::ALL.iter().all(|exit| exit.meaning().ends_with('.')));
    }

    #[test]
    fn a_reader_that_has_gone_is_no_error() {
        let gone = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(CliError::from(gone).exit(), Exit::Ok);
    }
}

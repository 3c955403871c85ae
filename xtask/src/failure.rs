//! Why a chore did not succeed, as a sentence for the person at the terminal.
//!
//! Code acts only on the difference between a wrong command line, a stage that was skipped and everything
//! else, which decides the exit code; so one small enum serves every module of this crate.

use std::fmt;
use std::io;

/// What every chore and every stage returns.
pub(crate) type Outcome = Result<(), Failure>;

/// A chore that did not succeed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The command line is wrong; the help text is printed with it.
    Usage(String),
    /// Something was found or went wrong; the sentence says what to do.
    Failed(String),
    /// A stage could not do its work here and says why; that is not counted as a failure.
    Skipped(String),
}

impl Failure {
    /// A failure described in one sentence.
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }

    /// A failed file or process operation, with what was attempted.
    pub(crate) fn io(attempt: impl fmt::Display, error: &io::Error) -> Self {
        Self::Failed(format!("{attempt}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(sentence) | Self::Failed(sentence) | Self::Skipped(sentence) => {
                out.write_str(sentence)
            }
        }
    }
}

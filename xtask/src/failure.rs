//! Why a chore did not succeed, as a sentence for the person at the terminal.
//!
//! Nothing here is acted on by code except the difference between a wrong command line and everything else, which
//! decides the exit code; so one small enum serves every module of this crate.

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
}

impl Failure {
    /// A failure told in one sentence.
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }

    /// A failed file or process operation, told with what was attempted.
    pub(crate) fn io(attempt: impl fmt::Display, error: &io::Error) -> Self {
        Self::Failed(format!("{attempt}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(sentence) | Self::Failed(sentence) => out.write_str(sentence),
        }
    }
}

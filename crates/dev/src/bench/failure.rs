//! Why the bench stopped.
//!
//! Promises: one sentence that says what happened. A low figure is not an error.

use std::path::Path;

/// Why the bench stopped, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BenchError(String);

impl BenchError {
    pub(super) fn error(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// A file that could not be used, with what the system says.
    pub(super) fn file(what: &str, path: &Path, source: &std::io::Error) -> Self {
        Self(format!("cannot {what} {}: {source}", path.display()))
    }
}

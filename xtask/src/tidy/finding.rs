//! One broken rule: where, what, and what to do about it.
//!
//! Promises: findings sort by path and line, so the same tree always prints the same report. A finding never
//! carries more than one line of text, so that editors and CI can jump to it.

use std::fmt;

/// Whether a finding fails the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Fails the check.
    Error,
    /// Is printed only.
    Warning,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The file, relative to the workspace root.
    pub(crate) path: String,
    /// The line, counted from one.
    pub(crate) line: usize,
    /// Whether it fails the check.
    pub(crate) weight: Weight,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do.
    pub(crate) remedy: String,
}

impl Finding {
    /// A finding that fails the check.
    pub(crate) fn error(path: &str, line: usize, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, weight: Weight::Error, what: what.into(), remedy: remedy.into() }
    }

    /// A finding that is only printed.
    pub(crate) fn warning(
        path: &str,
        line: usize,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { weight: Weight::Warning, ..Self::error(path, line, what, remedy) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.weight == Weight::Warning { "warning: " } else { "" };
        write!(out, "{}:{}: {mark}{} ({})", self.path, self.line, self.what, self.remedy)
    }
}

//! The kinds of journal lines that tasks write.
//!
//! Promises: a kind is never used for another event, and never changes its text, because readers filter by
//! it; every kind begins with `task.`, so that it differs from those of other capabilities. The sentences are
//! written in `journal` and where the events happen.

use agentsite_protocol::JournalKind;

/// Declares the kinds, and the list of all of them for the test.
macro_rules! kinds {
    ($($name:ident = $text:literal),+ $(,)?) => {
        $(pub(crate) const $name: JournalKind = JournalKind::new($text);)+

        #[cfg(test)]
        const ALL: &[&str] = &[$($text),+];
    };
}

kinds! {
    OPENED = "task.opened",
    ANSWERED = "task.answered",
    REQUEUED = "task.requeued",
    COMPLETED = "task.completed",
    FAILED = "task.failed",
    CANCELED = "task.canceled",
    REJECTED = "task.rejected",
    INPUT_REQUIRED = "task.input_required",
    AUTH_REQUIRED = "task.auth_required",
    REMOVED = "task.removed",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_declared_once_and_names_tasks() {
        let mut seen = std::collections::BTreeSet::new();
        for kind in ALL {
            assert!(seen.insert(kind), "{kind} is declared twice");
            let name = kind.strip_prefix("task.").unwrap_or_default();
            assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{kind}");
        }
    }
}

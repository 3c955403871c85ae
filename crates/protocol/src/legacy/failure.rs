//! What cannot be said in the other version of A2A, and why.
//!
//! Promises: the sentence is for the author of the request or the answer, in the terms of A2A 0.3. It
//! contains no codes.

/// Why something could not be translated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotLegacy {
    /// The method exists in one of the versions only.
    #[error("A2A 0.3 has no such method")]
    Method,
    /// A member is missing or wrong.
    #[error("`{field}` {wrong}")]
    Field {
        /// Where, in the spelling of A2A 0.3.
        field: String,
        /// What is wrong and what would be right.
        wrong: &'static str,
    },
    /// An answer that is none of the things A2A 0.3 knows.
    #[error("the answer is not a task, message, status-update or artifact-update of A2A 0.3")]
    Answer,
}

impl NotLegacy {
    pub(super) fn field(field: impl Into<String>, wrong: &'static str) -> Self {
        Self::Field { field: field.into(), wrong }
    }
}
